//! Exploration on one machine: the file of vectors, the index beside it, and the choice between them. Below a
//! number of fragments, and while the index is built, every vector is compared.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use super::clusters::board::{Board, KINDS, LISTED, Tally};
use super::clusters::{Clusters, Effort, IndexState};
use super::hidden::HiddenVisitors;
use super::nearest::Neighbour;
use super::regions::{self, Region};
use super::vectors::{Facts, Filter, LINK_LEAST, LINKS, Links, Standing, Vectors, View, is_hidden};
use crate::embed::static_model::Vector;

mod walk;

pub use walk::{Step, Walk};

/// Links of fragments that each process caches, among those that were not hidden.
#[derive(Default)]
struct KnownLinks {
    hidden: Vec<u32>,
    links: HashMap<u32, Links>,
}

/// Fragments whose links each process caches.
const KNOWN_LINKS: usize = 50_000;

/// Most clusters for regions.
const REGION_CLUSTERS: usize = 1_024;

/// Path of the index beside the vectors.
fn index_path(vectors: &Path) -> PathBuf {
    let mut name = vectors.as_os_str().to_owned();
    name.push(".index");
    name.into()
}

/// Neighbours, and how they were found.
#[derive(Debug, PartialEq)]
pub struct Found {
    /// True if only the index's candidates were compared.
    pub indexed: bool,
    /// The nearest first.
    pub neighbours: Vec<Neighbour>,
}

/// Empties the index of a file of vectors if it cannot be used.
pub fn prepare_index(vectors: &Path, method: &str) -> io::Result<()> {
    let index = Clusters::open(&index_path(vectors), method)?;
    if index.is_whole()? {
        return Ok(());
    }
    index.reset()
}

/// The vectors and their index.
pub struct Explored {
    vectors: Vectors,
    index: Clusters,
    /// Number of fragments from which the index answers.
    from: usize,
    /// The writer's counts; empty in other processes. The holder of this lock is the index's only writer.
    tally: Mutex<Tally>,
    /// Links by fragment index: they never change, as later fragments do not affect them.
    links: Mutex<KnownLinks>,
    visible: Mutex<HiddenVisitors>,
}

impl Explored {
    /// Maps the file that [`Vectors::prepare`] made for `method`. The index answers from `from` fragments on.
    pub fn open(path: &Path, method: &str, from: usize) -> io::Result<Self> {
        Ok(Self {
            vectors: Vectors::open(path, method)?,
            index: Clusters::open(&index_path(path), method)?,
            from,
            tally: Mutex::default(),
            links: Mutex::default(),
            visible: Mutex::default(),
        })
    }

    /// The file of vectors.
    pub fn vectors(&self) -> &Vectors {
        &self.vectors
    }

    fn all(&self) -> io::Result<View> {
        self.vectors.all()
    }

    /// Number of fragments in the index if it belongs to the file; else 0.
    pub fn indexed(&self) -> io::Result<u32> {
        // The index first: the file then has everything that it covers.
        let state = self.index.state()?;
        Ok(if state.fits(&self.all()?) { state.count } else { 0 })
    }

    /// First steps of the writer: cuts off damaged fragments, and drops an index of other fragments. Returns
    /// the number cut off.
    pub fn begin(&self) -> io::Result<u32> {
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        let cut = self.vectors.verify()?;
        *tally = Tally::default();
        self.index.begin(&self.all()?)?;
        Ok(cut)
    }

    /// Replaces the files by empty ones. The caller must be the only writer.
    pub fn reset(&self) -> io::Result<()> {
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        self.vectors.reset()?;
        self.index.reset()?;
        *tally = Tally::default();
        Ok(())
    }

    /// Adds a fragment, also to the index and the counts if they have all earlier ones. The caller must be
    /// the only writer, and calls [`Explored::see`] next.
    pub fn append(&self, facts: Facts, vector: &Vector) -> io::Result<()> {
        self.vectors.append(facts, vector)?;
        // Locked while the index and counts grow: that work then adds this fragment, too.
        let mut tally = match self.tally.try_lock() {
            Ok(tally) => tally,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(()),
        };
        let all = self.all()?;
        let count = all.count() as u32;
        let is_next = |state: IndexState| state.count + 1 == count;
        // The fragment is in the file: an error would have it appended once more. If the index does not take
        // it now, growing it does.
        if self.index.state().is_ok_and(is_next) && self.index.insert(&all).is_err() {
            return Ok(());
        }
        if tally.count() + 1 == count {
            tally.add(all.facts(count as usize - 1));
        }
        Ok(())
    }

    /// Records that the log was read up to a position, with the receipt there, and publishes the counts. The
    /// caller must be the only writer.
    pub fn see(&self, position: u64, receipt: &str) -> io::Result<()> {
        if let Ok(tally) = self.tally.try_lock() {
            self.publish(&tally, position)?;
        }
        self.vectors.see(position, receipt)
    }

