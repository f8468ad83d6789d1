//! The skeleton of a text (UTS #39, section 4): equal for texts that may be confused with each other.

use super::properties::{properties, prototype};
use unicode_normalization::UnicodeNormalization;

/// Decomposes, drops default-ignorable characters, maps each character to its prototype, decomposes again.
#[must_use]
pub fn skeleton(text: &str) -> String {
    let mut mapped = String::with_capacity(text.len());
    for c in text.nfd().filter(|c| !properties(*c).ignorable()) {
        match prototype(c) {
            Some(to) => mapped.push_str(to),
            None => mapped.push(c),
        }
    }
    mapped.nfd().collect()
}
