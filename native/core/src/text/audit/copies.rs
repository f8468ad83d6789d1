//! Duplicate records, in bounded memory: all records while there are few texts, then a sample by the hash of
//! the text (Gibbons' distinct sampling), which takes or leaves all copies of a text together.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// Most texts remembered.
const MOST_TEXTS: usize = 1 << 19;

/// Earlier records like this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// None, or it is not in the sample.
    Never,
    /// One with the same text.
    Exactly,
    /// One with another text that is the same after repair.
    Repaired,
}

/// Copies among the records of the sample.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// Records of the sample.
    pub sampled: u64,
    /// Records whose text occurred earlier.
    pub exact: u64,
    /// Records equal to an earlier one only after repair.
    pub repaired: u64,
}

/// Passes keys through, as they are hashes already.
#[derive(Debug, Default, Clone)]
struct Same(u64);

impl Hasher for Same {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = self.0.rotate_left(21) ^ hash;
    }
}

type Plainly = BuildHasherDefault<Same>;

/// The texts of records by their hashes.
#[derive(Debug, Default)]
pub struct Copies {
    /// Records by repaired text.
    repaired: HashMap<u64, u32, Plainly>,
    /// Texts, each with its repaired text.
    exact: HashSet<(u64, u64), Plainly>,
    /// Hashes with at least this many trailing zeros are in the sample.
    level: u32,
}

impl Copies {
    /// Adds a record by the hashes of its text and its repaired text.
    pub fn add(&mut self, exact: u64, repaired: u64) -> Seen {
        if repaired.trailing_zeros() < self.level {
            return Seen::Never;
        }
        let count = self.repaired.entry(repaired).or_insert(0);
        *count = count.saturating_add(1);
        let first = *count == 1;
        let fresh = self.exact.insert((repaired, exact));
        if self.exact.len() > MOST_TEXTS {
            self.thin();
        }
        match (fresh, first) {
            (false, _) => Seen::Exactly,
            (true, true) => Seen::Never,
            (true, false) => Seen::Repaired,
        }
    }

    /// Halves the sample.
    fn thin(&mut self) {
        self.level += 1;
        let level = self.level;
        self.repaired.retain(|hash, _| hash.trailing_zeros() >= level);
        self.exact.retain(|(hash, _)| hash.trailing_zeros() >= level);
    }

    /// Copies in the sample.
    #[must_use]
    pub fn count(&self) -> Count {
        let sampled: u64 = self.repaired.values().map(|count| u64::from(*count)).sum();
        let (texts, groups) = (self.exact.len() as u64, self.repaired.len() as u64);
        Count {
            sampled,
            exact: sampled - texts,
            repaired: texts - groups,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use siphasher::sip::SipHasher13;

    fn hash(number: u64) -> u64 {
        SipHasher13::new().hash(&number.to_le_bytes())
    }

    #[test]
    fn few_texts_are_counted_exactly() {
        let mut copies = Copies::default();
        let seen: Vec<Seen> = [(1, 9), (1, 9), (2, 9), (2, 9), (3, 8)]
            .into_iter()
            .map(|(exact, repaired)| copies.add(hash(exact), hash(repaired)))
            .collect();
        let expected = [
            Seen::Never,
            Seen::Exactly,
            Seen::Repaired,
            Seen::Exactly,
            Seen::Never,
        ];
        assert_eq!(seen, expected);
        let count = copies.count();
        assert_eq!((count.sampled, count.exact, count.repaired), (5, 2, 1));
    }

    /// Four million texts, every fourth record a copy: the sample is bounded and its share is close.
    #[test]
    fn many_texts_are_sampled() {
        let mut copies = Copies::default();
        for number in 0..4_000_000u64 {
            copies.add(hash(number), hash(number));
            if number % 3 == 0 {
                copies.add(hash(number), hash(number));
            }
        }
        assert!(copies.exact.len() <= MOST_TEXTS && copies.level >= 2);
        let count = copies.count();
        let share = count.exact as f64 / count.sampled as f64;
        assert!((share - 0.25).abs() < 0.002, "{share}");
        assert_eq!(count.repaired, 0);
    }
}
