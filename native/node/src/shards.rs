//! Binding of the shard markers.

use fusegate_core::receipts::shards::{self, Fault};
use napi::bindgen_prelude::{Uint8Array, Uint32Array};
use napi_derive::napi;

/// The shard markers of a text, in order, in columns: an object for each would take longer than finding it.
#[napi(object)]
pub struct ShardMarkers {
    /// Number of characters before each in the text.
    pub at: Uint32Array,
    /// 1 for a marker with a JSON object, else 0.
    pub whole: Uint8Array,
    /// Its JSON object, which `JSON.parse` accepts, or why there is none, as the end of a sentence. Between
    /// two of them is a NUL, which neither can contain.
    pub texts: String,
}

/// Every shard marker of a text. Lone surrogates become U+FFFD.
#[napi]
pub fn find_shards(text: String) -> ShardMarkers {
    let found = shards::find(&text);
    let mut texts = String::new();
    for (number, shard) in found.iter().enumerate() {
        if number > 0 {
            texts.push('\0');
        }
        match shard.object {
            Ok(object) => texts.push_str(object),
            Err(fault) => texts.push_str(&sentence(fault)),
        }
    }
    ShardMarkers {
        at: found
            .iter()
            .map(|shard| shard.at as u32)
            .collect::<Vec<_>>()
            .into(),
        whole: found
            .iter()
            .map(|shard| u8::from(shard.object.is_ok()))
            .collect::<Vec<_>>()
            .into(),
        texts,
    }
}

fn sentence(fault: Fault) -> String {
    match fault {
        Fault::NotAnObject => "no JSON object follows its opening".to_owned(),
        Fault::Unclosed => "no closing follows its JSON object".to_owned(),
        Fault::Json { at, reason } => format!("its JSON is refused {at} characters in: {}", reason.text()),
    }
}
