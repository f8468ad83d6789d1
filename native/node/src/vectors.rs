//! Binding of the vectors that exploration searches.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use fusegate_core::embed::static_model::{DIMENSION, Vector};
use fusegate_core::explore::clusters::Effort;
use fusegate_core::explore::clusters::board::Board;
use fusegate_core::explore::explored::{self, Explored};
use fusegate_core::explore::nearest;
use fusegate_core::explore::regions;
use fusegate_core::explore::vectors::{self, Facts, Filter, View, hash_of};
use napi::bindgen_prelude::{AsyncTask, Buffer, Error, Object, Result, ToNapiValue, TypeName, Uint8Array};
use napi::{Env, Task};
use napi_derive::napi;

use crate::background::{Background, run_once};

/// Creates the file of vectors at `path`, empty, unless it exists and `method` made its vectors. False if it
/// replaced another file. Throws if it cannot.
#[napi]
pub fn prepare_vectors(path: String, method: String) -> Result<bool> {
    Ok(vectors::Vectors::prepare(Path::new(&path), &method)?)
}

/// Creates the index beside the file of vectors at `path`, empty, unless it is usable. Throws on failure.
#[napi]
pub fn prepare_index(path: String, method: String) -> Result<()> {
    Ok(explored::prepare_index(Path::new(&path), &method)?)
}

/// Digest of a visitor, for filters.
#[napi]
pub fn visitor_id(visitor: String) -> String {
    format!("{:016x}", hash_of(&visitor))
}

fn vector_of(bytes: &[u8]) -> Result<Vector> {
    let bytes: [u8; DIMENSION] = bytes
        .try_into()
        .map_err(|_| Error::from_reason(format!("a vector has {DIMENSION} numbers")))?;
    Ok(bytes.map(|one| one as i8))
}

/// A fragment for exploration.
#[napi(object)]
pub struct ExploredFragment {
    /// Its position in the log of fragments.
    pub position: f64,
    /// Its receipt's id.
    pub receipt: String,
    /// When it was received (ms since 1970).
    pub received_at_ms: f64,
    /// A number for its kind.
    pub kind: u8,
    /// Its visitor; empty if absent.
    pub visitor: String,
    /// Digest of its content.
    pub content: String,
    /// Its vector: int8 numbers.
    pub vector: Buffer,
}

/// State of the file relative to the log.
#[napi(object)]
pub struct VectorsState {
    /// Fragments in it.
    pub count: u32,
    /// The last position of the log that was read.
    pub position: f64,
    /// The receipt at that position; `""`: none yet.
    pub last_receipt: String,
}

/// A fragment's index and similarity.
#[napi(object)]
pub struct Neighbour {
    /// Its index in log order.
    pub index: u32,
    /// Its receipt's id.
    pub receipt: String,
    /// Cosine similarity, above 0.
    pub similarity: f64,
}

/// Filter of fragments.
#[napi(object)]
pub struct FragmentFilter {
    /// Only fragments of this kind.
    pub kind: Option<u8>,
    /// Only fragments of this visitor, by `visitorId`.
    pub visitor: Option<String>,
    /// Only fragments received at this time or later (ms since 1970).
    pub since_ms: Option<f64>,
}

/// A fragment's index and receipt.
#[napi(object)]
pub struct FragmentPlace {
    /// Its index in log order.
    pub index: u32,
    /// Its receipt's id.
    pub receipt: String,
}

/// Fragments that match a filter.
#[napi(object)]
pub struct FragmentSelection {
    /// Their total number.
    pub matching: u32,
    /// Some of them, in log order.
    pub places: Vec<FragmentPlace>,
}

/// A visitor in the ranking.
#[napi(object)]
pub struct VisitorStanding {
    /// Its digest, for filters.
    pub visitor: String,
    /// Receipt of its first fragment.
    pub receipt: String,
    /// Number of its fragments with distinct content.
    pub fragments: u32,
}

