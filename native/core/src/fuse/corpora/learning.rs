//! Learning in a process. Requests offer their texts. Between requests, the texts that belong to the sample
//! are counted, and the sample is merged with the store's. Texts are held only until then.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::hashed::{Digester, Terming};
use super::sample::{Doc, Docs, SAMPLE_DOCS, Sample, SampleId, take};
use super::statistics::{Key, Refused, Statistics};
use crate::fuse::versions::OWNED;

/// Most names that a process learns: public ones, and those of one owner.
const MOST_NAMES: usize = 1_024;
const MOST_OWNED: usize = 8;

/// Most bytes of texts that wait to be counted: under public names, and under those of owners. Further texts
/// are not learned this time. Public names have a limit of their own, because their texts wait as long as the
/// disk is nearly full.
const MOST_WAITING: usize = 16 << 20;

/// Bytes of waiting texts from which on they should be counted soon.
const MANY_WAITING: usize = MOST_WAITING / 2;

/// Why a request teaches nothing.
#[derive(Debug, PartialEq, Eq)]
pub enum Unlearnt {
    /// The name's statistics were put by a caller.
    Put,
    /// Its docs are counted with other settings.
    Terming(String),
    /// There are too many names.
    Names,
}

impl Unlearnt {
    /// The sentence of a refusal.
    pub(crate) fn text(&self) -> String {
        match self {
            Unlearnt::Put => "the statistics of this name were put; learn under another name".to_owned(),
            Unlearnt::Terming(known) => format!("the docs of this name are counted by: {known}"),
            Unlearnt::Names => "there is no room for more names; remove one first".to_owned(),
        }
    }
}

/// State of a name that learns.
#[derive(Default)]
struct State {
    /// The settings that count its docs, as text.
    terming: String,
    /// The same as requests have them; `None` until a request with them arrives.
    counted_by: Option<Terming>,
    /// Smallest digests met so far.
    known: BTreeSet<u64>,
    /// Texts that wait to be counted.
    waiting: Vec<(u64, Box<str>)>,
    /// True while counted docs may be missing in the store.
    unsaved: bool,
    /// Why it learns no more, if so.
    ended: Option<Ended>,
}

/// Why a name learns no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// It has the most versions allowed.
    Full,
    /// It cannot be stored.
    Names,
    /// It is no longer among the names. Whoever still has it looks the name up again.
    Dropped,
}

/// The counted docs, and the stored sample that they were merged into.
#[derive(Default)]
struct Counted {
    docs: Docs,
    id: Option<SampleId>,
    /// The sample's id once it is stored.
    next: SampleId,
}

/// A name that learns.
pub struct Learning {
    state: Mutex<State>,
    /// Locked while texts are counted; requests do not wait for this lock.
    counted: Mutex<Counted>,
    /// Of all names that share a limit.
    waiting_bytes: Arc<AtomicUsize>,
}

impl std::fmt::Debug for Learning {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Learning")
    }
}

/// A change to be stored.
pub struct Step {
    /// The sample in stored form.
    pub sample: Vec<u8>,
    /// Number of its docs.
    pub docs: usize,
    /// Settings that made the terms of its docs.
    pub terming: String,
    /// The frozen version, if any.
    pub frozen: Option<Statistics>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// True if a doc with this digest belongs to the sample and is new.
    fn wants(&self, digest: u64) -> bool {
        let least = self.known.len() < SAMPLE_DOCS || self.known.last().is_some_and(|&last| digest < last);
        least && !self.known.contains(&digest)
    }

    fn meet(&mut self, digest: u64) {
        self.known.insert(digest);
        if self.known.len() > SAMPLE_DOCS {
            self.known.pop_last();
        }
    }

    /// True if a process without this state would be the same.
    fn is_empty(&self) -> bool {
        self.ended.is_none() && !self.unsaved && self.waiting.is_empty() && self.known.is_empty()
    }

    /// Marks it as dropped if `condition` holds. Docs are offered under the same lock: none can come between.
    fn drop_if(&mut self, condition: impl Fn(&Self) -> bool) -> bool {
        let drops = condition(self);
        if drops {
            self.ended = Some(Ended::Dropped);
        }
        drops
    }
}

