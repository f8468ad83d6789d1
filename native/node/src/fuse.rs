//! Binding of `fusegate_core::fuse`.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use fusegate_core::embed::dense::{Gathered, Models};
use fusegate_core::embed::entity_map::Refused;
use fusegate_core::fuse::corpora::Corpora as Table;
use fusegate_core::fuse::profiles::Profiles as ProfileTable;
use fusegate_core::fuse::request::rerank::{Api, Refused as Unranked};
use fusegate_core::fuse::{Embedding, Outcome, Pending, Visible, Workspace};
use napi::bindgen_prelude::{
    AsyncTask, Buffer, Error, Float32Array, Float64ArraySlice, Function, Result, Uint8ArraySlice,
};
use napi::{Env, Task};
use napi_derive::napi;

use crate::corpora::Corpora;
use crate::dense::DenseModels;
use crate::profiles::Profiles;
use crate::rerank::{RerankPath, RerankRefusal, refusal};

thread_local! {
    static WORKSPACE: RefCell<Workspace> = RefCell::default();
}

/// Outcome of a FuseRequest's bytes.
#[napi]
pub enum FuseOutcome {
    /// The answer was written.
    Written,
    /// The answer may need more room.
    NeedsRoom,
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
        Outcome::Pending => (FuseOutcome::Pending, 0.0, 0.0),
        Outcome::Invalid => (FuseOutcome::Invalid, 0.0, 0.0),
        Outcome::OwnerUnknown => (FuseOutcome::OwnerUnknown, 0.0, 0.0),
        Outcome::Entities(Refused::Keys) => (FuseOutcome::LongEntities, 0.0, 0.0),
        Outcome::Entities(Refused::Texts) => (FuseOutcome::LongTexts, 0.0, 0.0),
        Outcome::Entities(Refused::Search) => (FuseOutcome::LongSearch, 0.0, 0.0),
    }
}

/// The name of an outcome; writes its numbers to `facts`.
fn tell(outcome: Outcome, facts: &mut [f64]) -> FuseOutcome {
    let (outcome, length, characters) = told(outcome);
    if let [first, second, ..] = facts {
        (*first, *second) = (length, characters);
    }
    outcome
}

/// Answers FuseRequests, and rerank requests of other interfaces. A pending request is retained until it is
/// taken or another replaces it.
#[napi]
pub struct Fuser {
    state: Rc<State>,
}

/// The models and tables that a fuser uses, and what its last request left for a later call.
struct State {
    models: Arc<Models>,
    tables: Tables,
    pending: RefCell<Option<PendingFuse>>,
    unranked: RefCell<Option<Unranked>>,
    faults: RefCell<Option<Vec<u8>>>,
    written_out: RefCell<Option<Vec<u8>>>,
}

#[napi]
impl Fuser {
    /// `models` compute the dense scores of requests whose docs lack some. Requests may name `corpora` and
    /// `profiles`; without `corpora`, no profile.
    #[napi(constructor)]
    pub fn new(models: &DenseModels, corpora: Option<&Corpora>, profiles: Option<&Profiles>) -> Self {
        Self {
            state: Rc::new(State {
                models: models.inner.clone(),
                tables: Tables {
                    corpora: corpora.map(|corpora| corpora.inner.clone()),
                    profiles: profiles.map(|profiles| profiles.inner.clone()),
                },
                pending: RefCell::default(),
                unranked: RefCell::default(),
                faults: RefCell::default(),
                written_out: RefCell::default(),
            }),
        }
    }