    fn publish(&self, tally: &Tally, position: u64) -> io::Result<()> {
        if tally.count() as usize == self.all()?.count() {
            self.index.publish(&tally.at(position))?;
        }
        Ok(())
    }

    /// Adds at most `most` fragments to the index and to the counts; true once both have all. The caller must
    /// be the only writer.
    pub fn grow(&self, most: usize) -> io::Result<bool> {
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        let position = self.vectors.state()?.position;
        let all = self.all()?;
        let count = all.count() as u32;
        for _ in 0..most {
            if self.index.state()?.count >= count {
                break;
            }
            self.index.insert(&all)?;
        }
        // Counting is much faster.
        for _ in 0..most.saturating_mul(16) {
            if tally.count() >= count {
                break;
            }
            let next = tally.count() as usize;
            tally.add(all.facts(next));
        }
        // Fragments after the position are counted once the position includes them.
        if all.count() == self.vectors.view(position)?.count() {
            self.publish(&tally, position)?;
        }
        Ok(self.index.state()?.count >= count && tally.count() >= count)
    }

    /// Last step of the writer: after it a power cut loses nothing of the index.
    pub fn close(&self) -> io::Result<()> {
        self.index.close()
    }

    /// Reads from every page of both files that a search may read, so that the system maps it and searches
    /// need not wait for that. Returns false without reading if the files have more than `most` bytes: they
    /// would take the memory from others.
    pub fn warm(&self, most: u64) -> io::Result<bool> {
        if self.vectors.bytes()? + self.index.bytes()? > most {
            return Ok(false);
        }
        self.index.warm()?;
        self.all()?.warm();
        Ok(true)
    }

    /// True if the index answers for the first `count` fragments.
    fn answers(&self, count: usize) -> io::Result<bool> {
        Ok(count >= self.from && count <= self.indexed()? as usize)
    }

    /// The nearest to a vector at a position that are not `hidden` (indexes in order): the most similar
    /// first, ties in log order.
    pub fn nearest(
        &self,
        (position, hidden): (u64, &[u32]),
        vector: &Vector,
        most: usize,
        effort: Effort,
    ) -> io::Result<Found> {
        self.nearest_of((&self.vectors.view(position)?, hidden), vector, most, effort)
    }

    /// As [`Explored::nearest`], among the fragments of a view.
    fn nearest_of(
        &self,
        (view, hidden): (&View, &[u32]),
        vector: &Vector,
        most: usize,
        effort: Effort,
    ) -> io::Result<Found> {
        let indexed = self.answers(view.count())?;
        let neighbours = if indexed {
            self.index.nearest((view, hidden), vector, most, effort)?
        } else {
            view.nearest(vector, most, hidden)
        };
        Ok(Found { indexed, neighbours })
    }

