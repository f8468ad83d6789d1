//! Unicode's properties of characters: those that make words, their case folding, and their normal form.

pub mod fold;
pub mod nfkc;
mod unicode_tables;
pub mod words;
