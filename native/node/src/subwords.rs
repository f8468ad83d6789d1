//! Binding of the subword tokenizers of embedding models.

use fusegate_core::subwords;
use napi::bindgen_prelude::{BigInt64Array, Error, Result};
use napi_derive::napi;

/// A text as its model reads it.
#[napi(object)]
pub struct Subwords {
    /// Token ids, the special ones among them.
    pub ids: BigInt64Array,
    /// The text had more than fits.
    pub truncated: bool,
    /// Length that the text's vector gets: 1, 0.5 where most of its tokens are unknown, 0 where all are.
    pub length: f64,
}

/// Bytes of a text that a tokenizer looks at, for each token that its model reads.
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
    /// Reads the file's bytes for a model that reads `maxTokens` tokens; `prefixes`: what callers put before
    /// a text. Throws with what is wrong with it.
    #[napi(constructor, catch_unwind)]
    pub fn new(json: &[u8], max_tokens: u32, prefixes: Vec<String>) -> Result<Self> {
        let prefixes: Vec<&str> = prefixes.iter().map(String::as_str).collect();
        let inner = subwords::SubwordTokenizer::new(json, max_tokens as usize, &prefixes)
            .map_err(Error::from_reason)?;
        Ok(Self { inner })
    }

    /// The largest id that a text can get.
    #[napi]
    pub fn largest_id(&self) -> u32 {
        self.inner.largest_id()
    }

    /// Token ids of a text (UTF-8), cut to what the model reads. Throws where the tokenizer fails.
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
