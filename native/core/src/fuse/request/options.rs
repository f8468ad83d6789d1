//! The members of a FuseRequest that nearly every one has, and its docs.

use super::values::NOWHERE;
use crate::json::Span;
use crate::tokens::tokenize::Tokenizer;

/// Methods of fusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Each list divided by its largest absolute value, then summed.
    MaxNorm,
    /// Reciprocal rank fusion (Cormack, Clarke and Buettcher, 2009).
    Rrf,
}

/// One candidate document.
#[derive(Debug, Clone, Copy)]
pub struct Doc {
    /// Span of the id.
    pub id: Span,
    /// Span of the text.
    pub text: Span,
    /// The caller's similarity, never -0; NaN until it is known.
    pub dense: f64,
}

/// The members of the body except its docs, with defaults filled in.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Span of the query.
    pub query: Span,
    /// `method`
    pub method: Method,
    /// `tokenizer`
    pub tokenizer: Tokenizer,
    /// `top_k`, or all.
    pub top_k: usize,
    /// Weight of the lexical list after normalisation; both sum to 1.
    pub bm25_weight: f64,
    /// Weight of the dense list.
    pub dense_weight: f64,
    /// BM25's k1.
    pub k1: f64,
    /// BM25's b.
    pub b: f64,
    /// The constant of `rrf`.
    pub rrf_k: f64,
    /// True if texts are returned.
    pub return_text: bool,
    /// True if each result has an explanation.
    pub explain: bool,
    /// True if every doc has a dense score without a model.
    pub all_dense: bool,
    /// True if a doc was sent with a dense score.
    pub some_dense: bool,
    /// Span of the name of the model that computes dense scores; none: the default model.
    pub embed_model: Option<Span>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            query: NOWHERE,
            method: Method::MaxNorm,
            tokenizer: Tokenizer::Ws,
            top_k: usize::MAX,
            bm25_weight: 0.5,
            dense_weight: 0.5,
            k1: 1.5,
            b: 0.75,
            rrf_k: 60.0,
            return_text: true,
            explain: false,
            all_dense: true,
            some_dense: false,
            embed_model: None,
        }
    }
}
