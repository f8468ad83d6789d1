//! Words with letters of several scripts.

use crate::text::normalize::properties::{Action, greek_symbol, properties};

/// Most removable characters between a joiner and its neighbour.
pub(super) const NEIGHBOUR_DISTANCE: usize = 4;

/// True if a letter is a lower-case Greek one with its own meaning. Inside a Latin word, with lower-case
/// Latin letters on both sides, it is a disguise.
pub(super) fn stands_for_itself(line: &str, at: usize, c: char) -> bool {
    let hides = |neighbours: &mut dyn Iterator<Item = char>| {
        let nearest = neighbours.take(NEIGHBOUR_DISTANCE).find(|c| !greek_symbol(*c));
        nearest.is_some_and(|c| properties(c).letter() && properties(c).latin() && c.is_lowercase())
    };
    greek_symbol(c)
        && !(hides(&mut line[..at].chars().rev()) && hides(&mut line[at + c.len_utf8()..].chars()))
}

/// Other letters in a word, besides those that resemble Latin ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Others {
    None,
    /// Only Latin letters.
    Latin,
    /// A letter of another script.
    Foreign,
}

/// The letters of the word at the start of `text`, and its end, or the end of its first foreign letter.
pub(super) fn others_in_word(text: &str) -> (usize, Others) {
    let mut others = Others::None;
    for (at, c) in text.char_indices() {
        if c.is_ascii_alphabetic() {
            others = Others::Latin;
            continue;
        }
        let known = properties(c);
        if !known.word() {
            return (at, others);
        }
        if known.letter() && known.latin() {
            others = Others::Latin;
        } else if known.letter() && !known.neutral() && known.action() != Action::Confusable {
            return (at + c.len_utf8(), Others::Foreign);
        }
    }
    (text.len(), others)
}
