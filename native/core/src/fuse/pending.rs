//! Requests that were parsed and wait: for vectors that are computed elsewhere, or for room.

use super::request::{Lists, Options};
use super::{Form, Outcome, Workspace};
use crate::embed::dense::Gathered;

/// A parsed request, with the vectors that its dense scores need.
pub struct Pending {
    pub(super) options: Options,
    pub(super) form: Form,
    pub(super) lists: Lists,
    pub(super) gathered: Gathered,
    /// Length of its body in bytes.
    pub(super) length: usize,
    /// The body followed by the settings of its profile, if the request refers to these.
    pub(super) joined: Option<Vec<u8>>,
    /// Bytes that its answer needs, if known; else 0.
    pub(super) needed: usize,
}

impl Pending {
    /// The vectors of its query and docs, some of which may be missing.
    pub fn gathered(&self) -> &Gathered {
        &self.gathered
    }

    /// The same, to add vectors.
    pub fn gathered_mut(&mut self) -> &mut Gathered {
        &mut self.gathered
    }

    /// Most bytes that its answer can need.
    pub fn room(&self) -> usize {
        self.needed.max(self.form.room(&self.options, &self.lists))
    }
}

impl Workspace {
    /// Answers a request that waited, once no vector is missing. `body`: the one that it was parsed from.
    ///
    /// # Panics
    /// When the body has another length.
    pub fn answer_pending(&mut self, pending: &mut Pending, body: &[u8], out: &mut [u8]) -> Outcome {
        assert_eq!(body.len(), pending.length, "another body");
        let room = pending.room();
        if room > out.len() {
            return Outcome::NeedsRoom(room);
        }
        std::mem::swap(&mut self.lists, &mut pending.lists);
        let source = self.complete(&pending.gathered);
        let body = pending.joined.as_deref().unwrap_or(body);
        let outcome = self.finish(body, &pending.options, &pending.form, &source, out);
        std::mem::swap(&mut self.lists, &mut pending.lists);
        if let Outcome::NeedsRoom(needed) = outcome {
            pending.needed = needed;
        }
        self.give_back();
        outcome
    }
}
