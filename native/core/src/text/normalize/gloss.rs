//! Glosses: CLDR's English short names for emoji and symbols, and the caller's own words for their terms.

use std::cell::Cell;

use super::edits::Edits;
use super::properties::{Kind, properties};
use super::repair;
use super::spelling::Spelled;
use crate::forms::{Forms, MOST_STEPS_PER_BYTE, Pairs};
use crate::text::normalize_tables::{NAME_FIRSTS, NAMES};

/// Where a gloss goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In parentheses after the item.
    After,
    /// Instead of the item.
    Instead,
}

/// Limits on the cost of glossing a text. Both costs can grow with the text's length times a gloss's or a
/// form's, so a short body can cause much work.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Longest body whose text may need repair or glosses. Longer ones must be plain, so that their text is
    /// only copied.
    pub worked_body: usize,
    /// Most bytes of the glossed text, however long the text is.
    pub text_bytes: usize,
    /// Most bytes of the glossed text for each byte of the text, besides [`FREE_TEXT_BYTES`].
    pub growth: usize,
    /// Most steps of the search for the surface forms, for each byte of the text.
    pub steps: usize,
}

/// Bytes that any glossed text may have, whatever [`Bounds::growth`] is.
const FREE_TEXT_BYTES: usize = 64 << 10;

impl Bounds {
    /// Most bytes of a glossed text.
    fn most_bytes(self, source: &str) -> usize {
        let grown = source.len().saturating_mul(self.growth);
        self.text_bytes.min(grown.saturating_add(FREE_TEXT_BYTES))
    }

    /// No limits.
    pub const NONE: Bounds = Bounds {
        worked_body: usize::MAX,
        text_bytes: usize::MAX,
        growth: usize::MAX,
        steps: usize::MAX,
    };
    /// For work on the event loop.
    pub const BRIEF: Bounds = Bounds {
        worked_body: 32 << 10,
        text_bytes: 64 << 10,
        growth: usize::MAX,
        steps: MOST_STEPS_PER_BYTE,
    };
    /// For one request: four times the longest body. Both limits are more than CLDR's names can make of any
    /// text; without the second, a body of 6 KB could have an answer of 12 MB.
    pub const REQUEST: Bounds = Bounds {
        worked_body: usize::MAX,
        text_bytes: 8 << 20,
        growth: 32,
        steps: MOST_STEPS_PER_BYTE,
    };
    /// For one piece of a file.
    pub const PIECE: Bounds = Bounds {
        worked_body: usize::MAX,
        text_bytes: 1 << 30,
        growth: usize::MAX,
        steps: usize::MAX,
    };
}

/// The [`Bounds`] that a text and its glosses exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The body is long and its text is not plain.
    Body,
    /// The glossed text is too long.
    Text,
    /// The search for the surface forms takes too long.
    Forms,
}

/// The caller's glosses, prepared for the search.
pub struct Glosses {
    forms: Forms,
}

fn repaired(text: &str, contextual: bool) -> String {
    let mut out = Vec::new();
    repair::text(text, contextual).apply(text.as_bytes(), &mut out);
    String::from_utf8(out).unwrap_or_default()
}

impl Glosses {
    /// Glosses by surface form; the last of equal forms counts, empty ones are ignored. Forms and glosses are
    /// repaired, since they are searched for in repaired text and inserted there.
    #[must_use]
    pub fn new(pairs: Pairs, contextual: bool) -> Self {
        // Most need no repair, and no copy.
        if repair::plain_length(pairs.text().as_bytes()) == pairs.text().len() {
            return Glosses {
                forms: Forms::new(pairs),
            };
        }
        let mut whole = Pairs::default();
        for (form, word) in pairs.iter() {
            whole.add(&repaired(form, contextual), &repaired(word, contextual));
        }
        drop(pairs);
        Glosses {
            forms: Forms::new(whole),
        }
    }

    fn find<'a>(&'a self, text: &'a str, left: &'a Cell<usize>) -> impl Iterator<Item = Item<'a>> {
        self.forms.find(text, left).map(|found| Item {
            start: found.place.start,
            end: found.place.end,
            word: found.word,
            kind: Kind::Gloss,
        })
    }
}

/// An item to gloss.
#[derive(Debug, Clone, Copy)]
struct Item<'a> {
    start: usize,
    end: usize,
    word: &'a str,
    kind: Kind,
}