/// The current ranking.
#[napi(object)]
pub struct FragmentBoard {
    /// The log position that it is for.
    pub position: f64,
    /// The visitors with most fragments, at most a hundred.
    pub standings: Vec<VisitorStanding>,
}

/// Neighbours, and how they were found.
#[napi(object)]
pub struct FoundNeighbours {
    /// True if only the index's candidates were compared; false if every vector was.
    pub indexed: bool,
    /// The most similar first; ties in log order.
    pub neighbours: Vec<Neighbour>,
}

/// Where a walk begins.
#[napi(object)]
pub struct WalkStart {
    /// Its receipt's id.
    pub receipt: String,
    /// Its vector: int8 numbers.
    pub vector: Uint8Array,
}

/// Rules of a walk.
#[napi(object)]
pub struct WalkRules {
    /// The text that decides its turns.
    pub seed: String,
    /// Most steps.
    pub most: u32,
    /// Indexes of the fragments that it skips, in order.
    pub hidden: Vec<u32>,
    /// Where it begins; if absent, the seed decides.
    pub from: Option<WalkStart>,
}

/// One fragment of a walk.
#[napi(object)]
pub struct WalkStep {
    /// Its receipt's id.
    pub receipt: String,
    /// Cosine similarity to the fragment before it; 1 for the first.
    pub similarity: f64,
}

/// One region of the fragments.
#[napi(object)]
pub struct FragmentRegion {
    /// Receipt of the fragment nearest to its centre.
    pub receipt: String,
    /// Number of its fragments.
    pub fragments: u32,
}

/// Work that would block the event loop for too long; it runs in the thread pool.
pub struct Work<Value> {
    run: Option<Box<dyn FnOnce() -> std::io::Result<Value> + Send>>,
}

impl<Value: Send + ToNapiValue + TypeName + 'static> Task for Work<Value> {
    type Output = Value;
    type JsValue = Value;

    fn compute(&mut self) -> Result<Value> {
        let run = self.run.take().ok_or_else(|| Error::from_reason("run twice"))?;
        Ok(run()?)
    }

    fn resolve(&mut self, _: Env, value: Value) -> Result<Value> {
        Ok(value)
    }
}

/// The vectors of this machine and their index, shared by all processes that open the same files. Positions
/// are those of the log of fragments: a question about a position is answered from the fragments up to it,
/// always with the same result. Calls throw, and promises reject, if a file cannot be read.
#[napi]
pub struct Vectors {
    inner: Arc<Explored>,
    growth: Background,
}

#[napi]
impl Vectors {
    /// Opens the file that `prepareVectors` made for `method`, and the index beside it, which answers from
    /// `indexedFrom` fragments on. Throws if they cannot be opened.
    #[napi(constructor)]
    pub fn new(path: String, method: String, indexed_from: u32) -> Result<Self> {
        let inner = Explored::open(Path::new(&path), &method, indexed_from as usize)?;
        Ok(Self {
            inner: Arc::new(inner),
            growth: Background::new("fusegate-index"),
        })
    }

    /// Its position in the log.
    #[napi]
    pub fn state(&self) -> Result<VectorsState> {
        let state = self.inner.vectors().state()?;
        Ok(VectorsState {
            count: state.count,
            position: state.position as f64,
            last_receipt: state.last_receipt,
        })
    }

    /// Fragments in the index.
    #[napi]
    pub fn indexed(&self) -> Result<u32> {
        Ok(self.inner.indexed()?)
    }

    /// Adds a fragment; false if its receipt's id is too long. Only one process at a time may write.
    #[napi]
    pub fn append(&self, fragment: ExploredFragment) -> Result<bool> {
        let ExploredFragment {
            position,
            receipt,
            received_at_ms,
            kind,
            visitor,
            content,
            vector,
        } = fragment;
        let Some(mut facts) = Facts::new(position as u64, &receipt, received_at_ms as u64, kind) else {
            return Ok(false);
        };
        facts.visitor = hash_of(&visitor);
        facts.content = hash_of(&content);
        self.inner.append(facts, &vector_of(&vector)?)?;
        Ok(true)
    }

