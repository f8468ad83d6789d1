//! Counting terms block by block against the obvious reading: cut the folded text, compare every token.
#![no_main]

use fusegate_core::tokens::naive;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, &str, u8)| {
    let (query, text, offset) = input;
    naive::assert_same_counts(query, text, usize::from(offset));
});
