//! The hashes of a text's terms.

use super::key::MIX;

/// Hashes of a text's terms. Half the words of a text are repetitions. Which ones cannot be predicted, so
/// nothing branches on it, and a hash that recurs soon is left out.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) hashes: Vec<u64>,
    pub(super) count: usize,
    /// The last hash of each slot, mixed with its text's number.
    pub(super) seen: Vec<u64>,
    pub(super) text: u64,
}

/// Bits of a slot's index in `seen`.
pub(super) const SEEN_BITS: u32 = 10;

impl Collected {
    /// Begins a text.
    pub(super) fn begin(&mut self) {
        self.count = 0;
        self.text = self.text.wrapping_add(MIX);
    }

    /// The hashes of the text; some may occur repeatedly.
    pub(super) fn all(&self) -> &[u64] {
        &self.hashes[..self.count]
    }

    /// Bytes held.
    pub(super) fn room_held(&self) -> usize {
        self.hashes.capacity() * size_of::<u64>()
    }

    #[inline]
    pub(super) fn make_room(&mut self, more: usize) {
        let needed = self.count + more;
        // Even if a first text has no token.
        self.seen.resize(1 << SEEN_BITS, 0);
        if self.hashes.len() < needed {
            self.hashes.resize(2 * needed, 0);
        }
    }

    /// Adds a hash.
    pub(super) fn add(&mut self, hash: u64) {
        self.make_room(1);
        self.count += usize::from(note(
            hash,
            self.text,
            &mut self.seen,
            &mut self.hashes[self.count],
        ));
    }
}

/// Writes a hash to `room`, the next place; true unless it is the last of its slot.
#[inline(always)]
pub(super) fn note(hash: u64, text: u64, seen: &mut [u64], room: &mut u64) -> bool {
    let last = &mut seen[(hash >> (64 - SEEN_BITS)) as usize];
    let mark = hash ^ text;
    *room = hash;
    let is_new = *last != mark;
    *last = mark;
    is_new
}
