//! The closed list of reasons to refuse a body.

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

impl From<Refusal> for Unfit {
    fn from(_: Refusal) -> Self {
        Unfit
    }
}
