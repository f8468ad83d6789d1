//! Data of a fragment besides its vector, in the form of the file of vectors, and filters by these data.

use siphasher::sip::SipHasher24;

use crate::embed::static_model::Vector;
use crate::system::blocks::Magic;

/// Most bytes of a receipt's id.
pub const RECEIPT_BYTES: usize = 88;
/// A fragment's data besides its vector.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its position in the log of fragments.
    pub position: u64,
    /// When it was received (ms since 1970).
    pub received_at_ms: u64,
    /// Hash of its visitor; 0: none.
    pub visitor: u64,
    /// Hash of its content.
    pub content: u64,
    pub(super) checksum: u32,
    /// Its kind, as a number that the caller chooses.
    pub kind: u8,
    pub(super) receipt_length: u8,
    pub(super) unused: [u8; 2],
    pub(super) receipt_bytes: [u8; RECEIPT_BYTES],
}

impl Facts {
    /// Facts of a fragment; `None` if its receipt's id is too long.
    pub fn new(position: u64, receipt: &str, received_at_ms: u64, kind: u8) -> Option<Self> {
        let mut receipt_bytes = [0; RECEIPT_BYTES];
        receipt_bytes
            .get_mut(..receipt.len())?
            .copy_from_slice(receipt.as_bytes());
        Some(Self {
            position,
            received_at_ms,
            visitor: 0,
            content: 0,
            checksum: 0,
            kind,
            receipt_length: receipt.len() as u8,
            unused: [0; 2],
            receipt_bytes,
        })
    }

    /// The receipt's id.
    pub fn receipt(&self) -> &str {
        let bytes = self.receipt_bytes.get(..usize::from(self.receipt_length));
        bytes
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .unwrap_or("")
    }

    /// Checksum of the fragment that is stored in the file.
    pub(crate) fn checksum(&self) -> u32 {
        self.checksum
    }

    /// The checksum of a fragment: of its vector and of all facts except the checksum itself.
    pub(super) fn sum(&self, vector: &Vector) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&vector.map(|one| one as u8));
        for number in [self.position, self.received_at_ms, self.visitor, self.content] {
            hasher.update(&number.to_le_bytes());
        }
        hasher.update(&[self.kind, self.receipt_length]);
        hasher.update(&self.receipt_bytes);
        hasher.finalize()
    }
}

/// A text's hash, which identifies visitors and contents; 0 for an empty text.
pub fn hash_of(text: &str) -> u64 {
    if text.is_empty() {
        return 0;
    }
    SipHasher24::new().hash(text.as_bytes()).max(1)
}

/// First bytes of a file: its form, and a hash of the method that made the vectors.
pub(crate) fn magic_of(form: [u8; 8], method: &str) -> Magic {
    let mut magic = [0; 16];
    magic[..8].copy_from_slice(&form);
    magic[8..].copy_from_slice(&hash_of(method).to_le_bytes());
    magic
}

/// Filter of fragments; absent members do not restrict it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter {
    /// By kind.
    pub kind: Option<u8>,
    /// By visitor's hash.
    pub visitor: Option<u64>,
    /// Received at or after (ms since 1970).
    pub since_ms: Option<u64>,
}

impl Filter {
    /// True if every fragment matches.
    pub fn lets_all(&self) -> bool {
        self.kind.is_none() && self.visitor.is_none() && self.since_ms.is_none()
    }

    pub(in crate::explore) fn fits(&self, facts: &Facts) -> bool {
        self.kind.is_none_or(|kind| kind == facts.kind)
            && self.visitor.is_none_or(|visitor| visitor == facts.visitor)
            && self.since_ms.is_none_or(|since| since <= facts.received_at_ms)
    }
}
