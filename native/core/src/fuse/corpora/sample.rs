//! The sample of a name that learns: of all docs seen, those with the smallest digests. A doc counts once
//! however often it occurs. Samples of several processes are merged by the same rule, and the result does not
//! depend on the order of requests.

use std::collections::{BTreeMap, HashMap};

use super::hashed::Hasher;
use super::statistics::{Key, MOST_TERMS, Statistics, mark};

/// Most docs of a sample.
pub const SAMPLE_DOCS: usize = 512;

/// Numbers of docs at which a version is frozen.
const STEPS: [usize; 4] = [64, 128, 256, SAMPLE_DOCS];

/// Most distinct terms of a learned doc: so no sample exceeds the limit of a version.
const MOST_DOC_TERMS: usize = MOST_TERMS / SAMPLE_DOCS;

/// First byte of a stored sample; it changes with the format.
const FORMAT: u8 = 1;

/// Id of a sample: distinguishes a removed sample from its successor.
pub type SampleId = [u8; 8];

/// A doc of a sample.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Doc {
    /// Length in tokens.
    length: u32,
    /// Hashes of its distinct terms, ascending.
    terms: Box<[u64]>,
}

impl Doc {
    /// Counts a text; `None` if it has no token, or too many distinct terms.
    pub(super) fn of(text: &str, hasher: &mut Hasher) -> Option<Self> {
        let (mut length, mut terms) = (0_u32, Vec::new());
        hasher.each(text, |hash| {
            length = length.saturating_add(1);
            terms.extend(hash);
        });
        terms.sort_unstable();
        terms.dedup();
        (length > 0 && terms.len() <= MOST_DOC_TERMS).then(|| Self {
            length,
            terms: terms.into(),
        })
    }
}

/// Docs by digest.
pub(super) type Docs = BTreeMap<u64, Doc>;

/// Adds a doc if its digest is among the smallest.
pub(super) fn take(docs: &mut Docs, digest: u64, doc: Doc) {
    docs.insert(digest, doc);
    if docs.len() > SAMPLE_DOCS {
        docs.pop_last();
    }
}

/// A stored sample.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample {
    pub(super) id: SampleId,
    /// Settings that made the terms of its docs, as text.
    pub(super) terming: String,
    /// Number of docs in its newest frozen version; 0: none.
    frozen: u32,
    /// The greatest digest when that version was frozen.
    bound: u64,
    pub(super) docs: Docs,
}

/// Reads bytes from the front.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.bytes(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.bytes(8)?.try_into().ok()?))
    }
}

impl Sample {
    pub(super) fn new(id: SampleId, terming: String) -> Self {
        Self {
            id,
            terming,
            frozen: 0,
            bound: u64::MAX,
            docs: Docs::new(),
        }
    }

    /// Reads a stored sample; `None` if it is damaged, of another format or under another key.
    pub(super) fn read(bytes: &[u8], key: &Key) -> Option<Self> {
        let mut reader = Reader(bytes);
        if reader.bytes(1)? != [FORMAT] || reader.bytes(4)? != mark(key) {
            return None;
        }
        let id = reader.bytes(8)?.try_into().ok()?;
        let (frozen, bound) = (reader.u32()?, reader.u64()?);
        let length = usize::from(*reader.bytes(1)?.first()?);
        let terming = String::from_utf8(reader.bytes(length)?.to_vec()).ok()?;
        let mut docs = Docs::new();
        while !reader.0.is_empty() {
            let (digest, length, count) = (reader.u64()?, reader.u32()?, reader.u32()? as usize);
            let terms = reader.bytes(count.checked_mul(8)?)?.chunks_exact(8);
            let terms: Option<Box<[u64]>> = terms
                .map(|hash| Some(u64::from_le_bytes(hash.try_into().ok()?)))
                .collect();
            let terms = terms?;
            let sound = length > 0 && count <= MOST_DOC_TERMS && terms.is_sorted_by(|one, next| one < next);
            let ascends = docs.last_key_value().is_none_or(|(&last, _)| last < digest);
            if !sound || !ascends || docs.len() == SAMPLE_DOCS {
                return None;
            }
            docs.insert(digest, Doc { length, terms });
        }
        Some(Self {
            id,
            terming,
            frozen,
            bound,
            docs,
        })
    }

    /// The bytes for [`Sample::read`].
    pub(super) fn write(&self, key: &Key) -> Vec<u8> {
        let terms: usize = self.docs.values().map(|doc| doc.terms.len()).sum();
        let mut bytes = Vec::with_capacity(64 + self.terming.len() + 16 * self.docs.len() + 8 * terms);
        bytes.push(FORMAT);
        bytes.extend(mark(key));
        bytes.extend(self.id);
        bytes.extend(self.frozen.to_le_bytes());
        bytes.extend(self.bound.to_le_bytes());
        // The settings as text are short.
        bytes.push(self.terming.len() as u8);
        bytes.extend(self.terming.as_bytes());
        for (digest, doc) in &self.docs {
            bytes.extend(digest.to_le_bytes());
            bytes.extend(doc.length.to_le_bytes());
            bytes.extend((doc.terms.len() as u32).to_le_bytes());
            doc.terms.iter().for_each(|hash| bytes.extend(hash.to_le_bytes()));
        }
        bytes
    }

    /// Number of docs of the version that is due, if any. Beyond the last step one is due whenever the
    /// greatest digest has halved: about twice as many distinct docs were seen by then.
    fn due(&self) -> Option<usize> {
        let docs = *STEPS.iter().rev().find(|&&step| step <= self.docs.len())?;
        let (&greatest, _) = self.docs.last_key_value()?;
        let doubled = docs == SAMPLE_DOCS && greatest <= self.bound / 2;
        (docs > self.frozen as usize || doubled).then_some(docs)
    }

    /// Freezes the version that is due.
    pub(super) fn freeze(&mut self, key: Key) -> Option<Statistics> {
        let docs = self.due()?;
        self.frozen = docs as u32;
        let (mut tokens, mut counted) = (0, HashMap::new());
        for (&digest, doc) in self.docs.iter().take(docs) {
            self.bound = digest;
            tokens += u64::from(doc.length);
            for &hash in &doc.terms {
                *counted.entry(hash).or_insert(0) += 1;
            }
        }
        let average = tokens as f64 / docs as f64;
        // No sample has too many terms.
        Statistics::of(key, docs as u32, average, counted).ok()
    }
}
