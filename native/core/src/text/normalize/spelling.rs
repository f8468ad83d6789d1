//! Words with super- and subscripts, as people type them in plain characters: H2O, CO2, m2, Ca2+. Mode
//! `augment` puts that form after the repaired word, so that either finds it.

use super::edits::Edits;
use super::properties::{Kind, properties};

/// Units of length: people type their squares and cubes with a plain digit.
const UNITS: [&str; 14] = [
    "m", "mm", "cm", "dm", "km", "hm", "nm", "pm", "\u{3BC}m", "in", "ft", "yd", "mi", "ha",
];

/// A word of the repaired text, and its typed form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spelled {
    /// Its first byte.
    pub start: usize,
    /// The byte after it.
    pub end: usize,
    /// The word without the signs that the repair put before its super- and subscripts.
    pub plain: String,
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || properties(c).word()
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || properties(c).letter()
}

/// The end of the character at `place`.
fn after_character(text: &str, place: usize) -> usize {
    place + text[place..].chars().next().map_or(0, char::len_utf8)
}

/// The words of the repaired text `middle` that people type without a break: a subscript number after a
/// letter, a second or third power after a unit of length, or a charge after a letter.
#[must_use]
pub fn of(repairs: &Edits, source: &str, middle: &str) -> Vec<Spelled> {
    let mut found: Vec<Spelled> = Vec::new();
    let mut shift = 0isize;
    for edit in repairs.list() {
        let length = repairs.replacement(&edit).len();
        let from = edit.start.wrapping_add_signed(shift);
        shift += length as isize - (edit.end - edit.start) as isize;
        if edit.kinds & Kind::Script.bit() == 0 {
            continue;
        }
        // Merged edits may put many signs into one.
        let written = &source[edit.start..edit.end];
        let [power, index] = ['^', '_'].map(|sign| !written.contains(sign));
        for (offset, sign) in middle[from..from + length].char_indices() {
            if sign == '^' && power || sign == '_' && index {
                let run = &middle[from + offset + 1..from + length];
                add(&mut found, middle, from + offset, run);
            }
        }
    }
    found
}

/// Adds the word around the sign at `at` if people type it without a break. `run`, the rest of an edit,
/// begins with the scripts after the sign.
fn add(found: &mut Vec<Spelled>, middle: &str, at: usize, run: &str) {
    let before = &middle[found.last().map_or(0, |last| last.end)..at];
    let goes_on = before.is_empty() && !found.is_empty();
    let base = &before[before
        .rfind(|c| !is_word(c))
        .map_or(0, |place| after_character(before, place))..];
    let letters = &base[base
        .rfind(|c| !is_letter(c))
        .map_or(0, |place| after_character(base, place))..];
    if letters.is_empty() && !goes_on {
        return;
    }
    let digits = run.bytes().take_while(u8::is_ascii_digit).count();
    let after = at + 1 + digits;
    let charge = usize::from(middle[at..].starts_with('^') && run[digits..].starts_with(['+', '-']));
    let ends = run[digits + charge..].chars().next().is_none_or(|c| !is_word(c));
    let joined = digits > 0
        && ends
        && (middle[at..].starts_with('_')
            || charge > 0
            || matches!(&run[..digits], "2" | "3")
                && UNITS.contains(&letters)
                && !middle[after..].starts_with(is_word));
    if !joined {
        return;
    }
    let rest = &middle[after + charge..];
    let tail = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    let end = after + charge + if charge > 0 { 0 } else { tail };
    match found.last_mut() {
        // Another part of the same word: H2SO4.
        Some(word) if word.end == at => {
            word.plain.push_str(&middle[at + 1..end]);
            word.end = end;
        }
        _ => found.push(Spelled {
            start: at - base.len(),
            end,
            plain: [base, &middle[at + 1..end]].concat(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::{add, of};
    use crate::text::normalize::properties::Kind;
    use crate::text::normalize::{Mode, edits, naive};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn signs_are_those_that_were_not_written(text in "[²₂⁺a^_ H+x1\u{301}]{0,24}") {
            let repairs = edits(&text, Mode::Repair, true, None);
            let mut middle = Vec::new();
            repairs.apply(text.as_bytes(), &mut middle);
            let middle = String::from_utf8(middle).expect("text");
            let (mut expected, mut from, mut last) = (Vec::new(), 0, 0);
            for edit in repairs.list() {
                from += edit.start - last;
                last = edit.end;
                let end = from + repairs.replacement(&edit).len();
                let signs = (from..end).filter(|&at| {
                    let sign = char::from(middle.as_bytes()[at]);
                    matches!(sign, '^' | '_') && !text[edit.start..edit.end].contains(sign)
                });
                for at in signs.filter(|_| edit.kinds & Kind::Script.bit() != 0) {
                    add(&mut expected, &middle, at, &middle[at + 1..end]);
                }
                from = end;
            }
            prop_assert_eq!(of(&repairs, &text, &middle), expected);
        }
    }

    #[test]
    fn words_are_spelled_as_they_are_typed() {
        for (text, expected) in [
            ("H₂O", "H_2O (H2O)"),
            ("H₂O-based, CO₂.", "H_2O (H2O)-based, CO_2 (CO2)."),
            ("H₂SO₄ and C₆H₁₂O₆x", "H_2SO_4 (H2SO4) and C_6H_12O_6x (C6H12O6x)"),
            ("10 m², 5km³", "10 m^2 (m2), 5km^3 (5km3)"),
            ("Ca²⁺ Na⁺ SO₄²⁻", "Ca^2+ (Ca2+) Na^+ SO_4^2- (SO42-)"),
            (
                "E=mc², x², 10⁻⁶, cm⁻¹, aᵢ, word¹",
                "E=mc^2, x^2, 10^-6, cm^-1, a_i, word^1",
            ),
            ("x_2 x^2 H_2O", "x_2 x^2 H_2O"),
            ("½ log₂10", "1/2 log_210 (log210)"),
            ("❤CO₂❤", "❤ (red heart) CO_2 (CO2) ❤ (red heart)"),
        ] {
            assert_eq!(naive::assert_sound(text, Mode::Augment, true, None), expected);
        }
        assert_eq!(naive::assert_sound("H₂O", Mode::Replace, true, None), "H_2O");
        assert_eq!(naive::assert_sound("H₂O", Mode::Repair, true, None), "H_2O");
    }

    #[test]
    fn the_callers_gloss_counts() {
        let pairs = [("H₂O", "water")].into_iter().collect();
        let water = crate::text::normalize::gloss::Glosses::new(pairs, true);
        assert_eq!(
            naive::assert_sound("H₂O CO₂", Mode::Augment, true, Some(&water)),
            "H_2O (water) CO_2 (CO2)"
        );
    }
}
