//! The two tokenizers: `ws` (maximal runs of letters, numbers and marks) and `ngram` (character bigrams inside
//! those runs), both over fully case-folded text (Unicode Standard section 3.13; no normalisation).
//!
//! Tokens are handed to the caller or counted as they pass; none is stored.

use crate::terms::{Bigrams, Hits, Terms};
use crate::unicode::{Kind, kind};

/// For each ASCII byte what it folds to, or 0 where it ends a token.
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

/// What is done with the characters of runs as they pass.
trait Sink {
    /// The next folded character of the run.
    fn character(&mut self, character: char);
    /// The run ended.
    fn end(&mut self);
}

/// Hands the folded characters of each run in UTF-8 `text` to `sink`.
#[inline]
fn runs(text: &[u8], sink: &mut impl Sink) {
    let mut at = 0;
    let mut inside = false;
    while let Some(&byte) = text.get(at) {
        let kind = if byte < 0x80 {
            at += 1;
            match ASCII[byte as usize] {
                0 => Kind::Separator,
                folded => {
                    sink.character(folded as char);
                    inside = true;
                    continue;
                }
            }
        } else {
            let (character, length) = decode(&text[at..]);
            at += length;
            let kind = kind(character);
            if kind == Kind::Word {
                sink.character(character);
            }
            kind
        };
        match kind {
            Kind::Word => inside = true,
            Kind::Folded(characters) => {
                characters
                    .iter()
                    .filter(|&&to| to != '\0')
                    .for_each(|&to| sink.character(to));
                inside = true;
            }
            Kind::Separator => {
                if inside {
                    sink.end();
                }
                inside = false;
            }
        }
    }
    if inside {
        sink.end();
    }
}

/// First character of checked UTF-8 that does not begin with ASCII, and its length in bytes.
#[inline]
fn decode(text: &[u8]) -> (char, usize) {
    let rest = |at: usize| u32::from(text.get(at).copied().unwrap_or(0) & 0x3F);
    let first = u32::from(text[0]);
    let (code, length) = match first {
        0..0xE0 => ((first & 0x1F) << 6 | rest(1), 2),
        0xE0..0xF0 => ((first & 0xF) << 12 | rest(1) << 6 | rest(2), 3),
        _ => ((first & 7) << 18 | rest(1) << 12 | rest(2) << 6 | rest(3), 4),
    };
    (
        char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER),
        length,
    )
}

struct Words<'a, Each> {
    token: &'a mut Vec<u8>,
    each: Each,
}

impl<Each: FnMut(&[u8])> Sink for Words<'_, Each> {
    #[inline]
    fn character(&mut self, character: char) {
        if character.is_ascii() {
            self.token.push(character as u8);
        } else {
            self.token
                .extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }

    #[inline]
    fn end(&mut self) {
        (self.each)(self.token);
        self.token.clear();
    }
}

/// Calls `each` with every `ws` token of UTF-8 `text`, folded. `token` is room for one token.
#[inline]
pub fn ws(text: &[u8], token: &mut Vec<u8>, each: impl FnMut(&[u8])) {
    token.clear();
    runs(text, &mut Words { token, each });
}

struct Pairs<Each> {
    last: Option<char>,
    alone: bool,
    each: Each,
}

impl<Each: FnMut(u64)> Sink for Pairs<Each> {
    #[inline]
    fn character(&mut self, character: char) {
        if let Some(last) = self.last {
            (self.each)(Bigrams::pair(last, character));
        }
        self.alone = self.last.is_none();
        self.last = Some(character);
    }

    #[inline]
    fn end(&mut self) {
        // A run of one character is a token of its own.
        if let (Some(only), true) = (self.last.take(), self.alone) {
            (self.each)(Bigrams::single(only));
        }
    }
}

/// Calls `each` with the key of every `ngram` token of UTF-8 `text`.
#[inline]
pub fn ngram(text: &[u8], each: impl FnMut(u64)) {
    runs(
        text,
        &mut Pairs {
            last: None,
            alone: false,
            each,
        },
    );
}

/// Counts the `ws` tokens of `text` that are terms; returns how many tokens there are in all.
pub fn count_ws(text: &[u8], token: &mut Vec<u8>, terms: &Terms, hits: &mut Hits) -> usize {
    let mut tokens = 0;
    ws(text, token, |token| {
        tokens += 1;
        terms.count(token, hits);
    });
    tokens
}

/// Counts the `ngram` tokens of `text` that the query has; returns how many tokens there are in all.
pub fn count_ngram(text: &[u8], bigrams: &Bigrams, hits: &mut Hits) -> usize {
    let mut tokens = 0;
    ngram(text, |key| {
        tokens += 1;
        bigrams.count(key, hits);
    });
    tokens
}
