//! Node-API binding of `fusegate-core`: converts and calls, nothing else.

use napi_derive::napi;

/// Version of the native module.
#[napi]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}
