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
    /// It may need more room.
    NeedsRoom,
    /// The request was read; it waits for vectors that are computed elsewhere, or for room alone.
    Pending,
    /// They are no valid request, it has more docs than a model is given, or it names no installed model.
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

/// An outcome by name, the answer's bytes (written, or room for them needed), and the characters that it
/// counts for.
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

/// An outcome by name; its numbers go to `facts`.
fn tell(outcome: Outcome, facts: &mut [f64]) -> FuseOutcome {
    let (outcome, length, characters) = told(outcome);
    if let [first, second, ..] = facts {
        (*first, *second) = (length, characters);
    }
    outcome
}

/// Answers FuseRequests, and rerank requests of other interfaces. One that waits is kept until it is taken,
/// or until another takes its place.
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
    /// `models`: what computes the dense scores of docs that come without one; `corpora`: the collections
    /// that requests may name, and with them the `profiles`.
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
    /// length (written, or needed) and the characters that it counts for. A model is given at most `mostDocs`
    /// docs. `owner`: whose collections it may name besides everybody's, or empty for nobody's; absent where
    /// that was not looked up. `Pending`: `takePending` has the request.
    ///
    /// A function that is made when it is read, and no method: each call of a method looks up its object and
    /// locks it, which takes a twentieth of the time of a small request.
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

    /// Faults of names, where the last `fuse` came to `Invalid` for them: a JSON array of `{loc, message}`.
    #[napi]
    pub fn take_faults(&self) -> Option<String> {
        text(self.state.faults.take())
    }

    /// The body with the settings of its profile written out in it, where the last `fuse` came to `Invalid`
    /// for what it then says.
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

    /// Why the last `rerank` came to `Invalid`. Throws where it did not.
    #[napi]
    pub fn take_refusal(&self) -> Result<RerankRefusal> {
        refusal(self.state.unranked.take())
    }

    /// Does what `rerank` does in the thread pool, as `fuseAsync` does what `fuse` does.
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

    /// Takes the request that the last `fuse` or `rerank` left pending. Throws where there is none.
    #[napi]
    pub fn take_pending(&self) -> Result<PendingFuse> {
        self.state
            .pending
            .take()
            .ok_or_else(|| Error::from_reason("nothing is pending"))
    }

    /// Does what `fuse` does in the thread pool, for bodies that would hold up the event loop. `out` must not
    /// be read until the promise settles; `body` must not change until then, nor before what is pending is
    /// released. They must not overlap.
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
    /// A fuse request for the thread pool, of nobody.
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

    /// Answers a body by `answer` in this thread's workspace; keeps the request that is pending.
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
    /// Faults of names, as `Fuser.takeFaults` has them.
    #[napi]
    pub fn take_faults(&mut self) -> Option<String> {
        text(self.faults.take())
    }

    /// The body with its profile written out, as `Fuser.takeWrittenOut` has it.
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

    /// Why a rerank request came to `Invalid`. Throws where it did not.
    #[napi]
    pub fn take_refusal(&mut self) -> Result<RerankRefusal> {
        refusal(self.unranked.take())
    }

    /// Takes the pending request. Throws where there is none.
    #[napi]
    pub fn take_pending(&mut self) -> Result<PendingFuse> {
        self.pending
            .take()
            .ok_or_else(|| Error::from_reason("nothing is pending"))
    }
}

/// A request pending in the thread pool.
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

/// The bytes of a request that waits.
enum Body {
    /// Its own.
    Copied(Box<[u8]>),
    /// JavaScript's.
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

/// A request that was read, some of whose vectors may be missing. It holds memory that the engine does not
/// know of: `release` gives it back. Every other call throws from then on.
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
    /// Gives its memory back. It may be called again.
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

    /// The texts whose vectors are missing, all different, as the model is given them (UTF-8).
    #[napi]
    pub fn missing(&self) -> Result<Vec<Buffer>> {
        let texts = self.waiting()?.pending.gathered().missing();
        Ok(texts.map(|text| text.as_bytes().to_vec().into()).collect())
    }

    /// Takes the missing vectors, one after the other, and whether the model read only the beginning of each
    /// text; they are kept for later requests. False where they do not fit, or are not finite.
    #[napi]
    pub fn complete(&mut self, vectors: Float32Array, truncated: Vec<bool>) -> Result<bool> {
        Ok(self.gathered_mut()?.complete(&vectors, &truncated))
    }

    /// Takes some of the missing vectors, as `complete` takes all; the others are missing still. `places`:
    /// their places in `missing`, ascending. False, and nothing is taken, where they do not fit.
    #[napi]
    pub fn keep(&mut self, places: Vec<u32>, vectors: Float32Array, truncated: Vec<bool>) -> Result<bool> {
        let places: Vec<usize> = places.iter().map(|&place| place as usize).collect();
        Ok(self.gathered_mut()?.keep(&places, &vectors, &truncated))
    }

    /// Answers it into `out` as `Fuser.fuse` does. Throws where vectors are missing.
    #[napi]
    pub fn answer(
        &mut self,
        mut out: Uint8ArraySlice<'_>,
        mut facts: Float64ArraySlice<'_>,
    ) -> Result<FuseOutcome> {
        self.whole()?;
        // SAFETY: `out` is no body, and no JavaScript runs before this function returns, so that nothing else
        // reads or writes either array meanwhile.
        let (out, facts) = unsafe { (out.as_mut(), facts.as_mut()) };
        let waiting = self.waiting.as_mut().ok_or_else(released)?;
        Ok(tell(waiting.answer(out), facts))
    }

    /// Does what `answer` does in the thread pool, where it goes: it counts as released. Where `out` lacks
    /// room the attempt has it back.
    #[napi(ts_return_type = "Promise<FuseAttempt>")]
    pub fn answer_async(&mut self, out: Buffer) -> Result<AsyncTask<AnswerTask>> {
        self.whole()?;
        let waiting = self.waiting.take().ok_or_else(released)?;
        let waiting = Some(waiting);
        Ok(AsyncTask::new(AnswerTask { waiting, out }))
    }
}

/// A request with its scores, pending in the thread pool.
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
        // Kept where room lacks, to be answered into more of it.
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
