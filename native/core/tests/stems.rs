//! Stems against the published vocabularies of the Snowball project (test/vectors/stems.jsonl).

use fusegate_core::tokens::analyzer::stem;

#[test]
fn stems_are_those_that_snowball_publishes() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../test/vectors/stems.jsonl");
    let text = std::fs::read_to_string(path).expect("the vectors are kept with the code");
    let mut languages = std::collections::HashSet::new();
    for line in text.lines() {
        let vector: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let member = |name: &str| vector[name].as_str().expect("a string").to_owned();
        let (language, word) = (member("language"), member("word"));
        assert_eq!(stem(&language, &word), Some(member("stem")), "{language} {word}");
        languages.insert(language);
    }
    assert_eq!(languages.len(), 12);
    assert_eq!(stem("klingon", "word"), None);
}
