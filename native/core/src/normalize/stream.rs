//! Text that outgrows a request: one piece after the other, each by all cores.

use super::gloss::Glosses;
use super::properties::Kind;
use super::{Mode, edits};

/// How every piece of a text is normalized.
pub struct Settings {
    /// What is done with what can be glossed.
    pub mode: Mode,
    /// Whether confusable letters map only inside words whose other letters are Latin.
    pub contextual: bool,
    /// The caller's glosses.
    pub glosses: Option<Glosses>,
}

/// A piece, normalized.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The text.
    pub text: Vec<u8>,
    /// Changes by kind, in the order of [`Kind::ALL`].
    pub counts: [u64; Kind::ALL.len()],
}

impl Settings {
    /// Normalizes a piece of UTF-8 by `threads` threads, which share it out by lines.
    ///
    /// # Errors
    /// The offset of the first byte that is not UTF-8.
    pub fn piece(&self, bytes: &[u8], threads: usize) -> Result<Piece, usize> {
        let text = std::str::from_utf8(bytes).map_err(|error| error.valid_up_to())?;
        let parts = shares(text, threads.max(1));
        let done: Vec<Piece> = std::thread::scope(|scope| {
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
        Ok(done.into_iter().reduce(Piece::then).unwrap_or_default())
    }

    fn part(&self, text: &str) -> Piece {
        let edits = edits(text, self.mode, self.contextual, self.glosses.as_ref());
        let mut piece = Piece {
            text: Vec::with_capacity(text.len() + text.len() / 8),
            ..Piece::default()
        };
        edits.apply(text.as_bytes(), &mut piece.text);
        edits
            .list()
            .iter()
            .for_each(|edit| piece.counts[edit.kind() as usize] += 1);
        piece
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

/// Cuts a text after line feeds into at most `count` parts of about one length, at least one.
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
            let settings = Settings { mode: Mode::Augment, contextual: true, glosses: None };
            prop_assert_eq!(settings.piece(text.as_bytes(), threads), settings.piece(text.as_bytes(), 1));
        }
    }

    #[test]
    fn bytes_that_are_no_utf8_are_told() {
        let settings = Settings {
            mode: Mode::Repair,
            contextual: true,
            glosses: None,
        };
        assert_eq!(settings.piece(b"abc\xFFd", 2), Err(3));
    }
}
