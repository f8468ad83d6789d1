//! A whole request of any bytes: what is answered is JSON in the promised order, never more than its room.
#![no_main]

use std::cell::RefCell;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use fusegate_core::dense::{Model, Models};
use fusegate_core::fuse::{Embedding, Outcome, Workspace};
use libfuzzer_sys::fuzz_target;

thread_local! {
    static WORKSPACE: RefCell<Workspace> = RefCell::default();
}

/// The static model that ships scores the docs that have none.
static MODELS: LazyLock<Arc<Models>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../models/static-256");
    let model = Model::open_static("static-256".to_owned(), [0; 32], &folder)
        .expect("the model is kept with the code");
    Arc::new(Models::new(vec![model], Some(0), None))
});

fuzz_target!(|body: &[u8]| {
    let mut out = vec![0; 64 * body.len() + 65_536];
    let embedding = Embedding {
        models: &MODELS,
        most_docs: 50,
        corpora: None,
    };
    let outcome = WORKSPACE.with_borrow_mut(|workspace| workspace.fuse(body, &mut out, embedding));
    // The same answer from room that did not suffice at first, nor at second where there are details.
    let mut room = vec![0];
    let later = WORKSPACE.with_borrow_mut(|workspace| {
        let mut later = workspace.fuse(body, &mut room, embedding);
        let mut pending = None;
        if later == Outcome::Pending {
            let waiting = workspace.take_pending().expect("what is pending");
            later = Outcome::NeedsRoom(waiting.room());
            pending = Some(waiting);
        }
        for _ in 0..2 {
            let Outcome::NeedsRoom(length) = later else { break };
            room.resize(length, 0);
            later = match &mut pending {
                Some(pending) => workspace.answer_pending(pending, body, &mut room),
                None => workspace.fuse(body, &mut room, embedding),
            };
        }
        later
    });
    assert_eq!(later, outcome);
    let request = serde_json::from_slice::<serde_json::Value>(body);
    let Outcome::Written { length, characters } = outcome else {
        return;
    };
    let request = request.expect("answered a body that is no JSON");
    assert_eq!(room[..length], out[..length]);
    let answer: serde_json::Value = serde_json::from_slice(&out[..length]).expect("an answer in JSON");
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
