//! Node-API binding of `fusegate-core`: converts and calls, nothing else.

mod lock;

use std::cell::RefCell;

use fusegate_core::fuse::{Outcome, Workspace};
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

/// Answers a FuseRequest's bytes into `out`, which must not overlap them. Returns the answer's length and sets
/// `facts[0]` to the characters it counts for; or returns -1 (left to the exact path), -2 (a doc lacks its dense
/// score), or minus the room that `out` must have.
#[napi]
pub fn fuse(body: &[u8], mut out: Uint8ArraySlice<'_>, mut facts: Float64ArraySlice<'_>) -> f64 {
    // SAFETY: the caller keeps `out` apart from `body`; no JavaScript runs before this function returns, so
    // nothing else reads or writes either array meanwhile.
    let (out, facts) = unsafe { (out.as_mut(), facts.as_mut()) };
    match WORKSPACE.with_borrow_mut(|workspace| workspace.fuse(body, out)) {
        Outcome::Written { length, characters } => {
            if let Some(fact) = facts.first_mut() {
                *fact = characters as f64;
            }
            length as f64
        }
        Outcome::Declined => DECLINED,
        Outcome::NeedsModel => NEEDS_MODEL,
        Outcome::NeedsRoom(room) => -(room as f64),
    }
}

/// What [`fuse`] returns, from another thread.
#[napi(object)]
pub struct FuseResult {
    /// As [`fuse`] returns it; never a demand for room.
    pub length: f64,
    /// Characters it counts for.
    pub characters: f64,
    /// The answer's bytes; empty where there is none.
    pub answer: Buffer,
}

/// A fuse request on its way through the thread pool.
pub struct FuseTask {
    body: Buffer,
}

impl Task for FuseTask {
    type Output = (Outcome, Vec<u8>);
    type JsValue = FuseResult;

    fn compute(&mut self) -> Result<Self::Output> {
        let mut answer = Vec::new();
        let mut outcome = WORKSPACE.with_borrow_mut(|workspace| workspace.fuse(&self.body, &mut answer));
        if let Outcome::NeedsRoom(room) = outcome {
            answer.resize(room, 0);
            outcome = WORKSPACE.with_borrow_mut(|workspace| workspace.fuse(&self.body, &mut answer));
        }
        Ok((outcome, answer))
    }

    fn resolve(&mut self, _: Env, (outcome, mut answer): Self::Output) -> Result<Self::JsValue> {
        let (length, characters) = match outcome {
            Outcome::Written { length, characters } => (length, characters as f64),
            _ => (0, 0.0),
        };
        answer.truncate(length);
        let code = match outcome {
            Outcome::Written { length, .. } => length as f64,
            Outcome::NeedsModel => NEEDS_MODEL,
            _ => DECLINED,
        };
        Ok(FuseResult {
            length: code,
            characters,
            answer: answer.into(),
        })
    }
}

/// Does what [`fuse`] does in the thread pool, for bodies that would hold up the event loop. `body` must not
/// change until the promise settles.
#[napi(ts_return_type = "Promise<FuseResult>")]
pub fn fuse_async(body: Buffer) -> AsyncTask<FuseTask> {
    AsyncTask::new(FuseTask { body })
}
