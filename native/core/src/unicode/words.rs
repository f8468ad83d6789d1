//! Characters that make a token, and full case folding (UAX #44, Unicode Standard section 3.13).

use super::unicode_tables as tables;

/// Version of the Unicode tables, such as `17.0.0`.
pub const VERSION: &str = tables::VERSION;

/// Class of a character for the tokenizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Not of general category L, N or M: it ends a token.
    Separator,
    /// Belongs to a token and folds to itself.
    Word,
    /// Belongs to a token and folds to [`folded`].
    Folded,
}

/// Looks up a code point.
#[inline]
pub fn kind(code: u32) -> Kind {
    let block = tables::BLOCK.get((code >> 8) as usize).copied().unwrap_or(0);
    match tables::KIND[usize::from(block)][(code & 0xFF) as usize] {
        0 => Kind::Separator,
        1 => Kind::Word,
        _ => Kind::Folded,
    }
}

/// The characters that a code point of kind [`Kind::Folded`] folds to; padded with NUL to three.
#[inline(never)]
pub fn folded(code: u32) -> [char; 3] {
    match tables::FOLD.binary_search_by_key(&code, |entry| entry.0) {
        Ok(at) => tables::FOLD[at].1.map(|to| char::from_u32(to).unwrap_or('\0')),
        Err(_) => [char::from_u32(code).unwrap_or('\0'), '\0', '\0'],
    }
}

/// True if a character is in a block of Han, kana or Hangul: `ws` cannot split such text.
pub fn is_cjk(character: char) -> bool {
    matches!(character as u32,
        0x1100..=0x11FF | 0x2E80..=0x2FDF | 0x3005..=0x3007 | 0x3021..=0x3029 | 0x3038..=0x303B
        | 0x3040..=0x30FF | 0x3130..=0x318F | 0x31F0..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF
        | 0xA960..=0xA97F | 0xAC00..=0xD7FF | 0xF900..=0xFAFF | 0xFF66..=0xFFDC | 0x1AFF0..=0x1B16F
        | 0x20000..=0x3FFFF)
}

#[cfg(test)]
mod tests {
    use super::*;
    use icu_casemap::CaseMapper;
    use icu_properties::CodePointMapData;
    use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};

    /// Every code point against ICU4X. Folding never turns a word character into a separator or back, so that
    /// folding before and after splitting give the same tokens.
    #[test]
    fn tables_equal_icu4x() {
        let categories = CodePointMapData::<GeneralCategory>::new();
        let mapper = CaseMapper::new();
        let group = GeneralCategoryGroup::Letter
            .union(GeneralCategoryGroup::Number)
            .union(GeneralCategoryGroup::Mark);
        for character in '\0'..=char::MAX {
            let word = group.contains(categories.get(character));
            let expected = mapper
                .fold_string(character.encode_utf8(&mut [0; 4]))
                .into_owned();
            assert!(
                expected
                    .chars()
                    .all(|to| group.contains(categories.get(to)) == word),
                "{character:?}"
            );
            match kind(character as u32) {
                Kind::Separator => assert!(!word, "{character:?}"),
                Kind::Word => assert_eq!((word, expected), (true, character.to_string())),
                Kind::Folded => {
                    let to = folded(character as u32);
                    let text: String = to.iter().filter(|&&part| part != '\0').collect();
                    assert_eq!((word, text), (true, expected));
                }
            }
        }
    }
}
