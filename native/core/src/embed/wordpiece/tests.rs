//! Word pieces: against the obvious implementation, and against vectors of Hugging Face's tokenizers.

use super::super::sight::Sight;
use super::*;
use icu_normalizer::DecomposingNormalizer;
use proptest::prelude::*;
use std::collections::HashMap;

fn shipped() -> String {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../models/static-256/vocabulary.txt"
    );
    std::fs::read_to_string(file).expect("the vocabulary is kept with the code")
}

/// The pieces of a text, as written in the vocabulary, and how much of the text is known.
fn read(entries: &[&str], vocabulary: &Vocabulary, text: &str) -> (Vec<String>, Sight) {
    let mut found = Vec::new();
    let (known, unknown) = vocabulary.tokenize(text, &mut Vec::new(), &mut found);
    let sight = Sight::of(known, unknown);
    let names = found.into_iter().map(|id| entries[id as usize].to_owned());
    (names.collect(), sight)
}

fn pieces(entries: &[&str], vocabulary: &Vocabulary, text: &str) -> Vec<String> {
    read(entries, vocabulary, text).0
}

/// Normalization, words and pieces in one pass each, as in the reference implementation.
fn naive(ids: &HashMap<&str, usize>, text: &str) -> (Vec<String>, Sight) {
    let mut spaced = String::new();
    for one in text.chars() {
        let dropped = one == '\u{FFFD}' || is_dropped(one, CATEGORIES.get(one));
        if matches!(one, '\t' | '\n' | '\r') || !dropped && one.is_whitespace() {
            spaced.push(' ');
        } else if !dropped && is_chinese(one) {
            spaced.extend([' ', one, ' ']);
        } else if !dropped {
            spaced.push(one);
        }
    }
    let decomposed = DecomposingNormalizer::new_nfd().normalize(&spaced).into_owned();
    let marks = |one: &char| CATEGORIES.get(*one) != GeneralCategory::NonspacingMark;
    let small = decomposed.chars().filter(marks).flat_map(char::to_lowercase);
    let mut words = vec![String::new()];
    for one in small {
        let last = words.len() - 1;
        if one.is_whitespace() {
            words.push(String::new());
        } else if is_punctuation(one) {
            words.extend([one.to_string(), String::new()]);
        } else {
            words[last].push(one);
        }
    }
    words.retain(|word| !word.is_empty());
    let pieces_of = |word: &String| {
        let fits = word.chars().count() <= LONGEST_WORD;
        if fits { naive_pieces(ids, word) } else { Vec::new() }
    };
    let marks = |word: &String| word.chars().all(is_punctuation);
    let of_words = words.iter().filter(|word| !marks(word)).map(pieces_of);
    let (unknown, known): (Vec<_>, Vec<_>) = of_words.partition(Vec::is_empty);
    let sight = Sight::of(known.concat().len(), unknown.len());
    (words.iter().flat_map(pieces_of).collect(), sight)
}

fn naive_pieces(ids: &HashMap<&str, usize>, word: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = word;
    while !rest.is_empty() {
        let mark = if found.is_empty() { "" } else { CONTINUES };
        let ends = rest.char_indices().map(|(at, one)| at + one.len_utf8());
        let known = |end: &usize| ids.contains_key(format!("{mark}{}", &rest[..*end]).as_str());
        let Some(end) = ends.rev().find(known) else {
            return Vec::new();
        };
        found.push(format!("{mark}{}", &rest[..end]));
        rest = &rest[end..];
    }
    found
}

#[test]
fn cuts_texts_as_hugging_face_does() {
    let text = shipped();
    let entries: Vec<&str> = text.lines().collect();
    let vocabulary = Vocabulary::new(entries.iter().copied()).expect("a vocabulary");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../test/vectors/wordpiece.jsonl");
    let vectors = std::fs::read_to_string(file).expect("the vectors are kept with the code");
    let mut seen = 0;
    for line in vectors.lines() {
        let vector: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let text = vector["text"].as_str().expect("a text");
        let theirs = vector["pieces"].as_array().expect("pieces");
        let theirs: Vec<&str> = theirs
            .iter()
            .filter_map(serde_json::Value::as_str)
            .filter(|piece| *piece != "[UNK]")
            .collect();
        assert_eq!(pieces(&entries, &vocabulary, text), theirs, "{text:?}");
        seen += 1;
    }
    assert!(seen > 20);
}

proptest! {
    #[test]
    fn agrees_with_the_obvious_reading(
        text in concat!(
            "([a-eA-E]{1,9} ?|[àçĀéİß]{1,3}|[一-七ぁ-おァ가]{1,3}|e[\\u0300-\\u0303]|",
            "[ .,'\\n\\u00A0-]|\\PC|.){0,40}",
        )
    ) {
        let entries = [
            "a", "b", "ab", "abc", "abcd", "##a", "##b", "##bc", "##cde", "##e", "e", "i", "一", "三", "か",
            "##か", "ᄀ", "##ᅡ", ".", ",", "'", "ss", "##ss", "c", "##c", "abcdeabcd", "\u{fffd}",
        ];
        let vocabulary = Vocabulary::new(entries.into_iter()).expect("a vocabulary");
        let ids = entries.iter().enumerate().map(|(id, &entry)| (entry, id)).collect();
        prop_assert_eq!(read(&entries, &vocabulary, &text), naive(&ids, &text));
    }

    #[test]
    fn long_words_agree_too(word in "[ab]{90,110}", accented in "[éa]{98,102}") {
        let entries = ["a", "aa", "##aa", "##b", "##aba", "b", "##a", "e", "##e"];
        let vocabulary = Vocabulary::new(entries.into_iter()).expect("a vocabulary");
        let ids = entries.iter().enumerate().map(|(id, &entry)| (entry, id)).collect();
        for text in [word, accented] {
            prop_assert_eq!(read(&entries, &vocabulary, &text), naive(&ids, &text));
        }
    }
}

#[test]
fn texts_of_a_script_that_the_vocabulary_lacks_are_blind() {
    let text = shipped();
    let entries: Vec<&str> = text.lines().collect();
    let vocabulary = Vocabulary::new(entries.iter().copied()).expect("a vocabulary");
    let sight = |text: &str| read(&entries, &vocabulary, text).1;
    for blind in [
        "番茄",
        "律师",
        "电池",
        "番茄。",
        "番茄, 律师!",
        "🎉",
        &"a".repeat(101),
    ] {
        assert_eq!(sight(blind), Sight::Blind, "{blind}");
    }
    assert_eq!(sight("番茄 x 律师"), Sight::Dim);
    for clear in [
        "",
        " ",
        "...",
        "。",
        "battery",
        "my phone's battery 电池",
        "Ünïcode",
        "\u{1}",
    ] {
        assert_eq!(sight(clear), Sight::Clear, "{clear}");
    }
}

#[test]
fn a_bad_vocabulary_is_refused() {
    let made = |entries: &[&str]| Vocabulary::new(entries.iter().copied()).map(|made| made.len());
    assert_eq!(made(&["a", "##a", "##"]), Ok(3));
    assert_eq!(made(&["a", "b", "a"]), Err(BadVocabulary::Repeated));
    assert_eq!(made(&["a", ""]), Err(BadVocabulary::Length));
    assert_eq!(
        made(&[&"a".repeat(LONGEST_ENTRY + 1)]),
        Err(BadVocabulary::Length)
    );
}
