//! Beginnings of the words that a query's stems can come of. Most words of a text have none of them, and are
//! left out before anything is asked about their stems. They cannot be predicted, so that nothing branches on
//! them.

use super::{FEW, LOWER, MIX, word};

/// Bits of a slot's number.
const BITS: u32 = 7;

/// The first bytes that all words share whose stems are in one slot: the bytes of the mask, up to eight.
#[derive(Debug, Clone, Copy)]
struct Beginning {
    mask: u64,
    bytes: u64,
}

/// The beginning of no word.
const NONE: Beginning = Beginning { mask: 0, bytes: 1 };

/// Beginnings by a hash of the bytes that every stem's words share.
#[derive(Debug)]
pub(crate) struct Beginnings {
    slots: [Beginning; 1 << BITS],
    /// The bytes that are hashed.
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

/// The low bytes of a word, up to eight.
fn low_bytes(count: usize) -> u64 {
    match count {
        0 => 0,
        1..8 => (1 << (8 * count)) - 1,
        _ => u64::MAX,
    }
}

impl Beginnings {
    /// Leaves the table unusable.
    pub(super) fn clear(&mut self) {
        self.usable = false;
    }

    /// Builds the table of the forms, each with the number of bytes that it shares with its words, both
    /// filled up with zeros; leaves it unusable where the forms are too many.
    pub(super) fn build<'a>(&mut self, forms: impl Iterator<Item = (&'a [u8], usize)> + Clone) {
        self.usable = forms.clone().count() <= FEW;
        if !self.usable {
            return;
        }
        self.slots = [NONE; 1 << BITS];
        // A form with other characters is no ASCII word's.
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

    /// True if the table can be asked.
    #[inline]
    pub(crate) fn usable(&self) -> bool {
        self.usable
    }

    /// True if a token begins as a form's words do. `key`: its first eight bytes, in lower case.
    #[inline(always)]
    pub(super) fn begins(&self, key: u64) -> bool {
        let slot = &self.slots[self.place(key)];
        key & slot.mask == slot.bytes
    }

    /// Writes the numbers of the tokens that begin as a form's words do to `found`; returns how many these
    /// are. `starts` and `ends`: the places in `text` of tokens of ASCII letters and digits, in whatever
    /// case.
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
