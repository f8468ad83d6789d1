//! Shard markers of any text: what is found is a JSON object between an opening and a closing.
#![no_main]

use fusegate_core::receipts::shards;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let openings = text.matches("<<SHARD>>").count() + text.matches("<<<SHARD").count();
    let found = shards::find(text);
    assert!(found.len() <= openings);
    assert!(found.windows(2).all(|pair| pair[0].at < pair[1].at));
    for shard in found {
        let opening: String = text.chars().skip(shard.at).take(8).collect();
        assert!(opening == "<<SHARD>" || opening == "<<<SHARD", "{opening}");
        if let Ok(object) = shard.object {
            let value: serde_json::Value = match serde_json::from_str(object) {
                Ok(value) => value,
                // serde_json stops at a nesting of 128 itself.
                Err(error) => return assert!(error.to_string().contains("recursion limit"), "{error}"),
            };
            assert!(value.is_object());
        }
    }
});
