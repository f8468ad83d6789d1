//! A file made by one process and mapped by many: its bytes, and its lock.

use std::fs::{File, OpenOptions, rename};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use memmap2::{MmapOptions, MmapRaw};

/// Writes a file of `length` bytes that begins with `header` beside `path` and moves it there: a process that
/// has mapped a former one keeps that. All bytes have their place on the disk, none is left as a hole: a page
/// that a full disk cannot give would kill its process later.
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
        // The room taken on a full disk is given back. The first failure is the one reported.
        let _ = std::fs::remove_file(&fresh);
    }
    made
}

/// Makes a file of `from` bytes `length` bytes long, the new ones 0.
#[cfg(target_os = "linux")]
fn reserve(file: &mut File, _: usize, length: usize) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    // SAFETY: the descriptor is that of an open file.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length as libc::off_t) } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

/// Makes a file of `from` bytes `length` bytes long, the new ones 0.
#[cfg(not(target_os = "linux"))]
fn reserve(file: &mut File, from: usize, length: usize) -> io::Result<()> {
    const CHUNK: usize = 1 << 20;
    let zeros = vec![0; CHUNK.min(length - from)];
    (from..length)
        .step_by(CHUNK)
        .try_for_each(|at| file.write_all(&zeros[..CHUNK.min(length - at)]))
}

/// The file as one process has mapped it. It is never made shorter: a new one takes its name, not its place.
pub struct MappedFile {
    map: MmapRaw,
    /// The same file, for its lock; the mutex keeps apart the threads of one process, which share that lock.
    file: Mutex<File>,
}

impl MappedFile {
    /// Maps a file of `length` bytes that begins with `magic`; any other is refused as no `what`.
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
        // SAFETY: the mapping is longer than `magic`, and nobody writes there once the file has its name.
        let found = unsafe { std::slice::from_raw_parts(map.as_ptr(), magic.len()) };
        if found != magic {
            return Err(foreign());
        }
        let file = Mutex::new(file);
        Ok(Self { map, file })
    }

    /// The first byte; page-aligned, good for the mapping's length as long as this lives.
    pub fn start(&self) -> *mut u8 {
        self.map.as_mut_ptr()
    }

    /// Locks the file against other processes and threads until dropped. Waits as long as another holds it,
    /// which is microseconds; a holder that dies gives it back.
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
    /// True if other processes are locked out; the system may refuse it.
    pub fn is_held(&self) -> bool {
        self.held
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        if self.held {
            // An unlock that fails leaves the lock to the end of the process; there is nobody to tell.
            let _ = self.file.unlock();
        }
    }
}
