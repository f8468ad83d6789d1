//! A file of a header and blocks of one size, which grows by blocks. A process maps each block once.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use memmap2::{MmapOptions, MmapRaw};

use super::mapped;

/// Smallest size of a memory page (bytes).
pub(crate) const PAGE: usize = 4096;

/// A snapshot of the mapped blocks, in the file's order.
pub(crate) type Mapped = Arc<Vec<Arc<MmapRaw>>>;

/// Sizes of the parts of a file.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    /// Bytes before the first block.
    pub(crate) header: usize,
    /// Bytes of a block. Both are multiples of a page.
    pub(crate) block: usize,
}

impl Sizes {
    /// Bytes of a file with `blocks` blocks.
    fn end(self, blocks: usize) -> u64 {
        (self.header + blocks * self.block) as u64
    }
}

/// First bytes of a file: its form, and a hash of the method that made its vectors.
pub(crate) type Magic = [u8; 16];

/// A kind of file with blocks.
pub(crate) trait Layout {
    /// Name of the kind in errors.
    const NAME: &'static str;
    /// Sizes of the header and of a block.
    const SIZES: Sizes;
    /// Number of blocks in a new file.
    const LEAST: usize;
    /// Offset of the header's number that becomes 1 once the writer has replaced the file.
    const GIVEN_UP_AT: usize;
}

/// A file as this process has mapped it: a header with a magic and numbers, then blocks.
pub(crate) struct MappedBlocks<Of> {
    pub(crate) header: MmapRaw,
    pub(crate) blocks: Blocks,
    layout: PhantomData<Of>,
}

impl<Of: Layout> MappedBlocks<Of> {
    /// Maps the file at `path`. Fails with `InvalidData` if it is of another kind or version.
    pub(crate) fn open(path: &Path, magic: &Magic) -> io::Result<Self> {
        let foreign = || {
            let text = format!("{} is not {} of this version", path.display(), Of::NAME);
            Err(io::Error::new(ErrorKind::InvalidData, text))
        };
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        if file.metadata()?.len() < Of::SIZES.end(Of::LEAST) {
            return foreign();
        }
        let header = MmapOptions::new().len(Of::SIZES.header).map_raw(&file)?;
        // SAFETY: the mapping is longer than the magic, and nobody writes there once the file has its name.
        if unsafe { std::slice::from_raw_parts(header.as_ptr(), magic.len()) } != magic {
            return foreign();
        }
        Ok(Self {
            header,
            blocks: Blocks::new(file, Of::SIZES),
            layout: PhantomData,
        })
    }

    /// Creates the file at `path`, empty; it replaces an existing one.
    pub(crate) fn create(path: &Path, magic: &Magic) -> io::Result<()> {
        mapped::create(path, magic, Of::SIZES.end(Of::LEAST) as usize)
    }

    /// The header's number at the offset `at`, which must be aligned and within the header.
    pub(crate) fn number(&self, at: usize) -> &AtomicU64 {
        debug_assert!(at.is_multiple_of(8) && at + 8 <= self.header.len());
        // SAFETY: callers pass aligned offsets within the header, whose numbers are accessed only atomically.
        unsafe { &*self.header.as_ptr().add(at).cast::<AtomicU64>() }
    }

    /// The header's number that is 1 once the file was given up.
    fn given_up(&self) -> &AtomicU64 {
        self.number(Of::GIVEN_UP_AT)
    }
}

/// The current file at a path, mapped.
pub(crate) struct Current<Of> {
    path: PathBuf,
    magic: Magic,
    mapped: RwLock<Arc<MappedBlocks<Of>>>,
}

impl<Of: Layout> Current<Of> {
    /// Maps the file at `path`.
    pub(crate) fn open(path: &Path, magic: Magic) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            magic,
            mapped: RwLock::new(Arc::new(MappedBlocks::open(path, &magic)?)),
        })
    }

    /// The current file; mapped again if the writer gave up the one mapped before.
    pub(crate) fn get(&self) -> io::Result<Arc<MappedBlocks<Of>>> {
        let mapped = self.mapped.read().unwrap_or_else(PoisonError::into_inner).clone();
        if mapped.given_up().load(Acquire) == 0 {
            return Ok(mapped);
        }
        let fresh = Arc::new(MappedBlocks::open(&self.path, &self.magic)?);
        *self.mapped.write().unwrap_or_else(PoisonError::into_inner) = fresh.clone();
        Ok(fresh)
    }

    /// Gives the file up for an empty one, and maps that. The caller must be the only writer.
    pub(crate) fn replace(&self) -> io::Result<Arc<MappedBlocks<Of>>> {
        let former = self.get()?;
        MappedBlocks::<Of>::create(&self.path, &self.magic)?;
        former.given_up().store(1, Release);
        self.get()
    }
}

/// The blocks of one file. The file never shrinks, so mapped blocks stay valid.
pub(crate) struct Blocks {
    file: Mutex<File>,
    mapped: RwLock<Mapped>,
    sizes: Sizes,
}

impl Blocks {
    /// The blocks of a file that has a header; none is mapped yet.
    fn new(file: File, sizes: Sizes) -> Self {
        Self {
            file: Mutex::new(file),
            mapped: RwLock::default(),
            sizes,
        }
    }

    /// At least the first `needed` blocks, mapped.
    pub(crate) fn at_least(&self, needed: usize) -> io::Result<Mapped> {
        let known = self.mapped.read().unwrap_or_else(PoisonError::into_inner).clone();
        if known.len() >= needed {
            return Ok(known);
        }
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let length = file.metadata()?.len();
        if length < self.sizes.end(needed) {
            return Err(io::Error::new(ErrorKind::UnexpectedEof, "the file was cut off"));
        }
        // Readers of mapped blocks do not wait while others are mapped.
        let mut blocks = self
            .mapped
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .to_vec();
        while blocks.len() < needed {
            let offset = self.sizes.end(blocks.len());
            let block = MmapOptions::new()
                .offset(offset)
                .len(self.sizes.block)
                .map_raw(&*file)?;
            blocks.push(Arc::new(block));
        }
        let blocks = Arc::new(blocks);
        *self.mapped.write().unwrap_or_else(PoisonError::into_inner) = blocks.clone();
        Ok(blocks)
    }

    /// Makes the file long enough for `blocks` blocks, at most one more than it has. All bytes of the new one
    /// are written, so that a full disk is an error here, and never a SIGBUS later. The caller must be the
    /// only writer.
    pub(crate) fn grow(&self, blocks: usize) -> io::Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let length = file.metadata()?.len();
        if length < self.sizes.end(blocks) {
            file.seek(SeekFrom::Start(self.sizes.end(blocks.saturating_sub(1))))?;
            file.write_all(&vec![0; self.sizes.block])?;
        }
        Ok(())
    }

    /// Number of whole blocks in the file.
    pub(crate) fn in_file(&self) -> io::Result<usize> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let length = file.metadata()?.len() as usize;
        Ok(length.saturating_sub(self.sizes.header) / self.sizes.block)
    }

    /// Bytes of the header and of the file's whole blocks.
    pub(crate) fn bytes(&self) -> io::Result<u64> {
        Ok(self.sizes.end(self.in_file()?))
    }

    /// Waits until the file is on disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.sync_all()
    }
}
