//! Requests that name a profile: answered as if its settings were written out in them.

use super::request::more::More;
use super::request::{Said, settings};
use super::workspace::{Embedding, Outcome, Workspace};

impl Workspace {
    /// Answers a request as if the settings of its profile were written out in it.
    #[cold]
    pub(super) fn answer_by_profile(
        &mut self,
        body: &[u8],
        mut said: Said,
        out: &mut [u8],
        embedding: Embedding<'_>,
    ) -> Result<Outcome, Outcome> {
        let before = said;
        let more = self.lists.more.as_mut();
        let Some(profile) = more.and_then(|more| more.find_profile(body, embedding.corpora)) else {
            self.faults = self.lists.more.as_mut().and_then(|more| more.take_faults());
            return Err(Outcome::Invalid);
        };
        let joined = profile.joined(body);
        let mut scanner = profile.scanner(joined.as_deref());
        let given = settings::give(&mut scanner, &mut said, &mut self.lists);
        let whole = joined.as_deref().unwrap_or(body);
        let outcome = given
            .map_err(|_| Outcome::Invalid)
            .and_then(|()| self.answer_said(whole, said, out, embedding));
        match outcome {
            Err(Outcome::Invalid) => {
                self.written_out = Some(settings::written_out(body, profile.settings(), &before));
            }
            Err(Outcome::Pending | Outcome::Deferred) => {
                if let Some(pending) = &mut self.pending {
                    pending.length = body.len();
                    pending.joined = joined;
                }
            }
            _ => {}
        }
        outcome
    }

    /// Writes the member of the answer that names the profile. A name that was found needs no escape.
    pub(super) fn tell_profile(&mut self, more: &More) {
        self.profile.clear();
        if let Some((name, version)) = more.profile.as_ref().and_then(|profile| profile.found.as_ref()) {
            let told = format!(",\"profile\":{{\"name\":\"{name}\",\"version\":{version}}}");
            self.profile.extend_from_slice(told.as_bytes());
        }
    }
}
