//! The inputs that fuzzing kept, once more without the fuzzer: nothing in them panics or counts otherwise.

#![cfg(feature = "naive")]

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use fusegate_core::embed::dense::{Model, Models};
use fusegate_core::fuse::{Embedding, Outcome, Workspace};
use fusegate_core::json;
use fusegate_core::receipts::canonical::Fragment;
use fusegate_core::receipts::{self, shards};
use fusegate_core::text::audit::format::Format;
use fusegate_core::text::audit::naive::assert_audited;
use fusegate_core::text::normalize::{self, Mode};
use fusegate_core::tokens;

#[path = "../fuzz/profiled.rs"]
mod profiled;
#[path = "../fuzz/ranked.rs"]
mod ranked;

/// The inputs of a target, out of its archive (see `fuzz/corpus.sh`).
fn bytes(target: &str) -> impl Iterator<Item = Vec<u8>> {
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fuzz/corpus/{target}.tar.gz"));
    let file = std::fs::File::open(packed).expect("the corpus is kept with the code");
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(file));
    let entries = archive.entries().expect("a readable archive");
    let inputs: Vec<Vec<u8>> = entries
        .map(|entry| {
            let mut input = Vec::new();
            let mut entry = entry.expect("a readable entry");
            entry.read_to_end(&mut input).expect("a readable input");
            input
        })
        .collect();
    inputs.into_iter()
}

#[test]
fn json_agrees_with_serde_json() {
    let mut bodies = 0;
    for body in bytes("json").chain(bytes("fuse")) {
        let theirs = serde_json::from_slice::<serde_json::Value>(&body);
        if json::check(&body).is_ok() {
            let limit = |error: &serde_json::Error| error.to_string().contains("recursion limit");
            assert!(theirs.as_ref().map_or_else(limit, |_| true));
        } else {
            assert!(
                theirs.is_err() || body.iter().filter(|&&byte| byte == b'[' || byte == b'{').count() > 128
            );
        }
        bodies += 1;
    }
    assert!(bodies > 100);
}

#[test]
fn counts_agree_with_the_obvious_reading() {
    let mut texts = 0;
    for input in bytes("tokenize") {
        let text = String::from_utf8_lossy(&input);
        let middle = text
            .char_indices()
            .nth(text.chars().count() / 3)
            .map_or(0, |(at, _)| at);
        tokens::naive::assert_same_counts(&text[..middle], &text[middle..], text.len() % 67);
        texts += 1;
    }
    assert!(texts > 100);
}

#[test]
fn requests_that_ask_for_more_are_answered_as_the_obvious_reading_does() {
    let mut requests = 0;
    for input in bytes("rank") {
        ranked::assert_ranked(&input);
        requests += 1;
    }
    assert!(requests > 100);
}

#[test]
fn requests_by_a_profile_are_answered_as_those_written_out() {
    let (mut requests, mut answered) = (0, 0);
    for input in bytes("profiles") {
        answered += usize::from(profiled::assert_profiled(&input));
        requests += 1;
    }
    assert!(requests > 100 && answered > 50, "{requests}, {answered}");
}

#[test]
fn normalization_is_sound() {
    let mut texts = 0;
    for input in bytes("normalize") {
        let text = String::from_utf8_lossy(&input);
        for mode in [Mode::Augment, Mode::Replace, Mode::Repair] {
            normalize::naive::assert_sound(&text, mode, true, None);
            normalize::naive::assert_sound(&text, mode, false, None);
        }
        texts += 1;
    }
    assert!(texts > 70);
}

#[test]
fn audits_are_sound() {
    let (mut texts, mut cut) = (0, 0);
    for input in bytes("audit") {
        for format in [None].into_iter().chain(Format::ALL.map(Some)) {
            cut += usize::from(assert_audited(&input, format).is_ok());
        }
        texts += 1;
    }
    assert!(texts > 50 && cut > texts, "{texts}, {cut}");
}

#[test]
fn answers_are_json() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/static-256");
    let model = Model::open_static("static-256".to_owned(), [0; 32], &folder).expect("the model");
    let models = Arc::new(Models::new(vec![model], Some(0), None));
    let none = Arc::new(Models::new(Vec::new(), None, None));
    let embedding = Embedding::whole(&models, 50, None);
    let mut workspace = Workspace::default();
    let (mut scored, mut computed_here) = (0, 0);
    let mut out = vec![0; 1 << 20];
    for body in bytes("fuse") {
        let models = &none;
        let unaided = Embedding { models, ..embedding };
        let needs = workspace.fuse(&body, &mut out, unaided) == Outcome::Invalid;
        let outcome = workspace.fuse(&body, &mut out, embedding);
        if let Outcome::Written { length, .. } = outcome {
            serde_json::from_slice::<serde_json::Value>(&out[..length]).expect("an answer in JSON");
            *(if needs { &mut computed_here } else { &mut scored }) += 1;
        }
    }
    assert!(scored > 10 && computed_here > 2);
}

#[test]
fn fragments_agree_with_the_obvious_reading() {
    let mut fragments = 0;
    for input in bytes("digest") {
        let text = String::from_utf8_lossy(&input);
        let mut parts = text.split('\0');
        let mut next = || parts.next().unwrap_or_default();
        let (mechanism, test, kind, visitor) = (next(), next(), next(), next());
        let fragment = Fragment {
            title: text.as_ref(),
            content: next(),
            mechanism,
            test,
            kind,
            visitor,
        };
        receipts::naive::assert_same_fragment(&fragment);
        fragments += 1;
    }
    assert!(fragments > 100);
}

#[test]
fn shards_are_objects() {
    let (mut texts, mut objects) = (0, 0);
    for input in bytes("shards") {
        let text = String::from_utf8_lossy(&input);
        for object in shards::find(&text).iter().filter_map(|shard| shard.object.ok()) {
            let value = serde_json::from_str::<serde_json::Value>(object);
            assert!(value.is_ok_and(|value| value.is_object()));
            objects += 1;
        }
        texts += 1;
    }
    assert!(texts > 50 && objects > 5);
}
