//! How much work a request may be: on an event loop, and for its bytes.

use super::request::legs::{Leg, Normalize};
use super::request::more::More;
use super::request::results::{Collapse, CollapseBy, LikenessBy};
use super::request::{Method, Options};
use crate::tokens::analyzer::{Analyzer, Forms, StopWords};

/// Longest body whose texts are read for a model on an event loop, and most bytes of texts after an
/// `entity_map`. A byte takes up to 60 ns, and 25 more with a map whose keys are looked for in vain.
pub(super) const LOOP_READ: usize = 48 << 10;

/// Most bytes of highlights and explanations that are written on an event loop. A byte takes up to 5 ns.
pub(super) const LOOP_DETAILS: usize = 512 << 10;

/// Most products of vectors' numbers on an event loop, where one takes up to 0.3 ns.
pub(super) const LOOP_PRODUCTS: usize = 8 << 20;

/// Most bytes of highlights and explanations for a byte of the body.
const DETAILS_PER_BYTE: usize = 24;
/// Bytes that those of any request may have besides.
const FREE_DETAILS: usize = 64 << 10;

/// Most bytes of the highlights and explanations of a request, by the length of its body: a few short names
/// and terms are repeated for every result.
pub(super) fn most_details(body: usize) -> usize {
    FREE_DETAILS + DETAILS_PER_BYTE * body
}

/// Most time on an event loop (ns), by the estimate of [`time`].
const LOOP_TIME: usize = 4_500_000;

/// Longest query (bytes) of which few words begin as the words of the texts do.
const SHORT_QUERY: usize = 1 << 10;

/// Time that an analyzer takes for a byte of a text each time that it reads it (ns), at most.
fn analyzed(analyzer: &Analyzer, query: usize) -> usize {
    let Forms {
        stemmer,
        fold_accents,
    } = analyzer.forms;
    let repaired = if analyzer.normalize { 125 } else { 0 };
    let stemmed = match stemmer {
        None => 0,
        // A word is stemmed only if the query has one that begins alike.
        Some(_) if analyzer.forms.keeps_beginnings() && !fold_accents && query <= SHORT_QUERY => 45,
        Some(_) => 90,
    };
    repaired + stemmed + if fold_accents { 40 } else { 0 }
}

/// Estimate of the most time that a request may take (ns), for what can take long.
fn time(body: &[u8], options: &Options, more: &More, embeds: bool, docs: usize) -> usize {
    let query = options.query.end - options.query.start;
    let analyzed = more
        .analyzer
        .as_ref()
        .map_or(0, |analyzer| analyzed(analyzer, query));
    let has_stop_words = |analyzer: &Analyzer| !matches!(analyzer.stop_words, StopWords::None);
    let stops = more.analyzer.as_ref().is_some_and(has_stop_words);
    let folds = |collapse: Collapse| collapse.by == CollapseBy::Text;
    let compares = more.diversify.is_some_and(|one| one.by == LikenessBy::Terms);
    // Each reading of the texts, with its time for a byte besides the analyzer's.
    let readings = [
        (true, 0),
        (options.explain && more.names_terms(), 30),
        (compares, 45),
        (more.highlight.is_some(), 55),
    ];
    let read: usize = readings
        .map(|(reads, own)| if reads { own + analyzed } else { 0 })
        .iter()
        .sum();
    // Readings without the analyzer.
    let others = [(more.collapse.is_some_and(folds), 180), (embeds, 85)];
    let other: usize = others
        .map(|(reads, own)| if reads { own } else { 0 })
        .iter()
        .sum();
    let term = 35 + if analyzed > 0 { 90 } else { 0 } + if stops { 95 } else { 0 };
    let ranked =
        |leg: &&Leg| options.method == Method::Rrf || leg.normalize == Normalize::Rank || options.explain;
    let sorted = more.legs.iter().filter(ranked).count() * docs * (1 + usize::from(options.explain));
    body.len() * (read + other) + query * term + sorted * 30
}

