//! The named statistics and profiles that a request may use.

use std::sync::Arc;

use super::corpora::{Corpora, Lesson, Terming, Unlearnt, Version};
use super::profiles::Profiles;
use super::versions::stored_name;

/// The collections and profiles that a request may name.
#[derive(Clone, Copy)]
pub struct Visible<'a> {
    /// All collections.
    pub corpora: &'a Corpora,
    /// All profiles; `None` if there are none.
    pub profiles: Option<&'a Profiles>,
    /// The owner whose names may be used besides public ones; empty: none.
    pub owner: &'a [u8],
    /// False if the caller was not looked up, because no name has an owner.
    pub owner_known: bool,
}

impl<'a> Visible<'a> {
    /// The names of an owner who was looked up, and public ones; an empty owner has only these.
    #[must_use]
    pub fn to(owner: &'a [u8], corpora: &'a Corpora, profiles: Option<&'a Profiles>) -> Self {
        Self {
            corpora,
            profiles,
            owner,
            owner_known: true,
        }
    }

    /// The names of collections, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.corpora.versions.names_for(self.owner)
    }

    /// A version of a name; the newest if none is given. The owner's, or the public one if the owner has no
    /// such name.
    #[must_use]
    pub fn find(&self, name: &[u8], version: Option<f64>) -> Option<Arc<Version>> {
        self.corpora.versions.find_for(self.owner, name, version)
    }

    /// A name that docs may be offered to: the owner's, or the public one if there is no owner.
    ///
    /// # Errors
    /// Nothing is learned under this name, or not with these settings.
    pub(crate) fn learn(&self, name: &[u8], terming: Terming) -> Result<Lesson, Unlearnt> {
        let full = stored_name(self.owner, name);
        let newest = self.corpora.versions.find(&full, None);
        if newest.is_some_and(|version| !version.learnt) {
            return Err(Unlearnt::Put);
        }
        self.corpora.learnings.lesson(full, self.owner, terming)
    }
}
