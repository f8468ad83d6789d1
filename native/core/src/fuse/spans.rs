//! The texts of spans of a body.

use std::ops::Range;

use crate::json::{Span, unescape};

/// Calls `each` with the buffer that has the characters of `span`, their range in it, and whether all are
/// ASCII.
#[inline]
pub(super) fn with_text<T>(
    body: &[u8],
    span: Span,
    unescaped: &mut Vec<u8>,
    mut each: impl FnMut(&[u8], Range<usize>, bool) -> T,
) -> T {
    if !span.escaped {
        return each(body, span.start..span.end, span.ascii);
    }
    unescaped.clear();
    unescape(&body[span.start..span.end], unescaped);
    each(unescaped, 0..unescaped.len(), unescaped.is_ascii())
}

/// As [`with_text`], for a `str`.
pub(super) fn with_str<T>(
    body: &[u8],
    span: Span,
    unescaped: &mut Vec<u8>,
    mut each: impl FnMut(&str) -> T,
) -> T {
    with_text(body, span, unescaped, |text, range, _| {
        // The whole body is UTF-8, spans lie between ASCII quotes, and escapes are whole characters.
        each(std::str::from_utf8(&text[range]).unwrap_or_default())
    })
}

/// A copy of a text.
pub(super) fn text_of(body: &[u8], span: Span, unescaped: &mut Vec<u8>) -> String {
    with_str(body, span, unescaped, str::to_owned)
}