    /// Answers a request's bytes into `out`, which must not overlap them, and sets `facts` to the answer's
    /// length (written, or needed) and the characters that it counts for. A model scores at most `mostDocs`
    /// docs. `owner`: the request may name this owner's collections and profiles besides the public ones;
    /// empty: only public ones; absent: not looked up. `Pending`: `takePending` returns the request.
    ///
    /// A getter that creates a function, not a method: each call of a method looks up and locks its object,
    /// which takes a twentieth of a small request's time.
    #[napi(
        getter,
        ts_return_type = "(body: Uint8Array, out: Uint8Array, facts: Float64Array, mostDocs: number, \
                          owner?: string | null) => FuseOutcome"
    )]
    pub fn fuse<'a>(&self, env: &'a Env) -> Result<Function<'a, (), FuseOutcome>> {
        let state = self.state.clone();
        env.create_function_from_closure("fuse", move |call| {
            let mut out: Uint8ArraySlice<'_> = call.get(1)?;
            let mut facts: Float64ArraySlice<'_> = call.get(2)?;
            let owner: Option<String> = if call.length() > 4 { call.get(4)? } else { None };
            Ok(state.run(
                call.get(0)?,
                (&mut out, &mut facts),
                call.get(3)?,
                owner.as_deref(),
                |workspace, body, out, embedding| {
                    let outcome = workspace.fuse(body, out, embedding);
                    if outcome == Outcome::Invalid {
                        *state.faults.borrow_mut() = workspace.take_faults();
                        *state.written_out.borrow_mut() = workspace.take_written_out();
                    }
                    outcome
                },
            ))
        })
    }

    /// Takes the faults of names that made the last `fuse` `Invalid`: a JSON array of `{loc, message}`.
    #[napi]
    pub fn take_faults(&self) -> Option<String> {
        text(self.state.faults.take())
    }

    /// Takes the body of the last `fuse` with its profile's settings written out, if the outcome was
    /// `Invalid` and the profile was found.
    #[napi]
    pub fn take_written_out(&self) -> Option<Buffer> {
        self.state.written_out.take().map(Buffer::from)
    }

    /// Answers a rerank request as `fuse` answers a FuseRequest. `id`: the answer's id, which needs no escape
    /// in JSON. `Invalid`: `takeRefusal` says why.
    #[napi]
    pub fn rerank(
        &self,
        body: &[u8],
        mut out: Uint8ArraySlice<'_>,
        mut facts: Float64ArraySlice<'_>,
        most_docs: u32,
        path: RerankPath,
        id: String,
    ) -> FuseOutcome {
        self.state.run(
            body,
            (&mut out, &mut facts),
            most_docs,
            None,
            |workspace, body, out, embedding| {
                let outcome = workspace.rerank(body, path.into(), &id, out, embedding);
                *self.state.unranked.borrow_mut() = workspace.take_unranked();
                outcome
            },
        )
    }

    /// Takes the reason why the last `rerank` returned `Invalid`. Throws if it did not.
    #[napi]
    pub fn take_refusal(&self) -> Result<RerankRefusal> {
        refusal(self.state.unranked.take())
    }

    /// The same as `rerank`, in the thread pool; `body` and `out` as in `fuseAsync`.
    #[napi(ts_return_type = "Promise<FuseAttempt>")]
    pub fn rerank_async(
        &self,
        body: Buffer,
        out: Buffer,
        most_docs: u32,
        path: RerankPath,
        id: String,
    ) -> AsyncTask<FuseTask> {
        AsyncTask::new(FuseTask {
            rerank: Some((path.into(), id)),
            ..self.state.task(body, out, most_docs)
        })
    }

    /// Takes the pending request of the last `fuse` or `rerank`. Throws if there is none.
    #[napi]
    pub fn take_pending(&self) -> Result<PendingFuse> {
        self.state
            .pending
            .take()
            .ok_or_else(|| Error::from_reason("nothing is pending"))
    }

    /// The same as `fuse`, in the thread pool, for bodies that would block the event loop. `out` must not be
    /// read until the promise settles. `body` must not change until then or, if the request is pending, until
    /// that is released. They must not overlap.
    #[napi(ts_return_type = "Promise<FuseAttempt>")]
    pub fn fuse_async(
        &self,
        body: Buffer,
        out: Buffer,
        most_docs: u32,
        owner: Option<String>,
    ) -> AsyncTask<FuseTask> {
        AsyncTask::new(FuseTask {
            owner,
            ..self.state.task(body, out, most_docs)
        })
    }
}

impl State {
    /// A fuse request for the thread pool, without an owner.
    fn task(&self, body: Buffer, out: Buffer, most_docs: u32) -> FuseTask {
        FuseTask {
            models: self.models.clone(),
            tables: self.tables.clone(),
            body: Some(body),
            out,
            most_docs: most_docs as usize,
            owner: None,
            rerank: None,
        }
    }

