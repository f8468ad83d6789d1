//! The mapped file of the limits: created by one process, mapped by many.

use std::io;
use std::path::Path;

use super::slot::Slot;
use crate::system::mapped::{self, Locked, MappedFile};

/// Slots of one area.
pub(super) const AREA_SLOTS: usize = 1 << 16;
/// All slots that subjects may claim.
pub(super) const SLOTS: usize = 3 * AREA_SLOTS;
/// Kinds of limit, each with a crowd.
const KINDS: usize = 1 << 8;

const MAGIC: [u8; 8] = *b"fglimit2";
/// Bytes before the slots: the magic, the seed, zeros.
const HEADER_BYTES: usize = 4096;
/// Length of the file.
pub const FILE_BYTES: usize = HEADER_BYTES + (SLOTS + KINDS) * size_of::<Slot>();
const SEED_AT: usize = MAGIC.len();

/// Creates the file again, all slots free.
pub fn create(path: &Path, seed: [u8; 16]) -> io::Result<()> {
    let mut header = MAGIC.to_vec();
    header.extend(seed);
    mapped::create(path, &header, FILE_BYTES)
}

/// The file, as mapped by one process.
pub struct Mapped {
    file: MappedFile,
    seed: [u8; 16],
}

impl Mapped {
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = MappedFile::open(path, &MAGIC, FILE_BYTES, "limits")?;
        let mut seed = [0; 16];
        // SAFETY: the mapping is FILE_BYTES long, and the header is not written once the file has its name.
        seed.copy_from_slice(unsafe { std::slice::from_raw_parts(file.start().add(SEED_AT), 16) });
        Ok(Self { file, seed })
    }

    pub fn seed(&self) -> &[u8; 16] {
        &self.seed
    }

    pub fn slots(&self) -> &[Slot] {
        // SAFETY: HEADER_BYTES into a page-aligned mapping is aligned for Slot, SLOTS and KINDS of them fit,
        // every bit pattern is a Slot, and all processes access them only atomically. The slice lives no
        // longer than the mapping.
        unsafe {
            let first = self.file.start().add(HEADER_BYTES).cast::<Slot>();
            std::slice::from_raw_parts(first, SLOTS + KINDS)
        }
    }

    /// The slot of one kind's crowd, which no subject claims.
    pub fn crowd(&self, kind: u8) -> &Slot {
        &self.slots()[SLOTS + usize::from(kind)]
    }

    /// Locks the file. If the system refuses, admission is exact only without other processes.
    pub fn lock(&self) -> Locked<'_> {
        self.file.lock()
    }
}
