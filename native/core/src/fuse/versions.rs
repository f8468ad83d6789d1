//! Named things of the store that requests use, as a process knows them: each name with its versions. An
//! owner's name is stored as the owner, `/` and the name; other names are public.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// The byte between an owner and a name, which no name has.
pub(crate) const OWNED: u8 = b'/';

/// True if a thing may have this name; the store has the same rule.
pub(crate) fn is_name(name: &[u8]) -> bool {
    let fits = |&byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=64).contains(&name.len()) && name.iter().all(fits)
}

/// The name as it is stored. `owner`: empty for a public one.
pub(crate) fn stored_name(owner: &[u8], name: &[u8]) -> Vec<u8> {
    if owner.is_empty() {
        name.to_vec()
    } else {
        [owner, &[OWNED], name].concat()
    }
}

/// A version of something named, with its number.
pub trait Numbered {
    /// From 1 on.
    fn number(&self) -> u32;
}

/// Versions by their names, the newest last.
type ByName<T> = HashMap<Box<[u8]>, Vec<Arc<T>>>;

/// The versions of names.
#[derive(Debug)]
pub struct Versions<T> {
    names: RwLock<ByName<T>>,
    /// True once a name with an owner was added.
    owned: AtomicBool,
}

impl<T> Default for Versions<T> {
    fn default() -> Self {
        Self {
            names: RwLock::default(),
            owned: AtomicBool::new(false),
        }
    }
}

impl<T: Numbered> Versions<T> {
    /// Adds a version, if it is newer than all that are there.
    pub fn add(&self, name: &[u8], version: T) {
        if name.contains(&OWNED) {
            self.owned.store(true, Ordering::Relaxed);
        }
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        let versions = names.entry(name.into()).or_default();
        let newest = versions.last().map_or(0, |last| last.number());
        if newest < version.number() {
            versions.push(Arc::new(version));
        }
    }

    /// Forgets a name.
    pub fn remove(&self, name: &[u8]) {
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        names.remove(name);
    }

    /// True if a name with an owner exists, or existed.
    #[must_use]
    pub fn has_owners(&self) -> bool {
        self.owned.load(Ordering::Relaxed)
    }

    /// Numbers of a name's versions, in order.
    #[must_use]
    pub fn numbers(&self, name: &[u8]) -> Vec<u32> {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        let versions = names.get(name).map(Vec::as_slice).unwrap_or_default();
        versions.iter().map(|version| version.number()).collect()
    }

    /// Every name as it is stored, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        let mut names: Vec<String> = names
            .keys()
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect();
        names.sort_unstable();
        names
    }

    /// The names that an owner's requests may use, in order: the owner's and public ones.
    #[must_use]
    pub fn names_for(&self, owner: &[u8]) -> Vec<String> {
        let all = self.names().into_iter();
        let mut names: Vec<String> = all
            .filter_map(|full| match full.split_once(char::from(OWNED)) {
                None => Some(full),
                Some((other, name)) => (other.as_bytes() == owner).then(|| name.to_owned()),
            })
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// A version of a stored name; the newest if none is given.
    pub(crate) fn find(&self, name: &[u8], version: Option<f64>) -> Option<Arc<T>> {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        let versions = names.get(name)?;
        match version {
            None => versions.last().cloned(),
            Some(number) => versions
                .iter()
                .find(|version| f64::from(version.number()) == number)
                .cloned(),
        }
    }

    /// A version of the owner's name, or of the public one if the owner has no such name.
    #[must_use]
    pub fn find_for(&self, owner: &[u8], name: &[u8], version: Option<f64>) -> Option<Arc<T>> {
        // A request must not name another owner's by the stored name.
        if name.contains(&OWNED) {
            return None;
        }
        if !owner.is_empty() {
            let owned = stored_name(owner, name);
            if self.find(&owned, None).is_some() {
                return self.find(&owned, version);
            }
        }
        self.find(name, version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_that_of_another_owners_thing() {
        for name in ["a", "Z9", "a.b_c-d", &"x".repeat(64)] {
            assert!(is_name(name.as_bytes()), "{name}");
            assert_eq!(stored_name(b"", name.as_bytes()), name.as_bytes());
            let owned = stored_name(b"owner", name.as_bytes());
            assert_eq!(owned, format!("owner/{name}").as_bytes());
            assert!(!is_name(&owned));
        }
        for name in ["", " ", "a b", "a/b", "/", "ä", "a\0", &"x".repeat(65)] {
            assert!(!is_name(name.as_bytes()), "{name}");
        }
    }
}
