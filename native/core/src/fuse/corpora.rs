//! Statistics of collections that requests name: stored, counted and looked up. A term is stored as a keyed
//! 64-bit hash (SipHash-2-4), so that no word of a text is. Among a million terms two share a hash once in 37
//! million collections.

mod hashed;
mod learning;
mod sample;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hasher as _;
use std::sync::Arc;

use siphasher::sip::SipHasher24;

use super::profiles::Profiles;
use super::request::more::{analyzer_alone, corpus};
use super::versions::{Numbered, Versions, stored_name};
use crate::json::{Scanner, Unfit, unescape};
use crate::tokens::tokenize::Tokenizer;
use hashed::Hasher;
pub use hashed::Terming;
use learning::Learnings;
pub use learning::{Learning, Step, Unlearnt};

/// Key of the hashes of terms.
pub type Key = [u8; 16];

/// Most distinct terms of a collection.
pub const MOST_TERMS: usize = 1_000_000;

/// First byte of stored statistics; it changes with the format.
const FORMAT: u8 = 1;
/// The format, the key's mark, the number of docs and their mean length.
const HEAD: usize = 1 + 4 + 8 + 8;
/// A hash and the number of docs with the term.
const TERM: usize = 8 + 4;

/// Why statistics are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// They are malformed.
    Invalid,
    /// A line, counted from 1, is neither a string nor an object with a text.
    Line(usize),
    /// More than [`MOST_TERMS`] distinct terms.
    Terms,
    /// More docs than 32 bits can count.
    Docs,
    /// No token.
    Empty,
}

/// The hash of a term.
#[must_use]
pub fn hash(key: &Key, term: &[u8]) -> u64 {
    let mut hasher = SipHasher24::new_with_key(key);
    hasher.write(term);
    hasher.finish()
}

/// Four bytes that identify a key: under another key no term would be found, and nothing would show why.
fn mark(key: &Key) -> [u8; 4] {
    (hash(key, b"") as u32).to_le_bytes()
}

/// Final statistics.
#[derive(Debug, PartialEq)]
pub struct Statistics {
    key: Key,
    /// Number of docs.
    pub docs: f64,
    /// Their mean length in tokens.
    pub average_length: f64,
    /// Ascending.
    hashes: Box<[u64]>,
    /// Number of docs with each.
    counts: Box<[u32]>,
}

impl Statistics {
    /// Statistics from counted terms.
    fn of(key: Key, docs: u32, average_length: f64, counted: HashMap<u64, u32>) -> Result<Self, Refused> {
        if counted.len() > MOST_TERMS {
            return Err(Refused::Terms);
        }
        let mut terms: Vec<(u64, u32)> = counted.into_iter().collect();
        terms.sort_unstable();
        let (hashes, counts): (Vec<u64>, Vec<u32>) = terms.into_iter().unzip();
        Ok(Self {
            key,
            docs: f64::from(docs),
            average_length,
            hashes: hashes.into(),
            counts: counts.into(),
        })
    }

    /// Reads the inline form of a request's `corpus`, as a JSON text of its own.
    ///
    /// # Errors
    /// It is invalid, or over a limit.
    pub fn read_inline(body: &[u8], key: &Key) -> Result<Self, Refused> {
        let mut scanner = Scanner::new(body).map_err(|_| Refused::Invalid)?;
        scanner.skip_space();
        let read = corpus(&mut scanner).map_err(|_| Refused::Invalid)?;
        scanner.end().map_err(|_| Refused::Invalid)?;
        if read.docs > f64::from(u32::MAX) {
            return Err(Refused::Docs);
        }
        let (mut counted, mut name) = (HashMap::new(), Vec::new());
        // Checked above: a value that does not fit here is replaced by a later one.
        let _ = Scanner::again(body, read.frequencies).values(2, |scanner, span| {
            name.clear();
            unescape(scanner.bytes(span), &mut name);
            let count = scanner.number()?;
            // A map takes more memory than the text.
            if counted.len() > MOST_TERMS {
                return Err(Unfit);
            }
            counted.insert(hash(key, &name), count as u32);
            Ok(())
        });
        Self::of(*key, read.docs as u32, read.average_length, counted)
    }

