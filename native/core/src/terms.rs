//! The query's terms and how often each occurs in a text: what BM25 needs to know, with no token ever stored.

use std::hash::{BuildHasher, RandomState};

use crate::analyzer::{Forms, LONGEST_STEMMED};
use crate::ascii::Batch;

mod bigrams;
mod filter;

pub use bigrams::Bigrams;
pub(crate) use filter::Filter;

/// Two words and a length that tell terms of up to 16 bytes apart, and longer ones nearly so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Key {
    /// The first eight bytes.
    prefix: u64,
    /// Those, with what lies between them and the last eight mixed in.
    first: u64,
    /// The last eight bytes of more than eight.
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
            let first = (word(bytes, at) | bits) & kept;
            return Key {
                prefix: first,
                first,
                last: 0,
                length,
            };
        }
        let last = word(bytes, at + length - 8) | bits;
        let prefix = word(bytes, at) | bits;
        let mut first = prefix;
        if length > 16 {
            for step in (8..length - 8).step_by(8) {
                first = fold_multiply(first ^ (word(bytes, at + step) | bits), MIX);
            }
        }
        Key {
            prefix,
            first,
            last,
            length,
        }
    }
}

/// A query of at most this many distinct terms has its short ones counted without branches.
const FEW: usize = 64;

/// Counts of a query's terms in one text.
#[derive(Debug, Default)]
pub struct Hits {
    /// One count a term.
    counts: Vec<u32>,
    /// Terms whose count is not 0, in the order they were found.
    touched: Vec<u32>,
    /// One count a slot of [`ShortTerms`], until [`ShortTerms::collect`].
    by_slot: Vec<u32>,
    /// Room that tokens are gathered in.
    pub(crate) batch: Option<Box<Batch>>,
    /// Terms of tokens that were met before.
    memo: Memo,
}

/// Which term a token stands for, for the tokens that were met last: most words of a text come again, and a
/// stem costs many times a look. A token whose place another one took is stemmed again.
#[derive(Debug, Default)]
struct Memo {
    /// None until an analyzer needs them.
    slots: Vec<Remembered>,
    /// Number of the request: what others left does not count.
    round: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Remembered {
    first: u64,
    last: u64,
    length: u32,
    round: u32,
    term: u32,
}

impl Memo {
    /// Tokens that are remembered at a time: some 128 KiB.
    const SIZE: usize = 1 << 12;

    /// Forgets all.
    fn clear(&mut self) {
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.slots.clear();
            self.round = 1;
        }
    }

    /// The place of a token's key.
    fn slot(&mut self, hash: u64) -> &mut Remembered {
        if self.slots.is_empty() {
            self.slots.resize(Memo::SIZE, Remembered::default());
        }
        &mut self.slots[hash as usize & (Memo::SIZE - 1)]
    }
}

impl Hits {
    /// Makes room for `terms` terms, all counts 0.
    pub fn reset(&mut self, terms: usize) {
        self.memo.clear();
        self.touched.clear();
        self.counts.clear();
        self.counts.resize(terms, 0);
    }

    #[inline]
    fn add(&mut self, term: u32, times: u32) {
        let count = &mut self.counts[term as usize];
        if *count == 0 {
            self.touched.push(term);
        }
        *count += times;
    }

    /// Hands over the counts as (term, count) by ascending term, leaving all at 0.
    pub fn drain(&mut self, mut each: impl FnMut(u32, u32)) {
        self.touched.sort_unstable();
        for &term in &self.touched {
            each(term, std::mem::take(&mut self.counts[term as usize]));
        }
        self.touched.clear();
    }
}

/// The terms of up to eight ASCII bytes once more, each in a slot of its own: one look decides. Which tokens
/// are terms cannot be predicted, and a mispredicted branch costs more than all the rest, so that nothing
/// branches.
#[derive(Debug, Default)]
pub(crate) struct ShortTerms {
    /// The term's bytes as one number; 0 where there is none.
    slots: Vec<u64>,
    /// (slot, term)
    members: Vec<(u32, u32)>,
    multiplier: u64,
    shift: u32,
    /// Bit set over the hashes of the first eight bytes of the longer terms: where a bit is missing, none
    /// begins so.
    longer: u64,
}

/// A table without collisions is found within a few tries; this many mean that something is odd.
const TRIES: usize = 1000;

impl ShortTerms {
    /// Leaves the table unusable.
    fn clear(&mut self) {
        self.slots.clear();
        self.members.clear();
    }

