//! API keys: `fg_`, 43 characters of base64url (RFC 4648, 32 bytes), and a checksum of 6: CRC-32 (as in zlib)
//! of the 43 in base 62, digits first, as in GitHub's tokens. Also the table of keys that one process knows,
//! by their SHA-256 (FIPS 180-4): it contains no key, and none can be computed from it.

use std::collections::HashMap;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

const PREFIX: &[u8] = b"fg_";
const SECRET: usize = 43;
const CHECK: usize = 6;
/// Length of a key in characters.
pub const LENGTH: usize = PREFIX.len() + SECRET + CHECK;
const BASE_64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const BASE_62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// SHA-256 of a key's characters.
pub type Hash = [u8; 32];

/// The key that encodes `raw`.
pub fn write(raw: &[u8; 32]) -> String {
    let mut key = PREFIX.to_vec();
    for three in raw.chunks(3) {
        let bits = three.iter().fold(0, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - three.len()));
        let digits = (0..=three.len()).map(|at| BASE_64[(bits >> (18 - 6 * at)) as usize & 63]);
        key.extend(digits);
    }
    key.extend(checksum(&key[PREFIX.len()..]));
    key.iter().map(|&byte| char::from(byte)).collect()
}

/// SHA-256 of a key; `None` if its form or checksum is wrong.
pub fn hash(key: &[u8]) -> Option<Hash> {
    let (secret, check) = key.strip_prefix(PREFIX)?.split_at_checked(SECRET)?;
    let formed = secret
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    (formed && check == checksum(secret)).then(|| Sha256::digest(key).into())
}

fn checksum(secret: &[u8]) -> [u8; CHECK] {
    let mut rest = crc32fast::hash(secret) as usize;
    let mut digits = [0; CHECK];
    for digit in digits.iter_mut().rev() {
        *digit = BASE_62[rest % 62];
        rest /= 62;
    }
    digits
}

/// Status of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It may be used.
    Active,
    /// Suspended: it may become active again.
    Suspended,
    /// Revoked for good.
    Revoked,
}

/// The part of a key's record that admission needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Index of its tier.
    pub tier: usize,
    /// The key whose limits and usage it shares: its own hash, or that of the first key in its chain of
    /// replacements.
    pub counted_as: Hash,
    /// Start of its first month (ms since 1970).
    pub issued_at_ms: u64,
    /// When it expires (ms since 1970); `None`: never.
    pub expires_at_ms: Option<u64>,
    /// Its status.
    pub status: Status,
}

/// Most known keys (about 40 MB); beyond that the table is cleared.
const MOST_KNOWN: usize = 1 << 18;

/// A key's record, as it was last read.
struct Entry {
    hash: Hash,
    record: Record,
    /// False once the record may have changed.
    is_current: bool,
}

/// The keys that one process knows.
#[derive(Default)]
pub struct Known {
    /// By the first eight bytes of the hash; of two keys that share them the table has the last.
    by_prefix: HashMap<u64, Entry>,
}

impl Known {
    fn entry(&self, hash: &Hash) -> Option<&Entry> {
        let entry = self.by_prefix.get(&prefix(hash))?;
        bool::from(entry.hash.ct_eq(hash)).then_some(entry)
    }

    /// The record of the key with this hash.
    pub fn get(&self, hash: &Hash) -> Option<Record> {
        let entry = self.entry(hash)?;
        entry.is_current.then_some(entry.record)
    }

    /// The key whose usage this one shares. That never changes, so it is known of a forgotten key, too.
    pub fn counted_as(&self, hash: &Hash) -> Option<Hash> {
        Some(self.entry(hash)?.record.counted_as)
    }

    /// Adds a key, or its new record.
    pub fn insert(&mut self, hash: Hash, record: Record) {
        if self.by_prefix.len() >= MOST_KNOWN {
            self.by_prefix.clear();
        }
        let entry = Entry {
            hash,
            record,
            is_current: true,
        };
        self.by_prefix.insert(prefix(&hash), entry);
    }

    /// Forgets a key's record, so that it is looked up again.
    pub fn forget(&mut self, hash: &Hash) {
        if let Some(entry) = self.by_prefix.get_mut(&prefix(hash)) {
            entry.is_current = false;
        }
    }

    /// Forgets the record of every key.
    pub fn forget_all(&mut self) {
        for entry in self.by_prefix.values_mut() {
            entry.is_current = false;
        }
    }
}

fn prefix(hash: &Hash) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&hash[..8]);
    u64::from_le_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_key_is_written_as_documented() {
        let key = write(&[0; 32]);
        assert_eq!(key, format!("fg_{}{}", "A".repeat(43), "0DofJ8"));
        assert_eq!(key.len(), LENGTH);
    }

    proptest! {
        #[test]
        fn a_key_has_the_bits_in_base_64(raw: [u8; 32]) {
            let bit = |at: usize| raw.get(at / 8).is_some_and(|byte| byte >> (7 - at % 8) & 1 == 1);
            let bits = |digit: usize| (0..6).map(move |at| usize::from(bit(6 * digit + at)));
            let value = |digit: usize| bits(digit).fold(0, |all, bit| all << 1 | bit);
            let digits: Vec<u8> = (0..SECRET).map(|digit| BASE_64[value(digit)]).collect();
            let key = write(&raw);
            prop_assert_eq!(&key.as_bytes()[3..46], digits);
        }

        #[test]
        fn what_is_written_is_read(raw: [u8; 32]) {
            let key = write(&raw);
            prop_assert_eq!(hash(key.as_bytes()), Some(Sha256::digest(&key).into()));
        }

        #[test]
        fn one_wrong_character_is_seen(raw: [u8; 32], at in 0..LENGTH, other: u8) {
            let mut key = write(&raw).into_bytes();
            prop_assume!(key[at] != other);
            key[at] = other;
            prop_assert_eq!(hash(&key), None);
        }

        #[test]
        fn another_length_is_no_key(raw: [u8; 32], shorter in 0..LENGTH, more in "[A-Za-z0-9]{1,9}") {
            let key = write(&raw);
            prop_assert_eq!(hash(&key.as_bytes()[..shorter]), None);
            prop_assert_eq!(hash((key + &more).as_bytes()), None);
        }
    }

    #[test]
    fn records_are_told_apart() {
        let record = |tier| Record {
            tier,
            counted_as: [9; 32],
            issued_at_ms: 1,
            expires_at_ms: None,
            status: Status::Active,
        };
        let mut known = Known::default();
        let mut twin = [7; 32];
        twin[31] = 8;
        known.insert([7; 32], record(1));
        assert_eq!(known.get(&[7; 32]), Some(record(1)));
        assert_eq!(known.get(&twin), None);
        known.insert(twin, record(2));
        assert_eq!((known.get(&twin), known.get(&[7; 32])), (Some(record(2)), None));
        known.forget(&twin);
        assert_eq!(known.get(&twin), None);
    }
}
