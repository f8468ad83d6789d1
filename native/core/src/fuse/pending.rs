//! Parsed requests that wait for vectors computed elsewhere, or for a larger buffer.

use super::form::Form;
use super::request::{Lists, Options};
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
    /// Most bytes of its answer.
    pub(super) most_bytes: usize,
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

    /// Most bytes that its answer can need, its details left out.
    pub fn room(&self) -> usize {
        self.form.room(&self.options, &self.lists)
    }
}
