//! Tests of counted and named statistics.

use super::hashed::Digester;
use super::sample::{Doc, SAMPLE_DOCS, Sample, take};
use super::statistics::{FORMAT, mark};
use super::*;
use crate::fuse::Visible;
use crate::tokens::analyzer::Forms;
use crate::tokens::tokenize::{self, Keyed};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const KEY: Key = *b"0123456789abcdef";

proptest! {
    #[test]
    fn counted_texts_are_those_of_the_obvious_count(
        texts in proptest::collection::vec("[a-dA-D é.]{0,30}", 1..20),
        ngram in any::<bool>(),
    ) {
        let tokenizer = if ngram { Tokenizer::Keyed(Keyed::Ngram) } else { Tokenizer::Ws };
        let settings: &[u8] = if ngram { b"\"plain\"" } else { b"\"english\"" };
        let mut counter = Counter::new(KEY, settings, tokenizer).expect("valid settings");
        let (mut tokens, mut terms) = (0, BTreeMap::new());
        for text in &texts {
            counter.add(text).expect("few texts");
            let mut found = BTreeSet::new();
            if ngram {
                Keyed::Ngram.each(text.as_bytes(), |bigram| {
                    tokens += 1;
                    found.insert(crate::tokens::terms::bigram_text(bigram));
                });
            } else {
                tokenize::ws(text.as_bytes(), &mut Vec::new(), |token| {
                    tokens += 1;
                    let token = std::str::from_utf8(token).expect("whole characters");
                    found.insert(crate::tokens::analyzer::stem("english", token).expect("a stem"));
                });
            }
            for term in found {
                *terms.entry(term).or_insert(0) += 1;
            }
        }
        match counter.finish() {
            Err(refused) => prop_assert_eq!((refused, tokens), (Refused::Empty, 0)),
            Ok(statistics) => {
                prop_assert_eq!(statistics.docs, texts.len() as f64);
                let length = (tokens as f64 / texts.len() as f64).max(0.01);
                prop_assert_eq!(statistics.average_length, length);
                prop_assert_eq!(statistics.terms(), terms.len());
                for (term, count) in &terms {
                    prop_assert_eq!(statistics.frequency(term.as_bytes()), f64::from(*count));
                }
                prop_assert_eq!(statistics.frequency(b"zz"), 0.0);
                prop_assert_eq!(Statistics::read(&statistics.write(), *b"fedcba9876543210"), None);
                prop_assert_eq!(Statistics::read(&statistics.write(), KEY), Some(statistics));
            }
        }
    }

    #[test]
    fn a_stored_sample_is_read_as_it_was_and_damaged_ones_as_none_or_sound_ones(
        docs in proptest::collection::vec("[a-d ]{1,20}", 0..90),
        (at, byte) in (any::<proptest::sample::Index>(), any::<u8>()),
        cut in any::<proptest::sample::Index>(),
    ) {
        let digester = Digester::new(&KEY);
        let terming = Terming::of(Tokenizer::Ws, None);
        let mut hasher = terming.hasher(KEY);
        let mut sample = Sample::new(*b"01234567", terming.text());
        for text in &docs {
            if let Some(doc) = Doc::of(text, &mut hasher) {
                take(&mut sample.docs, digester.digest(text), doc);
            }
        }
        sample.freeze(KEY);
        let mut bytes = sample.write(&KEY);
        prop_assert_eq!(Sample::read(&bytes, b"fedcba9876543210"), None);
        prop_assert_eq!(Sample::read(&bytes, &KEY), Some(sample));
        let at = at.index(bytes.len());
        bytes[at] = byte;
        bytes.truncate(bytes.len() - cut.index(bytes.len()) / 2);
        if let Some(read) = Sample::read(&bytes, &KEY) {
            prop_assert_eq!(read.write(&KEY), bytes);
        }
    }

    #[test]
    fn damaged_statistics_are_read_as_none_or_as_sound_ones(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..60),
        format in any::<bool>(),
    ) {
        if format && bytes.len() > 5 {
            bytes[0] = FORMAT;
            bytes[1..5].copy_from_slice(&mark(&KEY));
        }
        if let Some(read) = Statistics::read(&bytes, KEY) {
            prop_assert_eq!(read.write(), bytes);
        }
    }
}