impl Learning {
    fn new(waiting_bytes: Arc<AtomicUsize>, terming: Terming) -> Self {
        Self {
            state: Mutex::new(State {
                terming: terming.text(),
                counted_by: Some(terming),
                ..State::default()
            }),
            counted: Mutex::default(),
            waiting_bytes,
        }
    }

    /// Checks that docs with these settings may be learned.
    fn check(&self, terming: Terming) -> Result<(), Unlearnt> {
        let mut state = locked(&self.state);
        if state.ended == Some(Ended::Names) {
            return Err(Unlearnt::Names);
        }
        if state.counted_by == Some(terming) {
            return Ok(());
        }
        if state.counted_by.is_some() || state.terming != terming.text() {
            return Err(Unlearnt::Terming(state.terming.clone()));
        }
        state.counted_by = Some(terming);
        Ok(())
    }

    /// Offers docs by their digests; `text` returns the text of a doc by index. False if it was dropped.
    pub(super) fn offer(&self, digests: &[u64], text: &mut impl FnMut(usize) -> Box<str>) -> bool {
        let mut state = locked(&self.state);
        if let Some(ended) = state.ended {
            return ended != Ended::Dropped;
        }
        for (at, &digest) in digests.iter().enumerate() {
            if !state.wants(digest) {
                continue;
            }
            let text = text(at);
            let before = self.waiting_bytes.fetch_add(text.len(), Ordering::Relaxed);
            if before + text.len() > MOST_WAITING {
                self.waiting_bytes.fetch_sub(text.len(), Ordering::Relaxed);
                continue;
            }
            state.meet(digest);
            state.waiting.push((digest, text));
        }
        true
    }

    /// Counts the waiting texts and merges the sample with the stored one. Returns the new sample to store;
    /// `None` if the stored one holds everything. `id`: id of the sample if there is none yet.
    ///
    /// # Errors
    /// The stored sample is damaged, of a later version, or under another key.
    fn step(&self, key: Key, stored: Option<&[u8]>, id: SampleId) -> Result<Option<Step>, Refused> {
        let mut counted = locked(&self.counted);
        let (waiting, terming, counted_by) = {
            let mut state = locked(&self.state);
            let waiting = std::mem::take(&mut state.waiting);
            // The store lacks them until the caller confirms.
            state.unsaved |= !waiting.is_empty();
            (waiting, state.terming.clone(), state.counted_by)
        };
        let bytes: usize = waiting.iter().map(|(_, text)| text.len()).sum();
        let sample = stored.map(|bytes| Sample::read(bytes, &key).ok_or(Refused::Invalid));
        let sample = sample.transpose();
        let is_other = |sample: &Sample| sample.terming != terming;
        let removed = counted.id.is_some()
            && sample
                .as_ref()
                .is_ok_and(|sample| sample.as_ref().map(|sample| sample.id) != counted.id);
        if removed
            || sample
                .as_ref()
                .is_ok_and(|sample| sample.as_ref().is_some_and(is_other))
        {
            // From before a removal, or with settings that another process replaced.
            *counted = Counted::default();
        } else if let Some(counted_by) = counted_by {
            let mut hasher = counted_by.hasher(key);
            for (digest, text) in &waiting {
                if let Some(doc) = Doc::of(text, &mut hasher) {
                    take(&mut counted.docs, *digest, doc);
                }
            }
        }
        drop(waiting);
        self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
        let sample = sample?;
        let before = sample.clone();
        let mut sample = sample.unwrap_or_else(|| Sample::new(id, terming));
        for (&digest, doc) in &counted.docs {
            take(&mut sample.docs, digest, doc.clone());
        }
        let frozen = sample.freeze(key);
        counted.docs.clone_from(&sample.docs);
        counted.id = before.as_ref().map(|before| before.id);
        counted.next = sample.id;
        let is_new = match &before {
            Some(before) => *before != sample,
            None => !sample.docs.is_empty(),
        };
        self.know(&sample, is_new);
        Ok(is_new.then(|| Step {
            sample: sample.write(&key),
            docs: sample.docs.len(),
            terming: sample.terming,
            frozen,
        }))
    }

