//! Composition: characters that NFC joins or orders, and their NFC.

use super::super::properties::{Action, properties};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::canonical_combining_class;

/// True if `c` may compose with what stands before it.
pub(super) fn composes(c: char) -> bool {
    matches!(properties(c).action(), Action::Compose | Action::Mark)
}

/// True if the mark at `at` does not belong before the character in front of it.
pub(super) fn in_order(line: &str, at: usize) -> bool {
    let class = |c: Option<char>| c.map_or(0, canonical_combining_class);
    class(line[..at].chars().next_back()) <= class(line[at..].chars().next())
}

/// Start and end of the characters around `at` that NFC may change together: from the last one that composes
/// with nothing before it, up to the next such character.
pub(super) fn around(line: &str, at: usize) -> (usize, usize) {
    let before = line[..at].char_indices().rev();
    let first = before
        .take_while(|(_, c)| composes(*c))
        .last()
        .map_or(at, |(place, _)| place);
    let start = first - line[..first].chars().next_back().map_or(0, char::len_utf8);
    let end = line[at..]
        .char_indices()
        .find(|(_, c)| !composes(*c))
        .map_or(line.len(), |(place, _)| at + place);
    (start, end)
}

/// The NFC of `part`, without a first character that stays as it is, and that character's length; `None` if
/// nothing changes.
pub(super) fn composed(part: &str) -> Option<(usize, String)> {
    if unicode_normalization::is_nfc(part) {
        return None;
    }
    let mut composed: String = part.nfc().collect();
    let first = part.chars().next().map_or(0, char::len_utf8);
    if composed.starts_with(&part[..first]) && first < part.len() {
        Some((first, composed.split_off(first)))
    } else {
        Some((0, composed))
    }
}
