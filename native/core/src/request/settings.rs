//! Settings of a profile: members of a request, kept under a name. A request that names them is read as if
//! those that it does not have itself were written out in it.

use super::unknown::{Notes, Place, Unknown, known_members};
use super::{Lists, NAMES, Options, Said, WEIGHTED_TWICE, setting};
use crate::json::{Scanner, Unfit};
use crate::tokenize::Tokenizer;

/// Members that a profile may have; the contract says the same.
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
/// Of these a request keeps the place of the value, not the value.
const PLACED: [&[u8]; 3] = [b"embed_model", b"entity_map", b"corpus"];

/// Checks settings that are a JSON text of their own. True if a request keeps places in them.
///
/// # Errors
/// They are invalid, or have a member that a profile does not have.
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
    if options.tokenizer != Tokenizer::Ws && analyzer.is_some_and(|analyzer| !analyzer.is_plain()) {
        return Err(Unfit);
    }
    Ok(is_placed)
}

/// The members that settings do not give to a request: those that it has. Weights have two forms, of which
/// one is enough.
fn taken(met: u32) -> u32 {
    if met & WEIGHTED_TWICE == 0 {
        met
    } else {
        met | WEIGHTED_TWICE
    }
}

/// Gives a request the members that it does not have. The scanner stands at the settings, which were checked.
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

/// The body with these settings written out in it, which says to whoever reads it what the request came to.
/// `said`: what it said before they were given. Both were read before.
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
