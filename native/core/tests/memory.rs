//! Memory that requests take, by an allocator that counts: within a few times the body and the answer,
//! whatever the request is made of.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Write;
use std::sync::Arc;

use fusegate_core::embed::dense::Models;
use fusegate_core::fuse::{Embedding, Outcome, Workspace};
use fusegate_core::text::normalize::{self, gloss::Bounds};

thread_local! {
    /// Bytes that this thread allocated in all, those that it holds, and the most that it held.
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
    static HELD: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: each call is the system allocator's, with the caller's promises; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.set(ALLOCATED.get() + layout.size());
        HELD.set(HELD.get() + layout.size());
        PEAK.set(PEAK.get().max(HELD.get()));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let more = size.saturating_sub(layout.size());
        ALLOCATED.set(ALLOCATED.get() + more);
        HELD.set((HELD.get() + size).saturating_sub(layout.size()));
        PEAK.set(PEAK.get().max(HELD.get()));
        // SAFETY: as the caller promises.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // Memory that another thread allocated was not added to this thread's count.
        HELD.set(HELD.get().saturating_sub(layout.size()));
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Result of a request without models, of whose answer `out` takes the beginning.
struct Answered {
    outcome: Outcome,
    /// The answer that `out` had no room for.
    apart: Option<Vec<u8>>,
    /// Bytes that were allocated for it in all, and most at a time.
    allocated: usize,
    peak: usize,
}

fn answered(body: &str, out: &mut [u8], most_bytes: usize) -> Answered {
    let models = Arc::new(Models::new(Vec::new(), None, None));
    let embedding = Embedding {
        models: &models,
        most_docs: 0,
        most_bytes,
        on_loop: false,
        corpora: None,
    };
    let mut workspace = Workspace::default();
    let (allocated, held) = (ALLOCATED.get(), HELD.get());
    PEAK.set(held);
    let outcome = workspace.fuse(body.as_bytes(), out, embedding);
    Answered {
        outcome,
        allocated: ALLOCATED.get() - allocated,
        peak: PEAK.get() - held,
        apart: workspace.take_answer(),
    }
}

/// Many words, all different.
fn words(count: usize) -> String {
    (0..count).fold(String::new(), |mut text, number| {
        write!(text, " {number:x}").expect("room");
        text
    })
}

#[test]
fn explaining_docs_without_a_term_does_not_cost_the_terms_of_the_query_each() {
    let (terms, docs) = (10_000, 2_000);
    let doc = r#"{"id":"","text":"","dense_score":1}"#;
    let body = format!(
        r#"{{"query":"{}","docs":[{}],"explain":true,"analyzer":{{}}}}"#,
        words(terms),
        vec![doc; docs].join(",")
    );
    let answered = answered(&body, &mut vec![0; 4 << 20], usize::MAX);
    let Answered {
        outcome, allocated, ..
    } = answered;
    assert!(matches!(outcome, Outcome::Written { .. }), "{outcome:?}");
    assert!(allocated < 100 * body.len(), "{allocated} of {}", body.len());
}

/// A request whose explanations name each word of `docs` texts.
fn explained(docs: usize) -> String {
    let letters = ('a'..='z').chain('0'..='9');
    let pairs = letters
        .clone()
        .flat_map(|first| letters.clone().map(move |second| format!("{first}{second}")));
    let words = pairs.collect::<Vec<_>>().join(" ");
    let doc = format!(r#"{{"id":"","text":"{words}","dense_score":1}}"#);
    let docs = vec![doc; docs].join(",");
    // Without the space they would have more bytes than explanations may have for a byte of the request.
    let space = " ".repeat(2 * docs.len() / 3);
    format!(r#"{{"query":"{words}","docs":[{docs}],"explain":true,"analyzer":"plain"}}{space}"#)
}

/// Bytes of the blocks that pieces are in, the last of which may be half empty.
const BLOCKS: usize = 4 << 20;

#[test]
fn an_answer_that_is_too_large_is_refused_before_it_is_made() {
    let body = explained(100);
    let whole = answered(&body, &mut [0; 1 << 16], usize::MAX);
    assert_eq!(whole.apart, None);
    let Outcome::NeedsRoom(room) = whole.outcome else {
        panic!("{:?}", whole.outcome);
    };
    let mut out = vec![0; room];
    let whole = answered(&body, &mut out, usize::MAX)
        .apart
        .expect("a long answer");
    assert!(whole.len() > 18 * body.len(), "{} of {}", whole.len(), body.len());
    for most in [0, 1, 1 << 20, 4 << 20, whole.len() - 1] {
        let Answered { outcome, peak, .. } = answered(&body, &mut out, most);
        assert_eq!(outcome, Outcome::TooLarge, "{most}");
        if most < whole.len() / 2 {
            assert!(peak < 4 * body.len() + most + BLOCKS, "{peak} for {most}");
        }
    }
    let same = answered(&body, &mut out, whole.len());
    assert!(same.apart.expect("a long answer") == whole);
    let short = body.trim_end();
    assert_eq!(
        answered(short, &mut out, whole.len()).outcome,
        Outcome::TooDetailed
    );
    // A caller who takes an answer of any length takes any details.
    let any = answered(short, &mut out, usize::MAX).outcome;
    assert!(matches!(any, Outcome::Written { .. }), "{any:?}");
}

#[test]
fn long_details_are_not_made_on_an_event_loop() {
    let models = Arc::new(Models::new(Vec::new(), None, None));
    let on_loop = |docs, most_bytes| {
        let embedding = Embedding {
            on_loop: true,
            most_bytes,
            ..Embedding::whole(&models, 0, None)
        };
        let body = explained(docs);
        Workspace::default().fuse(body.as_bytes(), &mut vec![0; 1 << 20], embedding)
    };
    for most_bytes in [16 << 20, usize::MAX] {
        assert!(matches!(on_loop(3, most_bytes), Outcome::Written { .. }));
        assert_eq!(on_loop(8, most_bytes), Outcome::Deferred);
    }
    // An answer of this length is made nowhere.
    assert_eq!(on_loop(3, 100_000), Outcome::TooLarge);
    assert_eq!(on_loop(8, 100_000), Outcome::TooLarge);
}

#[test]
fn a_long_answer_is_made_once() {
    let body = explained(200);
    let mut out = vec![0; 2 * body.len()];
    let Answered {
        outcome, apart, peak, ..
    } = answered(&body, &mut out, usize::MAX);
    let answer = apart.expect("a long answer");
    assert!(matches!(outcome, Outcome::Written { length, .. } if length == answer.len()));
    // Its pieces are made beside it, and given back as it is written.
    assert!(peak < 4 * body.len() + 2 * answer.len() + BLOCKS, "{peak}");
    let mut room = vec![0; answer.len() + 2 * body.len() + (1 << 16)];
    let into = answered(&body, &mut room, usize::MAX);
    assert_eq!((into.outcome, into.apart), (outcome, None));
    assert!(room[..answer.len()] == answer);
}

#[test]
fn explanations_by_legs_end_at_the_bound_too() {
    let name = |leg: usize| format!("{}{leg:02}", "\u{1}".repeat(60).replace('\u{1}', "\\u0001"));
    let legs: Vec<String> = (0..15).map(|leg| format!(r#""{}":{{}}"#, name(leg))).collect();
    let scores: Vec<String> = (0..15).map(|leg| format!(r#""{}":1"#, name(leg))).collect();
    let first = format!(r#"{{"id":"","text":"","scores":{{{}}}}}"#, scores.join(","));
    let docs = [first.as_str(), &vec![r#"{"id":"","text":""}"#; 10_000].join(",")].join(",");
    let legs = legs.join(",");
    let body = format!(r#"{{"query":"a","docs":[{docs}],"explain":true,"legs":{{"bm25":{{}},{legs}}}}}"#);
    let mut out = vec![0; 8 << 20];
    let most = 1 << 20;
    let Answered { outcome, peak, .. } = answered(&body, &mut out, most);
    assert_eq!(outcome, Outcome::TooLarge);
    assert!(peak < 20 * body.len() + most + BLOCKS, "{peak} of {}", body.len());
}

/// Bodies of about so many bytes for `/v1/normalize`, nearly all glosses, each with its name.
fn glossed(bytes: usize) -> Vec<(&'static str, String)> {
    let body = |text: &str, forms: Vec<String>| {
        let glosses: Vec<String> = forms.iter().map(|form| format!(r#""{form}":"v""#)).collect();
        format!(
            r#"{{"text":"{text}","chinese_glosses":{{{}}}}}"#,
            glosses.join(",")
        )
    };
    let letters = |seed: usize, count: usize| -> String {
        let scattered = (seed..).map(|at| (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40);
        scattered
            .take(count)
            .map(|at| char::from(b'a' + (at % 26) as u8))
            .collect()
    };
    let long = (0..bytes / 100_000).map(|seed| letters(seed * 1_000_003, 100_000));
    vec![
        ("one long form", body("x", vec![letters(0, bytes)])),
        (
            "forms as long as the text",
            body(&letters(9, 100_000), long.collect()),
        ),
        (
            "numbers",
            body("x", (0..bytes / 12).map(|at| format!("k{at}")).collect()),
        ),
        (
            "to be repaired",
            body("x", (0..bytes / 12).map(|at| format!("\u{200B}k{at}")).collect()),
        ),
        (
            "of two letters",
            body("x", (0..bytes / 28).map(|at| format!("{at:020b}")).collect()),
        ),
    ]
}

#[test]
fn glosses_take_a_few_times_their_bytes() {
    for (name, body) in glossed(1 << 21) {
        let mut out = vec![0; 2 * body.len()];
        let mut workspace = normalize::Workspace::default();
        let held = HELD.get();
        PEAK.set(held);
        let outcome = workspace.normalize(body.as_bytes(), &mut out, Bounds::REQUEST);
        let peak = PEAK.get() - held;
        assert!(
            matches!(outcome, normalize::Outcome::Written { .. }),
            "{name}: {outcome:?}"
        );
        assert!(
            peak < 4 * body.len() + (1 << 18),
            "{name}: {peak} of {}",
            body.len()
        );
    }
}

/// The JSON of `count` members with the same value, whose names have `length` letters and a number.
fn named(count: usize, length: usize, value: &str) -> String {
    let names: Vec<String> = (0..count)
        .map(|at| format!(r#""{}{at}":{value}"#, "n".repeat(length)))
        .collect();
    format!("{{{}}}", names.join(","))
}

/// Requests that wait, each of which takes memory for another part, with its name.
fn waiting() -> Vec<(&'static str, String)> {
    let request = |count: usize, doc: &str, members: &str| {
        let doc = format!(r#"{{"id":"","text":"","dense_score":1{doc}}}"#);
        let docs = vec![doc; count].join(",");
        let body = format!(r#"{{"query":"","docs":[{docs}],"collapse":{{"by":"text"}}{members}}}"#);
        // Longer than is answered on an event loop.
        body + &" ".repeat(30_000)
    };
    let scores = |length| format!(r#","scores":{}"#, named(15, length, "1"));
    let values = |length| format!(r#","values":{}"#, named(15, length, "1"));
    let legs = |length| format!(r#","legs":{}"#, named(15, length, "{}"));
    let boosts = |length: usize| {
        let boost = |at| {
            let name = format!("{}{at}", "n".repeat(length));
            format!(r#"{{"value":"{name}","origin":1,"scale":1}}"#)
        };
        let boosts: Vec<String> = (0..15).map(boost).collect();
        format!(r#","boosts":[{}]"#, boosts.join(","))
    };
    let map = format!(r#","entity_map":{}"#, named(9_000, 0, r#""""#));
    vec![
        ("docs", request(2_000, "", "")),
        ("groups", request(2_000, r#","group":"a""#, "")),
        ("scores", request(2_000, &scores(0), &legs(0))),
        ("values", request(2_000, &values(0), &boosts(0))),
        ("names of scores", request(1, &scores(62), &legs(62))),
        ("names of values", request(1, &values(62), &boosts(62))),
        ("entities", request(1, "", &map)),
    ]
}

#[test]
fn a_request_that_waits_says_about_how_much_memory_it_takes() {
    let models = Arc::new(Models::new(Vec::new(), None, None));
    for (name, body) in waiting() {
        let held = HELD.get();
        let mut workspace = Workspace::default();
        let embedding = Embedding {
            on_loop: true,
            ..Embedding::whole(&models, 0, None)
        };
        let outcome = workspace.fuse(body.as_bytes(), &mut vec![0; 1 << 20], embedding);
        assert_eq!(outcome, Outcome::Deferred, "{name}");
        let pending = workspace.take_pending().expect("a request that waits");
        drop(workspace);
        let (held, said) = (HELD.get() - held, pending.bytes());
        assert!(said <= held && held < said + said / 2, "{name}: {said} of {held}");
    }
}

#[test]
fn a_workspace_holds_little_after_a_long_request() {
    let models = Arc::new(Models::new(Vec::new(), None, None));
    let asked = |query: &str, members: &str| {
        let doc = r#"{"id":"","text":"","dense_score":1}"#;
        format!(r#"{{"query":"{query}","docs":[{doc}]{members}}}"#)
    };
    let characters: String = ('\u{4E00}'..'\u{9F00}')
        .flat_map(|c| [c, '中', c, '文'])
        .collect();
    for (name, body) in [
        ("terms", asked(&words(100_000), "")),
        ("forms", asked(&words(100_000), r#","analyzer":"english""#)),
        ("bigrams", asked(&characters, r#","tokenizer":"ngram""#)),
        ("explanations", explained(100)),
    ] {
        let held = HELD.get();
        let mut workspace = Workspace::default();
        let embedding = Embedding::whole(&models, 0, None);
        let outcome = workspace.fuse(body.as_bytes(), &mut vec![0; 4 << 20], embedding);
        assert!(matches!(outcome, Outcome::Written { .. }), "{name}: {outcome:?}");
        drop(workspace.take_answer());
        let held = HELD.get() - held;
        assert!(held < 2 << 20, "{name}: {held}");
    }
}
