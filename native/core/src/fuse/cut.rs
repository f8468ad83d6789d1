//! Finds where a text may be cut without cutting a token.

use crate::cpu::scan::sixteen;

/// A text as a sequence of code points.
pub(super) trait Text {
    /// Number of code points.
    fn length(&self) -> u32;

    /// True if the code point at `at` belongs to a token.
    fn letter(&self, at: u32) -> bool;

    /// The first place from `at` on at which no token is cut, but not after `most`.
    fn cut_after(&self, at: u32, most: u32) -> u32 {
        step_after(self, at, most)
    }

    /// The last place up to `at` at which no token is cut, but not before `least`.
    fn cut_before(&self, at: u32, least: u32) -> u32 {
        step_before(self, at, least)
    }
}

/// True if the code points before `at` and at `at` are in one token.
fn joined(text: &(impl Text + ?Sized), at: u32) -> bool {
    at > 0 && text.letter(at - 1) && text.letter(at)
}

/// [`Text::cut_after`], one place at a time.
fn step_after(text: &(impl Text + ?Sized), mut at: u32, most: u32) -> u32 {
    while at < most && joined(text, at) {
        at += 1;
    }
    at
}

/// [`Text::cut_before`], one place at a time.
fn step_before(text: &(impl Text + ?Sized), mut at: u32, least: u32) -> u32 {
    while at > least && joined(text, at) {
        at -= 1;
    }
    at
}

/// A text, with true for each code point that belongs to a token.
pub(super) struct Any(pub(super) Vec<bool>);

impl Text for Any {
    fn length(&self) -> u32 {
        self.0.len() as u32
    }

    fn letter(&self, at: u32) -> bool {
        self.0.get(at as usize).is_some_and(|&letter| letter)
    }
}

/// An ASCII text. The length of the rest of a token cannot be predicted, so sixteen bytes are read at once,
/// without a loop.
pub(super) struct Ascii<'a>(pub(super) &'a [u8]);

/// The highest bit of each of 16 ASCII bytes that is neither a letter nor a digit.
#[inline(always)]
fn others(bytes: &[u8; 16]) -> u128 {
    let bytes = u128::from_le_bytes(*bytes) & sixteen(0x7F);
    let lower = bytes | sixteen(0x20);
    // Each sum has the highest bit if the byte is at least the first character, or greater than the last.
    let letters = (lower + sixteen(0x80 - b'a')) & !(lower + sixteen(0x7F - b'z'));
    let digits = (bytes + sixteen(0x80 - b'0')) & !(bytes + sixteen(0x7F - b'9'));
    !(letters | digits) & sixteen(0x80)
}

impl Text for Ascii<'_> {
    fn length(&self) -> u32 {
        self.0.len() as u32
    }

    #[inline]
    fn letter(&self, at: u32) -> bool {
        self.0.get(at as usize).is_some_and(u8::is_ascii_alphanumeric)
    }

    #[inline]
    fn cut_after(&self, at: u32, most: u32) -> u32 {
        let after = self.0.get(at as usize..).and_then(|rest| rest.first_chunk());
        let others = after.map_or(0, others);
        if others == 0 || at == 0 || at >= most {
            return step_after(self, at, most);
        }
        let rest = others.trailing_zeros() / 8;
        (at + if self.letter(at - 1) { rest } else { 0 }).min(most)
    }

    #[inline]
    fn cut_before(&self, at: u32, least: u32) -> u32 {
        let before = self.0.get(..at as usize).and_then(|rest| rest.last_chunk());
        let others = before.map_or(0, others);
        if others == 0 || at <= least {
            return step_before(self, at, least);
        }
        let rest = others.leading_zeros() / 8;
        (at - if self.letter(at) { rest } else { 0 }).max(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn cuts_are_where_one_place_after_the_other_finds_them(
            text in prop_oneof!["[a-zA-Z0-9 .@`{\\[/:]{0,60}", "[a-z]{0,40} ?[ -~]{0,20}"],
            at in 0..64_u32,
            other in 0..64_u32,
        ) {
            let any = Any(text.bytes().map(|byte| byte.is_ascii_alphanumeric()).collect());
            let text = Ascii(text.as_bytes());
            let (at, other) = (at.min(text.length()), other.min(text.length()));
            prop_assert_eq!(text.cut_after(at, other), any.cut_after(at, other));
            prop_assert_eq!(text.cut_before(at, other), any.cut_before(at, other));
        }
    }
}
