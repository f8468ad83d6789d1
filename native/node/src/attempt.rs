//! Outcomes of `fuse` and `rerank`, and their pending requests.

use std::cell::RefCell;
use std::sync::Arc;

use fusegate_core::embed::dense::{Gathered, Models};
use fusegate_core::embed::entity_map::Refused;
use fusegate_core::fuse::request::rerank::Refused as Unranked;
use fusegate_core::fuse::{Outcome, Pending, Workspace};
use napi::bindgen_prelude::{
    AsyncTask, Buffer, Error, Float32Array, Float64ArraySlice, Result, Uint8ArraySlice,
};
use napi::{Env, Task};
use napi_derive::napi;

use crate::rerank::{RerankRefusal, refusal};

thread_local! {
    pub(crate) static WORKSPACE: RefCell<Workspace> = RefCell::default();
}

/// Outcome of a FuseRequest's bytes.
#[napi]
pub enum FuseOutcome {
    /// The answer was written. If it is longer than the buffer, `takeAnswer` returns it.
    Written,
    /// The answer may need more room.
    NeedsRoom,
    /// The answer would have more bytes than it may have.
    TooLarge,
    /// The request was parsed and waits: for vectors that are computed elsewhere, or only for room.
    Pending,
    /// The request is invalid, has more docs than a model scores, or names no installed model.
    Invalid,
    /// The keys of `entity_map` are too long in all.
    LongEntities,
    /// `entity_map` makes the texts too long.
    LongTexts,
    /// The search for the keys of `entity_map` would take too long.
    LongSearch,
    /// The request learns, and `owner` was not given.
    OwnerUnknown,
    /// The request was parsed, and takes too long for the event loop: `PendingFuse.answerAsync` answers it.
    Deferred,
    /// The highlights and explanations would have more bytes than a body of this length may have.
    TooDetailed,
}

/// The sentence that says why an outcome's `entity_map` cannot be applied; null for other outcomes.
#[napi]
pub fn entities_refusal(outcome: FuseOutcome) -> Option<String> {
    let refused = match outcome {
        FuseOutcome::LongEntities => Refused::Keys,
        FuseOutcome::LongTexts => Refused::Texts,
        FuseOutcome::LongSearch => Refused::Search,
        _ => return None,
    };
    Some(refused.text())
}

/// An outcome by name, the answer's bytes (written, or needed), and the characters that it counts for.
fn told(outcome: Outcome) -> (FuseOutcome, f64, f64) {
    match outcome {
        Outcome::Written { length, characters } => (FuseOutcome::Written, length as f64, characters as f64),
        Outcome::NeedsRoom(room) => (FuseOutcome::NeedsRoom, room as f64, 0.0),
        Outcome::TooLarge => (FuseOutcome::TooLarge, 0.0, 0.0),
        Outcome::Pending => (FuseOutcome::Pending, 0.0, 0.0),
        Outcome::Invalid => (FuseOutcome::Invalid, 0.0, 0.0),
        Outcome::OwnerUnknown => (FuseOutcome::OwnerUnknown, 0.0, 0.0),
        Outcome::TooDetailed => (FuseOutcome::TooDetailed, 0.0, 0.0),
        Outcome::Deferred => (FuseOutcome::Deferred, 0.0, 0.0),
        Outcome::Entities(Refused::Keys) => (FuseOutcome::LongEntities, 0.0, 0.0),
        Outcome::Entities(Refused::Texts) => (FuseOutcome::LongTexts, 0.0, 0.0),
        Outcome::Entities(Refused::Search) => (FuseOutcome::LongSearch, 0.0, 0.0),
    }
}

/// The name of an outcome; writes its numbers to `facts`.
pub(crate) fn tell(outcome: Outcome, facts: &mut [f64]) -> FuseOutcome {
    let (outcome, length, characters) = told(outcome);
    if let [first, second, ..] = facts {
        (*first, *second) = (length, characters);
    }
    outcome
}

pub(crate) fn text(json: Option<Vec<u8>>) -> Option<String> {
    json.map(|json| String::from_utf8(json).unwrap_or_default())
}

/// Outcome of a request in the thread pool.
#[napi]
pub struct FuseAttempt {
    pub(crate) outcome: Outcome,
    pub(crate) pending: Option<PendingFuse>,
    pub(crate) unranked: Option<Unranked>,
    pub(crate) faults: Option<Vec<u8>>,
    pub(crate) written_out: Option<Vec<u8>>,
    pub(crate) apart: Option<Vec<u8>>,
}

