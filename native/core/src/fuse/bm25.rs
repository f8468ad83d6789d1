//! BM25 in the variant of Lucene (Kamphuis, de Vries, Boytsov and Lin, 2020).

/// Natural logarithm. The system's functions differ in the last bit between platforms; this one does not.
pub fn logarithm(value: f64) -> f64 {
    libm::log(value)
}

/// e to a power; like [`logarithm`], the same on every platform.
pub(crate) fn exponential(value: f64) -> f64 {
    libm::exp(value)
}

/// Weight of a term: its count in the query times its idf, ln(1 + (N - df + 0.5) / (df + 0.5)).
pub(crate) fn term_weight(in_query: u32, in_docs: f64, docs: f64) -> f64 {
    f64::from(in_query) * idf(in_docs, docs)
}

/// Rarity of a term: ln(1 + (N - df + 0.5) / (df + 0.5)).
pub(crate) fn idf(in_docs: f64, docs: f64) -> f64 {
    logarithm(1.0 + (docs - in_docs + 0.5) / (in_docs + 0.5))
}

/// The part of the saturation that depends on a doc's length: k1 (1 - b + b len / avgdl).
pub(crate) fn length_norm(k1: f64, b: f64, length: usize, average: f64) -> f64 {
    k1 * (1.0 - b + b * (length as f64) / average)
}
