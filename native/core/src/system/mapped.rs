//! A file created by one process and mapped by many: its bytes, and its lock.

use std::fs::{File, OpenOptions, rename};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use memmap2::{MmapOptions, MmapRaw};

/// Writes a file of `length` bytes that begins with `header` next to `path`, then renames it: processes that
/// have mapped a former file keep that one. All bytes are allocated on the disk, without holes: otherwise a
/// full disk would kill a process later, on access to a page.
pub fn create(path: &Path, header: &[u8], length: usize) -> io::Result<()> {
    let fresh = path.with_extension("new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    // Only this server's processes may read it.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&fresh)?;
    let made = file
        .write_all(header)
        .and_then(|()| reserve(&mut file, header.len(), length))
        .and_then(|()| rename(&fresh, path));
    if made.is_err() {
        // Frees the space taken on a full disk. The first failure is the one reported.
        let _ = std::fs::remove_file(&fresh);
    }
    made
}

/// Extends a file of `from` bytes to `length` bytes with zeros.
#[cfg(target_os = "linux")]
fn reserve(file: &mut File, _: usize, length: usize) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    // SAFETY: the descriptor belongs to an open file.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length as libc::off_t) } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

/// Extends a file of `from` bytes to `length` bytes with zeros.
#[cfg(not(target_os = "linux"))]
fn reserve(file: &mut File, from: usize, length: usize) -> io::Result<()> {
    const CHUNK: usize = 1 << 20;
    let zeros = vec![0; CHUNK.min(length - from)];
    (from..length)
        .step_by(CHUNK)
        .try_for_each(|at| file.write_all(&zeros[..CHUNK.min(length - at)]))
}

/// The file, as mapped by one process. It is never truncated: a new file takes over its name.
pub struct MappedFile {
    map: MmapRaw,
    /// The same file, for its lock; the mutex separates the threads of one process, which share that lock.
    file: Mutex<File>,
}

impl MappedFile {
    /// Maps a file of `length` bytes that begins with `magic`; an error about another file names `what`.
    pub fn open(path: &Path, magic: &[u8], length: usize, what: &str) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let foreign = || {
            let text = format!("{} is not a file of {what} of this version", path.display());
            io::Error::new(io::ErrorKind::InvalidData, text)
        };
        if file.metadata()?.len() != length as u64 || length < magic.len() {
            return Err(foreign());
        }
        let map = MmapOptions::new().len(length).map_raw(&file)?;
        // SAFETY: the mapping is longer than `magic`, which is never written after the file has its name.
        let found = unsafe { std::slice::from_raw_parts(map.as_ptr(), magic.len()) };
        if found != magic {
            return Err(foreign());
        }
        let file = Mutex::new(file);
        Ok(Self { map, file })
    }

    /// The first byte; page-aligned, valid for the mapping's length as long as this lives.
    pub fn start(&self) -> *mut u8 {
        self.map.as_mut_ptr()
    }

    /// Locks the file against other processes and threads until dropped. Waits while another holds the lock,
    /// for microseconds; the lock of a holder that dies is released.
    pub fn lock(&self) -> Locked<'_> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let held = file.lock().is_ok();
        Locked { file, held }
    }
}

/// The lock of [`MappedFile::lock`].
pub struct Locked<'a> {
    file: MutexGuard<'a, File>,
    held: bool,
}

impl Locked<'_> {
    /// True if other processes are locked out; false if the system refused.
    pub fn is_held(&self) -> bool {
        self.held
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        if self.held {
            // If unlocking fails, the lock ends with the process; no caller could handle the error.
            let _ = self.file.unlock();
        }
    }
}