#[napi]
impl FuseAttempt {
    /// Takes the answer, if it was longer than `out`; else null.
    #[napi]
    pub fn take_answer(&mut self) -> Option<Buffer> {
        self.apart.take().map(Buffer::from)
    }

    /// Takes the faults of names, as `Fuser.takeFaults` does.
    #[napi]
    pub fn take_faults(&mut self) -> Option<String> {
        text(self.faults.take())
    }

    /// Takes the body with its profile written out, as `Fuser.takeWrittenOut` does.
    #[napi]
    pub fn take_written_out(&mut self) -> Option<Buffer> {
        self.written_out.take().map(Buffer::from)
    }

    /// Its outcome.
    #[napi(getter)]
    pub fn outcome(&self) -> FuseOutcome {
        told(self.outcome).0
    }

    /// Bytes of the answer: written, or needed.
    #[napi(getter)]
    pub fn length(&self) -> f64 {
        told(self.outcome).1
    }

    /// Characters it counts for.
    #[napi(getter)]
    pub fn characters(&self) -> f64 {
        told(self.outcome).2
    }

    /// Takes the reason why a rerank request is `Invalid`. Throws if it is not.
    #[napi]
    pub fn take_refusal(&mut self) -> Result<RerankRefusal> {
        refusal(self.unranked.take())
    }

    /// Takes the pending request. Throws if there is none.
    #[napi]
    pub fn take_pending(&mut self) -> Result<PendingFuse> {
        self.pending
            .take()
            .ok_or_else(|| Error::from_reason("nothing is pending"))
    }
}

struct Waiting {
    pending: Pending,
    body: Buffer,
    models: Arc<Models>,
}

impl Waiting {
    /// The outcome, and the answer if it is longer than `out`. `on_loop`: as in `Embedding`.
    fn answer(&mut self, out: &mut [u8], on_loop: bool) -> (Outcome, Option<Vec<u8>>) {
        let Self {
            pending,
            body,
            models,
        } = self;
        WORKSPACE.with_borrow_mut(|workspace| {
            let outcome = workspace.answer_pending(pending, body, out, models, on_loop);
            (outcome, workspace.take_answer())
        })
    }
}

/// A parsed request, some of whose vectors may be missing, or all not gathered yet. It holds memory that the
/// JavaScript engine does not count: `release` frees it. After that, every other call throws.
#[napi]
pub struct PendingFuse {
    waiting: Option<Waiting>,
    apart: Option<Vec<u8>>,
}

impl PendingFuse {
    /// `body`: the bytes that the request was parsed from.
    pub(crate) fn new(pending: Pending, body: Buffer, models: Arc<Models>) -> Result<Self> {
        if body.len() != pending.length() {
            return Err(Error::from_reason("the body is another"));
        }
        let waiting = Waiting {
            pending,
            body,
            models,
        };
        Ok(Self {
            waiting: Some(waiting),
            apart: None,
        })
    }

    fn waiting(&self) -> Result<&Waiting> {
        self.waiting.as_ref().ok_or_else(released)
    }

    fn gathered(&self) -> Result<&Gathered> {
        self.waiting()?.pending.gathered().ok_or_else(not_gathered)
    }

    fn gathered_mut(&mut self) -> Result<&mut Gathered> {
        let waiting = self.waiting.as_mut().ok_or_else(released)?;
        waiting.pending.gathered_mut().ok_or_else(not_gathered)
    }

    fn whole(&self) -> Result<()> {
        if self.waiting()?.pending.lacks_vectors() {
            return Err(Error::from_reason("vectors are missing"));
        }
        Ok(())
    }
}

fn not_gathered() -> Error {
    Error::from_reason("no vectors are gathered")
}

fn released() -> Error {
    Error::from_reason("released before")
}

#[napi]
impl PendingFuse {
    /// Frees its memory. It may be called again.
    #[napi]
    pub fn release(&mut self) {
        (self.waiting, self.apart) = (None, None);
    }

    /// Takes the answer of the last `answer`, if it was longer than `out`; else null.
    #[napi]
    pub fn take_answer(&mut self) -> Option<Buffer> {
        self.apart.take().map(Buffer::from)
    }

    /// Id of the model.
    #[napi(getter)]
    pub fn model(&self) -> Result<String> {
        Ok(self.gathered()?.model().id().to_owned())
    }