/// The edits that gloss a repaired text, in one pass from left to right: the caller's forms, the longest at
/// each place; the plain spelling of words with super- and subscripts; and CLDR's names elsewhere.
///
/// # Errors
/// The exceeded bounds; the work stopped there.
pub fn text(
    source: &str,
    place: Place,
    glosses: Option<&Glosses>,
    spelled: &[Spelled],
    bounds: Bounds,
) -> Result<Edits, Refused> {
    // One more, since the search ends where none is left.
    let left = Cell::new(source.len().saturating_mul(bounds.steps).saturating_add(1));
    let found = glosses.map(|glosses| glosses.find(source, &left));
    let most_bytes = bounds.most_bytes(source);
    let (mut edits, mut led) = (Edits::default(), Led::default());
    let mut callers = found.into_iter().flatten().peekable();
    let mut spelled = spelled.iter().peekable();
    let mut at = 0;
    loop {
        let caller = callers.peek().map_or(source.len(), |item| item.start);
        // A spelling is skipped if one of the caller's forms is in it or begins before its end.
        while spelled
            .next_if(|word| word.start < at || word.start <= caller && caller < word.end)
            .is_some()
        {}
        let spelling = spelled.peek().map_or(source.len(), |word| word.start);
        let item = match next_named(source, at, caller.min(spelling)) {
            Some(item) => item,
            None if spelling < caller => match spelled.next() {
                Some(word) => Item {
                    start: word.start,
                    end: word.end,
                    word: &word.plain,
                    kind: Kind::Script,
                },
                None => break,
            },
            None => match callers.next() {
                Some(item) => item,
                None => break,
            },
        };
        let next = callers.peek().map_or(source.len(), |next| next.start);
        put(source, item, place, next, &mut led, &mut edits);
        at = item.end.max(edits.end());
        if source.len() + edits.text_bytes() > most_bytes {
            return Err(Refused::Text);
        }
    }
    if left.get() == 0 {
        return Err(Refused::Forms);
    }
    Ok(edits)
}

/// The end of the last gloss. A gloss that touches it needs the character before it, and looking back past
/// removed forms for every gloss would take quadratic time.
#[derive(Debug, Default, Clone, Copy)]
struct Led {
    /// End of the last gloss in the source.
    end: usize,
    /// The character before that place in the edited text, and true if a gloss inserted it.
    last: (Option<char>, bool),
}

impl Led {
    /// The character before `start` in the edited text, and true if a gloss inserted it.
    fn before(self, source: &str, start: usize) -> (Option<char>, bool) {
        if start == self.end {
            self.last
        } else {
            (source[..start].chars().next_back(), false)
        }
    }
}

/// Inserts one gloss, with a space if it would run into a word or another gloss. `next`: the place of the
/// next of the caller's forms.
fn put(source: &str, item: Item<'_>, place: Place, next: usize, led: &mut Led, edits: &mut Edits) {
    let Item {
        start,
        mut end,
        word,
        kind,
    } = item;
    let clings = |c: Option<char>| c.is_some_and(|c| properties(c).word());
    // The gloss before it may already end with a space.
    let (before, of_gloss) = led.before(source, start);
    let runs_on = of_gloss && before != Some(' ');
    let mut before_word = clings(source[end..].chars().next());
    let mut text = String::new();
    match place {
        Place::After if word.is_empty() => return,
        Place::After => {
            text.push_str(if runs_on { " " } else { "" });
            text.push_str(&source[start..end]);
            text.push_str(" (");
            text.push_str(word);
            text.push(')');
        }
        Place::Instead if word.is_empty() => {
            // A form without gloss is removed; one space stays, and only between words.
            before_word &= runs_on || clings(before);
            let spaced = before.is_none_or(char::is_whitespace);
            if spaced && end < next && source[end..].starts_with(' ') {
                end += 1;
            }
        }
        Place::Instead => {
            let apart = runs_on || !of_gloss && clings(before);
            text.push_str(if apart { " " } else { "" });
            text.push_str(word);
        }
    }
    text.push_str(if before_word { " " } else { "" });
    // Each gloss is a separate change, also if two touch.
    edits.push_apart(start, end, text.as_bytes(), kind);
    let last = text.chars().next_back().map(|last| (Some(last), true));
    *led = Led {
        end,
        last: last.unwrap_or((before, of_gloss)),
    };
}

/// First bytes of U+20E3 and of the characters with which a name's sequence begins.
static LEADS: [bool; 256] = {
    let mut leads = [false; 256];
    leads[0xE2] = true;
    let mut at = 0;
    while at < NAME_FIRSTS.len() {
        let code = NAME_FIRSTS[at].0;
        let lead = match code {
            ..0x80 => 0,
            0x80..0x800 => 0xC0 | code >> 6,
            0x800..0x1_0000 => 0xE0 | code >> 12,
            _ => 0xF0 | code >> 18,
        };
        leads[lead as usize] = true;
        at += 1;
    }
    leads[0] = false;
    leads
};

