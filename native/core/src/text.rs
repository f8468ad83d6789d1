//! The repair of texts, the glosses in them, and audits of their defects.

pub mod audit;
pub mod normalize;
mod normalize_tables;
