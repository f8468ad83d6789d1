//! The query's terms and how often each occurs in a text: what BM25 needs to know, with no token ever stored.

use std::hash::{BuildHasher, RandomState};

/// Two words and a length that tell terms of up to 16 bytes apart, and longer ones nearly so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Key {
    first: u64,
    last: u64,
    length: usize,
}

const EMPTY: u32 = u32::MAX;
const LOWER: u64 = 0x2020_2020_2020_2020;
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

#[inline]
fn fold_multiply(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}

#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        Some(chunk) => u64::from_le_bytes(*chunk),
        None => {
            let mut chunk = [0; 8];
            let rest = bytes.get(at..).unwrap_or_default();
            chunk[..rest.len()].copy_from_slice(rest);
            u64::from_le_bytes(chunk)
        }
    }
}

impl Key {
    /// Key of the `length` bytes at `at`. `bits` is or-ed into each byte: [`LOWER`] folds ASCII letters and
    /// leaves digits, 0 takes bytes as they are.
    #[inline]
    fn of(bytes: &[u8], at: usize, length: usize, bits: u64) -> Key {
        if length <= 8 {
            let kept = u64::MAX >> (64 - 8 * length as u32);
            return Key {
                first: (word(bytes, at) | bits) & kept,
                last: 0,
                length,
            };
        }
        let last = word(bytes, at + length - 8) | bits;
        let mut first = word(bytes, at) | bits;
        if length > 16 {
            for step in (8..length - 8).step_by(8) {
                first = fold_multiply(first ^ (word(bytes, at + step) | bits), MIX);
            }
        }
        Key { first, last, length }
    }
}

/// How often each of a query's terms was found in one text.
#[derive(Debug, Default)]
pub struct Hits {
    counts: Vec<u32>,
    touched: Vec<u32>,
}

impl Hits {
    /// Makes room for `terms` terms, all counts 0.
    pub fn reset(&mut self, terms: usize) {
        self.touched.clear();
        self.counts.clear();
        self.counts.resize(terms, 0);
    }

    #[inline]
    fn add(&mut self, term: u32) {
        let count = &mut self.counts[term as usize];
        if *count == 0 {
            self.touched.push(term);
        }
        *count += 1;
    }

    /// Takes the counts as (term, count) by ascending term, leaving all at 0.
    pub fn drain(&mut self, mut each: impl FnMut(u32, u32)) {
        self.touched.sort_unstable();
        for &term in &self.touched {
            each(term, std::mem::take(&mut self.counts[term as usize]));
        }
        self.touched.clear();
    }
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    key: Key,
    term: u32,
}

/// Distinct terms in order of first occurrence, found by their bytes.
#[derive(Debug, Default)]
pub struct Terms {
    slots: Vec<Slot>,
    seeds: (u64, u64),
    bytes: Vec<u8>,
    ends: Vec<usize>,
    keys: Vec<Key>,
    frequencies: Vec<u32>,
    /// Which byte pairs and triples can begin an ASCII term.
    pub(crate) filter: Filter,
}

impl Terms {
    /// Forgets all terms.
    pub fn clear(&mut self) {
        if self.seeds == (0, 0) {
            // Seeded, so that no caller can choose terms that all fall into one slot.
            let state = RandomState::new();
            self.seeds = (state.hash_one(0), state.hash_one(1) | 1);
        }
        self.slots.clear();
        self.slots.resize(
            16,
            Slot {
                key: Key::default(),
                term: EMPTY,
            },
        );
        self.bytes.clear();
        self.ends.clear();
        self.keys.clear();
        self.frequencies.clear();
        self.filter = Filter::default();
    }

    /// Bytes of room held.
    pub fn room(&self) -> usize {
        self.bytes.capacity() + self.slots.capacity() * size_of::<Slot>()
    }

    /// How often each distinct term occurs in the query.
    pub fn frequencies(&self) -> &[u32] {
        &self.frequencies
    }

    /// Counts one more occurrence of a folded, not empty term.
    pub fn insert(&mut self, folded: &[u8]) {
        let key = Key::of(folded, 0, folded.len(), 0);
        let slot = self.slot(key, |term| self.stored(term) == folded);
        if self.slots[slot].term != EMPTY {
            self.frequencies[self.slots[slot].term as usize] += 1;
            return;
        }
        self.slots[slot] = Slot {
            key,
            term: self.keys.len() as u32,
        };
        self.filter.add(folded, self.keys.len());
        self.bytes.extend_from_slice(folded);
        self.ends.push(self.bytes.len());
        self.keys.push(key);
        self.frequencies.push(1);
        if self.keys.len() * 2 > self.slots.len() {
            self.grow();
        }
    }

    fn grow(&mut self) {
        let size = self.slots.len() * 4;
        self.slots.clear();
        self.slots.resize(
            size,
            Slot {
                key: Key::default(),
                term: EMPTY,
            },
        );
        for term in 0..self.keys.len() {
            let key = self.keys[term];
            let slot = self.slot(key, |_| false);
            self.slots[slot] = Slot {
                key,
                term: term as u32,
            };
        }
    }

