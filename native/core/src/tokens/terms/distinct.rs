//! The distinct terms of texts, numbered, to compare texts by.

use std::hint::select_unpredictable;

use super::key::{MIX, fold_multiply};

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

    /// Hash of a bigram by its key.
    pub(crate) fn hash_of(key: u64) -> u64 {
        fold_multiply(key ^ MIX, MIX)
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
