//! An audit of any bytes in any format: however they are read and shared out the records are the same, and
//! what is found in them is the obvious reading's.
#![no_main]

use fusegate_core::text::audit::naive::assert_audited;
use fusegate_core::text::audit::format::Format;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &[u8])| {
    let (format, text) = input;
    let _ = assert_audited(text, Format::ALL.get(usize::from(format % 5)).copied());
});