    /// Reads stored statistics; `None` if they are damaged, of another format or under another key.
    #[must_use]
    pub fn read(bytes: &[u8], key: Key) -> Option<Self> {
        let (head, terms) = bytes.split_at_checked(HEAD)?;
        let (&FORMAT, head) = head.split_first()? else {
            return None;
        };
        let (marked, head) = head.split_at_checked(4)?;
        if marked != mark(&key) {
            return None;
        }
        let (docs, average_length) = head.split_at_checked(8)?;
        let docs = f64::from(u32::try_from(u64::from_le_bytes(docs.try_into().ok()?)).ok()?);
        let average_length = f64::from_le_bytes(average_length.try_into().ok()?);
        let sound = docs >= 1.0 && average_length.is_finite() && average_length >= 0.01;
        if !sound || terms.len() % TERM != 0 {
            return None;
        }
        let (mut hashes, mut counts) = (Vec::new(), Vec::new());
        for term in terms.chunks_exact(TERM) {
            let (hash, count) = term.split_at(8);
            let hash = u64::from_le_bytes(hash.try_into().ok()?);
            let count = u32::from_le_bytes(count.try_into().ok()?);
            if hashes.last().is_some_and(|&last| last >= hash) || f64::from(count) > docs {
                return None;
            }
            hashes.push(hash);
            counts.push(count);
        }
        Some(Self {
            key,
            docs,
            average_length,
            hashes: hashes.into(),
            counts: counts.into(),
        })
    }

    /// The bytes for [`Statistics::read`].
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD + TERM * self.hashes.len());
        bytes.push(FORMAT);
        bytes.extend(mark(&self.key));
        bytes.extend((self.docs as u64).to_le_bytes());
        bytes.extend(self.average_length.to_le_bytes());
        for (hash, count) in self.hashes.iter().zip(&self.counts) {
            bytes.extend(hash.to_le_bytes());
            bytes.extend(count.to_le_bytes());
        }
        bytes
    }

    /// Number of distinct terms.
    #[must_use]
    pub fn terms(&self) -> usize {
        self.hashes.len()
    }

    /// Number of docs with a term.
    #[must_use]
    pub fn frequency(&self, term: &[u8]) -> f64 {
        let place = self.hashes.binary_search(&hash(&self.key, term));
        place.map_or(0.0, |place| f64::from(self.counts[place]))
    }
}

/// Counts texts; it stores only hashes of them.
pub struct Counter {
    key: Key,
    hasher: Hasher,
    docs: u32,
    tokens: u64,
    /// Number of docs with each term, and the last of those docs.
    counted: HashMap<u64, (u32, u32)>,
    /// Number of distinct terms, and true if there are too many.
    terms: usize,
    too_many: bool,
}

impl Counter {
    /// `settings`: the JSON of a request's `analyzer`.
    ///
    /// # Errors
    /// It is invalid, or does not go with the tokenizer.
    pub fn new(key: Key, settings: &[u8], tokenizer: Tokenizer) -> Result<Self, Refused> {
        let mut scanner = Scanner::new(settings).map_err(|_| Refused::Invalid)?;
        scanner.skip_space();
        let analyzer = analyzer_alone(&mut scanner).map_err(|_| Refused::Invalid)?;
        scanner.end().map_err(|_| Refused::Invalid)?;
        if tokenizer != Tokenizer::Ws && !analyzer.is_plain() {
            return Err(Refused::Invalid);
        }
        Ok(Self {
            key,
            hasher: Hasher::new(key, analyzer, tokenizer),
            docs: 0,
            tokens: 0,
            counted: HashMap::new(),
            terms: 0,
            too_many: false,
        })
    }

    /// Counts a doc.
    ///
    /// # Errors
    /// There are too many docs, or too many distinct terms.
    pub fn add(&mut self, text: &str) -> Result<(), Refused> {
        self.docs = self.docs.checked_add(1).ok_or(Refused::Docs)?;
        let Self {
            hasher,
            docs,
            tokens,
            counted,
            terms,
            too_many,
            ..
        } = self;
        // One text may have many more terms than the limit.
        let mut count = |hash: u64| match counted.entry(hash) {
            Entry::Vacant(_) if *too_many => {}
            Entry::Vacant(place) => {
                place.insert((1, *docs));
                *terms += 1;
                *too_many = *terms > MOST_TERMS;
            }
            Entry::Occupied(mut place) => {
                let (count, last) = place.get_mut();
                if *last != *docs {
                    (*count, *last) = (*count + 1, *docs);
                }
            }
        };
        hasher.each(text, |hash| {
            *tokens += 1;
            if let Some(hash) = hash {
                count(hash);
            }
        });
        if self.too_many {
            return Err(Refused::Terms);
        }
        Ok(())
    }

