//! The hot path of Fusegate in plain Rust: strict JSON (RFC 8259), Unicode tokenizing, BM25 and rank fusion.

mod ascii;
pub mod bm25;
pub mod fuse;
pub mod json;
#[cfg(any(test, feature = "naive"))]
pub mod naive;
pub mod request;
mod scan;
pub mod terms;
pub mod tokenize;
pub mod unicode;
mod unicode_tables;