    /// Most bytes that its answer can take, not counting its details.
    #[napi(getter)]
    pub fn room(&self) -> Result<f64> {
        Ok(self.waiting()?.pending.room() as f64)
    }

    /// Bytes of memory that it takes besides its body and the vectors.
    #[napi(getter)]
    pub fn bytes(&self) -> Result<f64> {
        Ok(self.waiting()?.pending.bytes() as f64)
    }

    /// Number of texts whose vectors are missing, all different.
    #[napi(getter)]
    pub fn missing(&self) -> Result<u32> {
        Ok(self.gathered()?.missing().len() as u32)
    }

    /// One of these texts, as the model reads it: its first bytes (UTF-8), `most` at most, in memory of their
    /// own. Throws if there is none.
    #[napi]
    pub fn missing_text(&self, at: u32, most: f64) -> Result<Buffer> {
        let text = self.gathered()?.missing_at(at as usize);
        let text = text.ok_or_else(|| Error::from_reason("there is no such text"))?;
        let text = text.as_bytes();
        Ok(text[..text.len().min(most as usize)].to_vec().into())
    }

    /// Adds all missing vectors, concatenated, and caches them. `truncated`: true if the model read only the
    /// first part of the text. False, without effect, if they do not fit or are not finite.
    #[napi]
    pub fn complete(&mut self, vectors: Float32Array, truncated: Vec<bool>) -> Result<bool> {
        Ok(self.gathered_mut()?.complete(&vectors, &truncated))
    }

    /// Adds some of the missing vectors, as `complete` adds all; the others stay missing. `places`: their
    /// indexes among them, ascending. False, without effect, if they do not fit or are not finite.
    #[napi]
    pub fn keep(&mut self, places: Vec<u32>, vectors: Float32Array, truncated: Vec<bool>) -> Result<bool> {
        let places: Vec<usize> = places.iter().map(|&place| place as usize).collect();
        Ok(self.gathered_mut()?.keep(&places, &vectors, &truncated))
    }

    /// Answers the request into `out`, as `Fuser.fuse` does, or defers it to `answerAsync`. Throws if vectors
    /// are missing.
    #[napi]
    pub fn answer(
        &mut self,
        mut out: Uint8ArraySlice<'_>,
        mut facts: Float64ArraySlice<'_>,
    ) -> Result<FuseOutcome> {
        self.whole()?;
        // SAFETY: the caller keeps `out` apart from the body; no JavaScript runs before this function
        // returns, so nothing else reads or writes either array meanwhile.
        let (out, facts) = unsafe { (out.as_mut(), facts.as_mut()) };
        let waiting = self.waiting.as_mut().ok_or_else(released)?;
        let (outcome, apart) = waiting.answer(out, true);
        self.apart = apart;
        Ok(tell(outcome, facts))
    }

    /// The same as `answer`, in the thread pool. The request moves there, so this object counts as released.
    /// If `out` is too small, or vectors are missing that were not gathered before, `takePending` of the
    /// attempt returns the request.
    #[napi(ts_return_type = "Promise<FuseAttempt>")]
    pub fn answer_async(&mut self, out: Buffer) -> Result<AsyncTask<AnswerTask>> {
        self.whole()?;
        let waiting = self.waiting.take().ok_or_else(released)?;
        let waiting = Some(waiting);
        Ok(AsyncTask::new(AnswerTask { waiting, out }))
    }
}

/// A pending request in the thread pool. It has all its vectors, or gathers them there.
pub struct AnswerTask {
    waiting: Option<Waiting>,
    out: Buffer,
}

impl Task for AnswerTask {
    type Output = (Outcome, Option<Vec<u8>>);
    type JsValue = FuseAttempt;

    fn compute(&mut self) -> Result<Self::Output> {
        let waiting = self.waiting.as_mut().ok_or_else(released)?;
        Ok(waiting.answer(&mut self.out, false))
    }

    fn resolve(&mut self, _: Env, (outcome, apart): Self::Output) -> Result<Self::JsValue> {
        // Retained if `out` was too small or vectors are missing, to be answered later.
        let waits = matches!(outcome, Outcome::NeedsRoom(_) | Outcome::Pending);
        let waiting = self.waiting.take().filter(|_| waits);
        let pending = waiting.map(|waiting| PendingFuse {
            waiting: Some(waiting),
            apart: None,
        });
        Ok(FuseAttempt {
            outcome,
            pending,
            unranked: None,
            faults: None,
            written_out: None,
            apart,
        })
    }
}
