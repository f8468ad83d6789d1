//! Binding of `fusegate_core::system::process`.

use fusegate_core::system::process::end;
use napi_derive::napi;

/// Ends this process immediately, with a status; no exit listener runs. `process.exit` would first wait for
/// the threads of the pool: one that waits for JavaScript within a unit of LMDB would never end, and would
/// hold the writers' lock.
#[napi(ts_return_type = "never")]
pub fn end_process(status: i32) {
    end(status)
}
