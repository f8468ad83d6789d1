//! Text too large for a request: piece by piece, each on all cores.

use super::gloss::{Bounds, Glosses};
use super::properties::Kind;
use super::{Mode, bounded_edits};

/// Settings for every piece of a text.
pub struct Settings {
    /// Treatment of items with a gloss.
    pub mode: Mode,
    /// True if confusable letters map only inside words whose other letters are Latin.
    pub contextual: bool,
    /// The caller's glosses.
    pub glosses: Option<Glosses>,
    /// Limits on the glosses in one thread's part of a piece.
    pub bounds: Bounds,
}

/// A normalized piece.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The text.
    pub text: Vec<u8>,
    /// Changes by kind, in the order of [`Kind::ALL`].
    pub counts: [u64; Kind::ALL.len()],
}

/// Why a piece could not be normalized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The byte at this offset is not UTF-8.
    NotUtf8(usize),
    /// The glosses exceed the bounds.
    TooLong,
}

impl Settings {
    /// Normalizes a piece of UTF-8 on `threads` threads, which divide it by lines.
    ///
    /// # Errors
    /// A fault of the piece, or of its result.
    pub fn piece(&self, bytes: &[u8], threads: usize) -> Result<Piece, Fault> {
        let text = std::str::from_utf8(bytes).map_err(|error| Fault::NotUtf8(error.valid_up_to()))?;
        let parts = shares(text, threads.max(1));
        let done: Result<Vec<Piece>, Fault> = std::thread::scope(|scope| {
            let others: Vec<_> = parts[1..]
                .iter()
                .map(|part| scope.spawn(|| self.part(part)))
                .collect();
            let first = self.part(parts[0]);
            let rest = others.into_iter().map(|other| match other.join() {
                Ok(part) => part,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            std::iter::once(first).chain(rest).collect()
        });
        Ok(done?.into_iter().reduce(Piece::then).unwrap_or_default())
    }

    fn part(&self, text: &str) -> Result<Piece, Fault> {
        let glosses = self.glosses.as_ref();
        let edits = bounded_edits(text, self.mode, self.contextual, glosses, self.bounds)
            .map_err(|_| Fault::TooLong)?;
        let mut piece = Piece {
            text: Vec::with_capacity(text.len() + text.len() / 8),
            ..Piece::default()
        };
        edits.apply(text.as_bytes(), &mut piece.text);
        edits
            .list()
            .for_each(|edit| piece.counts[edit.kind() as usize] += 1);
        Ok(piece)
    }
}

impl Piece {
    fn then(mut self, next: Piece) -> Piece {
        self.text.extend_from_slice(&next.text);
        self.counts
            .iter_mut()
            .zip(next.counts)
            .for_each(|(sum, count)| *sum += count);
        self
    }
}

/// Cuts a text after line feeds into at least one and at most `count` parts of similar length.
fn shares(text: &str, count: usize) -> Vec<&str> {
    let mut rest = text;
    let mut parts = Vec::new();
    for left in (2..=count).rev() {
        let wanted = rest.len() / left;
        let Some(cut) = memchr::memchr(b'\n', &rest.as_bytes()[wanted..]) else {
            break;
        };
        let (part, after) = rest.split_at(wanted + cut + 1);
        parts.push(part);
        rest = after;
    }
    parts.push(rest);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shares_are_the_text(text in "[aé\n]{0,60}", count in 1usize..6) {
            let parts = shares(&text, count);
            prop_assert!(!parts.is_empty() && parts.len() <= count);
            prop_assert_eq!(&parts.concat(), &text);
            prop_assert!(parts[..parts.len() - 1].iter().all(|part| part.ends_with('\n')));
        }

        #[test]
        fn pieces_do_not_depend_on_the_threads(
            text in "(“é”|a\u{200B}b|❤️|\n| ){0,60}",
            threads in 1usize..5,
        ) {
            let (mode, bounds) = (Mode::Augment, Bounds::PIECE);
            let settings = Settings { mode, contextual: true, glosses: None, bounds };
            prop_assert_eq!(settings.piece(text.as_bytes(), threads), settings.piece(text.as_bytes(), 1));
        }
    }

    #[test]
    fn bytes_that_are_no_utf8_are_told() {
        let settings = Settings {
            mode: Mode::Repair,
            contextual: true,
            glosses: None,
            bounds: Bounds::PIECE,
        };
        assert_eq!(settings.piece(b"abc\xFFd", 2), Err(Fault::NotUtf8(3)));
    }

    #[test]
    fn glosses_that_make_too_much_are_told() {
        let settings = Settings {
            mode: Mode::Replace,
            contextual: true,
            glosses: Some(Glosses::new(
                [("a", "b".repeat(4000).as_str())].into_iter().collect(),
                true,
            )),
            bounds: Bounds::BRIEF,
        };
        let text = format!("a\nc\n{}", "a".repeat(20));
        assert_eq!(settings.piece(text.as_bytes(), 2), Err(Fault::TooLong));
        assert_eq!(
            settings
                .piece(&text.as_bytes()[..12], 2)
                .map(|piece| piece.text.len()),
            Ok(36_010)
        );
    }
}