    /// Counts the docs of whole lines; blank ones are skipped.
    ///
    /// # Errors
    /// A line is not a doc, or [`Counter::add`] refuses it.
    pub fn add_lines(&mut self, lines: &[u8]) -> Result<(), Refused> {
        let mut text = Vec::new();
        for (place, line) in lines.split(|&byte| byte == b'\n').enumerate() {
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            doc_text(line, &mut text).map_err(|_| Refused::Line(place + 1))?;
            // JSON that was read is valid UTF-8.
            self.add(std::str::from_utf8(&text).unwrap_or_default())?;
        }
        Ok(())
    }

    /// The statistics of the counted texts.
    ///
    /// # Errors
    /// No text had a token.
    pub fn finish(self) -> Result<Statistics, Refused> {
        if self.tokens == 0 {
            return Err(Refused::Empty);
        }
        let average_length = (self.tokens as f64 / f64::from(self.docs)).max(0.01);
        let counted = self.counted.into_iter().map(|(hash, (count, _))| (hash, count));
        Statistics::of(self.key, self.docs, average_length, counted.collect())
    }
}

/// Reads the text of a doc: a string, or the `text` of an object.
fn doc_text(line: &[u8], text: &mut Vec<u8>) -> Result<(), Unfit> {
    let mut scanner = Scanner::new(line).map_err(|_| Unfit)?;
    let mut span = None;
    if scanner.peek() == Some(b'"') {
        span = Some(scanner.string()?);
    } else {
        scanner.members(&[b"text"], 1, |scanner, _| {
            span = Some(scanner.string()?);
            Ok(())
        })?;
    }
    scanner.end()?;
    text.clear();
    unescape(scanner.bytes(span.ok_or(Unfit)?), text);
    Ok(())
}

/// A version of a named collection.
#[derive(Debug)]
pub struct Version {
    /// From 1.
    pub number: u32,
    /// True if it was learned from requests.
    pub learnt: bool,
    /// Its statistics.
    pub statistics: Statistics,
}

impl Numbered for Version {
    fn number(&self) -> u32 {
        self.number
    }
}

/// The named collections that a process knows.
#[derive(Default)]
pub struct Corpora {
    versions: Versions<Version>,
    /// The names that are learnt.
    learnings: Learnings,
}

impl Corpora {
    /// An empty table. `key`: that of the hashes.
    #[must_use]
    pub fn new(key: &Key) -> Self {
        Self {
            learnings: Learnings::new(key),
            ..Self::default()
        }
    }

    /// The names that learn.
    #[must_use]
    pub fn learnings(&self) -> &Learnings {
        &self.learnings
    }

    /// Adds a version newer than the existing ones.
    pub fn add(&self, name: &[u8], version: Version) {
        self.versions.add(name, version);
    }

    /// Forgets a name, and what it learned.
    pub fn remove(&self, name: &[u8]) {
        self.learnings.remove(name);
        self.versions.remove(name);
    }

    /// True if a name with an owner exists, or existed.
    #[must_use]
    pub fn has_owners(&self) -> bool {
        self.versions.has_owners()
    }

    /// Versions of a name, in order.
    #[must_use]
    pub fn versions(&self, name: &[u8]) -> Vec<u32> {
        self.versions.numbers(name)
    }

    /// Every name, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.versions.names()
    }
}

/// The collections and profiles that a request may name.
#[derive(Clone, Copy)]
pub struct Visible<'a> {
    /// All collections.
    pub corpora: &'a Corpora,
    /// All profiles; nothing: there are none.
    pub profiles: Option<&'a Profiles>,
    /// Whose they may be besides everybody's; empty: nobody's.
    pub owner: &'a [u8],
    /// False if the caller was not looked up, because no owner has any.
    pub owner_known: bool,
}

impl Visible<'_> {
    /// The names of collections, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.corpora.versions.names_for(self.owner)
    }

    /// A version of a name; the newest if none is given. The owner's, or the public one if the owner has no
    /// such name.
    #[must_use]
    pub fn find(&self, name: &[u8], version: Option<f64>) -> Option<Arc<Version>> {
        self.corpora.versions.find_for(self.owner, name, version)
    }

    /// The learning state of a name: the owner's, or the public one if there is none.
    ///
    /// # Errors
    /// Nothing is learned under this name, or not with these settings.
    pub(crate) fn learn(&self, name: &[u8], terming: Terming) -> Result<Arc<Learning>, Unlearnt> {
        let full = stored_name(self.owner, name);
        let newest = self.corpora.versions.find(&full, None);
        if newest.is_some_and(|version| !version.learnt) {
            return Err(Unlearnt::Put);
        }
        self.corpora.learnings.of(&full, self.owner, terming)
    }
}

#[cfg(test)]
mod tests;
