//! Memory that requests take, by an allocator that counts: within a few times the body and the answer, whatever
//! the request is made of.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Write;
use std::sync::Arc;

use fusegate_core::embed::dense::Models;
use fusegate_core::fuse::{Embedding, Outcome, Workspace};

thread_local! {
    /// Bytes that this thread allocated in all.
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: each call is the system allocator's, with the caller's promises; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.set(ALLOCATED.get() + layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Outcome of a request without models, and the bytes that were allocated for it.
fn cost(body: &str, out: &mut [u8]) -> (Outcome, usize) {
    let models = Arc::new(Models::new(Vec::new(), None, None));
    let embedding = Embedding {
        models: &models,
        most_docs: 0,
        corpora: None,
    };
    let mut workspace = Workspace::default();
    let before = ALLOCATED.get();
    let outcome = workspace.fuse(body.as_bytes(), out, embedding);
    (outcome, ALLOCATED.get() - before)
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
    let (outcome, allocated) = cost(&body, &mut vec![0; 4 << 20]);
    assert!(matches!(outcome, Outcome::Written { .. }), "{outcome:?}");
    assert!(allocated < 100 * body.len(), "{allocated} of {}", body.len());
}