    /// Answers a body by `answer` in this thread's workspace; retains the request if it is pending.
    fn run(
        &self,
        body: &[u8],
        (out, facts): (&mut Uint8ArraySlice<'_>, &mut Float64ArraySlice<'_>),
        most_docs: u32,
        owner: Option<&str>,
        answer: impl FnOnce(&mut Workspace, &[u8], &mut [u8], Embedding<'_>) -> Outcome,
    ) -> FuseOutcome {
        // SAFETY: the caller keeps `out` apart from `body`; no JavaScript runs before this function returns,
        // so nothing else reads or writes either array meanwhile.
        let (out, facts) = unsafe { (out.as_mut(), facts.as_mut()) };
        let embedding = Embedding {
            models: &self.models,
            most_docs: most_docs as usize,
            corpora: self.tables.visible(owner),
        };
        let outcome = WORKSPACE.with_borrow_mut(|workspace| {
            let outcome = answer(workspace, body, out, embedding);
            if outcome == Outcome::Pending {
                let pending = workspace.take_pending();
                let body = Body::Copied(body.into());
                *self.pending.borrow_mut() = pending.map(|pending| PendingFuse::new(pending, body));
            }
            outcome
        });
        tell(outcome, facts)
    }
}

/// The named statistics and profiles that requests may use.
#[derive(Clone)]
struct Tables {
    corpora: Option<Arc<Table>>,
    profiles: Option<Arc<ProfileTable>>,
}

impl Tables {
    fn visible<'a>(&'a self, owner: Option<&'a str>) -> Option<Visible<'a>> {
        let corpora = self.corpora.as_deref()?;
        Some(Visible {
            corpora,
            profiles: self.profiles.as_deref(),
            owner: owner.unwrap_or_default().as_bytes(),
            owner_known: owner.is_some(),
        })
    }
}

fn text(json: Option<Vec<u8>>) -> Option<String> {
    json.map(|json| String::from_utf8(json).unwrap_or_default())
}

/// Outcome of a request in the thread pool.
#[napi]
pub struct FuseAttempt {
    outcome: Outcome,
    pending: Option<PendingFuse>,
    unranked: Option<Unranked>,
    faults: Option<Vec<u8>>,
    written_out: Option<Vec<u8>>,
}

#[napi]
impl FuseAttempt {
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

/// A fuse or rerank request in the thread pool.
pub struct FuseTask {
    models: Arc<Models>,
    tables: Tables,
    body: Option<Buffer>,
    out: Buffer,
    most_docs: usize,
    owner: Option<String>,
    /// Path and id of a rerank request.
    rerank: Option<(Api, String)>,
}

impl Task for FuseTask {
    type Output = (Outcome, Option<Pending>, Option<Unranked>, [Option<Vec<u8>>; 2]);
    type JsValue = FuseAttempt;

    fn compute(&mut self) -> Result<Self::Output> {
        let embedding = Embedding {
            models: &self.models,
            most_docs: self.most_docs,
            corpora: self.tables.visible(self.owner.as_deref()),
        };
        let body: &[u8] = self.body.as_deref().unwrap_or_default();
        Ok(WORKSPACE.with_borrow_mut(|workspace| {
            let outcome = match &self.rerank {
                None => workspace.fuse(body, &mut self.out, embedding),
                Some((api, id)) => workspace.rerank(body, *api, id, &mut self.out, embedding),
            };
            (
                outcome,
                workspace.take_pending(),
                workspace.take_unranked(),
                [workspace.take_faults(), workspace.take_written_out()],
            )
        }))
    }

    fn resolve(
        &mut self,
        _: Env,
        (outcome, pending, unranked, [faults, written_out]): Self::Output,
    ) -> Result<Self::JsValue> {
        let body = self.body.take().map(Body::Shared);
        let pending = pending
            .zip(body)
            .map(|(pending, body)| PendingFuse::new(pending, body));
        Ok(FuseAttempt {
            outcome,
            pending,
            unranked,
            faults,
            written_out,
        })
    }
}

/// The bytes of a pending request.
enum Body {
    /// A copy.
    Copied(Box<[u8]>),
    /// JavaScript's buffer.
    Shared(Buffer),
}

impl AsRef<[u8]> for Body {
    fn as_ref(&self) -> &[u8] {
        match self {
            Body::Copied(bytes) => bytes,
            Body::Shared(bytes) => bytes,
        }
    }
}

struct Waiting {
    pending: Pending,
    body: Body,
}

impl Waiting {
    fn answer(&mut self, out: &mut [u8]) -> Outcome {
        let Self { pending, body } = self;
        WORKSPACE.with_borrow_mut(|workspace| workspace.answer_pending(pending, body.as_ref(), out))
    }
}

/// A parsed request, some of whose vectors may be missing. It holds memory that the JavaScript engine does
/// not count: `release` frees it. After that, every other call throws.
#[napi]
pub struct PendingFuse {
    waiting: Option<Waiting>,
}

impl PendingFuse {
    fn new(pending: Pending, body: Body) -> Self {
        Self {
            waiting: Some(Waiting { pending, body }),
        }
    }

