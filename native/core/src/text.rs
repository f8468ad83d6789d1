//! The repair of texts, the glosses in them, and audits of what they lack.

pub mod audit;
pub mod normalize;
mod normalize_tables;
