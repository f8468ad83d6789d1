//! Binding of `fusegate_core::normalize`.

use std::cell::RefCell;

use fusegate_core::normalize::{Outcome, Workspace};
use napi::bindgen_prelude::{AsyncTask, Buffer, Float64ArraySlice, Uint8ArraySlice};
use napi::{Env, Result, Task};
use napi_derive::napi;

thread_local! {
    static WORKSPACE: RefCell<Workspace> = RefCell::default();
}

/// The fast path left the body to the exact one.
const DECLINED: f64 = -1.0;

fn code(outcome: Outcome) -> f64 {
    match outcome {
        Outcome::Written { length, .. } => length as f64,
        Outcome::Declined => DECLINED,
        Outcome::NeedsRoom(room) => -(room as f64),
    }
}

fn characters(outcome: Outcome) -> f64 {
    match outcome {
        Outcome::Written { characters, .. } => characters as f64,
        _ => 0.0,
    }
}

/// Answers a NormalizeRequest's bytes into `out`, which must not overlap them. Returns the answer's length
/// and sets `facts[0]` to the characters it counts for; or returns -1 (left to the exact path), or minus the
/// room that `out` must have.
#[napi]
pub fn normalize(body: &[u8], mut out: Uint8ArraySlice<'_>, mut facts: Float64ArraySlice<'_>) -> f64 {
    // SAFETY: the caller keeps `out` apart from `body`; no JavaScript runs before this function returns, so
    // nothing else reads or writes either array meanwhile.
    let (out, facts) = unsafe { (out.as_mut(), facts.as_mut()) };
    let outcome = WORKSPACE.with_borrow_mut(|workspace| workspace.normalize(body, out));
    if let Some(fact) = facts.first_mut() {
        *fact = characters(outcome);
    }
    code(outcome)
}

/// What [`normalize`] returns and sets, from another thread.
#[napi(object)]
pub struct NormalizeResult {
    /// As [`normalize`] returns it.
    pub length: f64,
    /// Characters it counts for.
    pub characters: f64,
}

/// A normalize request on its way through the thread pool.
pub struct NormalizeTask {
    body: Buffer,
    out: Buffer,
}

impl Task for NormalizeTask {
    type Output = Outcome;
    type JsValue = NormalizeResult;

    fn compute(&mut self) -> Result<Self::Output> {
        Ok(WORKSPACE.with_borrow_mut(|workspace| workspace.normalize(&self.body, &mut self.out)))
    }

    fn resolve(&mut self, _: Env, outcome: Self::Output) -> Result<Self::JsValue> {
        Ok(NormalizeResult {
            length: code(outcome),
            characters: characters(outcome),
        })
    }
}

/// Does what [`normalize`] does in the thread pool, for bodies that would hold up the event loop. `body` must
/// not change and `out` must not be read until the promise settles; they must not overlap.
#[napi(ts_return_type = "Promise<NormalizeResult>")]
pub fn normalize_async(body: Buffer, out: Buffer) -> AsyncTask<NormalizeTask> {
    AsyncTask::new(NormalizeTask { body, out })
}
