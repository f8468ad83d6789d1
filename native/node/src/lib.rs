//! Node-API binding of `fusegate-core`: converts and calls, nothing else.

mod access;
mod audit;
mod dense;
mod digest;
mod gate;
mod lock;
mod normalize;
mod previews;
mod shards;
mod subwords;
mod vectors;

use std::cell::RefCell;

use fusegate_core::fuse::{Dense, Outcome, Workspace};
use fusegate_core::{bm25, json, unicode};
use napi::bindgen_prelude::{AsyncTask, Buffer, Float64ArraySlice, Uint8ArraySlice};
use napi::{Env, Result, Task};
use napi_derive::napi;

thread_local! {
    static WORKSPACE: RefCell<Workspace> = RefCell::default();
}

/// Version of the native module.
#[napi]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Version of the Unicode tables.
#[napi]
pub fn unicode_version() -> String {
    unicode::VERSION.to_owned()
}

/// Why and where a body is refused as JSON.
#[napi(object)]
pub struct JsonRefusal {
    /// Byte offset of what is refused.
    pub offset: f64,
    /// One of the closed list: syntax, invalid UTF-8, BOM, lone surrogate, number beyond binary64, NaN,
    /// Infinity, nesting over 128.
    pub reason: String,
}

/// Checks strict JSON (RFC 8259, UTF-8 only); null when `body` passes.
#[napi]
pub fn check_json(body: &[u8]) -> Option<JsonRefusal> {
    let refusal = json::check(body).err()?;
    Some(JsonRefusal {
        offset: refusal.offset as f64,
        reason: refusal.reason.text().to_owned(),
    })
}

/// Natural logarithm as the fast path takes it: the same bits on every platform and version of Node.
#[napi]
pub fn logarithm(value: f64) -> f64 {
    bm25::logarithm(value)
}

/// The fast path left the body to the exact one.
const DECLINED: f64 = -1.0;
/// A doc came without a dense score.
const NEEDS_MODEL: f64 = -2.0;
/// Vectors that are computed elsewhere are missing.
const NEEDS_VECTORS: f64 = -3.0;

/// Answers a FuseRequest's bytes into `out`, which must not overlap them. Returns the answer's length and
/// sets `facts[0]` to the characters it counts for; or returns -1 (left to the exact path), -2 (a doc lacks
/// its dense score), or minus the room that `out` must have.
#[napi]
pub fn fuse(body: &[u8], mut out: Uint8ArraySlice<'_>, mut facts: Float64ArraySlice<'_>) -> f64 {
    // SAFETY: the caller keeps `out` apart from `body`; no JavaScript runs before this function returns, so
    // nothing else reads or writes either array meanwhile.
    let (out, facts) = unsafe { (out.as_mut(), facts.as_mut()) };
    let outcome = WORKSPACE.with_borrow_mut(|workspace| workspace.fuse(body, out, Dense::Caller));
    tell(outcome, facts)
}

/// An outcome as one number, and its characters in `facts[0]`.
fn tell(outcome: Outcome, facts: &mut [f64]) -> f64 {
    if let (Outcome::Written { characters, .. }, Some(fact)) = (outcome, facts.first_mut()) {
        *fact = characters as f64;
    }
    code(outcome)
}

/// An outcome as one number.
fn code(outcome: Outcome) -> f64 {
    match outcome {
        Outcome::Written { length, .. } => length as f64,
        Outcome::Declined => DECLINED,
        Outcome::NeedsModel => NEEDS_MODEL,
        Outcome::NeedsVectors => NEEDS_VECTORS,
        Outcome::NeedsRoom(room) => -(room as f64),
    }
}

/// What [`fuse`] returns and sets, from another thread.
#[napi(object)]
pub struct FuseResult {
    /// As [`fuse`] returns it.
    pub length: f64,
    /// Characters it counts for.
    pub characters: f64,
}

impl From<Outcome> for FuseResult {
    fn from(outcome: Outcome) -> Self {
        let characters = match outcome {
            Outcome::Written { characters, .. } => characters as f64,
            _ => 0.0,
        };
        let length = code(outcome);
        FuseResult { length, characters }
    }
}

/// A fuse request on its way through the thread pool.
pub struct FuseTask {
    body: Buffer,
    out: Buffer,
}

impl Task for FuseTask {
    type Output = Outcome;
    type JsValue = FuseResult;

    fn compute(&mut self) -> Result<Self::Output> {
        Ok(WORKSPACE.with_borrow_mut(|workspace| workspace.fuse(&self.body, &mut self.out, Dense::Caller)))
    }

    fn resolve(&mut self, _: Env, outcome: Self::Output) -> Result<Self::JsValue> {
        Ok(FuseResult::from(outcome))
    }
}

/// Does what [`fuse`] does in the thread pool, for bodies that would hold up the event loop. `body` must not
/// change and `out` must not be read until the promise settles; they must not overlap.
#[napi(ts_return_type = "Promise<FuseResult>")]
pub fn fuse_async(body: Buffer, out: Buffer) -> AsyncTask<FuseTask> {
    AsyncTask::new(FuseTask { body, out })
}
