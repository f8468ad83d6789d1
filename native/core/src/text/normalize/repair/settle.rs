//! One line, round after round until nothing changes, and with a bound on the work for mojibake.

use super::super::edits::Edits;
use super::super::mojibake;
use super::{Found, Rest, Round};

/// Most rounds for a line. No known text takes more than four.
const ROUNDS: usize = 24;

/// Work for the mojibake of a line: bytes decoded of short lines, and passes over long ones.
const SHORT_WORK: usize = 32 * 1024;
const PASSES: usize = 8;

/// The mojibake of a line takes more work than its length explains.
struct Chained;

/// Repairs one line with its line feed; `None` if nothing changes.
#[must_use]
pub fn line(source: &str, contextual: bool) -> Option<Edits> {
    if let Ok(settled) = settle(source, contextual, true) {
        return settled;
    }
    // A chain of sequences of which each shows only after the one before it is decoded. The other rows often
    // break it; if not, it stays. Then once more, because the repair of a repaired text must change nothing.
    let mut all: Option<Edits> = None;
    let mut text = source.to_owned();
    for decode in [false, true, false] {
        let Ok(Some(edits)) = settle(&text, contextual, decode) else {
            continue;
        };
        let mut next = Vec::new();
        edits.apply(text.as_bytes(), &mut next);
        all = Some(edits.after(all.as_ref(), source.as_bytes(), text.as_bytes()));
        text = String::from_utf8(next).ok()?;
    }
    all.filter(|edits| !edits.is_empty())
}

/// Rounds over one line. `decode`: mojibake is undone, too.
fn settle(source: &str, contextual: bool, decode: bool) -> Result<Option<Edits>, Chained> {
    let mut all: Option<Edits> = None;
    let mut current = Vec::new();
    let mut uncomposed = false;
    let mut work = SHORT_WORK.max(PASSES * source.len());
    for _ in 0..ROUNDS {
        let text = if all.is_some() {
            let Ok(text) = simdutf8::basic::from_utf8(&current) else {
                return Ok(None);
            };
            text
        } else {
            source
        };
        let found = match uncomposed.then(|| Round::composing(text)) {
            Some(found @ Found::Edits { .. }) => found,
            _ => Round::over(text, contextual, decode),
        };
        let (edits, rest) = match found {
            Found::Nothing => break,
            Found::Edits { edits, rest } => (edits, rest),
            Found::Bad => match mojibake::repair(text, &mut work) {
                _ if work == 0 => return Err(Chained),
                Some(edits) => (edits, Rest::Unsure),
                None => match Round::over(text, contextual, false) {
                    Found::Edits { edits, rest } => (edits, rest),
                    _ => break,
                },
            },
        };
        let mut next = Vec::new();
        if rest != Rest::Plain {
            edits.apply(text.as_bytes(), &mut next);
        }
        let done = match rest {
            Rest::Plain => true,
            Rest::Odd => simdutf8::basic::from_utf8(&next).is_ok_and(|next| !mojibake::is_bad(next)),
            Rest::Unsure | Rest::Uncomposed => false,
        };
        uncomposed = rest == Rest::Uncomposed;
        all = Some(edits.after(all.as_ref(), source.as_bytes(), text.as_bytes()));
        if done {
            break;
        }
        current = next;
    }
    Ok(all.filter(|edits| !edits.is_empty()))
}
