//! Binding of the subword tokenizers of embedding models.

use fusegate_core::embed::subwords;
use napi::bindgen_prelude::{BigInt64Array, Error, Result};
use napi_derive::napi;

/// A text's tokens for its model.
#[napi(object)]
pub struct Subwords {
    /// Token ids, including the special ones.
    pub ids: BigInt64Array,
    /// The text was cut.
    pub truncated: bool,
    /// Length of the text's vector: 1, 0.5 if most of its tokens are unknown, 0 if all are.
    pub length: f64,
}

/// Bytes of a text that a tokenizer examines, per token that its model reads.
#[napi]
pub fn read_bytes_per_token() -> u32 {
    subwords::READ_BYTES_PER_TOKEN as u32
}

/// The tokenizer of an embedding model (`tokenizer.json` of Hugging Face's tokenizers).
#[napi]
pub struct SubwordTokenizer {
    inner: subwords::SubwordTokenizer,
}

#[napi]
impl SubwordTokenizer {
    /// Parses the file's bytes for a model that reads `maxTokens` tokens; `prefixes`: what callers put before
    /// a text. Throws with the reason if it cannot be used.
    #[napi(constructor, catch_unwind)]
    pub fn new(json: &[u8], max_tokens: u32, prefixes: Vec<String>) -> Result<Self> {
        let prefixes: Vec<&str> = prefixes.iter().map(String::as_str).collect();
        let inner = subwords::SubwordTokenizer::new(json, max_tokens as usize, &prefixes)
            .map_err(Error::from_reason)?;
        Ok(Self { inner })
    }

    /// The largest id that it can output.
    #[napi]
    pub fn largest_id(&self) -> u32 {
        self.inner.largest_id()
    }

    /// Token ids of a text (UTF-8), cut to what the model reads. Throws if the tokenizer fails.
    #[napi(catch_unwind)]
    pub fn encode(&self, text: &[u8]) -> Result<Subwords> {
        let encoded = self.inner.encode(text).map_err(Error::from_reason)?;
        let ids: Vec<i64> = encoded.ids.into_iter().map(i64::from).collect();
        Ok(Subwords {
            ids: ids.into(),
            truncated: encoded.truncated,
            length: f64::from(encoded.sight.length()),
        })
    }
}
