//! Requests with analyzers, statistics by name, legs, boosts, `diversify` and `highlight`: what is answered
//! is what the obvious reading finds.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../ranked.rs"]
mod ranked;

fuzz_target!(|data: &[u8]| ranked::assert_ranked(data));
