//! The tokenizers: `ws` (maximal runs of letters, numbers and marks) and `ngram` (character bigrams
//! inside those runs), both over fully case-folded text (Unicode Standard section 3.13; no normalisation).
//!
//! Tokens are passed to the caller or counted at once; none is stored. Texts must be valid UTF-8.

use super::ascii::count_ws_ascii;
use super::terms::{Bigrams, Hits, Terms};
use crate::cpu::scan;
use crate::unicode::words::{self, Kind, kind};

/// Ways to cut texts into tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tokenizer {
    /// Runs of letters, numbers and marks.
    Ws,
    /// Tokens inside those runs, each identified by a key.
    Keyed(Keyed),
}

/// A tokenizer whose tokens are keys of [`Bigrams`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keyed {
    /// Character bigrams.
    Ngram,
}

/// Every tokenizer by its name.
pub(crate) const TOKENIZERS: [(&[u8], Tokenizer); 2] =
    [Tokenizer::Ws.entry(), Tokenizer::Keyed(Keyed::Ngram).entry()];

impl Tokenizer {
    /// Its name in requests.
    pub(crate) const fn name(self) -> &'static [u8] {
        match self {
            Tokenizer::Ws => b"ws",
            Tokenizer::Keyed(Keyed::Ngram) => b"ngram",
        }
    }

    const fn entry(self) -> (&'static [u8], Self) {
        (self.name(), self)
    }

    /// The tokenizer with a name.
    pub fn named(name: &[u8]) -> Option<Self> {
        let known = TOKENIZERS.iter().find(|(known, _)| *known == name);
        known.map(|&(_, tokenizer)| tokenizer)
    }
}

impl Keyed {
    /// Calls `each` with the key of every token of `text`.
    #[inline]
    pub fn each(self, text: &[u8], each: impl FnMut(u64)) {
        match self {
            Keyed::Ngram => ngram(text, each),
        }
    }

    /// Calls `each` with the key of every token of `text` and its positions as in [`ws_places`]: those of the
    /// characters that it was made from.
    pub(crate) fn places(self, text: &str, each: impl FnMut(u64, u32, u32)) {
        match self {
            Keyed::Ngram => ngram_places(text, each),
        }
    }

    /// Counts the tokens of `text` that are in the query; returns the number of all tokens.
    pub fn count(self, text: &[u8], bigrams: &Bigrams, hits: &mut Hits) -> usize {
        let mut tokens = 0;
        self.each(text, |key| {
            tokens += 1;
            bigrams.count(key, hits);
        });
        tokens
    }
}

/// For each ASCII byte its folded form, or 0 if it ends a token.
static ASCII: [u8; 128] = {
    let mut table = [0; 128];
    let mut byte = 0;
    while byte < 128 {
        if (byte as u8).is_ascii_alphanumeric() {
            table[byte] = (byte as u8).to_ascii_lowercase();
        }
        byte += 1;
    }
    table
};

/// The character at `at`: its kind, its code point, its length in bytes.
#[inline(always)]
fn character(text: &[u8], at: usize) -> (Kind, u32, usize) {
    let first = text[at];
    if first < 0x80 {
        let folded = ASCII[usize::from(first)];
        let kind = match folded {
            0 => Kind::Separator,
            _ if folded == first => Kind::Word,
            _ => Kind::Folded,
        };
        return (kind, u32::from(first), 1);
    }
    let (code, length) = decode(&text[at..]);
    (kind(code), code, length)
}

/// Code point of the first character of UTF-8 that does not begin with ASCII, and its length in bytes.
#[inline(always)]
fn decode(text: &[u8]) -> (u32, usize) {
    let low = |byte: u8| u32::from(byte & 0x3F);
    match *text {
        [first @ 0xE0..0xF0, second, third, ..] => {
            (u32::from(first & 0xF) << 12 | low(second) << 6 | low(third), 3)
        }
        [first @ ..0xE0, second, ..] => (u32::from(first & 0x1F) << 6 | low(second), 2),
        [first, second, third, fourth, ..] => (
            u32::from(first & 7) << 18 | low(second) << 12 | low(third) << 6 | low(fourth),
            4,
        ),
        // Valid UTF-8 does not end within a character.
        _ => (u32::from(char::REPLACEMENT_CHARACTER), text.len()),
    }
}