    fn stored(&self, term: u32) -> &[u8] {
        let term = term as usize;
        let start = if term == 0 { 0 } else { self.ends[term - 1] };
        &self.bytes[start..self.ends[term]]
    }

    /// The slot that holds `key`, or the empty one where it would stand. `same` decides between terms of more
    /// than 16 bytes whose keys are equal.
    #[inline]
    fn slot(&self, key: Key, same: impl Fn(u32) -> bool) -> usize {
        let mask = self.slots.len() - 1;
        let hash = fold_multiply(
            key.first ^ self.seeds.0,
            key.last ^ (key.length as u64) << 56 ^ self.seeds.1,
        );
        let mut at = hash as usize & mask;
        loop {
            let slot = &self.slots[at];
            if slot.term == EMPTY || slot.key == key && (key.length <= 16 || same(slot.term)) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// Counts the folded token `token` if it is a term.
    #[inline]
    pub(crate) fn count(&self, token: &[u8], hits: &mut Hits) {
        let key = Key::of(token, 0, token.len(), 0);
        let slot = &self.slots[self.slot(key, |term| self.stored(term) == token)];
        if slot.term != EMPTY {
            hits.add(slot.term);
        }
    }

    /// Counts the token of `length` ASCII letters and digits at `at`, in whatever case, if it is a term.
    #[inline]
    pub(crate) fn count_ascii(&self, bytes: &[u8], at: usize, length: usize, hits: &mut Hits) {
        let key = Key::of(bytes, at, length, LOWER);
        let same = |term: u32| bytes[at..at + length].eq_ignore_ascii_case(self.stored(term));
        let slot = &self.slots[self.slot(key, same)];
        if slot.term != EMPTY {
            hits.add(slot.term);
        }
    }
}

/// For each of a token's first three bytes: bits of the terms that can have this low, this high half-byte there.
/// The terms share eight bits, so that a set bit is a hint; a missing one is certain.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Filter {
    pub(crate) low: [[u8; 16]; 3],
    pub(crate) high: [[u8; 16]; 3],
}

impl Filter {
    fn add(&mut self, folded: &[u8], term: usize) {
        // A term with other characters cannot stand in an ASCII text.
        if !folded.is_ascii() {
            return;
        }
        let bit = 1 << (term % 8);
        for place in 0..3 {
            let mut admit = |byte: u8| {
                self.low[place][usize::from(byte & 15)] |= bit;
                self.high[place][usize::from(byte >> 4)] |= bit;
            };
            match folded.get(place) {
                Some(&byte) => {
                    admit(byte);
                    admit(byte.to_ascii_uppercase());
                }
                // The byte after a term is no letter and no digit; bytes further on can be anything.
                None if place == folded.len() => {
                    (0..=255u8)
                        .filter(|byte| !byte.is_ascii_alphanumeric())
                        .for_each(admit);
                }
                None => (0..=255u8).for_each(admit),
            }
        }
    }
}

/// Character bigrams of the query in order of first occurrence, each as the two code points in one number.
#[derive(Debug, Default)]
pub struct Bigrams {
    slots: Vec<(u64, u32)>,
    seed: u64,
    keys: Vec<u64>,
    frequencies: Vec<u32>,
    seen: Vec<u64>,
}

/// Words of the bit set that most lookups end at.
const SEEN_WORDS: usize = 256;
/// Second half of the key of a run of one character.
const ALONE: u32 = 0x11_0000;

impl Bigrams {
    /// Forgets all bigrams.
    pub fn clear(&mut self) {
        if self.seed == 0 {
            self.seed = RandomState::new().hash_one(0) | 1;
        }
        self.slots.clear();
        self.slots.resize(16, (0, EMPTY));
        self.keys.clear();
        self.frequencies.clear();
        self.seen.clear();
        self.seen.resize(SEEN_WORDS, 0);
    }

    /// How often each distinct bigram occurs in the query.
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
        self.seen[(hash >> 32) as usize / 64 % SEEN_WORDS] |= 1 << ((hash >> 32) % 64);
        if self.keys.len() * 2 > self.slots.len() {
            let size = self.slots.len() * 4;
            self.slots.clear();
            self.slots.resize(size, (0, EMPTY));
            for term in 0..self.keys.len() {
                let key = self.keys[term];
                let slot = self.slot(key, self.hash(key));
                self.slots[slot] = (key, term as u32);
            }
        }
    }

    /// Counts a bigram of a text if the query has it.
    #[inline]
    pub(crate) fn count(&self, key: u64, hits: &mut Hits) {
        let hash = self.hash(key);
        if self.seen[(hash >> 32) as usize / 64 % SEEN_WORDS] >> ((hash >> 32) % 64) & 1 == 0 {
            return;
        }
        let term = self.slots[self.slot(key, hash)].1;
        if term != EMPTY {
            hits.add(term);
        }
    }

    /// Key of two neighbours in a run.
    #[inline]
    pub(crate) fn pair(first: char, second: char) -> u64 {
        u64::from(first as u32) << 32 | u64::from(second as u32)
    }

    /// Key of a run of one character.
    #[inline]
    pub(crate) fn single(only: char) -> u64 {
        u64::from(only as u32) << 32 | u64::from(ALONE)
    }
}