    /// Records that the log was read up to a position, with the receipt there. Only for the writer.
    #[napi]
    pub fn see(&self, position: f64, receipt: String) -> Result<()> {
        Ok(self.inner.see(position as u64, &receipt)?)
    }

    /// Cuts off what a power cut damaged, and drops an index of other fragments; resolves to the number of
    /// fragments cut off. Only for the writer, before it begins.
    #[napi(ts_return_type = "Promise<number>")]
    pub fn begin(&self) -> AsyncTask<Work<u32>> {
        self.work(|explored| explored.begin())
    }

    /// Adds up to `most` fragments to the index, and more to the counts, on a dedicated thread at a lower
    /// priority; resolves to true once both have all. Only for the writer.
    #[napi(ts_return_type = "Promise<boolean>")]
    pub fn grow<'env>(&self, env: &'env Env, most: u32) -> Result<Object<'env>> {
        let inner = self.inner.clone();
        self.growth.run(env, move || inner.grow(most as usize))
    }

    /// Maps the pages of both files into this process, on a dedicated thread at a lower priority, so that no
    /// search has to wait for that. Resolves to false, without effect, if they have more than `mostBytes`:
    /// they would take the memory from others.
    #[napi(ts_return_type = "Promise<boolean>")]
    pub fn warm<'env>(&self, env: &'env Env, most_bytes: f64) -> Result<Object<'env>> {
        let inner = self.inner.clone();
        run_once(env, "fusegate-warm", move || inner.warm(most_bytes as u64))
    }

    /// Writes the index to disk for the next writer. Only for the writer, at its end.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn close(&self) -> AsyncTask<Work<()>> {
        self.work(|explored| explored.close())
    }

    /// Replaces the files by empty ones, which every process uses from its next call. Only for the writer.
    #[napi]
    pub fn reset(&self) -> Result<()> {
        Ok(self.inner.reset()?)
    }

    /// Number of fragments up to a position.
    #[napi]
    pub fn count(&self, position: f64) -> Result<u32> {
        Ok(self.inner.vectors().view(position as u64)?.count() as u32)
    }

    /// A fragment's vector by index; empty if there is none.
    #[napi]
    pub fn vector(&self, index: u32) -> Result<Buffer> {
        let view = self.inner.vectors().all()?;
        let there = (index as usize) < view.count();
        let bytes: Vec<u8> = if there {
            view.vector(index as usize).map(|one| one as u8).to_vec()
        } else {
            Vec::new()
        };
        Ok(bytes.into())
    }

    /// The receipts of the fragments at indexes `from` to `to` - 1; fewer if there are fewer.
    #[napi]
    pub fn receipts(&self, from: u32, to: u32) -> Result<Vec<String>> {
        let view = self.inner.vectors().all()?;
        let places = from..to.min(view.count() as u32);
        Ok(places.map(|index| receipt_at(&view, index)).collect())
    }

    /// Indexes of the fragments with these receipts, one on each line, from index `from` on, in order.
    #[napi(ts_return_type = "Promise<Array<number>>")]
    pub fn places_of(&self, receipts: String, from: u32) -> AsyncTask<Work<Vec<u32>>> {
        self.work(move |explored| {
            let receipts: HashSet<&str> = receipts.lines().collect();
            Ok(explored.vectors().all()?.places_of(&receipts, from as usize))
        })
    }

    /// Fragments that match: their total, and at most `most` of them from index `from` on. `hidden`: indexes
    /// of the fragments that are left out, in order.
    #[napi(ts_return_type = "Promise<FragmentSelection>")]
    pub fn select(
        &self,
        position: f64,
        filter: FragmentFilter,
        from: u32,
        most: u32,
        hidden: Vec<u32>,
    ) -> Result<AsyncTask<Work<FragmentSelection>>> {
        let filter = filter_of(&filter)?;
        Ok(self.work(move |explored| {
            let view = explored.vectors().view(position as u64)?;
            let named = |index| FragmentPlace {
                index,
                receipt: receipt_at(&view, index),
            };
            let places = view.select(&filter, from as usize, most as usize, &hidden);
            Ok(FragmentSelection {
                matching: explored.matching(&view, &filter, &hidden)? as u32,
                places: places.into_iter().map(named).collect(),
            })
        }))
    }

    /// The nearest to a vector that are not `hidden` (indexes in order): the most similar first, ties in log
    /// order. `thorough`: the index examines more candidates, for answers of a single search.
    #[napi(ts_return_type = "Promise<FoundNeighbours>")]
    pub fn nearest(
        &self,
        position: f64,
        vector: &[u8],
        most: u32,
        thorough: bool,
        hidden: Vec<u32>,
    ) -> Result<AsyncTask<Work<FoundNeighbours>>> {
        let vector = vector_of(vector)?;
        let effort = if thorough { Effort::Thorough } else { Effort::Quick };
        Ok(self.work(move |explored| {
            let explored::Found { indexed, neighbours } =
                explored.nearest((position as u64, &hidden), &vector, most as usize, effort)?;
            let view = explored.vectors().all()?;
            let neighbours = named_neighbours(&view, &neighbours);
            Ok(FoundNeighbours { indexed, neighbours })
        }))
    }

    /// A walk that is about to begin.
    #[napi]
    pub fn walk(&self, position: f64, rules: WalkRules) -> Result<Walking> {
        let WalkRules {
            seed,
            most,
            hidden,
            from,
        } = rules;
        let start = |WalkStart { receipt, vector }| Ok::<_, Error>((receipt, vector_of(&vector)?));
        let walked = Walked {
            position: position as u64,
            seed,
            most: most as usize,
            hidden,
            from: from.map(start).transpose()?,
            stopped: AtomicBool::new(false),
        };
        Ok(Walking {
            explored: self.inner.clone(),
            walked: Arc::new(walked),
        })
    }

    /// For the fragments at indexes `from` to `to` - 1: the nearest earlier ones of each, at most three.
    #[napi(ts_return_type = "Promise<Array<Array<Neighbour>>>")]
    pub fn links(
        &self,
        position: f64,
        from: u32,
        to: u32,
        hidden: Vec<u32>,
    ) -> AsyncTask<Work<Vec<Vec<Neighbour>>>> {
        self.work(move |explored| {
            let links = explored.links(position as u64, from as usize..to as usize, &hidden)?;
            let view = explored.vectors().all()?;
            Ok(links.iter().map(|links| named_neighbours(&view, links)).collect())
        })
    }

    /// The current ranking; null while the writer updates it.
    #[napi]
    pub fn board(&self) -> Result<Option<FragmentBoard>> {
        let Some(Board {
            position, standings, ..
        }) = self.inner.board()?
        else {
            return Ok(None);
        };
        let view = self.inner.vectors().all()?;
        Ok(Some(FragmentBoard {
            position: position as f64,
            standings: named_standings(&view, &standings),
        }))
    }

    /// Ranking of the visitors with most fragments, at most a hundred. `hidden`: indexes of the fragments
    /// that do not count, in order.
    #[napi(ts_return_type = "Promise<Array<VisitorStanding>>")]
    pub fn standings(&self, position: f64, hidden: Vec<u32>) -> AsyncTask<Work<Vec<VisitorStanding>>> {
        self.work(move |explored| {
            let standings = explored.standings(position as u64, &hidden)?;
            Ok(named_standings(&explored.vectors().all()?, &standings))
        })
    }

    /// Number of fragments that are not `hidden`, by kind number.
    #[napi(ts_return_type = "Promise<Array<number>>")]
    pub fn kinds(&self, position: f64, hidden: Vec<u32>) -> AsyncTask<Work<Vec<u32>>> {
        self.work(move |explored| Ok(explored.kinds(position as u64, &hidden)?.to_vec()))
    }

    /// The regions of the fragments that are not `hidden`, the smallest first.
    #[napi(ts_return_type = "Promise<Array<FragmentRegion>>")]
    pub fn regions(&self, position: f64, hidden: Vec<u32>) -> AsyncTask<Work<Vec<FragmentRegion>>> {
        self.work(move |explored| {
            let found = explored.regions(position as u64, &hidden)?;
            let view = explored.vectors().all()?;
            let named = |region: regions::Region| FragmentRegion {
                receipt: receipt_at(&view, region.centre),
                fragments: region.count,
            };
            Ok(found.into_iter().map(named).collect())
        })
    }

    fn work<Value>(
        &self,
        run: impl FnOnce(&Explored) -> std::io::Result<Value> + Send + 'static,
    ) -> AsyncTask<Work<Value>>
    where
        Value: Send + ToNapiValue + TypeName + 'static,
    {
        let inner = self.inner.clone();
        in_pool(move || run(&inner))
    }
}

