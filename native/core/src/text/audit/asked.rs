//! The words of a record that normalization may make findable, as people type them on a plain keyboard, and
//! for each, whether a query of only that word finds the record before and after normalization. A BM25 score
//! is above 0 exactly if a term of the query occurs (its idf is always above 0).

use std::collections::HashMap;

use super::analyzers::{Analyzer, Needs};
use crate::text::normalize::edits::{Edit, Edits};
use crate::text::normalize::properties::properties;
use crate::text::normalize::spelling::Spelled;

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || !c.is_ascii() && properties(c).word()
}

/// The words that edits touch in the edited text, each with its place.
struct Touched<'a> {
    text: &'a str,
    spelled: &'a [Spelled],
    /// The ranges of inserted characters, in order.
    ranges: &'a [(usize, usize)],
    /// End of the last word, so that no word is returned twice.
    done: usize,
}

impl Touched<'_> {
    /// True if the character at `at` joins both sides into one word: an apostrophe between letters, or a sign
    /// of a power or fraction that an edit inserted.
    fn joins(&self, at: usize, c: char) -> bool {
        if !matches!(c, '\'' | '/' | '^' | '_' | '-') {
            return false;
        }
        let range = self.ranges.partition_point(|(_, to)| *to <= at);
        let inside = self.ranges.get(range).is_some_and(|(from, _)| *from <= at);
        let before = self.text[..at].chars().next_back();
        let mut rest = self.text[at + c.len_utf8()..].chars();
        let after = match rest.next() {
            Some('-') if c == '^' => rest.next(),
            after => after,
        };
        let both = |holds: fn(char) -> bool| before.is_some_and(holds) && after.is_some_and(holds);
        match c {
            '\'' => both(|c| c.is_ascii_alphabetic() || properties(c).letter()),
            '/' => inside && both(|c| c.is_ascii_digit()),
            '^' | '_' => inside && both(is_word),
            '-' => inside && before == Some('^') && after.is_some_and(is_word),
            _ => false,
        }
    }

    /// The words that overlap or touch the range from `from` to `to`.
    fn each(&mut self, from: usize, to: usize, mut word: impl FnMut(&str)) {
        if to <= self.done && self.done > 0 {
            return;
        }
        let part = |at: usize, c: char| is_word(c) || self.joins(at, c);
        // If the last returned word reaches into the range, the next one begins after it.
        let from = from.max(self.done);
        let before = self.text[self.done..from].char_indices().rev();
        let lead: usize = before
            .take_while(|(at, c)| part(self.done + at, *c))
            .map(|(_, c)| c.len_utf8())
            .sum();
        let mut start = None;
        let begin = from - lead;
        let mut end = self.text.len();
        for (offset, c) in self.text[begin..].char_indices() {
            let at = begin + offset;
            if part(at, c) {
                start.get_or_insert(at);
                continue;
            }
            if let Some(first) = start.take() {
                word(self.spelling(first, at));
            }
            if at >= to {
                end = at;
                break;
            }
        }
        if let Some(first) = start {
            word(self.spelling(first, self.text.len()));
        }
        self.done = end;
    }

    /// A word as people type it.
    fn spelling(&self, start: usize, end: usize) -> &str {
        let at = self.spelled.partition_point(|each| each.end <= start);
        match self.spelled.get(at) {
            Some(each) if each.start < end => &each.plain,
            _ => &self.text[start..end],
        }
    }
}

/// Index and bit of a term's first byte and length.
#[inline]
fn shape(term: &[u8]) -> (usize, u64) {
    let first = term.first().copied().unwrap_or(0);
    let hash = usize::from(first).wrapping_mul(7) + term.len();
    (hash >> 6 & 3, 1 << (hash & 63))
}

