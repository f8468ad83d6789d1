//! Short terms of a query, found without a branch.

use super::batch::{Batch, ROOM};
use super::hits::Hits;
use super::key::{FEW, Key, LOWER, MIX, word};

/// The terms of up to eight ASCII bytes, each in a slot of its own, so that one lookup decides. Which tokens
/// are terms cannot be predicted, and a mispredicted branch costs more than all other work, so there are no
/// branches.
#[derive(Debug, Default)]
pub(crate) struct ShortTerms {
    /// The term's bytes as one number; 0 if there is none.
    slots: Vec<u64>,
    /// (slot, term)
    members: Vec<(u32, u32)>,
    /// See [`ShortTerms::terms`].
    terms: Vec<u32>,
    multiplier: u64,
    shift: u32,
    /// Bit set over the hashes of the first eight bytes of the longer terms: if a bit is missing, no longer
    /// term begins with these bytes.
    longer: u64,
}

/// A token, with the result of its lookup in the table.
#[derive(Clone, Copy)]
pub(super) struct Token {
    /// Its first eight bytes, in lower case.
    pub(super) key: u64,
    hash: u64,
    is_short: bool,
    /// True if it is one of the short terms.
    pub(super) is_term: bool,
}

/// The first slot's number in `terms`; lower ones are terms, or [`FEW`]: none.
const FIRST_SLOT: usize = 2 * FEW;

/// A table without collisions is found within a few tries; after this many, something is wrong.
const TRIES: usize = 1000;

impl ShortTerms {
    /// Makes the table unusable.
    pub(super) fn clear(&mut self) {
        self.slots.clear();
        self.members.clear();
    }

    /// Builds the table of the short terms among `members`. Leaves it unusable if there are too many terms.
    pub(super) fn build(&mut self, keys: &[Key], members: u64, seed: u64) {
        self.clear();
        if keys.len() > FEW {
            return;
        }
        let ascii = |key: &Key| key.first & 0x8080_8080_8080_8080 == 0;
        let short = keys
            .iter()
            .enumerate()
            .filter(|&(term, key)| members >> term & 1 == 1 && key.length <= 8 && ascii(key));
        let count = short.clone().count();
        // With n terms in n * n / 4 slots, about one multiplier in eight has no collision.
        let size = (count * count / 4).next_power_of_two().max(64);
        if self.terms.is_empty() {
            self.terms.extend(0..FIRST_SLOT as u32);
        }
        self.shift = 64 - size.trailing_zeros();
        self.multiplier = seed | 1;
        for _ in 0..TRIES {
            self.multiplier = self.multiplier.wrapping_mul(MIX).rotate_left(23) | 1;
            self.slots.clear();
            self.slots.resize(size, 0);
            self.members.clear();
            self.terms.resize(FIRST_SLOT + size, 0);
            for (term, key) in short.clone() {
                let slot = self.place(key.first);
                self.slots[slot] = key.first;
                self.terms[FIRST_SLOT + slot] = term as u32;
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

    /// True if the table is usable.
    #[inline]
    pub(crate) fn usable(&self) -> bool {
        !self.slots.is_empty()
    }

    /// Makes room in `hits` for the counts of slots.
    pub(crate) fn prepare(&self, hits: &mut Hits) {
        hits.by_slot.resize(self.slots.len(), 0);
    }

    /// Counts, by slot, the tokens of ASCII letters and digits of any case, that are short terms. `places`:
    /// the starts and ends of the tokens in `text`. Writes the numbers of those that may be longer terms to
    /// `longer`, and returns how many there are.
    pub(crate) fn count(
        &self,
        text: &[u8],
        places: (&[u32], &[u32]),
        hits: &mut Hits,
        longer: &mut [u32],
    ) -> usize {
        self.count_or(text, places, &mut hits.by_slot, longer, |token| {
            self.could_be_longer(token)
        })
    }

    /// As [`ShortTerms::count`], but writes the tokens for which `is_unsure` is true to `unsure`.
    #[inline(always)]
    pub(super) fn count_or(
        &self,
        text: &[u8],
        (starts, ends): (&[u32], &[u32]),
        counts: &mut [u32],
        unsure: &mut [u32],
        is_unsure: impl Fn(Token) -> bool,
    ) -> usize {
        let counts = &mut counts[..self.slots.len()];
        let mut found = 0;
        for (number, (&start, &end)) in starts.iter().zip(ends).enumerate() {
            let (slot, token) = self.look_at(text, start, end);
            counts[slot] += u32::from(token.is_term);
            unsure[found] = number as u32;
            found += usize::from(is_unsure(token));
        }
        found
    }

    /// Writes to `found` of the batch, in order, the tokens that are short terms or for which `is_unsure` is
    /// true, with [`FIRST_SLOT`] plus the slot as the term; writes to `longer` the indexes in `found` of the
    /// latter. Returns the lengths of both. Everything that the loop writes is in one struct, so that few
    /// addresses take registers.
    #[inline(always)]
    pub(super) fn find_or(
        &self,
        text: &[u8],
        batch: &mut Batch,
        is_unsure: impl Fn(Token) -> bool,
    ) -> (usize, usize) {
        // Both in one number, so that they stay in a register.
        let mut both = 0_u64;
        for number in 0..batch.ends.count.min(ROOM) {
            let (start, end) = (batch.starts.list[number], batch.ends.list[number]);
            let (slot, token) = self.look_at(text, start, end);
            let at = both as usize % ROOM;
            (batch.found.starts[at], batch.found.ends[at]) = (start, end);
            batch.found.terms[at] = (FIRST_SLOT + slot) as u32;
            batch.longer.list[(both >> 32) as usize % ROOM] = at as u32;
            let is_other = is_unsure(token);
            both += u64::from(is_other) << 32 | u64::from(token.is_term | is_other);
        }
        (both as u32 as usize, (both >> 32) as usize)
    }

    /// Terms by the numbers in `Found::terms`: from [`FIRST_SLOT`] on by slot; a lower number is the term.
    pub(super) fn terms(&self) -> &[u32] {
        &self.terms
    }

    /// Slot of the token of ASCII letters and digits of any case at a position, and the result of its
    /// lookup.
    #[inline(always)]
    fn look_at(&self, text: &[u8], start: u32, end: u32) -> (usize, Token) {
        let length = end - start;
        let kept = u64::MAX >> (64 - 8 * length.min(8));
        self.look_at_key((word(text, start as usize) | LOWER) & kept, length <= 8)
    }

    /// As `look_at`, by the first eight bytes in lower case.
    #[inline(always)]
    pub(super) fn look_at_key(&self, key: u64, is_short: bool) -> (usize, Token) {
        let hash = key.wrapping_mul(self.multiplier);
        let slot = (hash >> self.shift) as usize;
        let is_term = is_short & (self.slots[slot] == key);
        let token = Token {
            key,
            hash,
            is_short,
            is_term,
        };
        (slot, token)
    }

    /// True if a token may be a term of more than eight bytes.
    #[inline(always)]
    pub(super) fn could_be_longer(&self, token: Token) -> bool {
        !token.is_short & (self.longer >> (token.hash >> 58) & 1 == 1)
    }

    /// Adds the counts of slots to those of the terms.
    pub(crate) fn collect(&self, hits: &mut Hits) {
        for &(slot, term) in &self.members {
            let count = std::mem::take(&mut hits.by_slot[slot as usize]);
            if count > 0 {
                hits.add(term, count);
            }
        }
    }
}
