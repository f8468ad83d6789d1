//! Binding of the dense scores that are computed here.

use std::path::Path;
use std::sync::Arc;

use fusegate_core::dense::{Gathered, Kind, Model, Models};
use fusegate_core::embeddings;
use fusegate_core::entity_map::EntityMap;
use fusegate_core::fuse::{Computed, Dense, Known, Outcome};
use fusegate_core::static_model::{Scratch, quantized};
use napi::bindgen_prelude::{
    AsyncTask, Buffer, Either, Error, Float32Array, Float64Array, Float64ArraySlice, Result, Uint8ArraySlice,
};
use napi::{Env, Task};
use napi_derive::napi;

use crate::{FuseResult, WORKSPACE, code, tell};

/// Keeps the cache of embeddings at `path` where it is of this size, or makes it anew. `bytes`: most that the
/// file has; `dimension`: most numbers of a vector. Throws when it cannot be made.
#[napi]
pub fn prepare_embeddings(path: String, bytes: f64, dimension: u32) -> Result<()> {
    let path = Path::new(&path);
    Ok(embeddings::Embeddings::prepare(
        path,
        bytes as u64,
        dimension as usize,
    )?)
}

/// A model that is installed.
#[napi(object)]
pub struct DenseModel {
    /// Its id: ASCII letters, digits, `.`, `_`, `-` and `/`.
    pub id: String,
    /// SHA-256 of its files.
    pub digest: Buffer,
    /// Numbers of a vector.
    pub dimension: u32,
    /// Folder of a static model, whose vectors are made here; absent for others.
    pub static_folder: Option<String>,
    /// What such another model wants before a query, and before a doc's text.
    pub query_prefix: Option<String>,
    /// See `queryPrefix`.
    pub document_prefix: Option<String>,
}

fn model_of(model: DenseModel) -> Result<Model> {
    let digest: [u8; 32] = model
        .digest
        .as_ref()
        .try_into()
        .map_err(|_| Error::from_reason("a digest has 32 bytes"))?;
    let made = match model.static_folder {
        Some(folder) => Model::open_static(model.id, digest, Path::new(&folder)),
        None => {
            let kind = Kind::Computed {
                query_prefix: model.query_prefix.unwrap_or_default(),
                document_prefix: model.document_prefix.unwrap_or_default(),
            };
            Model::new(model.id, digest, model.dimension as usize, kind)
        }
    };
    Ok(made?)
}

/// Texts that were looked up in the cache of embeddings by this process.
#[napi(object)]
pub struct Lookups {
    /// Found.
    pub hits: f64,
    /// Not found.
    pub misses: f64,
}

/// The installed models as fusion needs them.
#[napi]
pub struct DenseModels {
    inner: Arc<Models>,
}

#[napi]
impl DenseModels {
    /// Of models with different ids. `fallback`: the id of the one for requests that name none; `cache`: the
    /// file that `prepareEmbeddings` made. Throws when one cannot be opened.
    #[napi(constructor)]
    pub fn new(models: Vec<DenseModel>, fallback: Option<String>, cache: Option<String>) -> Result<Self> {
        let place = models
            .iter()
            .position(|model| Some(&model.id) == fallback.as_ref());
        let models = models.into_iter().map(model_of).collect::<Result<Vec<_>>>()?;
        let cache = cache
            .map(|path| embeddings::Embeddings::open(Path::new(&path)))
            .transpose()?;
        let inner = Arc::new(Models::new(models, place, cache));
        Ok(Self { inner })
    }

    /// Answers as `fuse` does, and computes the scores where a doc lacks one; at most `mostDocs` docs are
    /// given to a model. Returns what `fuse` returns, or -3: `takeGathered` then has the texts whose vectors
    /// are missing.
    #[napi]
    pub fn fuse(
        &self,
        body: &[u8],
        mut out: Uint8ArraySlice<'_>,
        mut facts: Float64ArraySlice<'_>,
        most_docs: u32,
    ) -> f64 {
        // SAFETY: the caller keeps `out` apart from `body`; no JavaScript runs before this function returns,
        // so nothing else reads or writes either array meanwhile.
        let (out, facts) = unsafe { (out.as_mut(), facts.as_mut()) };
        let (models, most_docs) = (&self.inner, most_docs as usize);
        let dense = Dense::Computed(&Computed { models, most_docs });
        let outcome = WORKSPACE.with_borrow_mut(|workspace| workspace.fuse(body, out, dense));
        tell(outcome, facts)
    }

