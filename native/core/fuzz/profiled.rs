//! Settings and a request's own members, both of any bytes: a request that names a profile of these settings
//! is answered as the request with the settings written out. For the fuzzer, and for the inputs that it kept.

use fusegate_core::fuse::corpora::Corpora;
use fusegate_core::fuse::profiles::{Profile, Profiles};
use fusegate_core::fuse::{Embedding, Outcome, Visible};
use serde_json::{Map, Value, json};

#[path = "rooms.rs"]
mod rooms;
#[path = "shipped.rs"]
mod shipped;
use shipped::{MODELS, WORKSPACE};

/// The member of an answer that names the profile.
const ECHO: &str = r#","profile":{"name":"p","version":1}"#;
/// Members of which each stands for the other.
const WEIGHTED_TWICE: [&str; 2] = ["weights", "legs"];

/// Docs with the scores and values that the members of a request name. `dense`: with dense scores.
fn docs(members: &Map<String, Value>, dense: bool) -> Value {
    let texts = [
        "The red fox runs",
        "running foxes, général",
        "red red fox",
        "",
        "The red fox runs",
    ];
    let scored = members.get("legs").is_some_and(|legs| legs.get("own").is_some());
    let boosts = members.get("boosts").and_then(Value::as_array);
    let valued = boosts.into_iter().flatten().any(|boost| boost["value"] == "n");
    let doc = |(at, text): (usize, &str)| {
        let number = at as f64 / 8.0;
        let mut doc = json!({"id": at.to_string(), "text": text, "group": (at % 2).to_string()});
        if scored {
            doc["scores"] = json!({"own": 3.5 - number});
        }
        if valued {
            doc["values"] = json!({"n": number});
        }
        if dense {
            doc["dense_score"] = json!(0.875 - number);
        }
        doc
    };
    texts.into_iter().enumerate().map(doc).collect()
}

/// The outcome of a request, and its answer; empty if there is none.
fn answer(request: &Map<String, Value>, profiles: &Profiles) -> (Outcome, String) {
    let body = serde_json::to_vec(request).expect("JSON");
    let corpora = Corpora::default();
    let embedding = Embedding::whole(&MODELS, 50, Some(Visible::to(b"", &corpora, Some(profiles))));
    let (outcome, out) = WORKSPACE.with_borrow_mut(|workspace| rooms::answered(workspace, &body, embedding));
    (outcome, String::from_utf8(out).expect("text"))
}

/// Reads settings, a zero and a request's own members; true if a request was answered by the profile.
///
/// # Panics
/// When it is answered otherwise than the request with the settings written out.
pub fn assert_profiled(data: &[u8]) -> bool {
    let end = data.iter().position(|&byte| byte == 0).unwrap_or(data.len());
    let (settings, own) = (&data[..end], data.get(end + 1..).unwrap_or_default());
    let known = Profile::read(1, settings).is_some();
    let object = |bytes| serde_json::from_slice::<Map<String, Value>>(bytes).ok();
    let (Some(settings), Some(mut own)) = (object(settings), object(own)) else {
        return false;
    };
    // As serde_json writes them: of a repeated member the last one.
    let written = serde_json::to_vec(&settings).expect("JSON");
    let Some(profile) = Profile::read(1, &written) else {
        assert!(!known, "{}", String::from_utf8_lossy(&written));
        return false;
    };
    let profiles = Profiles::default();
    profiles.add(b"p", profile);
    own.remove("profile");
    own.insert("query".to_owned(), json!("red fox running"));
    own.remove("docs");
    let mut whole = own.clone();
    for (name, value) in settings {
        let is_given = |other: &str| own.contains_key(other);
        let weighted = WEIGHTED_TWICE.contains(&&*name) && WEIGHTED_TWICE.into_iter().any(is_given);
        if !weighted && !is_given(&name) {
            whole.insert(name, value);
        }
    }
    let docs = docs(&whole, data.len().is_multiple_of(2));
    own.insert("profile".to_owned(), json!("p"));
    own.insert("docs".to_owned(), docs.clone());
    whole.insert("docs".to_owned(), docs);
    let (outcome, found) = answer(&own, &profiles);
    let (expected, plain) = answer(&whole, &profiles);
    match (outcome, expected) {
        (
            Outcome::Written { length, characters },
            Outcome::Written {
                length: without,
                characters: same,
            },
        ) => {
            assert_eq!(found.matches(ECHO).count(), 1, "{found}");
            assert_eq!(found.replacen(ECHO, "", 1), plain);
            assert_eq!((length, characters), (without + ECHO.len(), same));
            true
        }
        _ => {
            assert_eq!(outcome, expected, "{whole:?}");
            false
        }
    }
}
