//! The query's terms and the number of their occurrences in a text, as BM25 needs them. No token is stored.

mod beginnings;
mod bigrams;
mod collected;
mod distinct;
mod filter;
mod forms;
mod memo;
mod met;
mod short_terms;

use std::hash::{BuildHasher, RandomState};

use super::analyzer::Forms;
use super::ascii::Batch;
use beginnings::Beginnings;
pub use bigrams::Bigrams;
pub(crate) use bigrams::text_of as bigram_text;
pub(crate) use distinct::Distinct;
pub(crate) use filter::Filter;
use forms::Mix;
use memo::Memo;
pub(crate) use met::{Located, Met, Places, SLACK, Use};
use short_terms::ShortTerms;

/// Two words and a length that identify terms of up to 16 bytes, and nearly identify longer ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Key {
    /// The first eight bytes.
    prefix: u64,
    /// The same, mixed with the bytes between them and the last eight.
    first: u64,
    /// The last eight bytes, if there are more than eight.
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
    /// keeps digits, 0 keeps bytes as they are.
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

impl Key {
    /// As [`Key::of`], for 1 to 16 ASCII letters and digits, without a branch on their number.
    #[inline(always)]
    fn of_short(bytes: &[u8], at: usize, length: usize) -> Key {
        let first = (word(bytes, at) | LOWER) & (u64::MAX >> (64 - 8 * length.min(8) as u32));
        let last = word(bytes, at + length.max(8) - 8) | LOWER;
        Key {
            prefix: first,
            first,
            last: if length > 8 { last } else { 0 },
            length,
        }
    }
}

/// The short terms of a query with at most this many distinct terms are counted without branches.
const FEW: usize = 64;

/// Counts of a query's terms in one text.
#[derive(Debug, Default)]
pub struct Hits {
    /// One count for each term.
    counts: Vec<u32>,
    /// Terms whose count is not 0, in the order of their first occurrence.
    touched: Vec<u32>,
    /// One count for each slot of [`ShortTerms`], until [`ShortTerms::collect`].
    by_slot: Vec<u32>,
    /// Buffers for a batch of tokens.
    pub(crate) batch: Option<Box<Batch>>,
    /// Forms of tokens of earlier texts.
    memo: Memo,
    mix: Mix,
    /// The terms of a text whose tokens are located or collected instead of counted.
    pub(crate) met: Met,
}

/// A token's form, before it is looked up among the terms.
enum Form {
    /// A form that the memo can store.
    Short(Key),
    /// The term of another form, if there is one.
    Other(Option<u32>),
}

impl Hits {
    /// Makes room for `terms` counts, all 0.
    pub fn reset(&mut self, terms: usize) {
        self.memo.clear();
        self.mix.clear();
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

    /// Passes the counts to `each` as (term, count) by ascending term, and resets them to 0.
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

/// Distinct terms in the order of their first occurrence, indexed by their bytes.
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
    /// Their [`Forms::number`].
    forms_number: u16,
    /// The beginnings of ASCII terms.
    pub(crate) filter: Filter,
    /// The short terms, in a table of their own.
    pub(crate) short: ShortTerms,
    /// The beginnings of the words that may have the terms as stems.
    beginnings: Beginnings,
}

/// The bytes of one of several terms that are stored in sequence, by their ends.
fn stored<'a>(bytes: &'a [u8], ends: &[usize], term: usize) -> &'a [u8] {
    let start = if term == 0 { 0 } else { ends[term - 1] };
    &bytes[start..ends[term]]
}

impl Terms {
    /// Removes all terms.
    pub fn clear(&mut self) {
        if self.seeds == (0, 0) {
            // Seeded, so that no caller can choose terms that all hash to one slot.
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
        self.forms_number = self.forms.number();
        self.filter = Filter::default();
        self.beginnings.clear();
    }

    /// Removes all terms; the terms to come are forms, each for all tokens with that form.
    pub fn clear_for(&mut self, forms: Forms) {
        self.clear();
        self.forms = forms;
        self.forms_number = forms.number();
    }

    /// Rules that turn tokens into the forms that are compared with terms.
    pub(crate) fn forms(&self) -> Forms {
        self.forms
    }

    /// Bytes of a term.
    pub(crate) fn text(&self, term: u32) -> &[u8] {
        self.stored(term)
    }

    /// Bytes of memory held.
    pub fn room(&self) -> usize {
        self.bytes.capacity() + self.slots.capacity() * size_of::<Slot>()
    }

    /// Occurrences of each distinct term in the query.
    pub fn frequencies(&self) -> &[u32] {
        &self.frequencies
    }

    /// Counts one more occurrence of a folded term, which must not be empty.
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

    /// To be called after the last term, where tokens themselves are terms.
    pub fn finish(&mut self) {
        self.beginnings.clear();
        self.short.build(&self.keys, u64::MAX, self.seeds.1);
    }

    /// To be called after the last term, where forms are terms.
    pub fn finish_forms(&mut self, hits: &mut Hits) {
        if self.forms.leaves_ascii() {
            return self.finish();
        }
        self.beginnings.clear();
        self.short.clear();
        if !self.forms.keeps_beginnings() {
            return;
        }
        let forms = (0..self.ends.len()).map(|term| stored(&self.bytes, &self.ends, term));
        self.beginnings
            .build(forms.map(|form| (form, Forms::shared_bytes(form))));
        if self.beginnings.usable() {
            // Most tokens with a form equal to a term are that term itself.
            let own = (0..self.keys.len() as u32).filter(|&term| self.is_own_form(term, hits));
            let members = own.fold(0, |members, term| members | 1 << term);
            self.short.build(&self.keys, members, self.seeds.1);
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
        stored(&self.bytes, &self.ends, term as usize)
    }

    #[inline]
    fn hash(&self, key: Key) -> u64 {
        fold_multiply(
            key.first ^ self.seeds.0,
            key.last ^ (key.length as u64) << 56 ^ self.seeds.1,
        )
    }

    /// The slot that holds `key`, or the empty one for it. `same` decides between terms of more than 16 bytes
    /// with equal keys.
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

    /// Counts the token of `length` ASCII letters and digits at `at`, in any case, if it is a term.
    #[inline]
    pub(crate) fn count_ascii(&self, bytes: &[u8], at: usize, length: usize, hits: &mut Hits) {
        let term = self.term_as_it_is(bytes, at, length);
        if term != EMPTY {
            hits.add(term, 1);
        }
    }
}
