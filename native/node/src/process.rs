//! Binding of `fusegate_core::system::process`.

use fusegate_core::system::process::end;
use napi_derive::napi;

/// Ends this process at once, with a status. `process.exit` waits for the threads of the pool first, and one
/// that waits for JavaScript within a unit of LMDB would wait for ever, with the lock that writers need. No
/// listener for the end of the process runs.
#[napi(ts_return_type = "never")]
pub fn end_process(status: i32) {
    end(status)
}
