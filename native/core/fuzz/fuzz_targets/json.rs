//! The JSON scanner against serde_json: the same bodies accepted, and the same strings read.
#![no_main]

use fusegate_core::json::{self, Reason, Scanner};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let ours = json::check(body);
    let theirs = serde_json::from_slice::<serde_json::Value>(body);
    match ours {
        Ok(()) => {
            // serde_json stops at a nesting of 128 itself.
            if let Err(error) = &theirs {
                assert!(error.to_string().contains("recursion limit"), "{error}");
            }
        }
        Err(refusal) => {
            assert!(refusal.offset <= body.len());
            assert!(theirs.is_err() || refusal.reason == Reason::Depth, "{refusal:?}");
        }
    }
    if let (Ok(mut scanner), Ok(serde_json::Value::String(text))) = (Scanner::new(body), theirs) {
        scanner.skip_space();
        let span = scanner.string().expect("serde_json read a string");
        let mut unescaped = Vec::new();
        json::unescape(&body[span.start..span.end], &mut unescaped);
        assert_eq!(unescaped, text.as_bytes());
    }
});
