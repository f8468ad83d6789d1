//! Keys of terms: their bytes as two numbers, which are compared instead of the bytes.

/// Two words and a length that identify terms of up to 16 bytes, and nearly identify longer ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Key {
    /// The first eight bytes.
    pub(super) prefix: u64,
    /// The same, mixed with the bytes between them and the last eight, and with seeds if there are any.
    pub(super) first: u64,
    /// The last eight bytes, if there are more than eight.
    pub(super) last: u64,
    pub(super) length: usize,
}

/// No term.
pub(super) const EMPTY: u32 = u32::MAX;
/// Folds ASCII letters, or-ed into eight bytes.
pub(super) const LOWER: u64 = 0x2020_2020_2020_2020;
/// A multiplier that spreads bits (2^64 / golden ratio).
pub(super) const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

#[inline]
pub(super) fn fold_multiply(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}

#[inline]
pub(super) fn word(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        Some(chunk) => u64::from_le_bytes(*chunk),
        None => {
            let mut chunk = [0; 8];
            let rest = bytes.get(at..).unwrap_or_default();
            chunk[..rest.len()].copy_from_slice(rest);
            u64::from_le_bytes(chunk)
        }
    }
}

impl Key {
    /// Key of the `length` bytes at `at`. `bits` is or-ed into each byte: [`LOWER`] folds ASCII letters and
    /// keeps digits, 0 keeps bytes as they are. `seeds`: random, so that no caller can choose terms of more
    /// than 16 bytes that share a key.
    #[inline]
    pub(super) fn of(bytes: &[u8], at: usize, length: usize, bits: u64, seeds: (u64, u64)) -> Key {
        if length <= 8 {
            let kept = u64::MAX >> (64 - 8 * length as u32);
            let first = (word(bytes, at) | bits) & kept;
            return Key {
                prefix: first,
                first,
                last: 0,
                length,
            };
        }
        let last = word(bytes, at + length - 8) | bits;
        let prefix = word(bytes, at) | bits;
        let mut first = prefix;
        if length > 16 {
            for step in (8..length - 8).step_by(8) {
                let middle = word(bytes, at + step) | bits;
                // The two seeds differ, so that the words of a term cannot change places.
                first = fold_multiply(first ^ seeds.0, middle ^ seeds.1);
            }
        }
        Key {
            prefix,
            first,
            last,
            length,
        }
    }

    /// As [`Key::of`], for 1 to 16 ASCII letters and digits, without a branch on their number.
    #[inline(always)]
    pub(super) fn of_short(bytes: &[u8], at: usize, length: usize) -> Key {
        let first = (word(bytes, at) | LOWER) & (u64::MAX >> (64 - 8 * length.min(8) as u32));
        let last = word(bytes, at + length.max(8) - 8) | LOWER;
        Key {
            prefix: first,
            first,
            last: if length > 8 { last } else { 0 },
            length,
        }
    }
}

/// Slots of a table of terms that has become too full: a small one grows fourfold, a large one twofold.
pub(super) fn grown(slots: usize) -> usize {
    slots * if slots < 1 << 12 { 4 } else { 2 }
}

/// The short terms of a query with at most this many distinct terms are counted without branches.
pub(super) const FEW: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    const SEEDS: (u64, u64) = (0x0123_4567_89AB_CDEF, 0xFEDC_BA98_7654_3211);

    #[test]
    fn a_small_table_grows_faster_than_a_large_one() {
        for (slots, more) in [
            (16, 64),
            (1 << 11, 1 << 13),
            (1 << 12, 1 << 13),
            (1 << 20, 1 << 21),
        ] {
            assert_eq!(grown(slots), more);
        }
    }

    #[test]
    fn every_byte_of_a_term_is_in_its_key() {
        for length in 1..70 {
            let term: Vec<u8> = (0..length).map(|at| b'a' + (at % 26) as u8).collect();
            let key = Key::of(&term, 0, length, 0, SEEDS);
            for at in 0..length {
                let mut other = term.clone();
                other[at] = b'0';
                let changed = Key::of(&other, 0, length, 0, SEEDS);
                assert_ne!(changed, key, "byte {at} of {length}");
            }
        }
    }

    #[test]
    fn the_words_of_a_term_have_their_places_in_its_key() {
        let words: [&[u8; 8]; 4] = [b"aaaaaaaa", b"bbbbbbbb", b"cccccccc", b"dddddddd"];
        let mut keys = Vec::new();
        for order in 0..4_usize.pow(4) {
            let places = (0..4).map(|place| order / 4_usize.pow(place) % 4);
            let term: Vec<u8> = places.flat_map(|place| *words[place]).chain(*b"last").collect();
            keys.push(Key::of(&term, 0, term.len(), 0, SEEDS).first);
        }
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 4_usize.pow(4));
    }
}
