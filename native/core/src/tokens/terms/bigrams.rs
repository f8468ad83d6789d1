//! The bigrams of a query, counted in texts that have no spaces between words.

use std::hash::{BuildHasher, RandomState};

use super::hits::Hits;
use super::key::{EMPTY, MIX, fold_multiply, grown};

/// Character bigrams of the query in the order of their first occurrence, each as one number of two code
/// points.
#[derive(Debug)]
pub struct Bigrams {
    slots: Vec<(u64, u32)>,
    seed: u64,
    keys: Vec<u64>,
    frequencies: Vec<u32>,
    seen: Box<[u64; SEEN_WORDS]>,
}

/// Words of the bit set that ends most lookups.
const SEEN_WORDS: usize = 256;
/// Second half of the key of a run of one character.
const ALONE: u32 = 0x11_0000;

impl Default for Bigrams {
    fn default() -> Self {
        Bigrams {
            slots: Vec::new(),
            seed: 0,
            keys: Vec::new(),
            frequencies: Vec::new(),
            seen: Box::new([0; SEEN_WORDS]),
        }
    }
}

/// A bigram's characters, from its key.
pub(crate) fn text_of(key: u64) -> String {
    let halves = [(key >> 32) as u32, key as u32];
    // The second half of the key of a run of one character is not a character.
    halves.into_iter().filter_map(char::from_u32).collect()
}

impl Bigrams {
    /// Bytes of memory held.
    pub fn room(&self) -> usize {
        self.slots.capacity() * size_of::<(u64, u32)>()
    }

    /// Removes all bigrams.
    pub fn clear(&mut self) {
        if self.seed == 0 {
            self.seed = RandomState::new().hash_one(0) | 1;
        }
        self.slots.clear();
        self.slots.resize(16, (0, EMPTY));
        self.keys.clear();
        self.frequencies.clear();
        self.seen.fill(0);
    }

    /// Index of a bigram, or of a run of one character.
    pub(crate) fn find(&self, text: &[u8]) -> Option<u32> {
        let mut characters = std::str::from_utf8(text).ok()?.chars().map(u32::from);
        let key = match (characters.next()?, characters.next(), characters.next()) {
            (only, None, _) => Bigrams::single(only),
            (first, Some(second), None) => Bigrams::pair(first, second),
            _ => return None,
        };
        self.find_key(key)
    }

    /// Index of a bigram, by its key.
    pub(crate) fn find_key(&self, key: u64) -> Option<u32> {
        let term = self.slots[self.slot(key, self.hash(key))].1;
        (term != EMPTY).then_some(term)
    }

    /// A bigram as text.
    pub(crate) fn text(&self, term: u32) -> String {
        text_of(self.keys[term as usize])
    }

    /// Occurrences of each distinct bigram in the query.
    pub fn frequencies(&self) -> &[u32] {
        &self.frequencies
    }

    #[inline]
    fn hash(&self, key: u64) -> u64 {
        fold_multiply(key ^ self.seed, MIX)
    }

    #[inline]
    fn slot(&self, key: u64, hash: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at].1 != EMPTY && self.slots[at].0 != key {
            at = (at + 1) & mask;
        }
        at
    }

    /// Counts one more occurrence of a bigram of the query.
    pub fn insert(&mut self, key: u64) {
        let hash = self.hash(key);
        let slot = self.slot(key, hash);
        if self.slots[slot].1 != EMPTY {
            self.frequencies[self.slots[slot].1 as usize] += 1;
            return;
        }
        self.slots[slot] = (key, self.keys.len() as u32);
        self.keys.push(key);
        self.frequencies.push(1);
        let (word, bit) = Bigrams::place(key);
        self.seen[word] |= bit;
        if self.keys.len() * 2 > self.slots.len() {
            self.slots = vec![(0, EMPTY); grown(self.slots.len())];
            for term in 0..self.keys.len() {
                let key = self.keys[term];
                let slot = self.slot(key, self.hash(key));
                self.slots[slot] = (key, term as u32);
            }
        }
    }

    /// Counts a bigram of a text if it is in the query.
    #[inline]
    pub(crate) fn count(&self, key: u64, hits: &mut Hits) {
        let (word, bit) = Bigrams::place(key);
        if self.seen[word] & bit != 0 {
            self.count_seen(key, hits);
        }
    }

    #[inline(never)]
    fn count_seen(&self, key: u64, hits: &mut Hits) {
        let term = self.slots[self.slot(key, self.hash(key))].1;
        if term != EMPTY {
            hits.add(term, 1);
        }
    }

    /// Position of a key in the bit set: a word and a bit.
    #[inline]
    fn place(key: u64) -> (usize, u64) {
        let mixed = key.wrapping_mul(MIX) >> 50;
        (mixed as usize / 64, 1 << (mixed % 64))
    }

    /// Key of two adjacent characters of a run.
    #[inline]
    pub(crate) fn pair(first: u32, second: u32) -> u64 {
        u64::from(first) << 32 | u64::from(second)
    }

    /// Key of a run of one character.
    #[inline]
    pub(crate) fn single(only: u32) -> u64 {
        u64::from(only) << 32 | u64::from(ALONE)
    }
}
