//! A whole request of any bytes: what is answered is JSON in the promised order, never more than its room.
#![no_main]

use fusegate_core::fuse::{Embedding, Outcome};
use libfuzzer_sys::fuzz_target;

#[path = "../rooms.rs"]
mod rooms;
#[path = "../shipped.rs"]
mod shipped;
use shipped::{MODELS, WORKSPACE};

fuzz_target!(|body: &[u8]| {
    let embedding = Embedding::whole(&MODELS, 50, None);
    let (outcome, out) = WORKSPACE.with_borrow_mut(|workspace| rooms::answered(workspace, body, embedding));
    let request = serde_json::from_slice::<serde_json::Value>(body);
    let Outcome::Written { characters, .. } = outcome else {
        return;
    };
    let request = request.expect("answered a body that is no JSON");
    let answer: serde_json::Value = serde_json::from_slice(&out).expect("an answer in JSON");
    assert_eq!(answer["query"], request["query"]);
    let docs = request["docs"].as_array().expect("docs");
    let text = |value: &serde_json::Value| value.as_str().expect("a string").chars().count() as u64;
    assert_eq!(
        characters,
        text(&request["query"]) + docs.iter().map(|doc| text(&doc["text"]).max(16)).sum::<u64>()
    );
    let results = answer["results"].as_array().expect("results");
    let score = |result: &serde_json::Value| result["fused_score"].as_f64().expect("a score");
    let scores: Vec<f64> = results.iter().map(score).collect();
    let is_diverse = request.get("diversify").is_some();
    assert!(is_diverse || scores.windows(2).all(|pair| pair[0] >= pair[1]));
    assert!(
        results
            .iter()
            .enumerate()
            .all(|(at, result)| result["rank"] == at + 1)
    );
});
