//! POST /v1/normalize in Rust: the shared vectors, and what holds for any text.

use std::path::Path;

use fusegate_core::text::normalize::gloss::{Bounds, Refused};
use fusegate_core::text::normalize::{Outcome, Workspace};
use serde_json::{Value, json};

/// The answer to a request.
fn answer(request: &Value) -> Value {
    let body = serde_json::to_vec(request).expect("a request");
    let mut workspace = Workspace::default();
    let mut answer_in = |room: usize| {
        let mut out = vec![0; room];
        match workspace.normalize(&body, &mut out, Bounds::REQUEST) {
            Outcome::NeedsRoom { answer, characters } => {
                assert!(answer.len() > room);
                (answer, characters)
            }
            Outcome::Written { length, characters } => (out[..length].to_vec(), characters),
            other => panic!("{other:?} to {request}"),
        }
    };
    let whole = answer_in(0);
    let length = whole.0.len();
    for room in [1, 20, 100, length - 1, length, length + 1] {
        assert_eq!(answer_in(room), whole, "in a room of {room}");
    }
    let (bytes, characters) = whole;
    let answer: Value = serde_json::from_slice(&bytes).expect("an answer in JSON");
    assert_eq!(answer["chars"], characters);
    answer
}

#[test]
fn vectors() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test/vectors/normalize.jsonl");
    let text = std::fs::read_to_string(path).expect("the vectors are kept with the code");
    let mut wrong = Vec::new();
    for line in text.lines() {
        let vector: Value = serde_json::from_str(line).expect("JSON");
        let answer = answer(&vector["request"]);
        if answer["normalized"] != vector["normalized"] || answer["stats"] != vector["kinds"] {
            wrong.push(format!(
                "{}: {} {} {}",
                vector["row"], answer["normalized"], answer["stats"], vector["kinds"]
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_answer_echoes_and_counts() {
    let answer = answer(&json!({"text": "a\"\\\n\u{1F600}é", "mode": "repair"}));
    assert_eq!(answer["text"], "a\"\\\n\u{1F600}é");
    assert_eq!((&answer["changed"], &answer["chars"]), (&json!(false), &json!(6)));
    assert_eq!((&answer["changes"], &answer["stats"]), (&json!([]), &json!({})));
}

#[test]
fn glosses_are_bounded_by_what_they_make() {
    let mut workspace = Workspace::default();
    let mut outcome = |text: usize, form: &str, gloss: usize, bounds| {
        let glosses = json!({"a": "b".repeat(gloss), form: "c"});
        let request = json!({"text": "a".repeat(text), "chinese_glosses": glosses, "max_changes": 0});
        workspace.normalize(&serde_json::to_vec(&request).expect("a request"), &mut [], bounds)
    };
    let long = Outcome::Refused(Refused::Text);
    assert_eq!(outcome(100_000, "b", 1_000_000, Bounds::REQUEST), long);
    assert_eq!(outcome(15_000, "b", 15_000, Bounds::BRIEF), long);
    // 64 KiB, and 32 bytes for each.
    assert_eq!(outcome(1_000, "b", 100, Bounds::REQUEST), long);
    for (text, gloss) in [(10, 6_000), (1_000, 90), (90_000, 20)] {
        assert!(
            matches!(
                outcome(text, "b", gloss, Bounds::REQUEST),
                Outcome::NeedsRoom { .. }
            ),
            "{text}"
        );
    }
    // At every "a" the search would go on to the long form's end.
    let form = format!("{}b", "a".repeat(11_000));
    assert_eq!(
        outcome(100_000, &form, 1, Bounds::REQUEST),
        Outcome::Refused(Refused::Forms)
    );
    assert!(matches!(
        outcome(10_000, &form, 1, Bounds::REQUEST),
        Outcome::NeedsRoom { .. }
    ));
}

#[test]
fn long_bodies_on_the_event_loop_are_plain() {
    let mut workspace = Workspace::default();
    let text = "plain \"words\"\n".repeat(3_000);
    let mut out = vec![0; 3 * text.len()];
    let mut outcome = |change: Value, length: usize| {
        let mut request = json!({"text": text[..length]});
        request
            .as_object_mut()
            .expect("an object")
            .extend(change.as_object().cloned().unwrap_or_default());
        workspace.normalize(
            &serde_json::to_vec(&request).expect("a request"),
            &mut out,
            Bounds::BRIEF,
        )
    };
    let long = Outcome::Refused(Refused::Body);
    let all = text.len();
    assert!(matches!(outcome(json!({}), all), Outcome::Written { .. }));
    assert_eq!(outcome(json!({"include_skeleton": true}), all), long);
    assert_eq!(outcome(json!({"chinese_glosses": {"x": "y"}}), all), long);
    assert_eq!(outcome(json!({"text": format!("{text}é")}), all), long);
    assert!(matches!(
        outcome(json!({"text": "é"}), all),
        Outcome::Written { .. }
    ));
    assert!(matches!(
        outcome(json!({"include_skeleton": true}), 20_000),
        Outcome::Written { .. }
    ));
}