    /// Links of the fragments at `places` to the nearest earlier ones that are not `hidden`, at most
    /// [`LINKS`] each: a link that is missing would tell that a hidden one is nearer. Hidden fragments have
    /// none, as nobody is shown them.
    pub fn links(&self, position: u64, places: Range<usize>, hidden: &[u32]) -> io::Result<Vec<Links>> {
        let view = self.vectors.view(position)?;
        let places = places.start..places.end.min(view.count());
        let mut found: Vec<Option<Links>> = {
            let known = self.known_links(hidden);
            places
                .clone()
                .map(|at| known.links.get(&(at as u32)).cloned())
                .collect()
        };
        let unknown = |found: &Option<Links>| found.is_none();
        let (first, last) = (found.iter().position(unknown), found.iter().rposition(unknown));
        if let (Some(first), Some(last)) = (first, last) {
            let asked = places.start + first..places.start + last + 1;
            for (slot, links) in found[first..]
                .iter_mut()
                .zip(self.find_links(&view, asked, hidden)?)
            {
                *slot = Some(links);
            }
        }
        Ok(found.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// The cache of links among the fragments that are not `hidden`.
    fn known_links(&self, hidden: &[u32]) -> MutexGuard<'_, KnownLinks> {
        let mut known = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        if known.hidden != hidden {
            *known = KnownLinks {
                hidden: hidden.to_vec(),
                links: HashMap::new(),
            };
        }
        known
    }

    fn find_links(&self, view: &View, places: Range<usize>, hidden: &[u32]) -> io::Result<Vec<Links>> {
        let indexed = self.answers(places.end.max(self.from))?;
        let exact_to = if indexed {
            places.end.min(self.from)
        } else {
            places.end
        };
        let mut links = view.links(places.start.min(exact_to), exact_to, hidden);
        for at in exact_to.max(places.start)..places.end {
            links.push(self.indexed_links(view, at, hidden)?);
        }
        // While the index is built, links are exact; those that it will answer later are not cached.
        let kept = if indexed {
            places.end
        } else {
            places.end.min(self.from)
        };
        let known = &mut self.known_links(hidden).links;
        if known.len() + links.len() > KNOWN_LINKS {
            known.clear();
        }
        for (at, links) in (places.start..kept).zip(&links) {
            known.insert(at as u32, links.clone());
        }
        Ok(links)
    }

    /// The links of one fragment by the index; none if it is hidden.
    fn indexed_links(&self, view: &View, at: usize, hidden: &[u32]) -> io::Result<Links> {
        if is_hidden(hidden, at as u32) {
            return Ok(Links::new());
        }
        let before = view.first(at);
        let among = (&before, hidden);
        let mut near = self.index.nearest(among, view.vector(at), LINKS, Effort::Quick)?;
        near.retain(|one| one.similarity > LINK_LEAST);
        Ok(near)
    }

    /// The current counts, if they are as new as the file.
    pub fn board(&self) -> io::Result<Option<Board>> {
        let position = self.vectors.state()?.position;
        Ok(self.index.board()?.filter(|board| board.position >= position))
    }

    /// The board, if it covers the same fragments as a view.
    fn board_of(&self, view: &View) -> io::Result<Option<Board>> {
        let board = self.board()?;
        Ok(board.filter(|board| board.count as usize == view.count()))
    }

    /// Ranking of the visitors with most fragments at a position, at most [`LISTED`]. `hidden`: indexes of
    /// the fragments that do not count, in order.
    pub fn standings(&self, position: u64, hidden: &[u32]) -> io::Result<Vec<Standing>> {
        let view = self.vectors.view(position)?;
        let hidden = view.hidden(hidden);
        if let Some(board) = self.board_of(&view)? {
            if hidden.is_empty() {
                return Ok(board.standings);
            }
            let mut visible = self.visible.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(ranked) = visible.ranked(&view, hidden, &board.standings) {
                return Ok(ranked);
            }
        }
        Ok(view.standings(hidden).into_iter().take(LISTED).collect())
    }

    /// Number of fragments at a position that are not `hidden`, by kind number.
    pub fn kinds(&self, position: u64, hidden: &[u32]) -> io::Result<[u32; KINDS]> {
        let view = self.vectors.view(position)?;
        let mut kinds = match self.board_of(&view)? {
            Some(board) => board.kinds,
            None => kinds_of(view.all_facts()),
        };
        let hidden = view
            .hidden(hidden)
            .iter()
            .map(|&index| view.facts(index as usize));
        for (kind, hidden) in kinds.iter_mut().zip(kinds_of(hidden)) {
            *kind -= hidden;
        }
        Ok(kinds)
    }

    /// Number of fragments at a position that match a filter and are not `hidden`.
    pub fn matching(&self, view: &View, filter: &Filter, hidden: &[u32]) -> io::Result<usize> {
        let fits = |&&index: &&u32| filter.fits(view.facts(index as usize));
        let hidden = view.hidden(hidden).iter().filter(fits).count();
        Ok(self.all_matching(view, filter)? - hidden)
    }

    fn all_matching(&self, view: &View, filter: &Filter) -> io::Result<usize> {
        Ok(match (filter, self.board_of(view)?) {
            (filter, _) if filter.lets_all() => view.count(),
            (
                &Filter {
                    kind: Some(kind),
                    visitor: None,
                    since_ms: None,
                },
                Some(board),
            ) if usize::from(kind) < KINDS => board.kinds[usize::from(kind)] as usize,
            _ => view.matching(filter),
        })
    }

    /// The regions at a position, the smallest first. `hidden` fragments do not count and are no centres.
    pub fn regions(&self, position: u64, hidden: &[u32]) -> io::Result<Vec<Region>> {
        let view = self.vectors.view(position)?;
        let hidden = view.hidden(hidden);
        if !self.answers(view.count())? {
            return Ok(regions::regions(&view, hidden));
        }
        let clusters = self.index.clusters(&view, REGION_CLUSTERS)?;
        let mut found = Vec::new();
        let vectors = hidden.iter().map(|&index| view.vector(index as usize));
        for (centre, count) in regions::of_clusters(&clusters, vectors) {
            let nearest = self.index.nearest((&view, hidden), &centre, 1, Effort::Quick)?;
            found.extend(nearest.first().map(|one| Region {
                centre: one.index,
                count,
            }));
        }
        found.sort_by_key(|region| (region.count, region.centre));
        Ok(found)
    }
}

fn kinds_of<'a>(all: impl Iterator<Item = &'a Facts>) -> [u32; KINDS] {
    let mut kinds = [0; KINDS];
    for facts in all {
        if let Some(kind) = kinds.get_mut(usize::from(facts.kind)) {
            *kind += 1;
        }
    }
    kinds
}

#[cfg(test)]
mod tests;
