//! Binding of `fusegate_core::fuse::corpora`. Counting and reading take long, so they run in the thread pool.

use std::sync::{Arc, Mutex, PoisonError};

use fusegate_core::fuse::corpora::{Corpora as Table, Counter, Key, Refused, Statistics, Step, Version};
use fusegate_core::tokens::tokenize::Tokenizer;
use napi::bindgen_prelude::{AsyncTask, Buffer, Error, Result};
use napi::{Env, Task};
use napi_derive::napi;

fn key_of(key: &[u8]) -> Result<Key> {
    key.try_into()
        .map_err(|_| Error::from_reason("a key of hashes has 16 bytes"))
}

/// Why texts or statistics are refused.
#[napi(object)]
pub struct CorpusRefusal {
    /// `invalid`, `line` (not a doc), `terms` (too many), `docs` (too many) or `empty`.
    pub reason: String,
    /// Number of the line among the given ones, from 1; 0: not about a line.
    pub line: f64,
}

impl From<Refused> for CorpusRefusal {
    fn from(refused: Refused) -> Self {
        let (reason, line) = match refused {
            Refused::Invalid => ("invalid", 0),
            Refused::Line(line) => ("line", line),
            Refused::Terms => ("terms", 0),
            Refused::Docs => ("docs", 0),
            Refused::Empty => ("empty", 0),
        };
        CorpusRefusal {
            reason: reason.to_owned(),
            line: line as f64,
        }
    }
}

/// A collection's statistics in stored form, or why there are none.
#[napi(object)]
pub struct CorpusStatistics {
    /// Absent if there are statistics.
    pub refused: Option<CorpusRefusal>,
    /// The stored form.
    pub bytes: Buffer,
    /// Number of docs.
    pub docs: f64,
    /// Their mean length in tokens.
    pub average_length: f64,
    /// Number of distinct terms.
    pub terms: f64,
}

fn told(made: std::result::Result<Statistics, Refused>) -> CorpusStatistics {
    match made {
        Ok(statistics) => CorpusStatistics {
            refused: None,
            bytes: statistics.write().into(),
            docs: statistics.docs,
            average_length: statistics.average_length,
            terms: statistics.terms() as f64,
        },
        Err(refused) => CorpusStatistics {
            refused: Some(refused.into()),
            bytes: Vec::new().into(),
            docs: 0.0,
            average_length: 0.0,
            terms: 0.0,
        },
    }
}

/// Work that makes statistics.
type Making = Box<dyn FnOnce() -> std::result::Result<Statistics, Refused> + Send>;

/// Statistics being made in the thread pool.
pub struct StatisticsTask(Option<Making>);

impl Task for StatisticsTask {
    type Output = CorpusStatistics;
    type JsValue = CorpusStatistics;

    fn compute(&mut self) -> Result<Self::Output> {
        let make = self.0.take().ok_or_else(finished)?;
        Ok(told(make()))
    }

    fn resolve(&mut self, _env: Env, output: Self::Output) -> Result<Self::JsValue> {
        Ok(output)
    }
}

/// Makes the stored form of statistics that are JSON, as in a request's `corpus`. `key`: 16 bytes, for the
/// hashes of terms. `body` must not change until the promise settles.
#[napi(ts_return_type = "Promise<CorpusStatistics>")]
pub fn freeze_corpus(body: Buffer, key: &[u8]) -> Result<AsyncTask<StatisticsTask>> {
    let key = key_of(key)?;
    let make = move || Statistics::read_inline(&body, &key);
    Ok(AsyncTask::new(StatisticsTask(Some(Box::new(make)))))
}

/// The counter until it is finished, for one thread at a time.
type Shared = Arc<Mutex<Option<Counter>>>;

/// Lines in the thread pool.
pub struct LinesTask {
    counter: Shared,
    lines: Buffer,
}

impl Task for LinesTask {
    type Output = Option<CorpusRefusal>;
    type JsValue = Option<CorpusRefusal>;

