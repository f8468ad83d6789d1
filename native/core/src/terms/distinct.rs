//! The distinct terms of texts, numbered: what tells how alike texts are.

use super::{MIX, fold_multiply};

/// A term's hash and number, and the text that had it last: one of before the request where there is none.
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

/// Fewest places for terms.
const LEAST: usize = 1 << 12;

/// Distinct terms of texts, by their hashes: two terms have one by chance once in 2^64 times the square of
/// their number. Kept from request to request, as clearing it costs more than most requests add.
#[derive(Debug, Default)]
pub(crate) struct Distinct {
    slots: Vec<Known>,
    /// Number of texts that have each term.
    counts: Vec<u32>,
    /// The terms of each text, text after text.
    terms: Vec<u32>,
    ends: Vec<usize>,
    /// Number of the request's first text, from 1 on, and of the one that is read.
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

    /// Bytes of room held.
    pub(crate) fn room(&self) -> usize {
        self.slots.capacity() * size_of::<Known>() + (self.counts.capacity() + self.terms.capacity()) * 4
    }

    /// Adds terms of the text that is read, by their hashes.
    pub(crate) fn add(&mut self, hashes: &[u64]) {
        let (first, text) = (self.first, self.text);
        let mut mask = self.slots.len() - 1;
        let mut count = self.terms.len();
        // Room for all: a term that the text had before writes to the next one's place.
        self.terms.resize(count + hashes.len(), 0);
        for &hash in hashes {
            let mut at = hash as usize & mask;
            let is_new = loop {
                let slot = &self.slots[at];
                if slot.text < first {
                    break true;
                }
                if slot.hash == hash {
                    break false;
                }
                at = (at + 1) & mask;
            };
            if is_new {
                self.terms[count] = self.counts.len() as u32;
                count += 1;
                let term = self.counts.len() as u32;
                self.slots[at] = Known { hash, term, text };
                self.counts.push(1);
                if self.counts.len() * 2 > self.slots.len() {
                    self.grow();
                    mask = self.slots.len() - 1;
                }
                continue;
            }
            let slot = &mut self.slots[at];
            // Which words a text repeats cannot be predicted, so that nothing branches on it.
            let is_first = slot.text != text;
            slot.text = text;
            self.terms[count] = slot.term;
            self.counts[slot.term as usize] += u32::from(is_first);
            count += usize::from(is_first);
        }
        self.terms.truncate(count);
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

    /// Ends the text that is read.
    pub(crate) fn end(&mut self) {
        self.ends.push(self.terms.len());
        self.text += 1;
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
