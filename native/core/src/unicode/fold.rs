//! Full case folding (Unicode Standard section 3.13, CaseFolding.txt statuses C and F), the same in every
//! language.

use std::borrow::Cow;

use icu_casemap::CaseMapper;

/// Folds a text; a text that does not change is not copied.
pub fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        let upper = text.bytes().any(|byte| byte.is_ascii_uppercase());
        return if upper {
            Cow::Owned(text.to_ascii_lowercase())
        } else {
            Cow::Borrowed(text)
        };
    }
    const { CaseMapper::new() }.fold_string(text)
}