    /// What the last `fuse` that returned -3 on this thread waits for. Throws where there is none.
    #[napi]
    pub fn take_gathered(&self) -> Result<GatheredTexts> {
        let taken = WORKSPACE.with_borrow_mut(|workspace| workspace.take_gathered());
        let inner = taken.ok_or_else(|| Error::from_reason("nothing was gathered"))?;
        Ok(GatheredTexts { inner: Some(inner) })
    }

    /// Does what `fuse` does in the thread pool; see `fuseAsync`.
    #[napi(ts_return_type = "Promise<DenseAttempt>")]
    pub fn fuse_async(&self, body: Buffer, out: Buffer, most_docs: u32) -> AsyncTask<DenseTask> {
        let models = self.inner.clone();
        let most_docs = most_docs as usize;
        AsyncTask::new(DenseTask {
            models,
            body,
            out,
            most_docs,
        })
    }

    /// The texts of a request that was read elsewhere. `model`: its id; `entities`: pairs of a surface form,
    /// not empty, and its substitute. Returns the sentence that says why `entities` cannot be used instead.
    #[napi]
    pub fn gather(
        &self,
        model: String,
        query: String,
        texts: Vec<String>,
        entities: Vec<Vec<String>>,
    ) -> Result<Either<GatheredTexts, String>> {
        let unknown = || Error::from_reason("no such model is installed");
        let place = self.inner.find(Some(&model)).ok_or_else(unknown)?;
        let pair = |mut pair: Vec<String>| Some((std::mem::take(pair.first_mut()?), pair.pop()?));
        let pairs = entities.into_iter().filter_map(pair).collect();
        let scratch = &mut Scratch::default();
        let gathered = EntityMap::new(pairs).and_then(|map| {
            let mut gathered = Gathered::new(&self.inner, place, map, &query, scratch)?;
            texts.iter().try_for_each(|text| gathered.add(text, scratch))?;
            Ok(gathered)
        });
        Ok(match gathered {
            Ok(inner) => Either::A(GatheredTexts { inner: Some(inner) }),
            Err(refused) => Either::B(refused.text()),
        })
    }

    /// What the cache was asked for.
    #[napi]
    pub fn lookups(&self) -> Lookups {
        let (hits, misses) = self.inner.lookups();
        Lookups {
            hits: hits as f64,
            misses: misses as f64,
        }
    }

    /// The vector of a text by a static model: int8 numbers, all 0 where it has no words. Throws where no
    /// such model is installed.
    #[napi]
    pub fn embed_static(&self, model: String, text: String) -> Result<Buffer> {
        let found = self
            .inner
            .find(Some(&model))
            .and_then(|place| self.inner.get(place)?.as_static());
        let unknown = || Error::from_reason("no such static model is installed");
        let sums = found.ok_or_else(unknown)?.embed(&text, &mut Scratch::default());
        Ok(quantized(&sums).map(|one| one as u8).to_vec().into())
    }
}

/// What `DenseModels.fuseAsync` came to.
#[napi]
pub struct DenseAttempt {
    outcome: Outcome,
    gathered: Option<Gathered>,
}

#[napi]
impl DenseAttempt {
    /// As `DenseModels.fuse` returns it.
    #[napi(getter)]
    pub fn length(&self) -> f64 {
        code(self.outcome)
    }

    /// Characters it counts for.
    #[napi(getter)]
    pub fn characters(&self) -> f64 {
        match self.outcome {
            Outcome::Written { characters, .. } => characters as f64,
            _ => 0.0,
        }
    }

    /// What a length of -3 waits for. Throws where there is none.
    #[napi]
    pub fn take_gathered(&mut self) -> Result<GatheredTexts> {
        let inner = self
            .gathered
            .take()
            .ok_or_else(|| Error::from_reason("nothing was gathered"))?;
        Ok(GatheredTexts { inner: Some(inner) })
    }
}

/// A request on its way through the thread pool.
pub struct DenseTask {
    models: Arc<Models>,
    body: Buffer,
    out: Buffer,
    most_docs: usize,
}

impl Task for DenseTask {
    type Output = (Outcome, Option<Gathered>);
    type JsValue = DenseAttempt;

    fn compute(&mut self) -> Result<Self::Output> {
        let Self {
            models,
            body,
            out,
            most_docs,
        } = self;
        let dense = Dense::Computed(&Computed {
            models,
            most_docs: *most_docs,
        });
        Ok(WORKSPACE.with_borrow_mut(|workspace| {
            let outcome = workspace.fuse(body, out, dense);
            (outcome, workspace.take_gathered())
        }))
    }

    fn resolve(&mut self, _: Env, (outcome, gathered): Self::Output) -> Result<Self::JsValue> {
        Ok(DenseAttempt { outcome, gathered })
    }
}