#[test]
fn lines_are_strings_or_objects_with_a_text() {
    let count = |lines: &str| {
        let mut counter = Counter::new(KEY, b"\"plain\"", Tokenizer::Ws).expect("valid settings");
        counter.add_lines(lines.as_bytes())?;
        counter.finish()
    };
    let lines = "\"a b\"\n\n {\"id\":[1],\"text\":\"b \\u0063\"} \r\n\"\"\n";
    let counted = count(lines).expect("docs");
    assert_eq!(
        (counted.docs, counted.terms(), counted.frequency(b"b")),
        (3.0, 3, 2.0)
    );
    for wrong in ["{}", "7", "\"a", "{\"text\":1}", "\"a\" b", "{\"text\":\"a\"}}"] {
        assert_eq!(
            count(&format!("\"a\"\n{wrong}\n")),
            Err(Refused::Line(2)),
            "{wrong}"
        );
    }
    assert_eq!(count("\n"), Err(Refused::Empty));
}

#[test]
fn a_text_of_too_many_terms_is_refused() {
    let text: String = (0..=MOST_TERMS).map(|number| format!("{number} ")).collect();
    let mut counter = Counter::new(KEY, b"\"plain\"", Tokenizer::Ws).expect("valid settings");
    assert_eq!(counter.add(&text), Err(Refused::Terms));
    assert_eq!(counter.counted.len(), MOST_TERMS + 1);
}

