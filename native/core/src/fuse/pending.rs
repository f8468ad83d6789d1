//! Parsed requests that wait for vectors computed elsewhere, for a larger buffer, or for another thread.

use super::form::Form;
use super::request::{Lists, Options};
use crate::embed::dense::Gathered;

/// A parsed request, with the vectors that its dense scores need, as far as they are gathered.
pub struct Pending {
    pub(super) options: Options,
    pub(super) form: Form,
    pub(super) lists: Lists,
    /// The index of the model that scores the docs; `None`: the request has all dense scores.
    pub(super) model: Option<usize>,
    /// The vectors of the query and the docs; `None`: they are not gathered yet, or none is needed.
    pub(super) gathered: Option<Gathered>,
    /// Length of its body in bytes.
    pub(super) length: usize,
    /// The body followed by the settings of its profile, if the request refers to these.
    pub(super) joined: Option<Vec<u8>>,
    /// Most bytes of its answer.
    pub(super) most_bytes: usize,
}

impl Pending {
    /// The vectors of its query and docs, some of which may be missing; `None`: they are not gathered yet, or
    /// none is needed.
    pub fn gathered(&self) -> Option<&Gathered> {
        self.gathered.as_ref()
    }

    /// The same, to add vectors.
    pub fn gathered_mut(&mut self) -> Option<&mut Gathered> {
        self.gathered.as_mut()
    }

    /// True if it waits for vectors.
    pub fn lacks_vectors(&self) -> bool {
        self.gathered
            .as_ref()
            .is_some_and(|gathered| !gathered.is_whole())
    }

    /// Length of its body in bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Bytes of memory that it takes besides its body and the vectors.
    pub fn bytes(&self) -> usize {
        self.lists.bytes() + self.joined.as_ref().map_or(0, Vec::len)
    }

    /// Most bytes that its answer can need, its details left out.
    pub fn room(&self) -> usize {
        self.form.room(&self.options, &self.lists)
    }
}
