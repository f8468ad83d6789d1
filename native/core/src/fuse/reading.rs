//! A text as an analyzer reads it: repaired, if the analyzer says so.

use std::borrow::Cow;

use crate::text::normalize::repair;
use crate::tokens::analyzer::Analyzer;

/// A text as the analyzer reads it.
pub(crate) fn read_as<'a>(text: &'a str, analyzer: &Analyzer) -> Cow<'a, str> {
    if !analyzer.normalize {
        return Cow::Borrowed(text);
    }
    let edits = repair::text(text, true);
    if edits.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut repaired = Vec::with_capacity(text.len());
    edits.apply(text.as_bytes(), &mut repaired);
    // Edits replace whole characters by whole characters.
    Cow::Owned(String::from_utf8(repaired).unwrap_or_default())
}
