//! The distinct terms of texts, numbered, to compare texts by.

use std::hash::{BuildHasher, RandomState};
use std::hint::select_unpredictable;

use super::key::fold_multiply;

/// A term's hash and number, and the last text that has it; a free slot's text is from before the request.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    hash: u64,
    term: u32,
    text: u32,
}

const VACANT: Known = Known {
    hash: 0,
    term: 0,
    text: 0,
};

/// Fewest slots for terms.
const LEAST: usize = 1 << 12;

/// Distinct terms of texts, by 64-bit hashes: among n of them, two share a hash by chance about once in
/// 2^64 / n^2 requests. Retained between requests, as clearing it costs more than most requests add.
#[derive(Debug, Default)]
pub(crate) struct Distinct {
    slots: Vec<Known>,
    /// Of the hashes of bigrams; random, so that no caller can choose bigrams that hash to one slot.
    seeds: (u64, u64),
    /// Number of texts that have each term.
    counts: Vec<u32>,
    /// The terms of each text, text after text.
    terms: Vec<u32>,
    ends: Vec<usize>,
    /// Numbers of the request's first text, from 1 on, and of the next.
    first: u32,
    text: u32,
}

impl Distinct {
    /// Forgets all texts.
    pub(crate) fn clear(&mut self) {
        self.counts.clear();
        self.terms.clear();
        self.ends.clear();
        if self.slots.is_empty() || self.text > u32::MAX / 2 {
            self.slots.clear();
            self.slots.resize(LEAST, VACANT);
            self.text = 0;
            let state = RandomState::new();
            self.seeds = (state.hash_one(0), state.hash_one(1) | 1);
        }
        self.text += 1;
        self.first = self.text;
    }

    /// Bytes held.
    pub(crate) fn room(&self) -> usize {
        self.slots.capacity() * size_of::<Known>() + (self.counts.capacity() + self.terms.capacity()) * 4
    }

    /// Adds a text by the hashes of its terms.
    pub(crate) fn add_text(&mut self, hashes: &[u64]) {
        // In chunks: the table grows as if all were new, which most of a long text are not.
        hashes.chunks(LEAST / 8).for_each(|some| self.add_some(some));
        self.ends.push(self.terms.len());
        self.text += 1;
    }

    fn add_some(&mut self, hashes: &[u64]) {
        while (self.counts.len() + hashes.len()) * 2 > self.slots.len() {
            self.grow();
        }
        let (first, text) = (self.first, self.text);
        let (mut count, mut known) = (self.terms.len(), self.counts.len());
        let Distinct {
            slots, counts, terms, ..
        } = self;
        // Long enough for all: a repeated term is written, too, then overwritten.
        terms.resize(count + hashes.len(), 0);
        counts.resize(known + hashes.len(), 0);
        let mask = slots.len() - 1;
        for &hash in hashes {
            let mut at = hash as usize & mask;
            while slots[at].text >= first && slots[at].hash != hash {
                at = (at + 1) & mask;
            }
            // Which words are repeated and which are new cannot be predicted: nothing branches on it.
            let slot = &mut slots[at];
            let (is_new, is_first) = (slot.text < first, slot.text != text);
            let term = select_unpredictable(is_new, known as u32, slot.term);
            *slot = Known { hash, term, text };
            terms[count] = term;
            counts[term as usize] += u32::from(is_first);
            known += usize::from(is_new);
            count += usize::from(is_first);
        }
        terms.truncate(count);
        counts.truncate(known);
    }

    /// Hash of a bigram by its key, the same until texts are forgotten.
    #[inline]
    pub(crate) fn hash_of(&self, key: u64) -> u64 {
        // A factor that nobody knows: with a known one, keys whose hashes end alike could be chosen by their
        // differences.
        fold_multiply(key ^ self.seeds.0, self.seeds.1)
    }

    #[cold]
    fn grow(&mut self) {
        let size = self.slots.len() * 4;
        let known = std::mem::replace(&mut self.slots, vec![VACANT; size]);
        for one in known.into_iter().filter(|one| one.text >= self.first) {
            let mut at = one.hash as usize & (size - 1);
            while self.slots[at].text >= self.first {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = one;
        }
    }

    /// Number of texts that have each term.
    pub(crate) fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// The terms of each text, text after text.
    pub(crate) fn terms(&self) -> &[u32] {
        &self.terms
    }

    /// End of each text's terms.
    pub(crate) fn ends(&self) -> &[usize] {
        &self.ends
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::MIX;
    use super::*;
    use crate::tokens::terms::Bigrams;

    const EACH: usize = 1_000;
    /// The bits of a hash that are the number of a slot.
    const MASK: u64 = LEAST as u64 - 1;

    /// Bigrams of Chinese characters whose hashes end in zeros.
    fn chosen(hash_of: impl Fn(u64) -> u64) -> Vec<u64> {
        let characters = 0x4E00..0x9FFF_u32;
        let all = characters
            .clone()
            .flat_map(|first| characters.clone().map(move |second| Bigrams::pair(first, second)));
        all.filter(|&key| hash_of(key) & MASK == 0).take(EACH).collect()
    }

    /// Steps on from the slots that the text's terms hash to.
    fn steps(distinct: &Distinct) -> usize {
        let mask = distinct.slots.len() - 1;
        let places = distinct.slots.iter().enumerate();
        let taken = places.filter(|(_, known)| known.text >= distinct.first);
        let steps = taken.map(|(at, known)| at.wrapping_sub(known.hash as usize) & mask);
        steps.sum()
    }

    fn distinct() -> Distinct {
        let mut distinct = Distinct::default();
        distinct.clear();
        distinct
    }

    #[test]
    fn bigrams_cannot_be_chosen_to_share_a_slot() {
        // Chosen by the constant factor, and by another process' hashes.
        let other = distinct();
        let constant = |key| fold_multiply(key ^ MIX, MIX);
        for keys in [chosen(constant), chosen(|key| other.hash_of(key))] {
            let mut distinct = distinct();
            let hashes: Vec<u64> = keys.iter().map(|&key| distinct.hash_of(key)).collect();
            distinct.add_text(&hashes);
            assert_eq!(distinct.counts().len(), EACH);
            // A table that is at most half full takes half a step a term.
            assert!(steps(&distinct) < 2 * EACH, "{}", steps(&distinct));
        }
    }

    #[test]
    fn a_bigram_has_one_hash_in_all_texts_of_a_request() {
        let mut distinct = distinct();
        let keys = [Bigrams::pair(1, 2), Bigrams::pair(2, 1), Bigrams::single(1)];
        for _ in 0..3 {
            let hashes = keys.map(|key| distinct.hash_of(key));
            distinct.add_text(&hashes);
        }
        assert_eq!(distinct.counts(), [3, 3, 3]);
    }
}
