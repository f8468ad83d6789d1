//! Binding of `fusegate_core::fuse::profiles`.

use std::sync::Arc;

use fusegate_core::fuse::profiles::{Profile, Profiles as Table};
use napi_derive::napi;

/// The profiles that this process knows.
#[napi]
#[derive(Default)]
pub struct Profiles {
    pub(crate) inner: Arc<Table>,
}

#[napi]
impl Profiles {
    /// An empty table.
    #[napi(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a version if it is newer than the existing ones. `settings`: a JSON object of a request's
    /// members; false if a profile cannot have them.
    #[napi]
    pub fn add(&self, name: String, version: u32, settings: String) -> bool {
        let Some(profile) = Profile::read(version, settings.as_bytes()) else {
            return false;
        };
        self.inner.add(name.as_bytes(), profile);
        true
    }

    /// Forgets a name.
    #[napi]
    pub fn remove(&self, name: String) {
        self.inner.remove(name.as_bytes());
    }

    /// Versions of a name in the table, in order.
    #[napi]
    pub fn versions(&self, name: String) -> Vec<u32> {
        self.inner.numbers(name.as_bytes())
    }

    /// Every name, in order; names of an owner as owner, `/` and name.
    #[napi]
    pub fn names(&self) -> Vec<String> {
        self.inner.names()
    }

    /// True if a name has, or had, an owner.
    #[napi]
    pub fn has_owners(&self) -> bool {
        self.inner.has_owners()
    }
}
