//! Binding of the shard markers.

use fusegate_core::receipts::shards::{self, Fault};
use napi_derive::napi;

/// One shard marker of a text.
#[napi(object)]
pub struct ShardMarker {
    /// Number of characters before it in the text.
    pub at: u32,
    /// Its JSON object, which `JSON.parse` accepts; `""` if there is none.
    pub object: String,
    /// Why there is none, as the end of a sentence; `""` if there is one.
    pub fault: String,
}

/// Every shard marker of a text, in order. Lone surrogates become U+FFFD.
#[napi]
pub fn find_shards(text: String) -> Vec<ShardMarker> {
    let found = shards::find(&text).into_iter();
    let markers = found.map(|shard| ShardMarker {
        at: shard.at as u32,
        object: shard.object.unwrap_or_default().to_owned(),
        fault: shard.object.err().map(sentence).unwrap_or_default(),
    });
    markers.collect()
}

fn sentence(fault: Fault) -> String {
    match fault {
        Fault::NotAnObject => "no JSON object follows its opening".to_owned(),
        Fault::Unclosed => "no closing follows its JSON object".to_owned(),
        Fault::Json { at, reason } => format!("its JSON is refused {at} characters in: {}", reason.text()),
    }
}