    /// Builds the table, or leaves it unusable where the terms are too many.
    fn build(&mut self, keys: &[Key], seed: u64) {
        self.clear();
        if keys.len() > FEW {
            return;
        }
        let ascii = |key: &Key| key.first & 0x8080_8080_8080_8080 == 0;
        let short = keys
            .iter()
            .enumerate()
            .filter(|(_, key)| key.length <= 8 && ascii(key));
        let count = short.clone().count();
        // With n terms in n * n / 4 slots, one multiplier in eight or so puts no two into one.
        let size = (count * count / 4).next_power_of_two().max(64);
        self.shift = 64 - size.trailing_zeros();
        self.multiplier = seed | 1;
        for _ in 0..TRIES {
            self.multiplier = self.multiplier.wrapping_mul(MIX).rotate_left(23) | 1;
            self.slots.clear();
            self.slots.resize(size, 0);
            self.members.clear();
            for (term, key) in short.clone() {
                let slot = self.place(key.first);
                self.slots[slot] = key.first;
                self.members.push((slot as u32, term as u32));
            }
            if self.slots.iter().filter(|&&key| key != 0).count() == count {
                let longer = keys.iter().filter(|key| key.length > 8);
                self.longer = longer.fold(0, |bits, key| {
                    bits | 1 << (key.prefix.wrapping_mul(self.multiplier) >> 58)
                });
                return;
            }
        }
        self.slots.clear();
    }

    #[inline(always)]
    fn place(&self, key: u64) -> usize {
        (key.wrapping_mul(self.multiplier) >> self.shift) as usize
    }

    /// True if the table can be asked.
    #[inline]
    pub(crate) fn usable(&self) -> bool {
        !self.slots.is_empty()
    }

    /// Makes room in `hits` for counting in slots.
    pub(crate) fn prepare(&self, hits: &mut Hits) {
        hits.by_slot.resize(self.slots.len(), 0);
    }

    /// Counts in their slots those of the tokens of ASCII letters and digits, in whatever case, that are
    /// short terms. `starts` and `ends` are the tokens' places in `text`. Writes the numbers of those that
    /// could be longer terms to `longer`, and returns how many these are.
    pub(crate) fn count(
        &self,
        text: &[u8],
        (starts, ends): (&[u32], &[u32]),
        hits: &mut Hits,
        longer: &mut [u32],
    ) -> usize {
        let ShortTerms {
            ref slots,
            multiplier,
            shift,
            longer: beginnings,
            ..
        } = *self;
        let counts = &mut hits.by_slot[..slots.len()];
        let mut found = 0;
        for (number, (&start, &end)) in starts.iter().zip(ends).enumerate() {
            let length = end - start;
            let kept = u64::MAX >> (64 - 8 * length.min(8));
            let key = (word(text, start as usize) | LOWER) & kept;
            let hash = key.wrapping_mul(multiplier);
            let slot = (hash >> shift) as usize;
            let short = length <= 8;
            counts[slot] += u32::from(short & (slots[slot] == key));
            longer[found] = number as u32;
            found += usize::from(!short & (beginnings >> (hash >> 58) & 1 == 1));
        }
        found
    }

    /// Moves what was counted in slots to the terms.
    pub(crate) fn collect(&self, hits: &mut Hits) {
        for &(slot, term) in &self.members {
            let count = std::mem::take(&mut hits.by_slot[slot as usize]);
            if count > 0 {
                hits.add(term, count);
            }
        }
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
    /// Rules that turn tokens into the forms that are compared with terms.
    forms: Forms,
    /// What an ASCII term can begin with.
    pub(crate) filter: Filter,
    /// The short ones once more.
    pub(crate) short: ShortTerms,
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
        self.forms = Forms::default();
        self.filter = Filter::default();
    }

    /// Forgets all terms; those that come are forms, and stand for all tokens that have them.
    pub fn clear_for(&mut self, forms: Forms) {
        self.clear();
        self.forms = forms;
    }

    /// Rules that turn tokens into the forms that are compared with terms.
    pub(crate) fn forms(&self) -> Forms {
        self.forms
    }

    /// Bytes of a term.
    pub(crate) fn text(&self, term: u32) -> &[u8] {
        self.stored(term)
    }

    /// Bytes of room held.
    pub fn room(&self) -> usize {
        self.bytes.capacity() + self.slots.capacity() * size_of::<Slot>()
    }

