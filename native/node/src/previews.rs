//! Binding of the previews.

use std::path::Path;

use fusegate_core::receipts::previews::{self, Token};
use napi::bindgen_prelude::{Error, Result};
use napi_derive::napi;

/// Creates the file of the previews at `path` again, empty. Throws if it cannot be written.
#[napi]
pub fn create_previews(path: String) -> Result<()> {
    Ok(previews::Previews::create(Path::new(&path))?)
}

/// A stored preview.
#[napi(object)]
pub struct Preview {
    /// The preview as stored.
    pub payload: String,
    /// When it expires (ms since 1970).
    pub expires_at_ms: f64,
}

/// Previews, shared by all processes that open the same file; a full file evicts the oldest.
#[napi]
pub struct Previews {
    inner: previews::Previews,
}

#[napi]
impl Previews {
    /// Opens the file that `createPreviews` made. Throws if it cannot be opened.
    #[napi(constructor)]
    pub fn new(path: String) -> Result<Self> {
        let inner = previews::Previews::open(Path::new(&path))?;
        Ok(Self { inner })
    }

    /// Stores a text under a token of 32 bytes. False if it does not fit.
    #[napi]
    pub fn put(&self, token: &[u8], payload: String, expires_at_ms: f64) -> Result<bool> {
        Ok(self
            .inner
            .put(&token_of(token)?, payload.as_bytes(), expires_at_ms as u64))
    }

    /// The text last stored under a token; null if there is none, or if it has expired at `nowMs`.
    #[napi]
    pub fn get(&self, token: &[u8], now_ms: f64) -> Result<Option<Preview>> {
        let found = self.inner.get(&token_of(token)?, now_ms as u64);
        let preview = found.map(|found| Preview {
            payload: String::from_utf8_lossy(&found.payload).into_owned(),
            expires_at_ms: found.expires_at_ms as f64,
        });
        Ok(preview)
    }
}

fn token_of(bytes: &[u8]) -> Result<Token> {
    bytes
        .try_into()
        .map_err(|_| Error::from_reason("a token has 32 bytes"))
}
