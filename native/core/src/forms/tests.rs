//! The search, beside the obvious one, and what forms cost that were made to cost much.

use super::*;

use proptest::prelude::*;
use std::time::{Duration, Instant};

/// The obvious search: at each place the longest form that is there.
fn naive<'a>(pairs: &'a [(String, String)], text: &str) -> Vec<Found<'a>> {
    let (mut all, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let here = pairs
            .iter()
            .filter(|(form, _)| !form.is_empty() && text.as_bytes()[at..].starts_with(form.as_bytes()));
        // Of equally long ones the last.
        match here.max_by_key(|(form, _)| form.len()) {
            Some((form, word)) => {
                all.push(Found {
                    place: at..at + form.len(),
                    word,
                });
                at += form.len();
            }
            None => at += 1,
        }
    }
    all
}

fn forms_of(pairs: &[(String, String)]) -> Forms {
    let pairs = pairs.iter().map(|(form, word)| (form.as_str(), word.as_str()));
    Forms::new(pairs.collect())
}

/// Forms without words.
fn bare(forms: impl IntoIterator<Item = String>) -> Vec<(String, String)> {
    forms.into_iter().map(|form| (form, String::new())).collect()
}

fn found<'a>(forms: &'a Forms, text: &'a str) -> Vec<Found<'a>> {
    let left = Box::leak(Box::new(Cell::new(usize::MAX)));
    forms.find(text, left).collect()
}

fn agrees(pairs: &[(String, String)], text: &str) {
    assert_eq!(
        found(&forms_of(pairs), text),
        naive(pairs, text),
        "{pairs:?} in {text:?}"
    );
}

proptest! {
    #[test]
    fn agrees_with_the_obvious_search(
        pairs in prop::collection::vec(("[abé水\0]{0,4}", "[abcé]{0,2}"), 0..12),
        text in "[abcé水\0]{0,30}",
    ) {
        agrees(&pairs, &text);
    }

    #[test]
    fn agrees_for_forms_of_many_steps(
        runs in prop::collection::vec((0_usize..100, "[ab]?", 0_usize..70), 0..8),
        texts in prop::collection::vec((0_usize..150, "[abc]?"), 0..6),
    ) {
        let forms = runs.iter().map(|(before, middle, after)| {
            format!("{}{middle}{}", "a".repeat(*before), "a".repeat(*after))
        });
        let text: String = texts.iter().map(|(run, end)| "a".repeat(*run) + end).collect();
        agrees(&bare(forms), &text);
    }
}

#[test]
fn any_byte_may_follow_a_form_of_one_or_end_the_text() {
    let pairs = bare(["a", "b\0", "cd", "é"].map(str::to_owned));
    for text in [
        "a",
        "xa",
        "a\0",
        "a\u{10FFFF}",
        "b",
        "xb",
        "b\0",
        "c",
        "cd",
        "xcd",
        "é",
        "xé",
        "",
    ] {
        agrees(&pairs, text);
    }
    agrees(&[], "a");
    agrees(&bare([String::new()]), "a");
}

/// Forms of about so many bytes that cost an automaton or a trie much, each with its name.
fn adversaries(bytes: usize) -> Vec<(&'static str, Vec<String>)> {
    let nested = |end: &str| -> Vec<String> {
        let mut left = bytes;
        let lengths = (1..).take_while(|length| {
            left = left.saturating_sub(*length);
            left > 0
        });
        lengths.map(|length| "a".repeat(length) + end).collect()
    };
    let count = bytes / 6;
    let shared = "s".repeat(1_000);
    vec![
        ("numbers", (0..count).map(|at| format!("k{at}")).collect()),
        (
            "numbers backwards",
            (0..count).map(|at| format!("{}k", at)).collect(),
        ),
        ("nested", nested("")),
        ("almost nested", nested("b")),
        (
            "with much in common",
            (0..bytes / 1_006).map(|at| format!("{shared}{at}")).collect(),
        ),
        (
            "of two letters",
            (0..bytes / 20).map(|at| format!("{at:020b}")).collect(),
        ),
        ("one", vec!["ab".repeat(bytes / 2)]),
    ]
}

fn scattered(count: usize) -> Vec<String> {
    let scatter = |at: usize| (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 34;
    (0..count).map(|at| format!("{:x}", scatter(at))).collect()
}

/// The least time of a few tries.
fn time(mut work: impl FnMut()) -> Duration {
    let tries = (0..5).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed()
    });
    tries.min().unwrap_or_default()
}

#[test]
fn preparing_forms_takes_time_by_their_bytes_whatever_they_are() {
    let bytes = 1 << 18;
    let prepare = |forms: &[(String, String)]| time(|| drop(forms_of(forms)));
    let usual = prepare(&bare(scattered(bytes / 8)));
    for (name, forms) in adversaries(bytes) {
        let took = prepare(&bare(forms));
        assert!(took < 5 * usual, "{name}: {took:?} instead of {usual:?}");
    }
}

#[test]
fn forms_take_two_nodes_each_at_most() {
    for (name, forms) in adversaries(1 << 16) {
        let count = forms.len();
        let nodes = forms_of(&bare(forms)).nodes.len();
        assert!(nodes <= 2 * count + 2, "{name}: {nodes} of {count}");
    }
}

#[test]
fn a_search_ends_where_its_steps_do() {
    let text = "a".repeat(10_000);
    for (name, forms) in adversaries(1 << 18) {
        let forms = forms_of(&bare(forms));
        let left = Cell::new(MOST_STEPS_PER_BYTE * text.len());
        let count = forms.find(&text, &left).count();
        // Each form of a run is found at once; a form that ends with another letter is looked for in vain.
        assert_eq!(left.get() == 0, name == "almost nested", "{name}: {count}");
    }
    let left = Cell::new(1);
    assert_eq!(forms_of(&bare(["a".to_owned()])).find("a", &left).count(), 0);
}