#[test]
fn inline_statistics_are_read_as_a_request_reads_them() {
    let read = |body: &str| Statistics::read_inline(body.as_bytes(), &KEY);
    let inline = read(r#" {"docs":7,"average_length":2.5,"df":{"a":1,"\u0062":2,"a":3}} "#).expect("valid");
    assert_eq!(
        (inline.docs, inline.average_length, inline.terms()),
        (7.0, 2.5, 2)
    );
    assert_eq!(inline.frequency(b"a"), 3.0);
    assert_eq!(inline.frequency(b"b"), 2.0);
    assert_eq!(
        read(r#"{"docs":7,"average_length":2.5,"df":{"a":8}}"#),
        Err(Refused::Invalid)
    );
    assert_eq!(read(r#"{"docs":7,"average_length":2.5}"#), Err(Refused::Invalid));
    assert_eq!(
        read(r#"{"docs":1e12,"average_length":2.5,"df":{}}"#),
        Err(Refused::Docs)
    );
}

#[test]
fn names_have_versions_and_pinned_ones_stay() {
    let corpora = Corpora::default();
    let visible = Visible::to(b"", &corpora, None);
    let version = |number, docs| {
        let body = format!(r#"{{"docs":{docs},"average_length":1,"df":{{}}}}"#);
        let statistics = Statistics::read_inline(body.as_bytes(), &KEY).expect("valid");
        let learnt = false;
        Version {
            number,
            learnt,
            statistics,
        }
    };
    assert!(visible.find(b"shop", None).is_none());
    corpora.add(b"shop", version(1, 10));
    corpora.add(b"shop", version(3, 30));
    corpora.add(b"shop", version(3, 31));
    let docs = |asked| visible.find(b"shop", asked).map(|found| found.statistics.docs);
    assert_eq!(
        (docs(None), docs(Some(1.0)), docs(Some(3.0))),
        (Some(30.0), Some(10.0), Some(30.0))
    );
    assert_eq!(docs(Some(2.0)), None);
    corpora.remove(b"shop");
    assert_eq!(docs(None), None);
}

#[test]
fn an_owner_s_name_hides_everybody_s_and_is_nobody_else_s() {
    let corpora = Corpora::default();
    let add = |name: &str, docs: u32| {
        let body = format!(r#"{{"docs":{docs},"average_length":1,"df":{{}}}}"#);
        let statistics = Statistics::read_inline(body.as_bytes(), &KEY).expect("valid");
        corpora.add(
            name.as_bytes(),
            Version {
                number: 1,
                learnt: false,
                statistics,
            },
        );
    };
    add("shop", 1);
    add("ada/shop", 2);
    add("ada/wiki", 3);
    let docs = |owner: &str, name: &str| {
        let found = Visible::to(owner.as_bytes(), &corpora, None).find(name.as_bytes(), None);
        found.map(|found| found.statistics.docs)
    };
    assert_eq!(
        (docs("", "shop"), docs("bob", "shop"), docs("ada", "shop")),
        (Some(1.0), Some(1.0), Some(2.0))
    );
    assert_eq!(
        (docs("", "wiki"), docs("bob", "wiki"), docs("ada", "wiki")),
        (None, None, Some(3.0))
    );
    let names = |owner: &str| Visible::to(owner.as_bytes(), &corpora, None).names();
    assert_eq!(
        (names("").join(" "), names("ada").join(" ")),
        ("shop".to_owned(), "shop wiki".to_owned())
    );
    assert_eq!((docs("", "ada/wiki"), docs("bob", "ada/wiki")), (None, None));
}

#[test]
fn a_sample_has_the_smallest_digests_and_no_doc_of_too_many_terms() {
    let terming = Terming::of(Tokenizer::Ws, None);
    let mut hasher = terming.hasher(KEY);
    let mut sample = Sample::new([0; 8], terming.text());
    for digest in (0..2_000).rev() {
        take(
            &mut sample.docs,
            digest,
            Doc::of("hiking boots", &mut hasher).expect("a doc"),
        );
    }
    assert!(sample.docs.keys().copied().eq(0..SAMPLE_DOCS as u64));
    let words = |count: usize| (0..count).map(|at| format!("w{at} ")).collect::<String>();
    let most = MOST_TERMS / SAMPLE_DOCS;
    assert!(Doc::of(&words(most), &mut hasher).is_some());
    assert!(Doc::of(&words(most + 1), &mut hasher).is_none());
    assert!(Doc::of("...", &mut hasher).is_none());
    assert_eq!(
        Terming::of(Tokenizer::Keyed(Keyed::Ngram), None).text(),
        "ngram, plain"
    );
}

const PLAIN: Terming = Terming {
    tokenizer: Tokenizer::Ws,
    forms: Forms {
        stemmer: None,
        fold_accents: false,
    },
    normalize: false,
};

/// Offers a doc to a name, or says why it cannot be learned.
fn teach(corpora: &Corpora, owner: &str, name: &str, digest: u64, text: &str) -> Option<Unlearnt> {
    let lesson = Visible::to(owner.as_bytes(), corpora, None).learn(name.as_bytes(), PLAIN);
    lesson
        .map(|lesson| lesson.offer(&[digest], |_| text.into()))
        .err()
}

#[test]
fn names_that_are_learnt_are_few_and_texts_that_wait_are_short() {
    let corpora = Corpora::new(&KEY);
    let learn = |owner, name: &str| teach(&corpora, owner, name, 9, "a");
    for number in 0..8 {
        assert_eq!(learn("ada", &format!("n{number}")), None);
    }
    assert_eq!(learn("ada", "n8"), Some(Unlearnt::Names));
    assert_eq!(learn("ada", "n7"), None);
    for number in 8..1_024 {
        assert_eq!(learn("", &format!("n{number}")), None);
    }
    assert_eq!(learn("", "more"), Some(Unlearnt::Names));
    let lesson = Visible::to(b"", &corpora, None).learn(b"n8", PLAIN);
    let lesson = lesson.expect("a name that is known");
    let learnings = corpora.learnings();
    assert!(!learnings.is_crowded(b"n8"));
    // Of two texts of 9 MiB only one waits; the other is not learned until the first is counted.
    lesson.offer(&[1, 2], |_| "a ".repeat(9 << 19).into());
    assert!(learnings.is_crowded(b"n8") && learnings.is_crowded(b"n9"));
    // Names of owners have room of their own.
    assert!(!learnings.is_crowded(b"ada/n7"));
    assert_eq!(teach(&corpora, "ada", "n7", 1, &"a ".repeat(9 << 19)), None);
    let docs = |digests: &[u64]| {
        lesson.offer(digests, |_| "a".into());
        let step = learnings.step(b"n8", None, [0; 8]).expect("no sample");
        step.map(|step| step.docs)
    };
    assert_eq!(docs(&[]), Some(2));
    assert!(!learnings.is_crowded(b"n8"));
    assert_eq!(docs(&[1, 2]), Some(3));
    assert_eq!(
        learnings
            .step(b"ada/n7", None, [0; 8])
            .expect("no sample")
            .map(|step| step.docs),
        Some(2)
    );
}

#[test]
fn a_name_takes_a_place_only_with_docs() {
    let corpora = Corpora::new(&KEY);
    let visible = Visible::to(b"ada", &corpora, None);
    let lesson = |name: &str, terming| visible.learn(name.as_bytes(), terming);
    // Refused later, or without docs.
    for number in 0..20 {
        let lesson = lesson(&format!("n{number}"), PLAIN).expect("room");
        if number % 2 == 0 {
            lesson.offer(&[], |_| unreachable!());
        }
    }
    // No room for a text to wait.
    lesson("long", PLAIN)
        .expect("room")
        .offer(&[1], |_| "a".repeat(17 << 20).into());
    // Settings are those of the first docs, not of a request that was refused.
    let ngram = Terming::of(Tokenizer::Keyed(Keyed::Ngram), None);
    let (late, first) = (lesson("n0", PLAIN).expect("room"), lesson("n0", ngram));
    first.expect("room").offer(&[1], |_| "a".into());
    late.offer(&[2], |_| "a".into());
    assert!(matches!(lesson("n0", PLAIN), Err(Unlearnt::Terming(_))));
    for number in 1..8 {
        assert_eq!(teach(&corpora, "ada", &format!("n{number}"), 1, "a"), None);
    }
    assert_eq!(teach(&corpora, "ada", "n8", 1, "a"), Some(Unlearnt::Names));
    let step = corpora
        .learnings()
        .step(b"ada/n0", None, [0; 8])
        .expect("no sample");
    assert_eq!(step.map(|step| step.docs), Some(1));
}

#[test]
fn docs_that_come_while_a_name_is_dropped_are_learned() {
    let corpora = Corpora::new(&KEY);
    let learnings = corpora.learnings();
    let lesson = Visible::to(b"", &corpora, None).learn(b"shop", PLAIN);
    let lesson = lesson.expect("room");
    lesson.offer(&[1], |_| "a".into());
    corpora.remove(b"shop");
    lesson.offer(&[2], |_| "a".into());
    // It has something to store, and stays.
    learnings.forget(b"shop");
    assert_eq!(learnings.unsaved(), ["shop"]);
    let step = learnings.step(b"shop", None, [0; 8]).expect("no sample");
    assert_eq!(step.map(|step| step.docs), Some(1));
    // Found, and dropped before the offer: it says so, and holds no room that nobody would free.
    let found = |name: &[u8]| learnings.of(name, b"", PLAIN).expect("room");
    let offer = |found: &super::learning::Learning| found.offer(&[2], &mut |_| "a".into());
    let (removed, forgotten, over, full) = (found(b"shop"), found(b"idle"), found(b"over"), found(b"full"));
    corpora.remove(b"shop");
    learnings.forget(b"idle");
    learnings.end(b"full", true);
    learnings.end(b"over", false);
    assert!(offer(&over) && offer(&full));
    learnings.retry();
    assert!(!offer(&removed) && !offer(&forgotten) && !offer(&over) && offer(&full));
    assert_eq!(learnings.unsaved(), [""; 0]);
}
