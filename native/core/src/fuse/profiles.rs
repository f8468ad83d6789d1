//! Profiles that a process knows: named settings of requests.

use super::request::settings;
use super::versions::{Numbered, Versions};
use crate::json::Scanner;

/// A version of a profile.
#[derive(Debug)]
pub struct Profile {
    number: u32,
    /// A JSON object of a request's members.
    settings: Box<[u8]>,
    /// True if a request stores spans of them.
    is_placed: bool,
}

impl Numbered for Profile {
    fn number(&self) -> u32 {
        self.number
    }
}

impl Profile {
    /// Reads settings, a JSON text; `None` if a profile cannot have them.
    #[must_use]
    pub fn read(number: u32, settings: &[u8]) -> Option<Self> {
        let is_placed = settings::check(settings).ok()?;
        Some(Self {
            number,
            settings: settings.into(),
            is_placed,
        })
    }

    /// Its settings, a JSON text.
    #[must_use]
    pub fn settings(&self) -> &[u8] {
        &self.settings
    }

    /// The body followed by the settings, if a request stores spans of both.
    pub(crate) fn joined(&self, body: &[u8]) -> Option<Vec<u8>> {
        self.is_placed.then(|| [body, &self.settings].concat())
    }

    /// A scanner at the settings: in the result of [`Profile::joined`], or alone.
    pub(crate) fn scanner<'a>(&'a self, joined: Option<&'a [u8]>) -> Scanner<'a> {
        match joined {
            Some(joined) => Scanner::again(joined, joined.len() - self.settings.len()),
            None => Scanner::again(&self.settings, 0),
        }
    }
}

/// The profiles that a process knows.
pub type Profiles = Versions<Profile>;

#[cfg(test)]
mod tests;
