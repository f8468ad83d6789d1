//! Settings of a profile: members of a request, stored under a name. A request with that name is parsed as if
//! it had those members itself, unless it has its own.

use super::options::Options;
use super::unknown::{Notes, Place, Unknown, known_members};
use super::{Lists, NAMES, Said, WEIGHTED_TWICE, setting};
use crate::json::{Scanner, Unfit};
use crate::tokens::analyzer::StopWords;
use crate::tokens::tokenize::Tokenizer;

/// Members that a profile may have; the contract has the same list.
const ALLOWED: [&[u8]; 17] = [
    b"method",
    b"tokenizer",
    b"weights",
    b"k1",
    b"b",
    b"rrf_k",
    b"embed_model",
    b"entity_map",
    b"analyzer",
    b"corpus",
    b"on_missing_dense",
    b"dense_kind",
    b"min_score",
    b"legs",
    b"boosts",
    b"collapse",
    b"diversify",
];
/// Members whose value a request stores as a span; so are the words of an `analyzer`.
const PLACED: [&[u8]; 3] = [b"embed_model", b"entity_map", b"corpus"];

/// Checks settings that are a JSON text by themselves. True if a request stores spans of them.
///
/// # Errors
/// They are invalid, or have a member that is not allowed in a profile.
pub(crate) fn check(settings: &[u8]) -> Result<bool, Unfit> {
    let mut scanner = Scanner::new(settings)?;
    scanner.skip_space();
    let (mut options, mut lists) = (Options::default(), Lists::default());
    let notes = Notes::default();
    let mut is_placed = false;
    let met = known_members(
        &mut scanner,
        (&notes, Place::Body),
        &NAMES,
        1,
        |scanner, place| {
            if !ALLOWED.contains(&NAMES[place]) {
                return Err(Unfit);
            }
            is_placed |= PLACED.contains(&NAMES[place]);
            setting(scanner, place, &mut options, &mut lists, &notes)
        },
    )?;
    scanner.end()?;
    if met & WEIGHTED_TWICE == WEIGHTED_TWICE || !Unknown::is_empty(&notes.borrow()) {
        return Err(Unfit);
    }
    let analyzer = lists.more.as_ref().and_then(|more| more.analyzer.as_ref());
    is_placed |= analyzer.is_some_and(|analyzer| matches!(analyzer.stop_words, StopWords::Given { .. }));
    if options.tokenizer != Tokenizer::Ws && analyzer.is_some_and(|analyzer| !analyzer.is_plain()) {
        return Err(Unfit);
    }
    Ok(is_placed)
}

/// The members that settings do not set, as the request has them. `weights` and `legs` exclude each other:
/// one counts as both.
fn taken(met: u32) -> u32 {
    if met & WEIGHTED_TWICE == 0 {
        met
    } else {
        met | WEIGHTED_TWICE
    }
}

/// Adds to a request the members that it does not have. The scanner is at the settings, which were checked.
///
/// # Errors
/// They are invalid.
pub(crate) fn give(scanner: &mut Scanner, said: &mut Said, lists: &mut Lists) -> Result<(), Unfit> {
    let taken = taken(said.met);
    let notes = Notes::default();
    let options = &mut said.options;
    let met = known_members(scanner, (&notes, Place::Body), &NAMES, 1, |scanner, place| {
        if taken >> place & 1 == 1 {
            return Ok(scanner.skip_value(1)?);
        }
        setting(scanner, place, options, lists, &notes)
    })?;
    said.met |= met;
    Ok(())
}

/// The body with these settings written out in it, to explain the request. `said`: the request without the
/// settings. Both were parsed before.
pub(crate) fn written_out(body: &[u8], settings: &[u8], said: &Said) -> Vec<u8> {
    let taken = taken(said.met);
    let start = body
        .iter()
        .position(|&byte| byte == b'{')
        .map_or(body.len(), |at| at + 1);
    let mut whole = Vec::with_capacity(body.len() + settings.len() + 1);
    whole.push(b'{');
    let mut scanner = Scanner::again(settings, 0);
    scanner.skip_space();
    // Checked before: it does not fail.
    let _ = scanner.dictionary(|scanner, name| {
        scanner.skip_value(1)?;
        let is_taken = scanner
            .place(name, &NAMES)
            .is_some_and(|place| taken >> place & 1 == 1);
        if !is_taken {
            whole.extend_from_slice(scanner.between(name.start - 1, scanner.position()));
            whole.push(b',');
        }
        Ok(())
    });
    whole.extend_from_slice(&body[start..]);
    whole
}
