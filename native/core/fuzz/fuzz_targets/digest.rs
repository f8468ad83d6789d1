//! Accepting, canonical JSON and the comparable form against the obvious readings, for any six texts.
#![no_main]

use fusegate_core::receipts::canonical::Fragment;
use fusegate_core::receipts::digest::{digests, seal};
use fusegate_core::receipts::naive;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|texts: [&str; 6]| {
    let [title, content, mechanism, test, kind, visitor] = texts;
    let fragment = Fragment { title, content, mechanism, test, kind, visitor };
    naive::assert_same_fragment(&fragment);
    let (accepted, _) = fragment.accept();
    let json = accepted.json();
    assert_eq!(json, serde_json::to_string(&naive::members(&accepted)).expect("JSON"));
    // An accepted string is accepted again, unchanged.
    let again = Fragment {
        title: accepted.title.as_str(),
        content: &accepted.content,
        mechanism: &accepted.mechanism,
        test: &accepted.test,
        kind: &accepted.kind,
        visitor: &accepted.visitor,
    };
    assert_eq!(again.accept(), (accepted.clone(), true));
    let sealed = seal(&accepted, &digests(&accepted, &json), "fr_0", "2026-11-21T00:00:00.000Z");
    serde_json::from_str::<serde_json::Value>(&sealed.envelope).expect("JSON");
});
