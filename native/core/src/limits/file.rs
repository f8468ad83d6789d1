//! The mapped file of the limits: made by one process, mapped by many.

use std::fs::{File, OpenOptions, rename};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use memmap2::{MmapOptions, MmapRaw};

use super::SLOTS;
use super::slot::Slot;

const MAGIC: [u8; 8] = *b"fglimit1";
/// Bytes before the slots: the magic, the seed, zeros.
const HEADER_BYTES: usize = 4096;
const FILE_BYTES: usize = HEADER_BYTES + SLOTS * size_of::<Slot>();
const SEED_AT: usize = MAGIC.len();

/// Writes the file beside `path` and moves it there: a process that has mapped a former one keeps that. All
/// bytes are written, not left as a hole: a page that a full disk cannot give would kill its process later.
pub fn create(path: &Path, seed: [u8; 16]) -> io::Result<()> {
    let fresh = path.with_extension("new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    // The seed is a secret.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut bytes = vec![0; FILE_BYTES];
    bytes[..SEED_AT].copy_from_slice(&MAGIC);
    bytes[SEED_AT..SEED_AT + seed.len()].copy_from_slice(&seed);
    options.open(&fresh)?.write_all(&bytes)?;
    rename(&fresh, path)
}

/// The file as one process has mapped it.
pub struct Mapped {
    map: MmapRaw,
    /// The same file, for its lock; the mutex keeps apart the threads of one process, which share that lock.
    file: Mutex<File>,
    seed: [u8; 16],
}

impl Mapped {
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        if file.metadata()?.len() != FILE_BYTES as u64 {
            return Err(foreign(path));
        }
        let map = MmapOptions::new().len(FILE_BYTES).map_raw(&file)?;
        // SAFETY: the mapping is FILE_BYTES long, and nobody writes to the header once the file has its name.
        let header = unsafe { std::slice::from_raw_parts(map.as_ptr(), SEED_AT + 16) };
        if header[..SEED_AT] != MAGIC {
            return Err(foreign(path));
        }
        let mut seed = [0; 16];
        seed.copy_from_slice(&header[SEED_AT..]);
        Ok(Self {
            map,
            file: Mutex::new(file),
            seed,
        })
    }

    pub fn seed(&self) -> &[u8; 16] {
        &self.seed
    }

    pub fn slots(&self) -> &[Slot] {
        // SAFETY: HEADER_BYTES into a page-aligned mapping is aligned for Slot, SLOTS of them fit, every bit
        // pattern is a Slot, and all processes reach them by atomics alone. The file is never made shorter: a
        // new one takes its name, not its place. The slice lives no longer than the mapping.
        unsafe {
            let first = self.map.as_mut_ptr().add(HEADER_BYTES).cast::<Slot>();
            std::slice::from_raw_parts(first, SLOTS)
        }
    }

    /// Locks the file against other processes and threads until dropped. Waits as long as another holds it,
    /// which is microseconds; a holder that dies gives it back.
    pub fn lock(&self) -> Locked<'_> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // A lock that the system refuses leaves admission as exact as one process alone is.
        let held = file.lock().is_ok();
        Locked { file, held }
    }
}

/// The lock of [`Mapped::lock`].
pub struct Locked<'a> {
    file: MutexGuard<'a, File>,
    held: bool,
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        if self.held {
            // An unlock that fails leaves the lock to the end of the process; there is nobody to tell.
            let _ = self.file.unlock();
        }
    }
}

fn foreign(path: &Path) -> io::Error {
    let text = format!("{} is not a file of limits of this version", path.display());
    io::Error::new(io::ErrorKind::InvalidData, text)
}
