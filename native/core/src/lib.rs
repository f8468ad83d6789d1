//! The hot path of Fusegate in plain Rust: strict JSON (RFC 8259), Unicode tokenizing, BM25 and rank fusion.

pub mod json;
