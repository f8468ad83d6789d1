//! The closed list of reasons to refuse a body.

use crate::cpu::scan::code_points;

/// Why a body is not JSON that Fusegate accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// Byte offset of the first invalid byte (of the token, for numbers and literals).
    pub offset: usize,
    /// The reason.
    pub reason: Reason,
}

/// The closed list of reasons (`ctx.error` of a `json_invalid`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Not in the grammar, or the body ends too early.
    Syntax,
    /// Not UTF-8 (RFC 3629).
    Utf8,
    /// Begins with a byte order mark.
    ByteOrderMark,
    /// A UTF-16 surrogate without its partner, escaped or as raw bytes.
    LoneSurrogate,
    /// A number whose nearest binary64 is infinite.
    Number,
    /// The literal `NaN`.
    NotANumber,
    /// The literal `Infinity` or `-Infinity`.
    Infinity,
    /// Nested deeper than [`MAX_DEPTH`](super::scanner::MAX_DEPTH).
    Depth,
}

impl Reason {
    /// The reason as the API states it.
    pub fn text(self) -> &'static str {
        match self {
            Reason::Syntax => "syntax",
            Reason::Utf8 => "invalid UTF-8",
            Reason::ByteOrderMark => "BOM",
            Reason::LoneSurrogate => "lone surrogate",
            Reason::Number => "number beyond binary64",
            Reason::NotANumber => "NaN",
            Reason::Infinity => "Infinity",
            Reason::Depth => "nesting over 128",
        }
    }
}

/// A value that its reader does not accept; skipping it shows whether it is JSON at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unfit;

impl Refusal {
    /// Line and column of its place in the body, from 1. A column is a character.
    #[must_use]
    pub fn place(self, body: &[u8]) -> (usize, usize) {
        let before = &body[..self.offset.min(body.len())];
        let feeds = before.iter().filter(|&&byte| byte == b'\n').count();
        let line = before.rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
        (feeds + 1, code_points(line) as usize + 1)
    }
}

impl From<Refusal> for Unfit {
    fn from(_: Refusal) -> Self {
        Unfit
    }
}

#[cfg(test)]
mod tests {
    use super::{Reason, Refusal};

    fn place(body: &[u8], offset: usize) -> (usize, usize) {
        let reason = Reason::Syntax;
        Refusal { offset, reason }.place(body)
    }

    #[test]
    fn lines_and_characters_count_from_one() {
        let text = "{\n  \"é漢😀\": 1,\n  \"b\" 2\n}";
        let at = |part: &str| place(text.as_bytes(), text.find(part).expect("a part"));
        assert_eq!(at("{"), (1, 1));
        assert_eq!(at("\": 1"), (2, 7));
        assert_eq!(at("2\n"), (3, 7));
        assert_eq!(place(text.as_bytes(), text.len()), (4, 2));
        assert_eq!(place(text.as_bytes(), text.len() + 9), (4, 2));
        assert_eq!(place(b"", 0), (1, 1));
        assert_eq!(place("漢".repeat(100).as_bytes(), 150), (1, 51));
    }
}