/// The case folding of a character of kind [`Kind::Folded`].
#[inline]
fn parts(code: u32) -> impl Iterator<Item = char> {
    let folded = match ASCII.get(code as usize) {
        Some(&ascii) => [ascii as char, '\0', '\0'],
        None => words::folded(code),
    };
    folded.into_iter().filter(|&part| part != '\0')
}

/// The current run: its start in the text while folding changes nothing in it; later, the token buffer has a
/// folded copy.
#[derive(Clone, Copy)]
enum Run {
    Outside,
    Plain(usize),
    Folded,
}

/// Calls `each` with every `ws` token of `text` from `at` on, folded. `token` is a buffer for one token.
/// Returns where it stopped: at the end, or after an ASCII separator if `may_stop` is true of that place.
#[inline]
fn ws_until(
    text: &[u8],
    mut at: usize,
    token: &mut Vec<u8>,
    mut each: impl FnMut(&[u8]),
    may_stop: impl Fn(usize) -> bool,
) -> usize {
    let mut run = Run::Outside;
    while at < text.len() {
        let (kind, code, length) = character(text, at);
        match (kind, run) {
            (Kind::Word, Run::Outside) => run = Run::Plain(at),
            (Kind::Word, Run::Plain(_)) | (Kind::Separator, Run::Outside) => {}
            (Kind::Word, Run::Folded) => token.extend_from_slice(&text[at..at + length]),
            (Kind::Folded, _) => {
                match run {
                    Run::Outside => token.clear(),
                    Run::Plain(start) => {
                        token.clear();
                        token.extend_from_slice(&text[start..at]);
                    }
                    Run::Folded => {}
                }
                run = Run::Folded;
                for part in parts(code) {
                    token.extend_from_slice(part.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
            (Kind::Separator, Run::Plain(start)) => each(&text[start..at]),
            (Kind::Separator, Run::Folded) => each(token),
        }
        at += length;
        if kind == Kind::Separator {
            run = Run::Outside;
            if code < 0x80 && may_stop(at) {
                return at;
            }
        }
    }
    match run {
        Run::Outside => {}
        Run::Plain(start) => each(&text[start..]),
        Run::Folded => each(token),
    }
    at
}

/// Calls `each` with every `ws` token of `text`, folded. `token` is a buffer for one token.
pub fn ws(text: &[u8], token: &mut Vec<u8>, each: impl FnMut(&[u8])) {
    ws_until(text, 0, token, each, |_| false);
}

/// Counts the `ws` tokens of `text` that are terms; returns the number of all tokens.
pub fn count_ws(text: &[u8], token: &mut Vec<u8>, terms: &Terms, hits: &mut Hits) -> usize {
    count_ws_by(text, token, terms, hits, Terms::count)
}

/// As [`count_ws`], for terms that are forms.
pub(crate) fn count_ws_forms(text: &[u8], token: &mut Vec<u8>, terms: &Terms, hits: &mut Hits) -> usize {
    count_ws_by(text, token, terms, hits, Terms::count_form)
}

/// Collects the terms of all `ws` tokens of `text` in [`Hits::met`].
pub(crate) fn collect_ws(text: &[u8], token: &mut Vec<u8>, terms: &Terms, hits: &mut Hits) {
    count_ws_by(text, token, terms, hits, Terms::collect);
}

/// Does the work of [`count_ws`] and [`collect_ws`] in one pass.
pub(crate) fn count_and_collect_ws(
    text: &[u8],
    token: &mut Vec<u8>,
    terms: &Terms,
    hits: &mut Hits,
) -> usize {
    count_ws_by(text, token, terms, hits, Terms::count_and_collect)
}

/// True if a character is part of a token.
pub(crate) fn is_in_token(character: char) -> bool {
    kind(character as u32) != Kind::Separator
}

/// Calls `each` with every `ws` token of `text`, folded, and its positions in code points: its first one and
/// the one after its last. `token` is a buffer for one token.
pub(crate) fn ws_places(text: &str, token: &mut Vec<u8>, mut each: impl FnMut(&[u8], u32, u32)) {
    // Start of the current run, in bytes and in code points.
    let mut open: Option<(usize, u32)> = None;
    let mut count = 0;
    let mut end = |open: Option<(usize, u32)>, at: usize, count: u32| {
        if let Some((start, first)) = open {
            // Folding produces no separator, so a run is one token.
            ws(&text.as_bytes()[start..at], token, |token| {
                each(token, first, count)
            });
        }
    };
    for (at, character) in text.char_indices() {
        if is_in_token(character) {
            open.get_or_insert((at, count));
        } else {
            end(open.take(), at, count);
        }
        count += 1;
    }
    end(open, text.len(), count);
}

/// [`Keyed::places`] of `ngram`.
fn ngram_places(text: &str, mut each: impl FnMut(u64, u32, u32)) {
    let mut last: Option<(u32, u32)> = None;
    let mut alone = false;
    let end = |alone: bool, last: Option<(u32, u32)>, each: &mut dyn FnMut(u64, u32, u32)| {
        if let (true, Some((code, at))) = (alone, last) {
            each(Bigrams::single(code), at, at + 1);
        }
    };
    for (at, character) in text.chars().enumerate() {
        let (at, code) = (at as u32, character as u32);
        let mut extend = |code: u32| {
            alone = last.is_none();
            if let Some((before, place)) = last {
                each(Bigrams::pair(before, code), place, at + 1);
            }
            last = Some((code, at));
        };
        match kind(code) {
            Kind::Word => extend(code),
            Kind::Folded => parts(code).for_each(|part| extend(part as u32)),
            Kind::Separator => {
                end(alone, last.take(), &mut each);
                alone = false;
            }
        }
    }
    end(alone, last, &mut each);
}

/// As [`count_ws`], with `one` for tokens beyond ASCII stretches.
#[inline]
fn count_ws_by(
    text: &[u8],
    token: &mut Vec<u8>,
    terms: &Terms,
    hits: &mut Hits,
    one: impl Fn(&Terms, &[u8], &mut Hits),
) -> usize {
    let mut tokens = 0;
    let mut at = 0;
    while at < text.len() {
        // A stretch of ASCII, without the token that may continue after it.
        let stretch = scan::ascii_length(&text[at..]);
        let after = at + stretch;
        let kept = if after == text.len() {
            stretch
        } else {
            last_separator(&text[at..after])
        };
        tokens += count_ws_ascii(text, at, at + kept, terms, hits);
        at += kept;
        let mut count = |token: &[u8]| {
            tokens += 1;
            one(terms, token, hits);
        };
        at = ws_until(text, at, token, &mut count, |next| {
            next > after && text.get(next).is_some_and(u8::is_ascii)
        });
    }
    tokens
}

/// Length of ASCII `text` up to its last separator, with the separator.
fn last_separator(text: &[u8]) -> usize {
    text.iter()
        .rposition(|byte| !byte.is_ascii_alphanumeric())
        .map_or(0, |at| at + 1)
}

/// The last character of the current run, which the next bigram needs.
struct Tail {
    /// Its code point, or [`Tail::OUTSIDE`].
    last: u32,
    /// True if it is the run's only one so far.
    alone: bool,
}

impl Tail {
    const OUTSIDE: u32 = u32::MAX;

    #[inline(always)]
    fn extend(&mut self, code: u32, each: &mut impl FnMut(u64)) {
        self.alone = self.last == Tail::OUTSIDE;
        if !self.alone {
            each(Bigrams::pair(self.last, code));
        }
        self.last = code;
    }

    #[inline(always)]
    fn end(&mut self, each: &mut impl FnMut(u64)) {
        // A run of one character is a token by itself.
        if self.alone {
            each(Bigrams::single(self.last));
        }
        *self = Tail {
            last: Tail::OUTSIDE,
            alone: false,
        };
    }
}

/// [`Keyed::each`] of `ngram`.
#[inline]
fn ngram(text: &[u8], mut each: impl FnMut(u64)) {
    let mut tail = Tail {
        last: Tail::OUTSIDE,
        alone: false,
    };
    let mut at = 0;
    while at < text.len() {
        let (kind, code, length) = character(text, at);
        at += length;
        match kind {
            Kind::Word => tail.extend(code, &mut each),
            Kind::Separator => tail.end(&mut each),
            Kind::Folded => parts(code).for_each(|part| tail.extend(part as u32, &mut each)),
        }
    }
    tail.end(&mut each);
}