/// The next emoji or symbol with a name between `at` and `limit`; a run of equal ones counts as one.
fn next_named(source: &str, mut at: usize, limit: usize) -> Option<Item<'static>> {
    let first = at;
    let text = &source[..limit];
    loop {
        let bytes = &text.as_bytes()[at..];
        at += bytes.iter().position(|&byte| LEADS[usize::from(byte)])?;
        let c = text[at..].chars().next()?;
        if c == '\u{20E3}'
            && let Some(item) = keycap(source, first, at)
        {
            return Some(item);
        }
        if !properties(c).named() {
            at += c.len_utf8();
            continue;
        }
        let Some((length, word)) = named(&text[at..]) else {
            at += unnamed_length(&text[at..], c);
            continue;
        };
        let mut end = at + length;
        // Sequences of one name begin with one character.
        while text[end..].starts_with(c)
            && let Some((more, _)) = named(&text[end..]).filter(|(_, next)| *next == word)
        {
            end += more;
        }
        let kind = if properties(c).emoji() {
            Kind::Emoji
        } else {
            Kind::Symbol
        };
        return Some(Item {
            start: at,
            end,
            word,
            kind,
        });
    }
}

fn is_regional(c: char) -> bool {
    ('\u{1F1E6}'..='\u{1F1FF}').contains(&c)
}

/// Length of a sequence without a name: two regional indicators are one flag, named or not.
fn unnamed_length(text: &str, c: char) -> usize {
    let next = text[c.len_utf8()..].chars().next();
    match next {
        Some(next) if is_regional(c) && is_regional(next) => c.len_utf8() + next.len_utf8(),
        _ => c.len_utf8(),
    }
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{FE0E}' | '\u{FE0F}')
}

/// The keycap whose U+20E3 is at `at`; it must not begin before `first`.
fn keycap(source: &str, first: usize, at: usize) -> Option<Item<'static>> {
    let mut before = source[first..at]
        .char_indices()
        .rev()
        .filter(|(_, c)| !is_selector(*c));
    let (place, base) = before.next()?;
    let mut key = String::from(base);
    key.push('\u{20E3}');
    let name = NAMES
        .binary_search_by(|(sequence, _)| (*sequence).cmp(&key))
        .ok()?;
    Some(Item {
        start: first + place,
        end: at + '\u{20E3}'.len_utf8(),
        word: NAMES[name].1,
        kind: Kind::Emoji,
    })
}

/// The longest named sequence at the start of `text`: its length with trailing selectors, and its name.
fn named(text: &str) -> Option<(usize, &'static str)> {
    let c = text.chars().next()?;
    let first = NAME_FIRSTS
        .binary_search_by_key(&u32::from(c), |(code, _, _)| *code)
        .ok()?;
    let (_, from, to) = NAME_FIRSTS[first];
    let mut candidates: &'static [(&str, &str)] = &NAMES[usize::from(from)..usize::from(to)];
    let (mut at, mut matched, mut best) = (c.len_utf8(), c.len_utf8(), None);
    loop {
        // Shorter keys come before longer ones with the same prefix.
        if let Some((key, name)) = candidates.first()
            && key.len() == matched
        {
            best = Some((at, *name));
            candidates = &candidates[1..];
        }
        if candidates.is_empty() {
            break;
        }
        let selectors = selectors_length(&text[at..]);
        let Some(next) = text[at + selectors..].chars().next() else {
            break;
        };
        let mut buffer = [0; 4];
        let part: &[u8] = next.encode_utf8(&mut buffer).as_bytes();
        let rest = |key: &'static str| &key.as_bytes()[matched..];
        let start = candidates.partition_point(|(key, _)| rest(key) < part);
        let count = candidates[start..].partition_point(|(key, _)| rest(key).starts_with(part));
        candidates = &candidates[start..start + count];
        at += selectors + part.len();
        matched += part.len();
    }
    let (length, name) = best?;
    Some((length + selectors_length(&text[length..]), name))
}

