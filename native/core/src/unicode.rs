//! Unicode's data of characters: which ones make up words, their case folding, their normal form.

pub mod fold;
pub mod nfkc;
mod unicode_tables;
pub mod words;
