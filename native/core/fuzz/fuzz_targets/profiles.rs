//! Requests that name a profile: answered as the same requests with its settings written out.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../profiled.rs"]
mod profiled;

fuzz_target!(|data: &[u8]| {
    profiled::assert_profiled(data);
});
