//! Full case folding (Unicode Standard section 3.13, CaseFolding.txt statuses C and F), the same in every
//! language.

use std::borrow::Cow;
use std::fmt::{self, Write};

use icu_casemap::CaseMapper;
use writeable::Writeable;

use super::beginning;
use super::nfkc::{nfkc, nfkc_to};

/// Folds a text; an ASCII text that does not change is not copied.
pub fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        let upper = text.bytes().any(|byte| byte.is_ascii_uppercase());
        return if upper {
            Cow::Owned(text.to_ascii_lowercase())
        } else {
            Cow::Borrowed(text)
        };
    }
    // `fold_string` compares every character with the text to avoid this copy, which takes longer.
    let mut folded = String::with_capacity(text.len());
    // Writing to memory does not fail.
    let _ = const { CaseMapper::new() }.fold(text).write_to(&mut folded);
    Cow::Owned(folded)
}

/// Passes the folded NFKC form of a text to `take`, in pieces: the form of a long text may be eleven times as
/// long, as one character may stand for 18.
pub fn fold_nfkc(text: &str, mut take: impl FnMut(&str)) {
    if text.len() <= WHOLE {
        // Pieces take a tenth longer.
        take(&fold(&nfkc(text)));
        return;
    }
    let waiting = String::with_capacity(text.len().min(PIECE));
    let mut pieces = Pieces { waiting, take };
    // Writing to memory does not fail.
    let _ = nfkc_to(text, &mut pieces);
    pieces.pass();
}

/// Longest text that is one piece (bytes).
const WHOLE: usize = if cfg!(test) { 1024 } else { 64 << 10 };

/// Bytes of a piece, or a few more.
const PIECE: usize = 4096;

struct Pieces<F> {
    waiting: String,
    take: F,
}

impl<F: FnMut(&str)> Pieces<F> {
    fn pass(&mut self) {
        // A character is folded whatever its neighbours.
        (self.take)(&fold(&self.waiting));
        self.waiting.clear();
    }
}

impl<F: FnMut(&str)> Write for Pieces<F> {
    fn write_str(&mut self, mut text: &str) -> fmt::Result {
        while !text.is_empty() {
            let now = beginning(text, PIECE);
            self.waiting.push_str(now);
            if self.waiting.len() >= PIECE {
                self.pass();
            }
            text = &text[now.len()..];
        }
        Ok(())
    }

    // The forms of characters come one by one.
    #[inline]
    fn write_char(&mut self, c: char) -> fmt::Result {
        self.waiting.push(c);
        if self.waiting.len() >= PIECE {
            self.pass();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_short_text_is_one_piece_and_a_long_one_many_of_about_one_length() {
        for text in ["a", "Aé", "\u{FDFA}", "\u{FDFA}b", "\u{130}"] {
            let lengths = |bytes: usize| {
                let mut lengths = Vec::new();
                fold_nfkc(&text.repeat(bytes / text.len()), |part| lengths.push(part.len()));
                lengths
            };
            assert_eq!(lengths(WHOLE).len(), 1, "{text}");
            let long = lengths(16 * PIECE);
            let (_, all_but_last) = long.split_last().expect("pieces");
            let usual = PIECE..=4 * PIECE;
            assert!(
                all_but_last.iter().all(|length| usual.contains(length)),
                "{text} {long:?}"
            );
            assert!(long.len() > 3, "{text} {long:?}");
        }
    }

    proptest! {
        #[test]
        fn pieces_are_the_whole(text in "(?s)[a-zA-Zß\u{FDFA}\u{130}ﬃＡé\u{301}]{0,6000}") {
            let (mut joined, mut longest) = (String::new(), 0);
            fold_nfkc(&text, |part| {
                joined.push_str(part);
                longest = longest.max(part.len());
            });
            let normal = nfkc(&text);
            prop_assert_eq!(joined, fold(&normal));
            prop_assert!(longest <= 4 * PIECE);
        }
    }
}