    /// Occurrences of each distinct term in the query.
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
        if self.forms.leaves_ascii() {
            self.filter.add(folded, self.keys.len());
        } else if self.forms.keeps_beginnings() {
            self.filter.add_beginning(folded, self.keys.len());
        } else {
            self.filter = Filter::ALL;
        }
        self.bytes.extend_from_slice(folded);
        self.ends.push(self.bytes.len());
        self.keys.push(key);
        self.frequencies.push(1);
        if self.keys.len() * 2 > self.slots.len() {
            self.grow();
        }
    }

    /// To be called after the last term.
    pub fn finish(&mut self) {
        if self.forms.leaves_ascii() {
            self.short.build(&self.keys, self.seeds.1);
        } else {
            self.short.clear();
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

    #[inline]
    fn hash(&self, key: Key) -> u64 {
        fold_multiply(
            key.first ^ self.seeds.0,
            key.last ^ (key.length as u64) << 56 ^ self.seeds.1,
        )
    }

    /// The slot that holds `key`, or the empty one where it would stand. `same` decides between terms of more
    /// than 16 bytes whose keys are equal.
    #[inline]
    fn slot(&self, key: Key, same: impl Fn(u32) -> bool) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = self.hash(key) as usize & mask;
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
            hits.add(slot.term, 1);
        }
    }

    /// Counts the token of `length` ASCII letters and digits at `at`, in whatever case, if it is a term.
    #[inline]
    pub(crate) fn count_ascii(&self, bytes: &[u8], at: usize, length: usize, hits: &mut Hits) {
        let key = Key::of(bytes, at, length, LOWER);
        let same = |term: u32| bytes[at..at + length].eq_ignore_ascii_case(self.stored(term));
        let slot = &self.slots[self.slot(key, same)];
        if slot.term != EMPTY {
            hits.add(slot.term, 1);
        }
    }
}

/// Terms by token, where the forms of tokens are compared.
impl Terms {
    /// Place of the term that the form of a folded token is.
    pub(crate) fn find_form(&self, token: &str) -> Option<u32> {
        let form = self.forms.of(token);
        let form = form.as_bytes();
        if form.is_empty() {
            return None;
        }
        let key = Key::of(form, 0, form.len(), 0);
        let term = self.slots[self.slot(key, |term| self.stored(term) == form)].term;
        (term != EMPTY).then_some(term)
    }

    /// Counts what `find` gives for a token of that key, unless it is remembered.
    #[inline]
    fn count_remembered(&self, key: Key, hits: &mut Hits, find: impl FnOnce() -> Option<u32>) {
        // Only of so many bytes a key tells all.
        if key.length > 16 {
            if let Some(term) = find() {
                hits.add(term, 1);
            }
            return;
        }
        let round = hits.memo.round;
        let slot = hits.memo.slot(self.hash(key));
        let (first, last, length) = (key.first, key.last, key.length as u32);
        if (slot.first, slot.last, slot.length, slot.round) != (first, last, length, round) {
            let term = find().unwrap_or(EMPTY);
            *slot = Remembered {
                first,
                last,
                length,
                round,
                term,
            };
        }
        let term = slot.term;
        if term != EMPTY {
            hits.add(term, 1);
        }
    }

    /// Counts the folded token `token` if its form is a term.
    pub(crate) fn count_form(&self, token: &[u8], hits: &mut Hits) {
        let key = Key::of(token, 0, token.len(), 0);
        // Tokens are made of whole characters.
        let find = || self.find_form(std::str::from_utf8(token).unwrap_or_default());
        self.count_remembered(key, hits, find);
    }

    /// Counts the token of `length` ASCII letters and digits at `at`, in whatever case, if its form is a
    /// term.
    #[inline]
    pub(crate) fn count_ascii_form(&self, bytes: &[u8], at: usize, length: usize, hits: &mut Hits) {
        if length > LONGEST_STEMMED {
            // Keeps its form.
            self.count_ascii(bytes, at, length, hits);
            return;
        }
        let key = Key::of(bytes, at, length, LOWER);
        self.count_remembered(key, hits, || {
            let mut room = [0; LONGEST_STEMMED];
            let token = &mut room[..length];
            token.copy_from_slice(&bytes[at..at + length]);
            token.make_ascii_lowercase();
            self.find_form(std::str::from_utf8(token).unwrap_or_default())
        });
    }
}