    /// Sets the sample as the known state, with the docs that arrived meanwhile.
    fn know(&self, sample: &Sample, is_new: bool) {
        let mut state = locked(&self.state);
        state.unsaved = is_new;
        if state.terming != sample.terming {
            state.terming.clone_from(&sample.terming);
            state.counted_by = None;
            let bytes: usize = state.waiting.iter().map(|(_, text)| text.len()).sum();
            self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
            state.waiting.clear();
        }
        let waiting: Vec<u64> = state.waiting.iter().map(|&(digest, _)| digest).collect();
        state.known = sample.docs.keys().copied().collect();
        waiting.into_iter().for_each(|digest| state.meet(digest));
    }

    /// Confirms that the last step was stored.
    fn saved(&self) {
        let mut counted = locked(&self.counted);
        counted.id = Some(counted.next);
        locked(&self.state).unsaved = false;
    }

    fn end(&self, ended: Ended) {
        let mut state = locked(&self.state);
        let bytes: usize = state.waiting.iter().map(|(_, text)| text.len()).sum();
        self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
        let (terming, counted_by) = (std::mem::take(&mut state.terming), state.counted_by);
        *state = State {
            terming,
            counted_by,
            ended: Some(ended),
            ..State::default()
        };
        drop(state);
        *locked(&self.counted) = Counted::default();
    }
}

/// A name that a request may add to. It takes a place among the names only when docs are offered, so a
/// request that is refused before leaves nothing.
pub struct Lesson {
    learnings: Arc<Learnings>,
    name: Vec<u8>,
    owner: Vec<u8>,
    terming: Terming,
}

impl std::fmt::Debug for Lesson {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Lesson")
    }
}

impl Lesson {
    /// The digest of a text.
    pub(crate) fn digest(&self, text: &str) -> u64 {
        self.learnings.digester.digest(text)
    }

    /// True if the name learns no more.
    pub(crate) fn has_ended(&self) -> bool {
        let known = self.learnings.find(&self.name);
        known.is_some_and(|learning| locked(&learning.state).ended.is_some())
    }

    /// Offers docs by their digests; `text` returns the text of a doc by index. Nothing is learned if other
    /// requests took the last place or began with other settings meanwhile: the next request is refused.
    pub(crate) fn offer(&self, digests: &[u64], mut text: impl FnMut(usize) -> Box<str>) {
        // A name that is dropped after it was found begins again, with these docs.
        while let Ok(learning) = self.learnings.of(&self.name, &self.owner, self.terming) {
            if learning.offer(digests, &mut text) {
                break;
            }
        }
        // There may be no docs, or no room for them to wait.
        self.learnings.forget(&self.name);
    }
}

/// Names by their stored form.
type Names = HashMap<Box<[u8]>, Arc<Learning>>;

/// The names that a process learns.
pub struct Learnings {
    key: Key,
    names: RwLock<Names>,
    digester: Digester,
    public_bytes: Arc<AtomicUsize>,
    owned_bytes: Arc<AtomicUsize>,
}

/// Checks that a name has a place among the others.
fn check_room(names: &Names, owner: &[u8]) -> Result<(), Unlearnt> {
    let is_owned = |name: &[u8]| name.starts_with(owner) && name.get(owner.len()) == Some(&OWNED);
    let owned = || names.keys().filter(|name| is_owned(name)).count();
    if !owner.is_empty() && owned() >= MOST_OWNED || names.len() >= MOST_NAMES {
        return Err(Unlearnt::Names);
    }
    Ok(())
}

impl Default for Learnings {
    fn default() -> Self {
        Self::new(&Key::default())
    }
}

impl Learnings {
    pub(super) fn new(key: &Key) -> Self {
        Self {
            key: *key,
            names: RwLock::default(),
            digester: Digester::new(key),
            public_bytes: Arc::default(),
            owned_bytes: Arc::default(),
        }
    }

    fn find(&self, name: &[u8]) -> Option<Arc<Learning>> {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        names.get(name).cloned()
    }

