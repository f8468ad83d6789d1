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
