//! The recorded answers of POST /v1/fuse (test/vectors/fuse.jsonl), which TypeScript reads too.

use std::sync::Arc;

use fusegate_core::embed::dense::Models;
use fusegate_core::fuse::{Embedding, Outcome, Workspace};
use serde_json::Value;

/// The answer to a request that brings its dense scores, and the characters that count for it.
fn answer(workspace: &mut Workspace, request: &Value) -> (Value, u64) {
    let models = Arc::new(Models::new(Vec::new(), None, None));
    let embedding = Embedding::whole(&models, 0, None);
    let body = serde_json::to_vec(request).expect("JSON");
    let mut out = vec![0; 1 << 20];
    let outcome = workspace.fuse(&body, &mut out, embedding);
    let Outcome::Written { length, characters } = outcome else {
        panic!("{outcome:?}");
    };
    let answer = serde_json::from_slice(&out[..length]).expect("an answer in JSON");
    (answer, characters)
}

/// The same values, numbers but for what is lost in the last digits.
fn assert_agrees(told: &Value, expected: &Value, place: &str) {
    match (told, expected) {
        (Value::Number(told), Value::Number(expected)) => {
            let [told, expected] = [told, expected].map(|each| each.as_f64().expect("a number"));
            let most = (1e-9 * told.abs().max(expected.abs())).max(1e-12);
            assert!((told - expected).abs() <= most, "{place}: {told}, not {expected}");
        }
        (Value::Array(told), Value::Array(expected)) => {
            assert_eq!(told.len(), expected.len(), "{place}");
            for (at, (told, expected)) in told.iter().zip(expected).enumerate() {
                assert_agrees(told, expected, &format!("{place}[{at}]"));
            }
        }
        (Value::Object(told), Value::Object(expected)) => {
            for (name, expected) in expected {
                let none = Value::Null;
                let told = told.get(name).unwrap_or(&none);
                assert_agrees(told, expected, &format!("{place}.{name}"));
            }
        }
        _ => assert_eq!(told, expected, "{place}"),
    }
}

#[test]
fn requests_get_the_recorded_answers() {
    let mut workspace = Workspace::default();
    let mut answers = 0;
    for line in include_str!("../../../test/vectors/fuse.jsonl").lines() {
        let vector: Value = serde_json::from_str(line).expect("a vector");
        let (told, _) = answer(&mut workspace, &vector["request"]);
        assert_agrees(&told, &vector["response"], &vector["id"].to_string());
        answers += 1;
    }
    assert_eq!(answers, 120);
}

#[test]
fn an_analyzer_changes_nothing_about_the_characters_that_count() {
    let mut workspace = Workspace::default();
    let (query, text) = ("the boots", "Stiefel für große Füße 😀");
    // A doc counts as sixteen at least.
    let counted = query.chars().count() + text.chars().count() + 16;
    for analyzer in [None, Some("english"), Some("german")] {
        let mut request = serde_json::json!({"query": query, "docs": [
            {"id": "a", "text": text, "dense_score": 0.5},
            {"id": "b", "text": "", "dense_score": 0.5},
        ]});
        if let Some(name) = analyzer {
            request["analyzer"] = name.into();
        }
        let (_, characters) = answer(&mut workspace, &request);
        assert_eq!(characters, counted as u64, "{analyzer:?}");
    }
}
