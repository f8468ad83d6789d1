//! The hot path of Fusegate in plain Rust. The modules between two empty lines form a step: they import only
//! modules of earlier steps, not each other.

// Only x86-64 has paths that read blocks of ASCII: elsewhere the code that they share is unused.
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]

/// The processor's vector instructions, and the loops over bytes that use them.
mod cpu;
/// The files, sockets and priorities that processes share.
pub mod system;

/// Surface forms, and the search for them in a text.
pub mod forms;
/// Strict JSON (RFC 8259): a scanner, and checks of bodies against a shape.
pub mod json;
/// Unicode's properties of characters: words, case folding, normal form.
pub mod unicode;

/// Embedding models: their tokenizers, vectors of texts, and the file of vectors.
pub mod embed;
/// Tokens of texts, their stems, and the counting of a query's terms.
pub mod tokens;

/// Repair and glosses of texts, and audits.
pub mod text;

/// Keys, limits, and decisions based on both.
pub mod access;
/// The vectors of fragments: the exact scan, their index, and walks.
pub mod explore;
/// A fuse or rerank request from its bytes to its answer.
pub mod fuse;
/// The digests of fragments, previews, and the tree of the public log.
pub mod receipts;
