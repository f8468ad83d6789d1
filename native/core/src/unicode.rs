//! What Unicode says of characters: which make words, what they fold to, and their normal form.

pub mod fold;
pub mod nfkc;
mod unicode_tables;
pub mod words;
