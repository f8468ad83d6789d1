//! The distinct terms of texts, numbered: what tells how alike texts are.

use super::{EMPTY, MIX, fold_multiply};

/// A term's hash and number, and the text that had it last.
#[derive(Debug, Clone, Copy)]
struct Known {
    hash: u64,
    term: u32,
    text: u32,
}

const VACANT: Known = Known {
    hash: 0,
    term: EMPTY,
    text: EMPTY,
};

/// Distinct terms of texts, by their hashes: two terms have one by chance once in 2^64 times the square of
/// their number.
#[derive(Debug)]
pub(crate) struct Distinct {
    slots: Vec<Known>,
    /// Number of texts that have each term.
    counts: Vec<u32>,
    /// The terms of each text, text after text.
    terms: Vec<u32>,
    ends: Vec<usize>,
}

impl Default for Distinct {
    fn default() -> Self {
        Distinct {
            slots: vec![VACANT; 1 << 12],
            counts: Vec::new(),
            terms: Vec::new(),
            ends: Vec::new(),
        }
    }
}

impl Distinct {
    /// Adds terms of the text that is read, by their hashes.
    pub(crate) fn add(&mut self, hashes: &[u64]) {
        hashes.iter().for_each(|&hash| self.add_hash(hash));
    }

    /// Adds a bigram by its key.
    pub(crate) fn add_one(&mut self, key: u64) {
        self.add_hash(fold_multiply(key ^ MIX, MIX));
    }

    #[inline]
    fn add_hash(&mut self, hash: u64) {
        let text = self.ends.len() as u32;
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = &mut self.slots[at];
            if slot.term == EMPTY {
                let term = self.counts.len() as u32;
                *slot = Known { hash, term, text };
                self.counts.push(1);
                self.terms.push(term);
                if self.counts.len() * 2 > self.slots.len() {
                    self.grow();
                }
                return;
            }
            if slot.hash == hash {
                if slot.text != text {
                    slot.text = text;
                    self.counts[slot.term as usize] += 1;
                    self.terms.push(slot.term);
                }
                return;
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let size = self.slots.len() * 4;
        let known = std::mem::replace(&mut self.slots, vec![VACANT; size]);
        for one in known.into_iter().filter(|one| one.term != EMPTY) {
            let mut at = one.hash as usize & (size - 1);
            while self.slots[at].term != EMPTY {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = one;
        }
    }

    /// Ends the text that is read.
    pub(crate) fn end(&mut self) {
        self.ends.push(self.terms.len());
    }

    /// Number of texts that have each term.
    pub(crate) fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// The terms of each text, text after text.
    pub(crate) fn terms(&self) -> &[u32] {
        &self.terms
    }

    /// Where the terms of each text end.
    pub(crate) fn ends(&self) -> &[usize] {
        &self.ends
    }
}
