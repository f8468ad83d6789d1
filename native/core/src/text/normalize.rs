//! POST /v1/normalize from the request's bytes to the answer's: repair, glosses, and a list of every change.

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

use std::io::Write as _;

use super::normalize_tables;
use crate::json::unescape;
use crate::unicode::words;
use edits::{Edit, Edits};
use gloss::{Bounds, Glosses, Place, Refused};
pub use mode::Mode;
use properties::Kind;
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

/// A text after edits.
fn applied(text: &str, edits: &Edits) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 4);
    edits.apply(text.as_bytes(), &mut out);
    out
}

/// Edited bytes as text: edits replace whole characters by whole characters.
fn checked(bytes: &[u8]) -> &str {
    simdutf8::basic::from_utf8(bytes).unwrap_or_default()
}

/// Outcome of one body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// The answer needs more room; it is in [`Workspace::take_answer`].
    NeedsRoom {
        /// Bytes of the answer.
        length: usize,
        /// Code points of the text.
        characters: u64,
    },
}

/// Buffers that one thread reuses from request to request.
#[derive(Debug, Default)]
pub struct Workspace {
    unescaped: Vec<u8>,
    answer: Vec<u8>,
}

/// Buffers above this size are freed after the request.
const KEPT_BYTES: usize = 4 << 20;

impl Workspace {
    /// Answers `body` into `out`.
    pub fn normalize(&mut self, body: &[u8], out: &mut [u8], bounds: Bounds) -> Outcome {
        let Ok(options) = request::read(body) else {
            return Outcome::Invalid;
        };
        self.answer.clear();
        let outcome = match self.write(body, &options, bounds) {
            Ok(Some(characters)) => self.copied(out, characters),
            Ok(None) => Outcome::Invalid,
            Err(refused) => Outcome::Refused(refused),
        };
        if matches!(outcome, Outcome::NeedsRoom { .. }) {
            return outcome;
        }
        if self.unescaped.capacity() + self.answer.capacity() > KEPT_BYTES {
            *self = Workspace::default();
        }
        outcome
    }

    /// The answer that needed more room.
    pub fn take_answer(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.answer)
    }

    fn copied(&self, out: &mut [u8], characters: u64) -> Outcome {
        let length = self.answer.len();
        let Some(room) = out.get_mut(..length) else {
            return Outcome::NeedsRoom { length, characters };
        };
        room.copy_from_slice(&self.answer);
        Outcome::Written { length, characters }
    }

    /// Writes the answer; returns the text's code points, or `None` if it is too long.
    fn write(&mut self, body: &[u8], options: &Options, bounds: Bounds) -> Result<Option<u64>, Refused> {
        let Workspace { unescaped, answer } = self;
        let span = options.text;
        let raw = &body[span.start..span.end];
        let text = if span.escaped {
            unescaped.clear();
            unescape(raw, unescaped);
            checked(unescaped)
        } else {
            checked(raw)
        };
        let characters = crate::cpu::scan::code_points(text.as_bytes());
        if characters > MAX_CHARACTERS {
            return Ok(None);
        }
        let glosses = if options.mode == Mode::Repair || options.glosses.is_empty() {
            None
        } else {
            Glosses::new(&options.glosses, options.contextual)
        };
        let edits = bounded_edits(text, options.mode, options.contextual, glosses.as_ref(), bounds)?;
        let mut writer = Answer { out: answer };
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
            writer.out,
            ",\"data_versions\":{{\"unicode\":\"{unicode}\",\"cldr\":\"{cldr}\"}},\"chars\":{characters}}}"
        );
        Ok(Some(characters))
    }
}

/// The answer while it is written into a buffer.
struct Answer<'a> {
    out: &'a mut Vec<u8>,
}

impl Answer<'_> {
    fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Writes the text before a member's number, then the number.
    fn number(&mut self, before: &str, value: u64) {
        self.raw(before);
        let (mut digits, mut at, mut rest) = ([0; 20], 20, value);
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.out.extend_from_slice(&digits[at..]);
    }

    /// Writes a string's characters, escaped as JSON requires (RFC 8259 section 7).
    fn string(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let (stop, _) = crate::cpu::scan::string_stop(bytes, at);
            self.out.extend_from_slice(&bytes[at..stop]);
            let Some(&byte) = bytes.get(stop) else { return };
            let _ = match byte {
                b'"' | b'\\' => self.out.write(&[b'\\', byte]),
                b'\n' => self.out.write(b"\\n"),
                b'\t' => self.out.write(b"\\t"),
                b'\r' => self.out.write(b"\\r"),
                _ => write!(self.out, "\\u{byte:04x}").map(|()| 0),
            };
            at = stop + 1;
        }
    }

    fn head(&mut self, raw: &[u8], text: &str, edits: &Edits, mode: Mode) {
        self.out.reserve(2 * raw.len() + 512);
        self.raw("{\"text\":\"");
        self.out.extend_from_slice(raw);
        self.raw("\",\"normalized\":\"");
        if edits.is_empty() {
            self.out.extend_from_slice(raw);
        } else {
            self.string(checked(&applied(text, edits)));
        }
        let changed = !edits.is_empty();
        let _ = write!(self.out, "\",\"mode\":\"{}\",\"changed\":{changed}", mode.name());
    }

    fn changes(&mut self, text: &str, edits: &Edits, most: usize) {
        self.raw(",\"changes\":[");
        let (mut at, mut place) = (0, 0);
        for (number, edit) in edits.list().iter().take(most).enumerate() {
            let points = |from, to| crate::cpu::scan::code_points(&text.as_bytes()[from..to]);
            let start = place + points(at, edit.start);
            let end = start + points(edit.start, edit.end);
            (at, place) = (edit.end, end);
            self.raw(if number == 0 { "{" } else { ",{" });
            self.number("\"start\":", start);
            self.number(",\"end\":", end);
            self.raw(",\"original\":\"");
            self.string(&text[edit.start..edit.end]);
            self.raw("\",\"replacement\":\"");
            self.string(checked(edits.replacement(edit)));
            self.raw("\",\"kind\":\"");
            self.raw(edit.kind().name());
            self.raw("\",\"reason\":\"");
            self.reason(edit);
            self.raw("\"}");
        }
        self.raw("]");
        if edits.list().len() > most {
            self.raw(",\"changes_truncated\":true");
        }
    }

    /// Writes the reasons of all kinds that took part in a change.
    fn reason(&mut self, edit: &Edit) {
        let kinds = Kind::ALL.into_iter().filter(|kind| edit.kinds & kind.bit() != 0);
        for (number, kind) in kinds.enumerate() {
            self.raw(if number == 0 { "" } else { "; " });
            match kind {
                Kind::Mojibake => self.raw(&mojibake::explain(edit.encoding)),
                _ => self.raw(kind.reason()),
            }
        }
    }

    fn stats(&mut self, edits: &Edits) {
        self.raw(",\"stats\":{");
        let mut counts = [0usize; Kind::ALL.len()];
        edits
            .list()
            .iter()
            .for_each(|edit| counts[edit.kind() as usize] += 1);
        let counted = Kind::ALL.into_iter().zip(counts).filter(|(_, count)| *count > 0);
        for (number, (kind, count)) in counted.enumerate() {
            let comma = if number == 0 { "" } else { "," };
            let _ = write!(self.out, "{comma}\"{}\":{count}", kind.name());
        }
        self.raw("}");
    }
}