/// The texts of one request, some of whose vectors may be missing. It holds memory that the engine does not
/// know of: `release` gives it back. Every other call throws from then on.
#[napi]
pub struct GatheredTexts {
    inner: Option<Gathered>,
}

#[napi]
impl GatheredTexts {
    fn gathered(&self) -> Result<&Gathered> {
        self.inner
            .as_ref()
            .ok_or_else(|| Error::from_reason("released before"))
    }

    /// Gives its memory back. It may be called again.
    #[napi]
    pub fn release(&mut self) {
        self.inner = None;
    }

    /// Id of the model.
    #[napi(getter)]
    pub fn model(&self) -> Result<String> {
        Ok(self.gathered()?.model().id().to_owned())
    }

    /// The texts whose vectors are missing, all different, as the model is given them (UTF-8).
    #[napi]
    pub fn missing(&self) -> Result<Vec<Buffer>> {
        let texts = self.gathered()?.missing();
        Ok(texts.map(|text| text.as_bytes().to_vec().into()).collect())
    }

    /// Takes the missing vectors, one behind the other, and whether the model read only the beginning of each
    /// text; they are kept for later requests. False where they do not fit, or are not finite.
    #[napi]
    pub fn complete(&mut self, vectors: Float32Array, truncated: Vec<bool>) -> Result<bool> {
        let gathered = self
            .inner
            .as_mut()
            .ok_or_else(|| Error::from_reason("released before"))?;
        Ok(gathered.complete(&vectors, &truncated))
    }

    /// Takes some of the missing vectors, as `complete` takes all; the others are missing still. `places`:
    /// their places in `missing`, ascending. False, and nothing is taken, where they do not fit.
    #[napi]
    pub fn keep(&mut self, places: Vec<u32>, vectors: Float32Array, truncated: Vec<bool>) -> Result<bool> {
        let gathered = self
            .inner
            .as_mut()
            .ok_or_else(|| Error::from_reason("released before"))?;
        let places: Vec<usize> = places.iter().map(|&place| place as usize).collect();
        Ok(gathered.keep(&places, &vectors, &truncated))
    }

    /// Whether the model read only the beginning of a text.
    #[napi(getter)]
    pub fn truncated(&self) -> Result<bool> {
        Ok(self.gathered()?.truncated())
    }

    /// The docs' scores in order, once nothing is missing.
    #[napi]
    pub fn scores(&self) -> Result<Float64Array> {
        Ok(self.gathered()?.scores().into())
    }

    /// Answers the body that this was gathered of as `fuse` does, once nothing is missing.
    #[napi]
    pub fn fuse(
        &self,
        body: &[u8],
        mut out: Uint8ArraySlice<'_>,
        mut facts: Float64ArraySlice<'_>,
    ) -> Result<f64> {
        // SAFETY: as for `DenseModels.fuse`.
        let (out, facts) = unsafe { (out.as_mut(), facts.as_mut()) };
        let gathered = self.gathered()?;
        let known = Known {
            scores: &gathered.scores(),
            model: gathered.model().id(),
            truncated: gathered.truncated(),
        };
        let dense = Dense::Known(&known);
        let outcome = WORKSPACE.with_borrow_mut(|workspace| workspace.fuse(body, out, dense));
        Ok(tell(outcome, facts))
    }

    /// Does what `fuse` does in the thread pool; see `fuseAsync`.
    #[napi(ts_return_type = "Promise<FuseResult>")]
    pub fn fuse_async(&self, body: Buffer, out: Buffer) -> Result<AsyncTask<KnownTask>> {
        let gathered = self.gathered()?;
        Ok(AsyncTask::new(KnownTask {
            body,
            out,
            scores: gathered.scores(),
            model: gathered.model().id().to_owned(),
            truncated: gathered.truncated(),
        }))
    }
}

/// A request with its scores on its way through the thread pool.
pub struct KnownTask {
    body: Buffer,
    out: Buffer,
    scores: Vec<f64>,
    model: String,
    truncated: bool,
}

impl Task for KnownTask {
    type Output = Outcome;
    type JsValue = FuseResult;

    fn compute(&mut self) -> Result<Self::Output> {
        let Self {
            body,
            out,
            scores,
            model,
            truncated,
        } = self;
        let known = Known {
            scores,
            model,
            truncated: *truncated,
        };
        Ok(WORKSPACE.with_borrow_mut(|workspace| workspace.fuse(body, out, Dense::Known(&known))))
    }

    fn resolve(&mut self, _: Env, outcome: Self::Output) -> Result<Self::JsValue> {
        Ok(FuseResult::from(outcome))
    }
}
