//! Scored docs, lists and results, for the answer and its explanations.

/// Statistics of a collection, for the BM25 scores of a request's docs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Statistics {
    /// Number of its docs.
    pub(super) docs: f64,
    /// Their mean length in tokens.
    pub(super) average: f64,
}

/// One doc's scores.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fused {
    pub(super) bm25_norm: f64,
    pub(super) dense_norm: f64,
    pub(super) bm25_part: f64,
    pub(super) dense_part: f64,
    pub(super) score: f64,
}

/// One list over all docs.
#[derive(Debug, Default)]
pub(super) struct List {
    pub(super) scores: Vec<f64>,
    pub(super) norms: Vec<f64>,
    pub(super) ranks: Vec<u32>,
    /// Factors of a boost.
    pub(super) factors: Vec<f64>,
}

/// How a result was chosen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    pub(super) relevance: f64,
    pub(super) likeness: f64,
    pub(super) score: f64,
}
