//! Short terms of a query, found without a branch.

use super::{FEW, Hits, Key, LOWER, MIX, word};

/// The terms of up to eight ASCII bytes once more, each in a slot of its own: one look decides. Which tokens
/// are terms cannot be predicted, and a mispredicted branch costs more than all the rest, so that nothing
/// branches.
#[derive(Debug, Default)]
pub(crate) struct ShortTerms {
    /// The term's bytes as one number; 0 where there is none.
    slots: Vec<u64>,
    /// (slot, term)
    members: Vec<(u32, u32)>,
    /// The term of each slot that has one.
    terms: Vec<u32>,
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
    pub(super) fn clear(&mut self) {
        self.slots.clear();
        self.members.clear();
    }

    /// Builds the table, or leaves it unusable where the terms are too many.
    pub(super) fn build(&mut self, keys: &[Key], seed: u64) {
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
            self.terms.resize(size, 0);
            for (term, key) in short.clone() {
                let slot = self.place(key.first);
                self.slots[slot] = key.first;
                self.terms[slot] = term as u32;
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

    /// Writes the numbers of the tokens that are short terms, or could be longer ones, to `found`; returns
    /// how many these are. Arguments as [`ShortTerms::count`] has them.
    pub(crate) fn sift(&self, text: &[u8], (starts, ends): (&[u32], &[u32]), found: &mut [u32]) -> usize {
        let mut count = 0;
        for (number, (&start, &end)) in starts.iter().zip(ends).enumerate() {
            let length = end - start;
            let kept = u64::MAX >> (64 - 8 * length.min(8));
            let key = (word(text, start as usize) | LOWER) & kept;
            let hash = key.wrapping_mul(self.multiplier);
            let short = length <= 8;
            let is_term = short & (self.slots[(hash >> self.shift) as usize] == key);
            let is_longer = !short & (self.longer >> (hash >> 58) & 1 == 1);
            found[count] = number as u32;
            count += usize::from(is_term | is_longer);
        }
        count
    }

    /// The term that a token of at most eight bytes is, of those that [`ShortTerms::sift`] found.
    #[inline(always)]
    pub(super) fn term(&self, text: &[u8], start: usize, length: usize) -> u32 {
        let kept = u64::MAX >> (64 - 8 * length as u32);
        self.terms[self.place((word(text, start) | LOWER) & kept)]
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
