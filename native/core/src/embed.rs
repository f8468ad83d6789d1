//! Embedding models: their tokenizers, the vectors of static ones, and the file of vectors that an embedder
//! computed.

pub mod dense;
pub mod embeddings;
pub mod entity_map;
pub mod sight;
pub mod static_model;
pub mod subwords;
pub mod wordpiece;
