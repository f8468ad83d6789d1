//! Normalization form KC (UAX #15), and the removal of format characters (general category Cf, UAX #44).

use std::borrow::Cow;
use std::fmt;

use icu_normalizer::{ComposingNormalizer, ComposingNormalizerBorrowed};
use icu_properties::props::GeneralCategory;
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed};

const NFKC: ComposingNormalizerBorrowed<'static> = ComposingNormalizer::new_nfkc();
const CATEGORIES: CodePointMapDataBorrowed<'static, GeneralCategory> = CodePointMapData::new();

/// The NFKC form of a text; a text in that form is not copied.
pub fn nfkc(text: &str) -> Cow<'_, str> {
    NFKC.normalize(text)
}

/// Writes the NFKC form of a text to `out`, in pieces.
pub fn nfkc_to(text: &str, out: &mut impl fmt::Write) -> fmt::Result {
    NFKC.normalize_to(text, out)
}

/// True if a character is of general category Cf.
#[inline]
pub fn is_format(character: char) -> bool {
    // SOFT HYPHEN is the lowest of them.
    character >= '\u{AD}' && CATEGORIES.get(character) == GeneralCategory::Format
}