    fn compute(&mut self) -> Result<Self::Output> {
        let mut counter = self.counter.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = counter.as_mut().ok_or_else(finished)?.add_lines(&self.lines);
        Ok(counted.err().map(CorpusRefusal::from))
    }

    fn resolve(&mut self, _env: Env, output: Self::Output) -> Result<Self::JsValue> {
        Ok(output)
    }
}

/// Counts the terms of texts.
#[napi]
pub struct CorpusCounter {
    counter: Shared,
}

#[napi]
impl CorpusCounter {
    /// `analyzer`: the JSON of a request's `analyzer`; `tokenizer`: a tokenizer's name. Throws if one is
    /// invalid, or if they do not go together.
    #[napi(constructor)]
    pub fn new(key: &[u8], analyzer: String, tokenizer: String) -> Result<Self> {
        let tokenizer =
            Tokenizer::named(tokenizer.as_bytes()).ok_or_else(|| Error::from_reason("no such tokenizer"))?;
        let counter = Counter::new(key_of(key)?, analyzer.as_bytes(), tokenizer)
            .map_err(|_| Error::from_reason("no such analyzer"))?;
        Ok(Self {
            counter: Arc::new(Mutex::new(Some(counter))),
        })
    }

    /// Counts whole lines, each a JSON string or an object with a `text`; blank ones are skipped. Resolves to
    /// the reason if it cannot. Calls must not overlap. `lines` must not change until the promise settles.
    /// Rejects after `finish`.
    #[napi(ts_return_type = "Promise<CorpusRefusal | null>")]
    pub fn add(&self, lines: Buffer) -> AsyncTask<LinesTask> {
        let counter = self.counter.clone();
        AsyncTask::new(LinesTask { counter, lines })
    }

    /// The statistics of the counted lines. Rejects if called again.
    #[napi(ts_return_type = "Promise<CorpusStatistics>")]
    pub fn finish(&self) -> Result<AsyncTask<StatisticsTask>> {
        let taken = self.counter.lock().unwrap_or_else(PoisonError::into_inner).take();
        let counter = taken.ok_or_else(finished)?;
        Ok(AsyncTask::new(StatisticsTask(Some(Box::new(move || {
            counter.finish()
        })))))
    }
}

fn finished() -> Error {
    Error::from_reason("finished before")
}

/// The named collections that this process knows.
#[napi]
pub struct Corpora {
    key: Key,
    pub(crate) inner: Arc<Table>,
}

/// Stored statistics being added to the table, in the thread pool.
pub struct TakeTask {
    key: Key,
    table: Arc<Table>,
    name: String,
    number: u32,
    learnt: bool,
    bytes: Buffer,
}

impl Task for TakeTask {
    type Output = bool;
    type JsValue = bool;

    fn compute(&mut self) -> Result<Self::Output> {
        let Some(statistics) = Statistics::read(&self.bytes, self.key) else {
            return Ok(false);
        };
        let (number, learnt) = (self.number, self.learnt);
        let version = Version {
            number,
            learnt,
            statistics,
        };
        self.table.add(self.name.as_bytes(), version);
        Ok(true)
    }

    fn resolve(&mut self, _env: Env, output: Self::Output) -> Result<Self::JsValue> {
        Ok(output)
    }
}

/// A step of learning a name; to be stored.
#[napi(object)]
pub struct LearntStep {
    /// The sample.
    pub sample: Buffer,
    /// Number of its docs.
    pub docs: f64,
    /// Tokenizer and analyzer of its terms, by name.
    pub terming: String,
    /// The version that is due, if any.
    pub frozen: Option<CorpusStatistics>,
}

/// A step of learning a name, in the thread pool.
pub struct LearnTask {
    table: Arc<Table>,
    name: String,
    sample: Option<Buffer>,
    id: [u8; 8],
}

impl Task for LearnTask {
    type Output = Option<Step>;
    type JsValue = Option<LearntStep>;

