//! Unicode's data of characters: which ones make up words, their case folding, their normal form.

pub mod fold;
pub mod nfkc;
mod unicode_tables;
pub mod words;

/// The whole characters in the first bytes of a text.
pub(crate) fn beginning(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
