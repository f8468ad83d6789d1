//! The tokens of texts: how a text is cut, what its words are reduced to, how a query's terms are counted.

pub mod analyzer;
pub(crate) mod ascii;
#[cfg(any(test, feature = "naive"))]
pub mod naive;
mod stop_words;
pub mod terms;
pub mod tokenize;
