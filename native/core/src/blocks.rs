//! A file that grows by blocks of one size after a header, each mapped once a process.

use std::fs::File;
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use memmap2::{MmapOptions, MmapRaw};

/// Blocks as they were mapped at some time, in the file's order.
pub(crate) type Mapped = Arc<Vec<Arc<MmapRaw>>>;

/// Size of the blocks of a file.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    /// Bytes before the first block.
    pub(crate) header: usize,
    /// Bytes of a block; both are multiples of a page.
    pub(crate) block: usize,
}

impl Sizes {
    /// Bytes of a file of so many blocks.
    fn end(self, blocks: usize) -> u64 {
        (self.header + blocks * self.block) as u64
    }
}

/// The blocks of one file. The file is never made shorter, so that what is mapped stays.
pub(crate) struct Blocks {
    file: Mutex<File>,
    mapped: RwLock<Mapped>,
    sizes: Sizes,
}

impl Blocks {
    /// The blocks of a file that has its header.
    pub(crate) fn new(file: File, sizes: Sizes) -> Self {
        Self {
            file: Mutex::new(file),
            mapped: RwLock::default(),
            sizes,
        }
    }

    /// At least the first `needed` blocks.
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
        let mut mapped = self.mapped.write().unwrap_or_else(PoisonError::into_inner);
        let mut blocks = mapped.to_vec();
        while blocks.len() < needed {
            let offset = self.sizes.end(blocks.len());
            let block = MmapOptions::new()
                .offset(offset)
                .len(self.sizes.block)
                .map_raw(&*file)?;
            blocks.push(Arc::new(block));
        }
        *mapped = Arc::new(blocks);
        Ok(mapped.clone())
    }

    /// Makes the file long enough for so many blocks. All bytes of a new block are written, so that a full
    /// disk refuses it here and kills nobody later. The caller is the only writer.
    pub(crate) fn grow(&self, blocks: usize) -> io::Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let length = file.metadata()?.len();
        if length < self.sizes.end(blocks) {
            file.seek(SeekFrom::Start(self.sizes.end(blocks.saturating_sub(1))))?;
            file.write_all(&vec![0; self.sizes.block])?;
        }
        Ok(())
    }

    /// Whole blocks that the file has.
    pub(crate) fn in_file(&self) -> io::Result<usize> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let length = file.metadata()?.len() as usize;
        Ok(length.saturating_sub(self.sizes.header) / self.sizes.block)
    }

    /// Waits until the file is on disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.sync_all()
    }
}
