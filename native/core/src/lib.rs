//! The hot path of Fusegate in plain Rust: strict JSON (RFC 8259), Unicode tokenizing, BM25, rank fusion,
//! checks of keys and limits, repair and glossing of text, and the digests of fragments.

// The paths that read blocks of ASCII are those of x86-64: elsewhere what they share is not used.
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]

pub mod access;
pub mod analyzer;
mod ascii;
pub mod audit;
mod bits;
mod blocks;
pub mod bm25;
pub mod body;
pub mod canonical;
pub mod clusters;
pub mod corpora;
pub mod dense;
pub mod digest;
mod elementary;
pub mod embeddings;
pub mod entity_map;
pub mod explored;
pub mod fold;
pub mod fuse;
pub mod json;
pub mod keys;
pub mod limits;
mod mapped;
#[cfg(any(test, feature = "naive"))]
pub mod naive;
pub mod nearest;
pub mod nfkc;
pub mod normalize;
mod normalize_tables;
pub mod previews;
pub mod priority;
pub mod profiles;
pub mod regions;
pub mod request;
pub mod rerank;
mod scan;
pub mod shape;
pub mod shards;
pub mod sight;
mod simd;
pub mod sockets;
pub mod static_model;
mod stop_words;
pub mod subwords;
pub mod terms;
pub mod tokenize;
pub mod tree;
pub mod unicode;
mod unicode_tables;
pub mod vectors;
pub mod versions;
pub mod wordpiece;
