//! Statistics of a collection as they are stored, and looked up by a term's hash.

use std::collections::HashMap;
use std::hash::Hasher as _;

use siphasher::sip::SipHasher24;

use crate::fuse::request::corpus::corpus;
use crate::json::{Scanner, Unfit, unescape};

/// Key of the hashes of terms.
pub type Key = [u8; 16];

/// Most distinct terms of a collection.
pub const MOST_TERMS: usize = 1_000_000;

/// First byte of stored statistics; it changes with the format.
pub(super) const FORMAT: u8 = 1;
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
pub(super) fn mark(key: &Key) -> [u8; 4] {
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
    pub(super) fn of(
        key: Key,
        docs: u32,
        average_length: f64,
        counted: HashMap<u64, u32>,
    ) -> Result<Self, Refused> {
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
