//! How much work a request may be: on an event loop, and for its bytes.

use super::request::Options;
use super::request::more::More;
use super::request::results::{Collapse, CollapseBy, LikenessBy};

/// Longest body whose texts are read for a model on an event loop, and most bytes of texts after an
/// `entity_map`. A byte takes up to 60 ns, and 25 more with a map whose keys are looked for in vain.
pub(super) const LOOP_READ: usize = 48 << 10;

/// Most bytes of highlights and explanations that are written on an event loop. A byte takes up to 5 ns.
pub(super) const LOOP_DETAILS: usize = 512 << 10;

/// Longest body whose texts are repaired, stemmed, highlighted or diversified on an event loop, up to 150 ns
/// a byte.
const LOOP_ANALYZED: usize = 64 << 10;

/// Longest body whose words are stemmed on an event loop by an algorithm that keeps their beginnings, up to
/// 50 ns a byte: a word is stemmed only if the query has one that begins alike.
const LOOP_ENGLISH: usize = 112 << 10;

/// Longest query of such a request (bytes): with more words, more begin alike.
const LOOP_QUERY: usize = 1 << 10;

/// Longest body (bytes) whose texts are compared on an event loop: one character may stand for 18.
const LOOP_COLLAPSED: usize = 24 << 10;

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

/// True if a request takes too long for an event loop: texts are read by an analyzer or compared, or searched
/// for what to highlight.
pub(super) fn is_long(body: &[u8], options: &Options, more: &More) -> bool {
    let compares = more.diversify.is_some_and(|one| one.by == LikenessBy::Terms);
    let is_read_long = more.analyzer.as_ref().is_some_and(|analyzer| {
        // Terms that are compared or explained are read from the texts again.
        let times = 1 + usize::from(compares) + usize::from(options.explain);
        let query = options.query.end - options.query.start;
        let repairs = analyzer.normalize || analyzer.forms.fold_accents;
        let is_quick = analyzer.forms.keeps_beginnings() && query <= LOOP_QUERY && times == 1 && !repairs;
        let most = if is_quick { LOOP_ENGLISH } else { LOOP_ANALYZED };
        body.len() * times > most && (repairs || analyzer.forms.stemmer.is_some())
    });
    let is_text = |collapse: Collapse| collapse.by == CollapseBy::Text;
    let is_compared_long = body.len() > LOOP_COLLAPSED && more.collapse.is_some_and(is_text);
    let is_searched = compares || more.highlight.is_some();
    is_read_long || is_compared_long || (body.len() > LOOP_ANALYZED && is_searched)
}
