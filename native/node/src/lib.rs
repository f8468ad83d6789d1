//! Node-API binding of `fusegate-core`: converts and calls, nothing else.

mod access;
mod attempt;
mod audit;
mod background;
mod body;
mod corpora;
mod dense;
mod digest;
mod fuse;
mod gate;
mod lock;
mod normalize;
mod previews;
mod process;
mod profiles;
mod rerank;
mod shards;
mod sockets;
mod subwords;
mod tree;
mod vectors;

use fusegate_core::json;
use fusegate_core::unicode::words;
use napi_derive::napi;

/// Version of the native module.
#[napi]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Version of the Unicode tables.
#[napi]
pub fn unicode_version() -> String {
    words::VERSION.to_owned()
}

/// Why and where a body is refused as JSON.
#[napi(object)]
pub struct JsonRefusal {
    /// Byte offset of the refused part.
    pub offset: f64,
    /// Its line, from 1.
    pub line: f64,
    /// Its character in the line, from 1.
    pub column: f64,
    /// A reason from the closed list: syntax, invalid UTF-8, BOM, lone surrogate, number beyond binary64,
    /// NaN, Infinity, nesting over 128.
    pub reason: String,
}

impl JsonRefusal {
    /// Counts the lines and characters of the body before the place.
    pub(crate) fn new(refusal: json::Refusal, body: &[u8]) -> Self {
        let (line, column) = refusal.place(body);
        JsonRefusal {
            offset: refusal.offset as f64,
            line: line as f64,
            column: column as f64,
            reason: refusal.reason.text().to_owned(),
        }
    }
}

/// Checks strict JSON (RFC 8259, UTF-8 only); null if `body` passes.
#[napi]
pub fn check_json(body: &[u8]) -> Option<JsonRefusal> {
    json::check(body)
        .err()
        .map(|refusal| JsonRefusal::new(refusal, body))
}
