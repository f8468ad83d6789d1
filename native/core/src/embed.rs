//! Embedding models: how they cut a text, the vectors of static ones, and the file of those that an embedder
//! computed.

pub mod dense;
pub mod embeddings;
pub mod entity_map;
pub mod sight;
pub mod static_model;
pub mod subwords;
pub mod wordpiece;
