//! Full case folding (Unicode Standard section 3.13, CaseFolding.txt statuses C and F), the same in every
//! language.

use std::borrow::Cow;

use icu_casemap::CaseMapper;
use writeable::Writeable;

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
