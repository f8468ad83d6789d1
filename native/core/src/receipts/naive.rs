//! The obvious slow reading of a fragment: its accepted strings and the form in which it is compared.

use std::collections::BTreeMap;

use super::canonical::{Fragment, KINDS};

/// White space as Python's `str.strip` knows it, character by character.
const SPACES: [char; 29] = [
    '\t', '\n', '\u{B}', '\u{C}', '\r', '\u{1C}', '\u{1D}', '\u{1E}', '\u{1F}', ' ', '\u{85}', '\u{A0}',
    '\u{1680}', '\u{2000}', '\u{2001}', '\u{2002}', '\u{2003}', '\u{2004}', '\u{2005}', '\u{2006}',
    '\u{2007}', '\u{2008}', '\u{2009}', '\u{200A}', '\u{2028}', '\u{2029}', '\u{202F}', '\u{205F}',
    '\u{3000}',
];

/// A fragment's text as it is stored, by the words of the contract.
pub fn accept(text: &str) -> String {
    let kept: String = text
        .chars()
        .filter(|&c| c >= ' ' || c == '\n' || c == '\t')
        .collect();
    kept.trim_matches(SPACES).to_owned()
}

/// The six accepted strings, by the words of the contract.
pub fn accept_all(fragment: &Fragment<&str>) -> Fragment {
    let kind = accept(fragment.kind).to_uppercase();
    let known = kind.is_empty() || KINDS.contains(&kind.as_str());
    Fragment {
        title: accept(fragment.title),
        content: accept(fragment.content),
        mechanism: accept(fragment.mechanism),
        test: accept(fragment.test),
        kind: if known { kind } else { "HYPOTHESIS".to_owned() },
        visitor: accept(fragment.visitor),
    }
}

/// The members of canonical JSON, sorted.
pub fn members(fragment: &Fragment) -> BTreeMap<&'static str, &str> {
    BTreeMap::from([
        ("title", fragment.title.as_str()),
        ("content", fragment.content.as_str()),
        ("mechanism", fragment.mechanism.as_str()),
        ("test", fragment.test.as_str()),
        ("kind", fragment.kind.as_str()),
        ("visitor", fragment.visitor.as_str()),
    ])
}

/// The form in which titles and contents are compared, step by step, without shortcuts.
pub fn comparable(text: &str) -> String {
    let normal = icu_normalizer::ComposingNormalizer::new_nfkc().normalize_iter(text.chars());
    let categories = icu_properties::CodePointMapData::<icu_properties::props::GeneralCategory>::new();
    let kept: String = normal
        .filter(|&c| categories.get(c) != icu_properties::props::GeneralCategory::Format)
        .collect();
    let words: Vec<&str> = kept.split(SPACES).filter(|word| !word.is_empty()).collect();
    let mapper = icu_casemap::CaseMapper::new();
    let spaced = words.join(" ");
    spaced
        .chars()
        .map(|c| mapper.fold_string(c.encode_utf8(&mut [0; 4])).into_owned())
        .collect()
}

/// Accepts a fragment and compares every step with the obvious reading.
///
/// # Panics
///
/// When they differ.
pub fn assert_same_fragment(fragment: &Fragment<&str>) {
    let (accepted, _) = fragment.accept();
    assert_eq!(accepted, accept_all(fragment));
    for text in [&accepted.title, &accepted.content] {
        assert_eq!(super::digest::comparable(text), comparable(text));
    }
}