/// Runs `run` in the thread pool.
fn in_pool<Value>(run: impl FnOnce() -> std::io::Result<Value> + Send + 'static) -> AsyncTask<Work<Value>>
where
    Value: Send + ToNapiValue + TypeName + 'static,
{
    AsyncTask::new(Work {
        run: Some(Box::new(run)),
    })
}

/// The rules of a walk; `stopped` is true once nobody awaits it.
struct Walked {
    position: u64,
    seed: String,
    most: usize,
    hidden: Vec<u32>,
    from: Option<(String, Vector)>,
    stopped: AtomicBool,
}

/// A walk from neighbour to neighbour.
#[napi]
pub struct Walking {
    explored: Arc<Explored>,
    walked: Arc<Walked>,
}

#[napi]
impl Walking {
    /// Walks, in the thread pool. The walk ends early if no other fragment is near.
    #[napi(ts_return_type = "Promise<Array<WalkStep>>")]
    pub fn steps(&self) -> AsyncTask<Work<Vec<WalkStep>>> {
        let (explored, walked) = (self.explored.clone(), self.walked.clone());
        in_pool(move || {
            let walk = explored::Walk {
                position: walked.position,
                seed: &walked.seed,
                most: walked.most,
                hidden: &walked.hidden,
                stopped: &|| walked.stopped.load(Relaxed),
            };
            let from = walked.from.as_ref();
            let steps = explored.walk(&walk, from.map(|(receipt, vector)| (receipt.as_str(), *vector)))?;
            let named = |explored::Step { receipt, similarity }| WalkStep { receipt, similarity };
            Ok(steps.into_iter().map(named).collect())
        })
    }

    /// Stops the walk before its next search, because nobody awaits it any more.
    #[napi]
    pub fn stop(&self) {
        self.walked.stopped.store(true, Relaxed);
    }
}

fn receipt_at(view: &View, index: u32) -> String {
    view.facts(index as usize).receipt().to_owned()
}

fn named_standings(view: &View, standings: &[vectors::Standing]) -> Vec<VisitorStanding> {
    let there = |standing: &&vectors::Standing| (standing.first as usize) < view.count();
    let named = |standing: &vectors::Standing| VisitorStanding {
        visitor: format!("{:016x}", standing.visitor),
        receipt: receipt_at(view, standing.first),
        fragments: standing.fragments,
    };
    standings.iter().filter(there).map(named).collect()
}

fn named_neighbours(view: &View, found: &[nearest::Neighbour]) -> Vec<Neighbour> {
    let named = |one: &nearest::Neighbour| Neighbour {
        index: one.index,
        receipt: receipt_at(view, one.index),
        similarity: one.similarity,
    };
    found.iter().map(named).collect()
}

fn filter_of(filter: &FragmentFilter) -> Result<Filter> {
    let read = |text: &String| {
        u64::from_str_radix(text, 16).map_err(|_| Error::from_reason("not the hash of a visitor"))
    };
    Ok(Filter {
        kind: filter.kind,
        visitor: filter.visitor.as_ref().map(read).transpose()?,
        since_ms: filter.since_ms.map(|since| since as u64),
    })
}
