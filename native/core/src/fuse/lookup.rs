//! The named statistics and the profile of a request, found among those that its sender may use.

use std::sync::Arc;

use super::corpora::Terming;
use super::profiles::Profile;
use super::request::more::More;
use super::versions::{Numbered, is_name};
use super::visible::Visible;
use crate::json::unescape;
use crate::tokens::tokenize::Tokenizer;

/// Why named statistics were not found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotFound {
    /// They do not exist, or the name cannot learn.
    Refused,
    /// The owner must be known first.
    OwnerUnknown,
}

impl More {
    /// Finds the statistics that the request names. They are stored with the request, so they stay the same
    /// until it is answered.
    ///
    /// # Errors
    /// They do not exist, or the name cannot learn; or the owner must be known first.
    pub(crate) fn find(
        &mut self,
        body: &[u8],
        tokenizer: Tokenizer,
        corpora: Option<Visible<'_>>,
    ) -> Result<(), NotFound> {
        let Some(named) = self.corpus_named else {
            return Ok(());
        };
        if self.learn && corpora.is_some_and(|visible| !visible.owner_known) {
            return Err(NotFound::OwnerUnknown);
        }
        let mut name = Vec::new();
        unescape(&body[named.name.start..named.name.end], &mut name);
        self.corpus_found = corpora.and_then(|visible| visible.find(&name, named.version));
        // A new name starts with learning, and has no version at first.
        let learns = self.learn && (self.corpus_found.is_some() || named.version.is_none() && is_name(&name));
        if let Some(visible) = corpora.filter(|_| learns) {
            let terming = Terming::of(tokenizer, self.analyzer.as_ref());
            match visible.learn(&name, terming) {
                Ok(lesson) => self.lesson = Some(lesson),
                Err(unlearnt) => {
                    self.faults.add("\"learn\"", None, &unlearnt.text());
                    return Err(NotFound::Refused);
                }
            }
            return Ok(());
        }
        if self.corpus_found.is_some() {
            return Ok(());
        }
        let is_named = corpora.is_some_and(|visible| visible.find(&name, None).is_some());
        let names = corpora.map(|visible| visible.names()).unwrap_or_default();
        let (place, message) = if is_named {
            (
                "version",
                "the statistics of this name have no such version".to_owned(),
            )
        } else {
            ("name", unknown_name("no statistics have this name", &names))
        };
        let place = format!("\"corpus\",\"{place}\"");
        self.faults.add(&place, None, &message);
        Err(NotFound::Refused)
    }

    /// Finds the profile that the request names; adds a fault if there is none.
    pub(crate) fn find_profile(&mut self, body: &[u8], visible: Option<Visible<'_>>) -> Option<Arc<Profile>> {
        let asked = self.profile.as_mut()?;
        let mut name = Vec::new();
        unescape(&body[asked.name.start..asked.name.end], &mut name);
        let known = visible.and_then(|visible| Some((visible.profiles?, visible.owner)));
        let find = |version| known.and_then(|(profiles, owner)| profiles.find_for(owner, &name, version));
        if let Some(profile) = find(asked.version) {
            let name = String::from_utf8_lossy(&name).into_owned();
            asked.found = Some((name, profile.number()));
            return Some(profile);
        }
        let (place, message) = if find(None).is_some() {
            (
                "\"profile\",\"version\"",
                "the profile has no such version".to_owned(),
            )
        } else {
            let names = known.map(|(profiles, owner)| profiles.names_for(owner));
            let place = if asked.is_object {
                "\"profile\",\"name\""
            } else {
                "\"profile\""
            };
            (
                place,
                unknown_name("no profile has this name", &names.unwrap_or_default()),
            )
        };
        self.faults.add(place, None, &message);
        None
    }
}

/// The message for an unknown name, with the known ones.
fn unknown_name(sentence: &str, names: &[String]) -> String {
    const SHOWN: usize = 20;
    let more = names.len().saturating_sub(SHOWN);
    let shown = names[..names.len() - more].join(", ");
    match (names.len(), more) {
        (0, _) => format!("{sentence}; there are none here"),
        (_, 0) => format!("{sentence}; known: {shown}"),
        _ => format!("{sentence}; known: {shown} and {more} more"),
    }
}
