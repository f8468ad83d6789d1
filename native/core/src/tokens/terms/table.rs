//! The distinct terms of a query, indexed by their bytes.

use std::hash::{BuildHasher, RandomState};

use super::beginnings::Beginnings;
use super::filter::Filter;
use super::hits::Hits;
use super::key::{EMPTY, Key, fold_multiply, grown};
use super::short_terms::ShortTerms;
use crate::tokens::analyzer::Forms;

/// A place of the table. It has no key, so that a query of many words takes little memory: the part of its
/// hash tells nearly all others apart, and the key is that of the term.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    /// The high half of the key's hash.
    tag: u32,
    pub(super) term: u32,
}

const NONE: Slot = Slot { tag: 0, term: EMPTY };

/// Distinct terms in the order of their first occurrence, indexed by their bytes.
#[derive(Debug, Default)]
pub struct Terms {
    pub(super) slots: Vec<Slot>,
    pub(super) seeds: (u64, u64),
    bytes: Vec<u8>,
    ends: Vec<usize>,
    pub(super) keys: Vec<Key>,
    frequencies: Vec<u32>,
    /// Rules that turn tokens into the forms that are compared with terms.
    pub(super) forms: Forms,
    /// Their [`Forms::number`].
    pub(super) forms_number: u16,
    /// The beginnings of ASCII terms.
    pub(crate) filter: Filter,
    /// The short terms, in a table of their own.
    pub(crate) short: ShortTerms,
    /// The beginnings of the words that may have the terms as stems.
    pub(super) beginnings: Beginnings,
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
        self.slots.resize(16, NONE);
        self.bytes.clear();
        self.ends.clear();
        self.keys.clear();
        self.frequencies.clear();
        self.forms = Forms::default();
        self.forms_number = self.forms.number();
        self.filter = Filter::default();
        self.beginnings.clear();
    }

    /// Removes all terms; the next ones are forms, each for all tokens with that form.
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
        self.bytes.capacity()
            + self.slots.capacity() * size_of::<Slot>()
            + self.keys.capacity() * size_of::<Key>()
    }

    /// Occurrences of each distinct term in the query.
    pub fn frequencies(&self) -> &[u32] {
        &self.frequencies
    }

    /// Counts one more occurrence of a folded term, which must not be empty.
    pub fn insert(&mut self, folded: &[u8]) {
        let key = self.key(folded, 0, folded.len(), 0);
        let slot = self.slot(key, |term| self.stored(term) == folded);
        if self.slots[slot].term != EMPTY {
            self.frequencies[self.slots[slot].term as usize] += 1;
            return;
        }
        self.slots[slot] = self.taken(key, self.keys.len());
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

    /// To be called after the last term, if tokens themselves are terms.
    pub fn finish(&mut self) {
        self.beginnings.clear();
        self.short.build(&self.keys, u64::MAX, self.seeds.1);
    }

    /// To be called after the last term, if forms are terms.
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
        self.slots = vec![NONE; grown(self.slots.len())];
        for term in 0..self.keys.len() {
            let key = self.keys[term];
            let slot = self.slot(key, |_| false);
            self.slots[slot] = self.taken(key, term);
        }
    }

    /// The slot of a term.
    fn taken(&self, key: Key, term: usize) -> Slot {
        Slot {
            tag: (self.hash(key) >> 32) as u32,
            term: term as u32,
        }
    }

    pub(super) fn stored(&self, term: u32) -> &[u8] {
        stored(&self.bytes, &self.ends, term as usize)
    }

    /// As [`Key::of`], with the seeds of this table.
    #[inline]
    pub(super) fn key(&self, bytes: &[u8], at: usize, length: usize, bits: u64) -> Key {
        Key::of(bytes, at, length, bits, self.seeds)
    }

    #[inline]
    pub(super) fn hash(&self, key: Key) -> u64 {
        fold_multiply(
            key.first ^ self.seeds.0,
            key.last ^ (key.length as u64) << 56 ^ self.seeds.1,
        )
    }

    /// The slot that holds `key`, or the empty one for it. `same` decides between terms of more than 16 bytes
    /// with equal keys.
    #[inline]
    pub(super) fn slot(&self, key: Key, same: impl Fn(u32) -> bool) -> usize {
        let mask = self.slots.len() - 1;
        let hash = self.hash(key);
        let (tag, mut at) = ((hash >> 32) as u32, hash as usize & mask);
        loop {
            let slot = &self.slots[at];
            let is_this = || self.keys[slot.term as usize] == key && (key.length <= 16 || same(slot.term));
            if slot.term == EMPTY || slot.tag == tag && is_this() {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// Counts the folded token `token` if it is a term.
    #[inline]
    pub(crate) fn count(&self, token: &[u8], hits: &mut Hits) {
        let key = self.key(token, 0, token.len(), 0);
        let slot = &self.slots[self.slot(key, |term| self.stored(term) == token)];
        if slot.term != EMPTY {
            hits.add(slot.term, 1);
        }
    }

    /// Counts the token of `length` ASCII letters and digits of any case at `at`, if it is a term.
    #[inline]
    pub(crate) fn count_ascii(&self, bytes: &[u8], at: usize, length: usize, hits: &mut Hits) {
        let term = self.term_as_it_is(bytes, at, length);
        if term != EMPTY {
            hits.add(term, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Terms of a family, those of the first of which share a key where its inner steps have no seed.
    const EACH: usize = 10_000;

    /// Eight letters by a number.
    fn letters(number: usize) -> String {
        let letter = |place| char::from(b'a' + (number / 16_usize.pow(place) % 16) as u8);
        (0..8).map(letter).collect()
    }

    fn family(of: impl Fn(&str) -> String) -> Vec<String> {
        (0..EACH).map(|number| of(&letters(number))).collect()
    }

    fn families() -> [Vec<String>; 7] {
        let (x, z) = ("xxxxxxxx", "zzzzzzzz");
        // The same words in other places.
        let orders = (0..EACH).map(|number| {
            let words = (0..12).map(|bit| if number >> bit & 1 == 0 { x } else { z });
            let rest = letters(number >> 12);
            words.chain([rest.as_str(), z]).collect()
        });
        [
            family(|word| [word, word, z].concat()),
            family(|word| [word, word, z, "zzz"].concat()),
            family(|word| [word, word, x, z].concat()),
            family(|word| [x, word, word, z].concat()),
            family(|word| [word, word, word, z].concat()),
            family(|word| [word, word, x, x, z].concat()),
            orders.collect(),
        ]
    }

    /// Steps from the slots that terms hash to on to those that hold them.
    fn steps(terms: &Terms) -> usize {
        let mask = terms.slots.len() - 1;
        let places = terms.slots.iter().enumerate();
        let taken = places.filter(|(_, slot)| slot.term != EMPTY);
        let hash = |slot: &Slot| terms.hash(terms.keys[slot.term as usize]) as usize;
        let steps = taken.map(|(at, slot)| at.wrapping_sub(hash(slot)) & mask);
        steps.sum()
    }

    #[test]
    fn terms_cannot_be_chosen_to_share_a_key_or_a_slot() {
        for (number, family) in families().iter().enumerate() {
            let mut terms = Terms::default();
            terms.clear();
            family.iter().for_each(|term| terms.insert(term.as_bytes()));
            assert_eq!(terms.keys.len(), EACH, "family {number}");
            let mut keys: Vec<_> = terms.keys.iter().map(|key| (key.first, key.last)).collect();
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len(), EACH, "family {number}");
            // A table that is at most half full takes half a step a term.
            assert!(steps(&terms) < 2 * EACH, "family {number}: {}", steps(&terms));
            for (place, term) in family.iter().enumerate() {
                assert_eq!(terms.find(term.as_bytes()), Some(place as u32));
            }
        }
    }

    #[test]
    fn long_terms_that_share_a_key_are_told_apart() {
        // With this seed, what comes before its word is not in the key, but for the first eight bytes.
        let seed = b"mmmmmmmm";
        let mut terms = Terms {
            seeds: (1, u64::from_le_bytes(*seed)),
            ..Terms::default()
        };
        terms.clear();
        let of = |number: usize| ["aaaaaaaa", &letters(number), "mmmmmmmm", "zzzzzzzz"].concat();
        for number in (0..50).chain(0..25) {
            terms.insert(of(number).as_bytes());
        }
        assert_eq!(terms.keys.len(), 50);
        assert!(terms.keys.iter().all(|key| *key == terms.keys[0]), "one key");
        for number in 0..50 {
            assert_eq!(terms.find(of(number).as_bytes()), Some(number as u32));
            assert_eq!(terms.frequencies()[number], if number < 25 { 2 } else { 1 });
        }
        assert_eq!(terms.find(of(50).as_bytes()), None);
    }

    #[test]
    fn tables_have_seeds_of_their_own() {
        let term = letters(1).repeat(3);
        let key = || {
            let mut terms = Terms::default();
            terms.clear();
            terms.key(term.as_bytes(), 0, term.len(), 0)
        };
        assert_ne!(key(), key());
    }
}