/// True if a request takes too long for an event loop. `embeds`: a model reads its texts there, too.
pub(super) fn is_long(body: &[u8], options: &Options, more: &More, embeds: bool, docs: usize) -> bool {
    time(body, options, more, embeds, docs) > LOOP_TIME
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::embed::dense::Models;
    use crate::fuse::request::{Lists, complete, read};
    use crate::fuse::{Embedding, Outcome, Workspace};

    fn request(query: &str, text: &str, members: &str) -> String {
        let doc = format!(r#"{{"id":"","text":"{text}","dense_score":1,"group":"a"}}"#);
        format!(r#"{{"query":"{query}","docs":[{doc}]{members}}}"#)
    }

    /// The estimate for a request of a query of this length with `docs` docs, and the length of its body.
    fn estimate(members: &str, embeds: bool, query: usize, docs: usize) -> (usize, usize) {
        let body = request(&"q".repeat(query), &"a b ".repeat(50), members);
        let mut lists = Lists::default();
        let said = read(body.as_bytes(), &mut lists).expect("a request");
        let options = complete(said, &mut lists).expect("members that fit together");
        let more = lists.more.expect("a group");
        (time(body.as_bytes(), &options, &more, embeds, docs), body.len())
    }

    /// Members of a request, and its time (ns) for each byte of the body, byte of the query, and doc.
    const TIMES: [(&str, [usize; 3]); 24] = [
        ("", [0, 35, 0]),
        (r#","explain":true"#, [0, 35, 0]),
        (r#","analyzer":{}"#, [0, 35, 0]),
        (r#","analyzer":{},"explain":true"#, [30, 35, 0]),
        (r#","analyzer":{"normalize":true}"#, [125, 125, 0]),
        (r#","analyzer":{"fold_accents":true}"#, [40, 125, 0]),
        (r#","analyzer":{"stemmer":"german"}"#, [90, 125, 0]),
        (r#","analyzer":{"stemmer":"english"}"#, [45, 125, 0]),
        // Folded words are stemmed whatever the query has.
        (
            r#","analyzer":{"stemmer":"english","fold_accents":true}"#,
            [130, 125, 0],
        ),
        (
            r#","analyzer":{"stemmer":"german","normalize":true}"#,
            [215, 125, 0],
        ),
        (r#","analyzer":{"stopwords":["a"]}"#, [0, 130, 0]),
        (
            r#","analyzer":{"stopwords":["a"],"normalize":true}"#,
            [125, 220, 0],
        ),
        (r#","analyzer":"english""#, [45, 220, 0]),
        (r#","highlight":{}"#, [55, 35, 0]),
        (r#","diversify":{"diversity":0.5}"#, [45, 35, 0]),
        // Each reading of the texts takes the analyzer's time again.
        (
            r#","analyzer":{"normalize":true},"explain":true,"highlight":{},"diversify":{"diversity":0.5}"#,
            [4 * 125 + 30 + 55 + 45, 125, 0],
        ),
        (r#","collapse":{"by":"group"}"#, [0, 35, 0]),
        (r#","collapse":{"by":"text"}"#, [180, 35, 0]),
        // These read them without it.
        (
            r#","collapse":{"by":"text"},"analyzer":{"normalize":true}"#,
            [305, 125, 0],
        ),
        // Docs are sorted for a leg that needs ranks, and once more to explain it.
        (r#","legs":{"bm25":{},"dense":{}}"#, [0, 35, 0]),
        (r#","legs":{"bm25":{"normalize":"rank"},"dense":{}}"#, [0, 35, 30]),
        (r#","legs":{"bm25":{},"dense":{}},"method":"rrf""#, [0, 35, 60]),
        (r#","legs":{"bm25":{},"dense":{}},"explain":true"#, [0, 35, 120]),
        (
            r#","legs":{"bm25":{}},"method":"rrf","highlight":{}"#,
            [55, 35, 30],
        ),
    ];

    #[test]
    fn each_part_of_a_request_adds_its_own_time() {
        for (members, [byte, letter, doc]) in TIMES {
            for (query, docs) in [(0, 1), (300, 1), (300, 4_000)] {
                let (time, length) = estimate(members, false, query, docs);
                let all = length * byte + query * letter + docs * doc;
                assert_eq!(time, all, "{members} {query} {docs}");
                let (embedded, _) = estimate(members, true, query, docs);
                assert_eq!(
                    embedded,
                    all + length * 85,
                    "a model reads the texts, too: {members}"
                );
            }
        }
    }

    #[test]
    fn words_are_stemmed_more_often_for_a_long_query() {
        let members = r#","analyzer":{"stemmer":"english"}"#;
        for (query, byte) in [(1_024, 45), (1_025, 90), (9_000, 90)] {
            let (time, length) = estimate(members, false, query, 1);
            assert_eq!(time, length * byte + query * 125);
        }
    }

    /// The outcome of a request on an event loop or off it.
    fn outcome(body: &str, on_loop: bool) -> Outcome {
        let models = Arc::new(Models::new(Vec::new(), None, None));
        let embedding = Embedding {
            on_loop,
            ..Embedding::whole(&models, 0, None)
        };
        Workspace::default().fuse(body.as_bytes(), &mut vec![0; 4 << 20], embedding)
    }

    #[test]
    fn a_request_is_deferred_from_a_length_on_and_only_on_an_event_loop() {
        let is_written = |outcome| matches!(outcome, Outcome::Written { .. });
        // The longest body (bytes) that is answered there.
        for (members, longest) in [
            (r#","collapse":{"by":"text"}"#, LOOP_TIME / 180),
            (r#","highlight":{}"#, LOOP_TIME / 55),
            (r#","analyzer":{"normalize":true}"#, LOOP_TIME / 125),
            (r#","collapse":{"by":"group"}"#, 1 << 20),
        ] {
            let empty = request("", "", members).len();
            let of_length = |length: usize| request("", &"x".repeat(length - empty), members);
            let [fits, exceeds] = [of_length(longest), of_length(longest + 1)];
            assert!(is_written(outcome(&fits, true)), "{members}");
            let deferred = outcome(&exceeds, true) == Outcome::Deferred;
            assert_eq!(deferred, longest < 1 << 20, "{members}");
            assert!(is_written(outcome(&exceeds, false)), "{members}");
        }
    }

    #[test]
    fn each_limit_alone_is_about_the_time_on_an_event_loop() {
        // By the longest times that are documented with the limits (ns).
        for time in [LOOP_READ * 85, LOOP_DETAILS * 5, LOOP_PRODUCTS * 3 / 10] {
            assert!(time <= LOOP_TIME && 2 * time > LOOP_TIME, "{time} ns");
        }
    }

    #[test]
    fn details_may_have_some_bytes_for_each_byte_of_the_body_and_some_for_nothing() {
        assert_eq!(most_details(0), 65_536);
        assert_eq!(most_details(100_000), 65_536 + 2_400_000);
    }
}