    /// A name that docs with these settings may be offered to. Nothing changes until they are.
    ///
    /// # Errors
    /// There are too many names, or its docs are counted with other settings.
    pub(in crate::fuse) fn lesson(
        self: &Arc<Self>,
        name: Vec<u8>,
        owner: &[u8],
        terming: Terming,
    ) -> Result<Lesson, Unlearnt> {
        if let Some(known) = self.find(&name) {
            known.check(terming)?;
        } else {
            check_room(&self.names.read().unwrap_or_else(PoisonError::into_inner), owner)?;
        }
        Ok(Lesson {
            learnings: self.clone(),
            name,
            owner: owner.into(),
            terming,
        })
    }

    /// The learning state of a name; created for the first docs.
    pub(super) fn of(&self, name: &[u8], owner: &[u8], terming: Terming) -> Result<Arc<Learning>, Unlearnt> {
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = names.get(name) {
            known.check(terming)?;
            return Ok(known.clone());
        }
        check_room(&names, owner)?;
        let bytes = if owner.is_empty() {
            &self.public_bytes
        } else {
            &self.owned_bytes
        };
        let learning = Arc::new(Learning::new(bytes.clone(), terming));
        names.insert(name.into(), learning.clone());
        Ok(learning)
    }

    /// Drops a name under which nothing is known or waits, so that it takes no place.
    pub fn forget(&self, name: &[u8]) {
        let is_empty = |learning: Arc<Learning>| locked(&learning.state).is_empty();
        if !self.find(name).is_some_and(is_empty) {
            return;
        }
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        let learning = names.get(name);
        if learning.is_some_and(|learning| locked(&learning.state).drop_if(State::is_empty)) {
            names.remove(name);
        }
    }

    /// True if the texts that share a limit with those of this name take half of it: further ones may soon
    /// be lost.
    #[must_use]
    pub fn is_crowded(&self, name: &[u8]) -> bool {
        let is_crowded =
            |learning: Arc<Learning>| learning.waiting_bytes.load(Ordering::Relaxed) >= MANY_WAITING;
        self.find(name).is_some_and(is_crowded)
    }

    /// Names with something to store, in order.
    #[must_use]
    pub fn unsaved(&self) -> Vec<String> {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        let is_unsaved = |learning: &Learning| {
            let state = locked(&learning.state);
            state.unsaved || !state.waiting.is_empty()
        };
        let unsaved = names.iter().filter(|(_, learning)| is_unsaved(learning));
        let mut names: Vec<String> = unsaved
            .map(|(name, _)| String::from_utf8_lossy(name).into_owned())
            .collect();
        names.sort_unstable();
        names
    }

    /// Counts the waiting texts of a name, and merges them with the stored sample. Returns the new sample to
    /// store, or `None` if the stored one holds everything. `id`: id of the sample if none is stored.
    ///
    /// # Errors
    /// The stored sample is damaged, of a later version, or under another key.
    pub fn step(&self, name: &[u8], stored: Option<&[u8]>, id: SampleId) -> Result<Option<Step>, Refused> {
        self.find(name)
            .map_or(Ok(None), |learning| learning.step(self.key, stored, id))
    }

    /// Confirms that the last step of a name was stored.
    pub fn saved(&self, name: &[u8]) {
        if let Some(learning) = self.find(name) {
            learning.saved();
        }
    }

    /// Ends the learning of a name: it has all its versions, or cannot be stored.
    pub fn end(&self, name: &[u8], is_full: bool) {
        if let Some(learning) = self.find(name) {
            learning.end(if is_full { Ended::Full } else { Ended::Names });
        }
    }

    /// Forgets what a name learned.
    pub(super) fn remove(&self, name: &[u8]) {
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(learning) = names.remove(name) {
            // A request may still offer docs to it.
            learning.end(Ended::Dropped);
        }
    }

    /// Allows another try for names that could not be stored.
    pub fn retry(&self) {
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        let is_over = |state: &State| state.ended == Some(Ended::Names);
        names.retain(|_, learning| !locked(&learning.state).drop_if(is_over));
    }
}