/// Words to look for in one record.
#[derive(Debug, Default)]
pub struct Asked {
    analyzer: Analyzer,
    /// The number of each term.
    terms: HashMap<Vec<u8>, usize>,
    /// Bits of the terms' first bytes and lengths, which exclude most terms of a text.
    shapes: [u64; 4],
    /// For each term, bits of the texts in which it occurs.
    found: Vec<u8>,
    /// The term numbers of each word, in sequence, each word ended by [`END`].
    words: Vec<usize>,
    /// Index in `words` where the names of emoji and symbols begin.
    names: usize,
}

const END: usize = usize::MAX;
const BEFORE: u8 = 1;
const AFTER: u8 = 2;

impl Asked {
    /// An empty set for an analyzer.
    pub fn new(analyzer: Analyzer) -> Self {
        Asked {
            analyzer,
            ..Asked::default()
        }
    }

    /// Forgets the previous record.
    pub fn clear(&mut self) {
        self.terms.clear();
        self.shapes = [0; 4];
        self.found.clear();
        self.words.clear();
        self.names = 0;
    }

    fn add(&mut self, word: &str) {
        let Asked {
            analyzer,
            terms,
            shapes,
            found,
            words,
            ..
        } = self;
        let first = words.len();
        analyzer.terms(word, |term| {
            if analyzer.is_ignored(term) {
                return;
            }
            let next = terms.len();
            let number = match terms.get(term) {
                Some(known) => *known,
                None => {
                    terms.insert(term.to_vec(), next);
                    let (place, bit) = shape(term);
                    shapes[place] |= bit;
                    found.push(0);
                    next
                }
            };
            words.push(number);
        });
        if words.len() > first {
            words.push(END);
        }
    }

    /// Adds every word that the edits of a repair touch; `text` is the edited text.
    pub fn repaired(&mut self, repairs: &Edits, text: &str, spelled: &[Spelled]) {
        let mut shift = 0isize;
        let range = |edit: Edit| {
            let length = repairs.replacement(&edit).len();
            let from = edit.start.wrapping_add_signed(shift);
            shift += length as isize - (edit.end - edit.start) as isize;
            (from, from + length)
        };
        let ranges: Vec<(usize, usize)> = repairs.list().map(range).collect();
        let mut touched = Touched {
            text,
            spelled,
            ranges: &ranges,
            done: 0,
        };
        for &(from, to) in &ranges {
            touched.each(from, to, |word| self.add(word));
        }
        self.names = self.words.len();
    }

    /// Adds the words of an inserted name.
    pub fn named(&mut self, name: &str) {
        name.split(|c| !is_word(c))
            .filter(|word| !word.is_empty())
            .for_each(|word| self.add(word));
    }

    /// True if there are no words to look for.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    fn look(&mut self, text: &str, bit: u8) {
        let Asked {
            analyzer,
            terms,
            shapes,
            found,
            ..
        } = self;
        analyzer.terms(text, |term| {
            let (place, shape) = shape(term);
            if shapes[place] & shape == 0 {
                return;
            }
            if let Some(number) = terms.get(term) {
                found[*number] |= bit;
            }
        });
    }

    /// Looks for all words in both texts: true if one is found only in `after`, and true if such a word is
    /// not a name.
    pub fn gains(&mut self, before: &str, after: &str) -> (bool, bool) {
        self.look(before, BEFORE);
        self.look(after, AFTER);
        let needs = self.analyzer.needs();
        let finds = |word: &[usize], bit: u8| {
            let mut has = word.iter().map(|number| self.found[*number] & bit != 0);
            match needs {
                Needs::All => has.all(|has| has),
                Needs::First => has.next() == Some(true),
                Needs::Any => has.any(|has| has),
            }
        };
        let gains = |words: &[usize]| {
            let mut each = words
                .split(|number| *number == END)
                .filter(|word| !word.is_empty());
            each.any(|word| !finds(word, BEFORE) && finds(word, AFTER))
        };
        let own = gains(&self.words[..self.names]);
        (own || gains(&self.words[self.names..]), own)
    }
}
