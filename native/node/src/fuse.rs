//! Binding of `fusegate_core::fuse`.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use fusegate_core::embed::dense::Models;
use fusegate_core::fuse::corpora::Corpora as Table;
use fusegate_core::fuse::profiles::Profiles as ProfileTable;
use fusegate_core::fuse::request::rerank::{Api, Refused as Unranked};
use fusegate_core::fuse::{Embedding, Outcome, Pending, Visible, Workspace};
use napi::bindgen_prelude::{AsyncTask, Buffer, Error, Float64ArraySlice, Function, Result, Uint8ArraySlice};
use napi::{Env, Task};
use napi_derive::napi;

use crate::attempt::{FuseAttempt, FuseOutcome, PendingFuse, WORKSPACE, tell, text};
use crate::corpora::Corpora;
use crate::dense::DenseModels;
use crate::profiles::Profiles;
use crate::rerank::{RerankPath, RerankRefusal, refusal};

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
    pending: RefCell<Option<Pending>>,
    unranked: RefCell<Option<Unranked>>,
    faults: RefCell<Option<Vec<u8>>>,
    written_out: RefCell<Option<Vec<u8>>>,
    apart: RefCell<Option<Vec<u8>>>,
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
                apart: RefCell::default(),
            }),
        }
    }

    /// Answers a request's bytes into `out`, which must not overlap them, and sets `facts` to the answer's
    /// length (written, or needed) and the characters that it counts for. A model scores at most `mostDocs`
    /// docs. `owner`: the request may name this owner's collections and profiles besides the public ones;
    /// empty: only public ones; absent: not looked up. `mostBytes`: the most bytes of the answer; absent: any
    /// number. `Pending` and `Deferred`: `takePending` returns the request.
    ///
    /// A getter that creates a function, not a method: each call of a method looks up and locks its object,
    /// which takes a twentieth of a small request's time.
    #[napi(
        getter,
        ts_return_type = "(body: Uint8Array, out: Uint8Array, facts: Float64Array, mostDocs: number, \
                          owner?: string | null, mostBytes?: number) => FuseOutcome"
    )]
    pub fn fuse<'a>(&self, env: &'a Env) -> Result<Function<'a, (), FuseOutcome>> {
        let state = self.state.clone();
        env.create_function_from_closure("fuse", move |call| {
            let mut out: Uint8ArraySlice<'_> = call.get(1)?;
            let mut facts: Float64ArraySlice<'_> = call.get(2)?;
            let owner: Option<String> = if call.length() > 4 { call.get(4)? } else { None };
            let most_bytes: f64 = if call.length() > 5 {
                call.get(5)?
            } else {
                f64::INFINITY
            };
            Ok(state.run(
                call.get(0)?,
                (&mut out, &mut facts),
                (call.get(3)?, most_bytes),
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
            (most_docs, f64::INFINITY),
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

    /// Takes the answer of the last `fuse`, if it was longer than `out`; else null.
    #[napi]
    pub fn take_answer(&self) -> Option<Buffer> {
        self.state.apart.take().map(Buffer::from)
    }

    /// Takes the pending request of the last `fuse` or `rerank`. `body`: its bytes, which must not change
    /// until it is released. Throws if nothing is pending, or if they are not as many.
    #[napi]
    pub fn take_pending(&self, body: Buffer) -> Result<PendingFuse> {
        let pending = self.state.pending.take();
        let pending = pending.ok_or_else(|| Error::from_reason("nothing is pending"))?;
        PendingFuse::new(pending, body, self.state.models.clone())
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
        most_bytes: Option<f64>,
    ) -> AsyncTask<FuseTask> {
        AsyncTask::new(FuseTask {
            owner,
            most_bytes: bytes(most_bytes.unwrap_or(f64::INFINITY)),
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
            most_bytes: usize::MAX,
            owner: None,
            rerank: None,
        }
    }

    /// Answers a body by `answer` in this thread's workspace; retains the request if it is pending.
    fn run(
        &self,
        body: &[u8],
        (out, facts): (&mut Uint8ArraySlice<'_>, &mut Float64ArraySlice<'_>),
        (most_docs, most_bytes): (u32, f64),
        owner: Option<&str>,
        answer: impl FnOnce(&mut Workspace, &[u8], &mut [u8], Embedding<'_>) -> Outcome,
    ) -> FuseOutcome {
        // SAFETY: the caller keeps `out` apart from `body`; no JavaScript runs before this function returns,
        // so nothing else reads or writes either array meanwhile.
        let (out, facts) = unsafe { (out.as_mut(), facts.as_mut()) };
        let embedding = Embedding {
            models: &self.models,
            most_docs: most_docs as usize,
            most_bytes: bytes(most_bytes),
            on_loop: true,
            corpora: self.tables.visible(owner),
        };
        let outcome = WORKSPACE.with_borrow_mut(|workspace| {
            let outcome = answer(workspace, body, out, embedding);
            *self.apart.borrow_mut() = workspace.take_answer();
            if let Some(pending) = workspace.take_pending() {
                *self.pending.borrow_mut() = Some(pending);
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

/// A number of bytes from JavaScript, which may be infinite.
fn bytes(number: f64) -> usize {
    number as usize
}

/// A fuse or rerank request in the thread pool.
pub struct FuseTask {
    models: Arc<Models>,
    tables: Tables,
    body: Option<Buffer>,
    out: Buffer,
    most_docs: usize,
    most_bytes: usize,
    owner: Option<String>,
    /// Path and id of a rerank request.
    rerank: Option<(Api, String)>,
}

impl Task for FuseTask {
    type Output = (Outcome, Option<Pending>, Option<Unranked>, [Option<Vec<u8>>; 3]);
    type JsValue = FuseAttempt;

    fn compute(&mut self) -> Result<Self::Output> {
        let embedding = Embedding {
            models: &self.models,
            most_docs: self.most_docs,
            most_bytes: self.most_bytes,
            on_loop: false,
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
                [
                    workspace.take_faults(),
                    workspace.take_written_out(),
                    workspace.take_answer(),
                ],
            )
        }))
    }

    fn resolve(
        &mut self,
        _: Env,
        (outcome, pending, unranked, [faults, written_out, apart]): Self::Output,
    ) -> Result<Self::JsValue> {
        let waiting = pending.zip(self.body.take());
        let pending = waiting.map(|(pending, body)| PendingFuse::new(pending, body, self.models.clone()));
        Ok(FuseAttempt {
            outcome,
            pending: pending.transpose()?,
            unranked,
            faults,
            written_out,
            apart,
        })
    }
}
