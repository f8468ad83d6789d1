//! Beginnings of the words that may have a query's terms as stems. Most words of a text have none of these
//! beginnings, and are excluded before their stems are looked up. Which ones cannot be predicted, so the
//! check has no branches.

use super::key::{FEW, LOWER, MIX, word};

/// Bits of a slot's index.
const BITS: u32 = 7;

/// First bytes, up to eight, that all words with stems in one slot share; `mask` selects them.
#[derive(Debug, Clone, Copy)]
struct Beginning {
    mask: u64,
    bytes: u64,
}

/// A beginning that no word has.
const NONE: Beginning = Beginning { mask: 0, bytes: 1 };

/// Beginnings, by a hash of the bytes that each stem shares with its words.
#[derive(Debug)]
pub(crate) struct Beginnings {
    slots: [Beginning; 1 << BITS],
    /// Mask of the bytes that are hashed.
    hashed: u64,
    usable: bool,
}

impl Default for Beginnings {
    fn default() -> Self {
        Beginnings {
            slots: [NONE; 1 << BITS],
            hashed: 0,
            usable: false,
        }
    }
}

/// Mask of the `count` lowest bytes of a word, up to eight.
fn low_bytes(count: usize) -> u64 {
    match count {
        0 => 0,
        1..8 => (1 << (8 * count)) - 1,
        _ => u64::MAX,
    }
}

impl Beginnings {
    /// Makes the table unusable.
    pub(super) fn clear(&mut self) {
        self.usable = false;
    }

    /// Builds the table of the forms, each with the number of bytes that it shares with its words. Leaves it
    /// unusable if there are too many forms.
    pub(super) fn build<'a>(&mut self, forms: impl Iterator<Item = (&'a [u8], usize)> + Clone) {
        self.usable = forms.clone().count() <= FEW;
        if !self.usable {
            return;
        }
        self.slots = [NONE; 1 << BITS];
        // A form with other characters is not the stem of an ASCII word.
        let forms = forms.filter(|(form, _)| form.is_ascii());
        let least = forms.clone().map(|(_, shared)| shared).min();
        self.hashed = low_bytes(least.unwrap_or(0));
        for (form, shared) in forms {
            let bytes = word(form, 0) & low_bytes(shared);
            let at = self.place(bytes);
            let slot = &mut self.slots[at];
            let mut mask = low_bytes(shared);
            if slot.mask != 0 || slot.bytes == 0 {
                let same = ((slot.bytes ^ bytes).trailing_zeros() / 8) as usize;
                mask &= slot.mask & low_bytes(same);
            }
            let bytes = bytes & mask;
            *slot = Beginning { mask, bytes };
        }
    }

    #[inline(always)]
    fn place(&self, key: u64) -> usize {
        ((key & self.hashed).wrapping_mul(MIX) >> (64 - BITS)) as usize
    }

    /// True if the table is usable.
    #[inline]
    pub(crate) fn usable(&self) -> bool {
        self.usable
    }

    /// True if a token may have a form of the table. `key`: its first eight bytes, in lower case.
    #[inline(always)]
    pub(super) fn begins(&self, key: u64) -> bool {
        let slot = &self.slots[self.place(key)];
        key & slot.mask == slot.bytes
    }

    /// Writes to `found` the numbers of the tokens that may have a form of the table; returns how many there
    /// are. `starts` and `ends`: positions in `text` of tokens of ASCII letters and digits of any case.
    pub(super) fn sift(&self, text: &[u8], (starts, ends): (&[u32], &[u32]), found: &mut [u32]) -> usize {
        let mut count = 0;
        for (number, (&start, &end)) in starts.iter().zip(ends).enumerate() {
            let kept = u64::MAX >> (64 - 8 * (end - start).min(8));
            let key = (word(text, start as usize) | LOWER) & kept;
            found[count] = number as u32;
            count += usize::from(self.begins(key));
        }
        count
    }
}

/// Share of a request's tokens that begin like a form's words. If most do (rich), tokens are first looked up
/// among the short terms as they are; else the others are first excluded, which saves a lookup.
#[derive(Debug, Default)]
pub(super) struct Mix {
    batches: u32,
    is_rich: bool,
}

impl Mix {
    /// While rich, one batch in this many is measured.
    const EVERY: u32 = 16;

    /// Begins a request.
    pub(super) fn clear(&mut self) {
        *self = Mix::default();
    }

    /// True if the last measured batch was rich; false before a batch to be measured.
    #[inline]
    pub(super) fn is_rich(&mut self) -> bool {
        let is_measured = self.batches.is_multiple_of(Mix::EVERY);
        self.batches = self.batches.wrapping_add(1);
        self.is_rich && !is_measured
    }

    /// Measures a batch: `found` of `tokens` begin so.
    #[inline]
    pub(super) fn learn(&mut self, found: usize, tokens: usize) {
        self.is_rich = 2 * found > tokens;
    }
}