    fn compute(&mut self) -> Result<Self::Output> {
        let learnings = self.table.learnings();
        learnings
            .step(self.name.as_bytes(), self.sample.as_deref(), self.id)
            .map_err(|_| Error::from_reason("the sample is damaged, or under another master secret"))
    }

    fn resolve(&mut self, _env: Env, step: Self::Output) -> Result<Self::JsValue> {
        Ok(step.map(|step| LearntStep {
            sample: step.sample.into(),
            docs: step.docs as f64,
            terming: step.terming,
            frozen: step.frozen.map(|frozen| told(Ok(frozen))),
        }))
    }
}

#[napi]
impl Corpora {
    /// An empty table. `key`: 16 bytes, for the hashes of terms.
    #[napi(constructor)]
    pub fn new(key: &[u8]) -> Result<Self> {
        Ok(Self {
            key: key_of(key)?,
            inner: Arc::new(Table::new(&key_of(key)?)),
        })
    }

    /// Adds a version if it is newer than the existing ones; false if `statistics` is damaged. It must not
    /// change until the promise settles. `learnt`: true if requests may still add to its name.
    #[napi(ts_return_type = "Promise<boolean>")]
    pub fn add(
        &self,
        name: String,
        version: u32,
        statistics: Buffer,
        learnt: Option<bool>,
    ) -> AsyncTask<TakeTask> {
        AsyncTask::new(TakeTask {
            key: self.key,
            table: self.inner.clone(),
            name,
            number: version,
            learnt: learnt.unwrap_or(false),
            bytes: statistics,
        })
    }

    /// Names with learned texts that are not stored yet, in order.
    #[napi]
    pub fn unsaved(&self) -> Vec<String> {
        self.inner.learnings().unsaved()
    }

    /// Counts the texts learned for a name, and merges them with the stored sample. Resolves to the new
    /// sample to store, or to null if the stored one holds everything. Rejects if the sample is damaged, of a
    /// later version or under another key. `id`: eight random bytes, for a name without a sample. `sample`
    /// must not change until the promise settles.
    #[napi(ts_return_type = "Promise<LearntStep | null>")]
    pub fn learn(&self, name: String, sample: Option<Buffer>, id: &[u8]) -> Result<AsyncTask<LearnTask>> {
        let id = id
            .try_into()
            .map_err(|_| Error::from_reason("an id has 8 bytes"))?;
        Ok(AsyncTask::new(LearnTask {
            table: self.inner.clone(),
            name,
            sample,
            id,
        }))
    }

    /// Confirms that the last result of `learn` was stored.
    #[napi]
    pub fn saved(&self, name: String) {
        self.inner.learnings().saved(name.as_bytes());
    }

    /// Ends the learning of a name. `isFull`: it has all its versions. Otherwise requests that would add to
    /// it are refused until `retry`.
    #[napi]
    pub fn end_learning(&self, name: String, is_full: bool) {
        self.inner.learnings().end(name.as_bytes(), is_full);
    }

    /// Drops a name under which nothing is known or waits.
    #[napi]
    pub fn forget(&self, name: String) {
        self.inner.learnings().forget(name.as_bytes());
    }

    /// True if the texts that share a limit with those of this name take half of it.
    #[napi]
    pub fn is_crowded(&self, name: String) -> bool {
        self.inner.learnings().is_crowded(name.as_bytes())
    }

    /// Allows another try for names that could not be stored.
    #[napi]
    pub fn retry(&self) {
        self.inner.learnings().retry();
    }

    /// Forgets a name.
    #[napi]
    pub fn remove(&self, name: String) {
        self.inner.remove(name.as_bytes());
    }

    /// Versions of a name in the table, in order.
    #[napi]
    pub fn versions(&self, name: String) -> Vec<u32> {
        self.inner.versions(name.as_bytes())
    }

    /// Every name, in order; names of an owner as owner, `/` and name.
    #[napi]
    pub fn names(&self) -> Vec<String> {
        self.inner.names()
    }

    /// True if a name has, or had, an owner.
    #[napi]
    pub fn has_owners(&self) -> bool {
        self.inner.has_owners()
    }
}