    fn waiting(&self) -> Result<&Waiting> {
        self.waiting.as_ref().ok_or_else(released)
    }

    fn gathered_mut(&mut self) -> Result<&mut Gathered> {
        let waiting = self.waiting.as_mut().ok_or_else(released)?;
        Ok(waiting.pending.gathered_mut())
    }

    fn whole(&self) -> Result<()> {
        if self.waiting()?.pending.gathered().missing().next().is_some() {
            return Err(Error::from_reason("vectors are missing"));
        }
        Ok(())
    }
}

fn released() -> Error {
    Error::from_reason("released before")
}

#[napi]
impl PendingFuse {
    /// Frees its memory. It may be called again.
    #[napi]
    pub fn release(&mut self) {
        self.waiting = None;
    }

    /// Id of the model.
    #[napi(getter)]
    pub fn model(&self) -> Result<String> {
        Ok(self.waiting()?.pending.gathered().model().id().to_owned())
    }

    /// Most bytes that its answer can take.
    #[napi(getter)]
    pub fn room(&self) -> Result<f64> {
        Ok(self.waiting()?.pending.room() as f64)
    }

    /// The texts whose vectors are missing, all different, as the model reads them (UTF-8).
    #[napi]
    pub fn missing(&self) -> Result<Vec<Buffer>> {
        let texts = self.waiting()?.pending.gathered().missing();
        Ok(texts.map(|text| text.as_bytes().to_vec().into()).collect())
    }

    /// Adds all missing vectors, concatenated, and caches them. `truncated`: true if the model read only the
    /// first part of the text. False, without effect, if they do not fit or are not finite.
    #[napi]
    pub fn complete(&mut self, vectors: Float32Array, truncated: Vec<bool>) -> Result<bool> {
        Ok(self.gathered_mut()?.complete(&vectors, &truncated))
    }

    /// Adds some of the missing vectors, as `complete` adds all; the others stay missing. `places`: their
    /// indexes in `missing`, ascending. False, without effect, if they do not fit or are not finite.
    #[napi]
    pub fn keep(&mut self, places: Vec<u32>, vectors: Float32Array, truncated: Vec<bool>) -> Result<bool> {
        let places: Vec<usize> = places.iter().map(|&place| place as usize).collect();
        Ok(self.gathered_mut()?.keep(&places, &vectors, &truncated))
    }

    /// Answers the request into `out`, as `Fuser.fuse` does. Throws if vectors are missing.
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
        Ok(tell(waiting.answer(out), facts))
    }

    /// The same as `answer`, in the thread pool. The request moves there, so this object counts as released.
    /// If `out` is too small, the attempt's `takePending` returns the request.
    #[napi(ts_return_type = "Promise<FuseAttempt>")]
    pub fn answer_async(&mut self, out: Buffer) -> Result<AsyncTask<AnswerTask>> {
        self.whole()?;
        let waiting = self.waiting.take().ok_or_else(released)?;
        let waiting = Some(waiting);
        Ok(AsyncTask::new(AnswerTask { waiting, out }))
    }
}

/// A pending request that has all its vectors, in the thread pool.
pub struct AnswerTask {
    waiting: Option<Waiting>,
    out: Buffer,
}

impl Task for AnswerTask {
    type Output = Outcome;
    type JsValue = FuseAttempt;

    fn compute(&mut self) -> Result<Self::Output> {
        let waiting = self.waiting.as_mut().ok_or_else(released)?;
        Ok(waiting.answer(&mut self.out))
    }

    fn resolve(&mut self, _: Env, outcome: Self::Output) -> Result<Self::JsValue> {
        // Retained if `out` was too small, to be answered into a larger one.
        let lacks_room = matches!(outcome, Outcome::NeedsRoom(_));
        let waiting = self.waiting.take().filter(|_| lacks_room);
        let pending = waiting.map(|waiting| PendingFuse {
            waiting: Some(waiting),
        });
        Ok(FuseAttempt {
            outcome,
            pending,
            unranked: None,
            faults: None,
            written_out: None,
        })
    }
}
