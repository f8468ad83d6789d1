//! POST /v1/normalize from the request's bytes to the answer's: repair, glosses, and a list of every change.

mod answer;
pub mod edits;
pub mod gloss;
mod mode;
pub mod mojibake;
#[cfg(any(test, feature = "naive"))]
pub mod naive;
pub mod properties;
pub mod repair;
pub mod request;
pub mod skeleton;
pub mod spelling;
pub mod stream;

use std::fmt::Write as _;

use super::normalize_tables;
use crate::json::unescape;
use crate::unicode::words;
use answer::Answer;
use edits::{Edits, applied, checked};
use gloss::{Bounds, Glosses, Place, Refused};
pub use mode::Mode;
use request::Options;

/// Version of the CLDR names, such as `48.2.0`.
pub const CLDR_VERSION: &str = normalize_tables::CLDR_VERSION;

/// Most code points of a text (contract, Limits).
pub const MAX_CHARACTERS: u64 = 100_000;

/// The edits that normalize a text.
#[must_use]
pub fn edits(text: &str, mode: Mode, contextual: bool, glosses: Option<&Glosses>) -> Edits {
    // Without bounds nothing is refused.
    bounded_edits(text, mode, contextual, glosses, Bounds::NONE).unwrap_or_default()
}

/// The edits that normalize a text, with glosses within bounds.
///
/// # Errors
/// The exceeded bounds.
pub fn bounded_edits(
    text: &str,
    mode: Mode,
    contextual: bool,
    glosses: Option<&Glosses>,
    bounds: Bounds,
) -> Result<Edits, Refused> {
    let place = match mode {
        Mode::Augment => Place::After,
        Mode::Replace => Place::Instead,
        Mode::Repair => return Ok(repair::text(text, contextual)),
    };
    let source = text.as_bytes();
    if glosses.is_none() && repair::plain_length(source) == source.len() {
        return Ok(Edits::default());
    }
    let first = repair::text(text, contextual);
    let repaired = applied(text, &first);
    let middle = checked(&repaired);
    let spelled = match place {
        Place::After => spelling::of(&first, text, middle),
        Place::Instead => Vec::new(),
    };
    let glossed = gloss::text(middle, place, glosses, &spelled, bounds)?;
    if glossed.is_empty() {
        return Ok(first);
    }
    let both = first.then(&glossed, source, &repaired);
    // A gloss may have put letters next to characters that the first repair left alone.
    let with_glosses = applied(middle, &glossed);
    let last = repair::lines_of(checked(&with_glosses), &glossed, contextual);
    if last.is_empty() {
        return Ok(both);
    }
    Ok(both.then(&last, source, &with_glosses))
}

/// Outcome of one body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The answer was written.
    Written {
        /// Bytes written.
        length: usize,
        /// Code points of the text.
        characters: u64,
    },
    /// The request is invalid.
    Invalid,
    /// The glosses exceed the bounds.
    Refused(Refused),
    /// The answer needs more room.
    NeedsRoom {
        /// The answer.
        answer: Vec<u8>,
        /// Code points of the text.
        characters: u64,
    },
}

/// Memory that one thread reuses from request to request.
#[derive(Debug, Default)]
pub struct Workspace {
    unescaped: Vec<u8>,
}

/// Bytes at the start of a long body that are checked before all of it is read: most bodies that are not
/// plain have other characters than ASCII there.
const BEGINNING: usize = 4 << 10;

/// Memory above this size is freed after the request.
const KEPT_BYTES: usize = 4 << 20;

impl Workspace {
    /// Answers `body` into `out`.
    pub fn normalize(&mut self, body: &[u8], out: &mut [u8], bounds: Bounds) -> Outcome {
        if body.len() > bounds.worked_body && !body[..BEGINNING.min(body.len())].is_ascii() {
            return Outcome::Refused(Refused::Body);
        }
        let Ok(mut options) = request::read(body) else {
            return Outcome::Invalid;
        };
        let mut answer = Answer::new(out);
        let written = self.write(body, &mut options, bounds, &mut answer);
        if self.unescaped.capacity() > KEPT_BYTES {
            self.unescaped = Vec::new();
        }
        match (written, answer.done()) {
            (Ok(Some(characters)), Ok(length)) => Outcome::Written { length, characters },
            (Ok(Some(characters)), Err(answer)) => Outcome::NeedsRoom { answer, characters },
            (Ok(None), _) => Outcome::Invalid,
            (Err(refused), _) => Outcome::Refused(refused),
        }
    }

    /// Writes the answer; returns the text's code points, or `None` if it is too long.
    fn write(
        &mut self,
        body: &[u8],
        options: &mut Options,
        bounds: Bounds,
        writer: &mut Answer,
    ) -> Result<Option<u64>, Refused> {
        let Workspace { unescaped } = self;
        let span = options.text;
        let raw = &body[span.start..span.end];
        let text = if span.escaped {
            unescaped.clear();
            unescape(raw, unescaped);
            checked(unescaped)
        } else {
            checked(raw)
        };
        if body.len() > bounds.worked_body && !is_plain(options, text) {
            return Err(Refused::Body);
        }
        let characters = crate::cpu::scan::code_points(text.as_bytes());
        if characters > MAX_CHARACTERS {
            return Ok(None);
        }
        let pairs = std::mem::take(&mut options.glosses);
        let glosses = (options.mode != Mode::Repair && !pairs.is_empty())
            .then(|| Glosses::new(pairs, options.contextual));
        let edits = bounded_edits(text, options.mode, options.contextual, glosses.as_ref(), bounds)?;
        writer.head(raw, text, &edits, options.mode);
        writer.changes(text, &edits, options.max_changes);
        writer.stats(&edits);
        if options.include_skeleton {
            writer.raw(",\"skeleton\":\"");
            writer.string(&skeleton::skeleton(text));
            writer.raw("\"");
        }
        let (unicode, cldr) = (words::VERSION, CLDR_VERSION);
        let _ = write!(
            writer,
            ",\"data_versions\":{{\"unicode\":\"{unicode}\",\"cldr\":\"{cldr}\"}},\"chars\":{characters}}}"
        );
        Ok(Some(characters))
    }
}

/// True if the answer only copies the text: nothing to repair, no glosses, no skeleton.
fn is_plain(options: &Options, text: &str) -> bool {
    let copied = options.glosses.is_empty() && !options.include_skeleton;
    copied && repair::plain_length(text.as_bytes()) == text.len()
}
