//! The obvious slow counting that the fast one is compared with, in tests and under the fuzzer.

use std::collections::HashMap;

use super::analyzer::{Forms, LANGUAGES};
use super::terms::{Bigrams, Hits, Terms};
use super::tokenize::{self, Keyed};
use crate::cpu::simd::Path;
use crate::unicode::words::{Kind, folded, kind};

/// The folded runs of a text, read character by character.
fn runs(text: &str) -> Vec<String> {
    let mut runs = vec![String::new()];
    for character in text.chars() {
        let last = runs.len() - 1;
        match kind(character as u32) {
            Kind::Separator => runs.push(String::new()),
            Kind::Word => runs[last].push(character),
            Kind::Folded => runs[last].extend(folded(character as u32).iter().filter(|&&part| part != '\0')),
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

fn bigrams(run: &str) -> Vec<String> {
    let characters: Vec<char> = run.chars().collect();
    if characters.len() == 1 {
        return vec![run.to_owned()];
    }
    characters.windows(2).map(|pair| pair.iter().collect()).collect()
}

/// The expected counts: per distinct token of the query its count in the text, by first occurrence,
/// leaving out zeros; and the number of the text's tokens.
fn count(query: &[String], text: &[String]) -> (Vec<(u32, u32)>, usize) {
    let mut distinct: Vec<&String> = Vec::new();
    for token in query {
        if !distinct.contains(&token) {
            distinct.push(token);
        }
    }
    let mut counts: HashMap<&String, u32> = HashMap::new();
    for token in text {
        *counts.entry(token).or_default() += 1;
    }
    let found = distinct
        .iter()
        .enumerate()
        .filter_map(|(at, token)| Some((at as u32, *counts.get(token)?)));
    (found.collect(), text.len())
}

fn drained(hits: &mut Hits) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    hits.drain(|term, count| found.push((term, count)));
    found
}

/// Counts the query's tokens in the text by every path and compares with the naive counts. `offset` bytes
/// precede the text in its buffer, so that blocks fall differently.
///
/// # Panics
/// If a path counts differently.
pub fn assert_same_counts(query: &str, text: &str, offset: usize) {
    let (mut terms, mut hits, mut room) = (Terms::default(), Hits::default(), Vec::new());
    terms.clear();
    tokenize::ws(query.as_bytes(), &mut room, |term| terms.insert(term));
    terms.finish();
    hits.reset(terms.frequencies().len());
    let expected = count(&runs(query), &runs(text));
    let total = tokenize::count_ws(text.as_bytes(), &mut room, &terms, &mut hits);
    assert_eq!((drained(&mut hits), total), expected, "ws");

    if text.is_ascii() {
        let mut buffer = vec![b'a'; offset];
        buffer.push(b'"');
        let start = buffer.len();
        buffer.extend_from_slice(text.as_bytes());
        let end = buffer.len();
        buffer.extend_from_slice(b"\"a");
        let total = crate::tokens::ascii::count_ws_ascii(&buffer, start, end, &terms, &mut hits);
        assert_eq!((drained(&mut hits), total), expected, "ws by blocks");
        for path in Path::all() {
            let total = crate::tokens::ascii::count_by(path, &buffer, (start, end), &terms, &mut hits);
            assert_eq!((drained(&mut hits), total), expected, "ws by {path:?}");
        }
    }

    for language in ["english", "german", "turkish"] {
        for fold_accents in [false, true] {
            let rules = (language, fold_accents);
            assert_same_forms(query, text, offset, rules, (&mut terms, &mut hits));
        }
    }

    let mut pairs = Bigrams::default();
    pairs.clear();
    Keyed::Ngram.each(query.as_bytes(), |key| pairs.insert(key));
    hits.reset(pairs.frequencies().len());
    let cut = |text| runs(text).iter().flat_map(|run| bigrams(run)).collect::<Vec<_>>();
    let total = Keyed::Ngram.count(text.as_bytes(), &pairs, &mut hits);
    assert_eq!(
        (drained(&mut hits), total),
        count(&cut(query), &cut(text)),
        "ngram"
    );
}

/// The same for the forms of tokens. `terms` and `hits` were last used with other rules.
fn assert_same_forms(
    query: &str,
    text: &str,
    offset: usize,
    (language, fold_accents): (&str, bool),
    (terms, hits): (&mut Terms, &mut Hits),
) {
    let stemmer = LANGUAGES
        .iter()
        .find(|(name, _)| *name == language.as_bytes())
        .map(|&(_, algorithm)| algorithm);
    // No stemmer at all is an analyzer, too.
    let stemmer = stemmer.filter(|_| !(fold_accents && language == "turkish"));
    let forms = Forms {
        stemmer,
        fold_accents,
    };
    let of =
        |text: &str| -> Vec<String> { runs(text).iter().map(|run| forms.of(run).into_owned()).collect() };
    let query_forms: Vec<String> = of(query).into_iter().filter(|form| !form.is_empty()).collect();
    let expected = count(&query_forms, &of(text));
    let mut room = Vec::new();
    terms.clear_for(forms);
    query_forms.iter().for_each(|form| terms.insert(form.as_bytes()));
    terms.finish_forms(hits);
    hits.reset(terms.frequencies().len());
    // Twice, as the first pass fills the memo.
    for _ in 0..2 {
        let total = tokenize::count_ws_forms(text.as_bytes(), &mut room, terms, hits);
        assert_eq!((drained(hits), total), expected, "forms of {language}");
    }
    // The same request again, with the first's memo.
    terms.clear_for(forms);
    runs(query).iter().for_each(|run| terms.insert_form(run, hits));
    terms.finish_forms(hits);
    hits.reset(terms.frequencies().len());
    let total = tokenize::count_ws_forms(text.as_bytes(), &mut room, terms, hits);
    assert_eq!((drained(hits), total), expected, "remembered forms of {language}");
    if text.is_ascii() {
        let buffer = [&vec![b'a'; offset], b"\"" as &[u8], text.as_bytes(), b"\"a"].concat();
        let (start, end) = (offset + 1, offset + 1 + text.len());
        for path in Path::all() {
            let total = crate::tokens::ascii::count_by(path, &buffer, (start, end), terms, hits);
            assert_eq!(
                (drained(hits), total),
                expected,
                "forms of {language} by {path:?}"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Texts that share words with their queries, of characters on both sides of every rule.
    fn text(length: usize) -> impl Strategy<Value = String> {
        let word = prop_oneof![
            6 => "[a-cA-C0-1]{1,3}",
            2 => "[a-bA-B]{7,18}",
            1 => "[a-b]{60,140}",
            2 => "(case|comput|fl|l|gener|Runn)(s|ed|ing|ies|ying|ation|ations|er|al|ally|e)?",
            3 => "[ ,.'@`\\[{/:_-]{1,3}",
            1 => prop_oneof![Just("ß"), Just("ŉ"), Just("İ"), Just("K"), Just("ſ"), Just("é"), Just("ΐ")]
                .prop_map(str::to_owned),
            1 => "[\u{4E00}-\u{4E05}\u{AC00}-\u{AC03}。\u{301}\u{1F600}\u{1D400}\u{A0}]{1,3}",
            1 => any::<char>().prop_map(String::from),
        ];
        prop::collection::vec(word, 0..length).prop_map(|words| words.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]
        #[test]
        fn all_paths_count_alike(query in text(12), text in text(60), offset in 0usize..70) {
            assert_same_counts(&query, &text, offset);
        }

        #[test]
        fn many_terms_count_alike(
            query in "[a-e]{1,3}( [a-e]{1,4}){60,200}",
            text in "[A-Ea-e]{1,4}( [a-e]{1,4}){0,90}",
        ) {
            assert_same_counts(&query, &text, 0);
        }
    }
}