/// Length of the variation selectors at the start of `text`.
fn selectors_length(text: &str) -> usize {
    text.chars()
        .take_while(|c| is_selector(*c))
        .map(char::len_utf8)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::normalize::{MAX_CHARACTERS, Mode, naive};

    fn glossed(text: &str, place: Place, pairs: &[(&str, &str)]) -> String {
        let pairs = pairs.iter().copied().collect();
        let mode = match place {
            Place::After => Mode::Augment,
            Place::Instead => Mode::Replace,
        };
        naive::assert_sound(text, mode, true, Some(&Glosses::new(pairs, true)))
    }

    #[test]
    fn sequences_of_one_name_begin_with_one_character() {
        let mut firsts = std::collections::HashMap::new();
        for (sequence, name) in NAMES {
            let first = sequence.chars().next();
            assert_eq!(*firsts.entry(name).or_insert(first), first, "{name}");
        }
    }

    #[test]
    fn a_text_and_its_glosses_may_be_as_long_as_their_bound() {
        let glosses = Glosses::new([("a", "xyz")].into_iter().collect(), true);
        let put = |source: &str, bounds| {
            let edits = text(source, Place::Instead, Some(&glosses), &[], bounds);
            edits.map(|edits| edits.text_bytes()).map_err(|_| ())
        };
        let source = "a-a-a-";
        let made = put(source, Bounds::NONE).expect("no bound");
        assert!(made >= 9);
        for (text_bytes, expected) in [
            (source.len() + made - 1, Err(())),
            (source.len() + made, Ok(made)),
            (source.len() + made + 1, Ok(made)),
            (1, Err(())),
        ] {
            let bounds = Bounds {
                text_bytes,
                ..Bounds::NONE
            };
            assert_eq!(put(source, bounds), expected, "{text_bytes}");
        }
        // A short text may have glosses of any length for its own.
        let bounds = Bounds {
            growth: 0,
            ..Bounds::NONE
        };
        assert_eq!(put(source, bounds), Ok(made));
        assert_eq!(put(&source.repeat(10_000), bounds), Err(()));
    }

    #[test]
    fn names_alone_keep_a_text_within_a_requests_bounds() {
        // In parentheses, with a space on each side.
        let most = |(sequence, name): &(&str, &str)| {
            (sequence.len() + name.len() + " ( ) ".len()).div_ceil(sequence.chars().count())
        };
        let growth = NAMES.iter().map(most).max().unwrap_or_default();
        let more = |(sequence, name): &(&str, &str)| {
            (sequence.len() + name.len() + " ( ) ".len()).div_ceil(sequence.len())
        };
        // And the text itself.
        assert!(NAMES.iter().map(more).max().unwrap_or_default() < Bounds::REQUEST.growth);
        let longest = usize::try_from(MAX_CHARACTERS).expect("a length");
        assert!(longest * ('\u{10FFFF}'.len_utf8() + growth) <= Bounds::REQUEST.text_bytes);
    }

    #[test]
    fn a_name_is_found_by_whatever_byte_its_sequence_begins_with() {
        let mut begun = [false; 256];
        for (sequence, name) in NAMES {
            let first = usize::from(sequence.as_bytes()[0]);
            if !std::mem::replace(&mut begun[first], true) {
                assert_eq!(glossed(sequence, Place::Instead, &[]), *name, "{sequence}");
            }
        }
        // Of two, three and four bytes.
        assert!([0xC2, 0xE2, 0xE3, 0xF0].iter().all(|&first: &usize| begun[first]));
    }

    #[test]
    fn glosses_that_touch_are_one_space_apart() {
        let animals = [("犬", "dog"), ("猫", "cat")];
        assert_eq!(glossed("犬猫", Place::After, &animals), "犬 (dog) 猫 (cat)");
        assert_eq!(glossed("犬猫犬", Place::Instead, &animals), "dog cat dog");
        assert_eq!(glossed("x犬猫y", Place::Instead, &animals), "x dog cat y");
        assert_eq!(
            glossed("5\u{FE0F}\u{20E3}5\u{FE0F}\u{20E3}", Place::After, &[]),
            "5\u{FE0F}\u{20E3} (keycap: 5) 5\u{FE0F}\u{20E3} (keycap: 5)"
        );
        assert_eq!(
            glossed("犬猫", Place::Instead, &[("犬", "dog "), ("猫", "cat")]),
            "dog  cat"
        );
        assert_eq!(
            glossed("犬猫", Place::Instead, &[("犬", ""), ("猫", "cat")]),
            "cat"
        );
    }

    #[test]
    fn a_form_that_is_removed_leaves_one_space_between_words_and_none_elsewhere() {
        let removed = |text: &str| glossed(text, Place::Instead, &[("北", ""), ("猫", "cat"), (" z", "z")]);
        for (text, expected) in [
            ("a北b", "a b"),
            ("a 北 b", "a b"),
            ("a 北b", "a b"),
            ("a北 b", "a b"),
            ("a北北b", "a b"),
            ("a 北 北 b", "a b"),
            ("a北.", "a."),
            ("(北)", "()"),
            ("北 b", "b"),
            ("a\n北 b", "a\nb"),
            ("a 北", "a "),
            ("北", ""),
            ("a北猫b", "a cat b"),
            ("a 北猫", "a cat"),
            ("猫北猫", "cat cat"),
            ("a北\u{2764}b", "a red heart b"),
            ("a 北 z", "a z"),
        ] {
            assert_eq!(removed(text), expected, "{text}");
        }
    }
}
