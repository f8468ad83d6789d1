//! Vectors of texts that a model has computed, in one mapped file that the processes of a machine share. It
//! is a cache: missing vectors are computed again.
//!
//! **Layout.** A header (magic, dimension of a vector, number of sets, a clock of uses), then the sets of
//! [`WAYS`] slots each. A text's key determines its set; in a full set the least recently used slot is
//! evicted.
//!
//! **Readers take no lock.** A slot's sequence number is odd while it is written. If it is odd, or changed
//! while the bytes were read, the read finds nothing. Writers hold the file's lock, which the kernel releases
//! when its holder dies: a writer that meets an odd number knows that another was killed, and the slot is
//! free. After a power cut any page may be lost: each slot has a checksum.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64, fence};

use sha2::{Digest, Sha256};

use crate::system::mapped::{self, MappedFile};

const MAGIC: [u8; 8] = *b"fgembed1";
const HEADER_BYTES: usize = 4096;
/// Offsets of the header's numbers.
const DIMENSION_AT: usize = MAGIC.len();
const SETS_AT: usize = DIMENSION_AT + 8;
const CLOCK_AT: usize = SETS_AT + 8;

/// Slots in a set.
pub const WAYS: usize = 8;

/// Key of a text's vector: SHA-256 of the model's digest and the text.
pub type Key = [u8; 32];

/// Hashed after the bytes of a text with non-ASCII characters; no text contains this byte. Older vectors of
/// such texts, from before [`super::sight`], had length 1 whatever the model knew, so they must not be found
/// any more. Every model knows ASCII.
const SEEN: u8 = 0xFF;

/// The key of a text given in parts; `model`: SHA-256 of the model.
pub fn key(model: &[u8; 32], parts: &[&str]) -> Key {
    let mut hash = Sha256::new_with_prefix(model);
    parts.iter().for_each(|part| hash.update(part));
    if !parts.iter().all(|part| part.is_ascii()) {
        hash.update([SEEN]);
    }
    hash.finalize().into()
}

/// Header before a slot's vector.
#[repr(C, align(64))]
struct SlotHead {
    /// Odd while written; 0: never written.
    sequence: AtomicU32,
    checksum: AtomicU32,
    used: AtomicU64,
    key: [AtomicU64; 4],
    truncated: AtomicU32,
}

/// A key as numbers.
fn words(key: &Key) -> [u64; 4] {
    let mut words = [0; 4];
    for (word, bytes) in words.iter_mut().zip(key.as_chunks().0) {
        *word = u64::from_ne_bytes(*bytes);
    }
    words
}

fn slot_bytes(dimension: usize) -> usize {
    size_of::<SlotHead>() + (dimension * size_of::<f32>()).next_multiple_of(align_of::<SlotHead>())
}

fn file_bytes(dimension: usize, sets: usize) -> usize {
    HEADER_BYTES + sets * WAYS * slot_bytes(dimension)
}

fn checksum(key: &Key, truncated: bool, vector: &[f32]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(&[u8::from(truncated)]);
    for chunk in vector.chunks(64) {
        let mut bytes = [0; 256];
        for (bytes, number) in bytes.as_chunks_mut().0.iter_mut().zip(chunk) {
            *bytes = number.to_bits().to_le_bytes();
        }
        hasher.update(&bytes[..size_of_val(chunk)]);
    }
    hasher.finalize()
}

/// The cache in one process.
pub struct Embeddings {
    file: MappedFile,
    dimension: usize,
    sets: usize,
}

/// The header's numbers, if the file is of this version.
fn header(path: &Path) -> io::Result<(usize, usize)> {
    use std::io::Read;
    let mut bytes = [0; CLOCK_AT];
    fs::File::open(path)?.read_exact(&mut bytes)?;
    let number = |at: usize| {
        let mut number = [0; 8];
        number.copy_from_slice(&bytes[at..at + 8]);
        u64::from_ne_bytes(number) as usize
    };
    if bytes[..MAGIC.len()] != MAGIC {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok((number(DIMENSION_AT), number(SETS_AT)))
}

impl Embeddings {
    /// Creates the file at `path`, empty, unless it exists with this size. `bytes`: most bytes of the file;
    /// `dimension`: largest dimension of a vector.
    pub fn prepare(path: &Path, bytes: u64, dimension: usize) -> io::Result<()> {
        let set = (WAYS * slot_bytes(dimension)) as u64;
        let sets = (bytes.saturating_sub(HEADER_BYTES as u64) / set).max(1) as usize;
        let length = file_bytes(dimension, sets);
        let fits = header(path).is_ok_and(|found| found == (dimension, sets))
            && fs::metadata(path).is_ok_and(|data| data.len() == length as u64);
        if fits {
            return Ok(());
        }
        let mut header = MAGIC.to_vec();
        header.extend((dimension as u64).to_ne_bytes());
        header.extend((sets as u64).to_ne_bytes());
        mapped::create(path, &header, length)
    }

    /// Maps the prepared file.
    pub fn open(path: &Path) -> io::Result<Self> {
        let (dimension, sets) = header(path)?;
        let length = file_bytes(dimension, sets);
        let file = MappedFile::open(path, &MAGIC, length, "embeddings")?;
        Ok(Self {
            file,
            dimension,
            sets,
        })
    }

    /// Largest dimension of a vector.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Reads the vector of a key into `vector`; returns true if the model read only the first part of its
    /// text, and `None` if it is not cached.
    pub fn get(&self, key: &Key, vector: &mut [f32]) -> Option<bool> {
        if vector.len() > self.dimension {
            return None;
        }
        let words = words(key);
        let clock = self.clock().fetch_add(1, Relaxed);
        for way in 0..WAYS {
            let (head, numbers) = self.slot(self.set(&words), way);
            let before = head.sequence.load(Acquire);
            let same = head
                .key
                .iter()
                .zip(words)
                .all(|(kept, word)| kept.load(Relaxed) == word);
            if !same || before == 0 || before % 2 == 1 {
                continue;
            }
            let truncated = head.truncated.load(Relaxed) != 0;
            let sum = head.checksum.load(Relaxed);
            for (number, kept) in vector.iter_mut().zip(numbers) {
                *number = f32::from_bits(kept.load(Relaxed));
            }
            fence(Acquire);
            let whole = head.sequence.load(Relaxed) == before && sum == checksum(key, truncated, vector);
            if whole {
                head.used.store(clock, Relaxed);
                return Some(truncated);
            }
        }
        None
    }

    /// Caches a vector, unless it is too long or the system refuses the lock.
    pub fn put(&self, key: &Key, vector: &[f32], truncated: bool) {
        let lock = self.file.lock();
        if !lock.is_held() || vector.len() > self.dimension {
            return;
        }
        let words = words(key);
        let set = self.set(&words);
        let way = (0..WAYS)
            .min_by_key(|&way| self.staying(set, way, &words))
            .unwrap_or(0);
        let (head, numbers) = self.slot(set, way);
        let writing = head.sequence.load(Relaxed) | 1;
        head.sequence.store(writing, Relaxed);
        fence(Release);
        for (kept, word) in head.key.iter().zip(words) {
            kept.store(word, Relaxed);
        }
        for (kept, number) in numbers.iter().zip(vector) {
            kept.store(number.to_bits(), Relaxed);
        }
        head.truncated.store(u32::from(truncated), Relaxed);
        head.checksum.store(checksum(key, truncated, vector), Relaxed);
        head.used.store(self.clock().fetch_add(1, Relaxed), Relaxed);
        // Past the largest number it would wrap to 0, which means never written.
        head.sequence.store(writing.wrapping_add(1).max(2), Release);
    }

    /// Rank of a slot for eviction; the caller holds the lock. The key's own slot comes first, then a free
    /// one, then by use.
    fn staying(&self, set: usize, way: usize, words: &[u64; 4]) -> (u8, u64) {
        let (head, _) = self.slot(set, way);
        let sequence = head.sequence.load(Relaxed);
        if sequence == 0 || sequence % 2 == 1 {
            return (1, 0);
        }
        let own = head
            .key
            .iter()
            .zip(words)
            .all(|(kept, &word)| kept.load(Relaxed) == word);
        if own { (0, 0) } else { (2, head.used.load(Relaxed)) }
    }

    fn set(&self, words: &[u64; 4]) -> usize {
        (words[0] % self.sets as u64) as usize
    }

    fn clock(&self) -> &AtomicU64 {
        // SAFETY: the header's numbers are aligned in its page; this one is accessed only atomically.
        unsafe { &*self.file.start().add(CLOCK_AT).cast::<AtomicU64>() }
    }

    fn slot(&self, set: usize, way: usize) -> (&SlotHead, &[AtomicU32]) {
        debug_assert!(set < self.sets && way < WAYS);
        let at = HEADER_BYTES + (set * WAYS + way) * slot_bytes(self.dimension);
        // SAFETY: `open` verified that the mapping holds all slots; they begin page-aligned and are multiples
        // of the head's alignment apart; every bit pattern is a slot, and all processes access it atomically.
        unsafe {
            let start = self.file.start().add(at);
            let numbers = start.add(size_of::<SlotHead>()).cast::<AtomicU32>();
            (
                &*start.cast::<SlotHead>(),
                std::slice::from_raw_parts(numbers, self.dimension),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::PathBuf;
    use std::sync::atomic::Ordering::SeqCst;
    use std::sync::atomic::{AtomicBool, AtomicUsize};

    const DIMENSION: usize = 20;

    /// A separate file for each test, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            static NEXT: AtomicUsize = AtomicUsize::new(0);
            let number = NEXT.fetch_add(1, SeqCst);
            let name = format!("fusegate-embeddings-{}-{number}", std::process::id());
            Self(std::env::temp_dir().join(name))
        }

        /// A cache of `sets` sets.
        fn made(&self, sets: usize) -> Embeddings {
            let bytes = file_bytes(DIMENSION, sets) as u64;
            Embeddings::prepare(&self.0, bytes, DIMENSION).expect("a file");
            Embeddings::open(&self.0).expect("the file")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    /// A key for set `number % sets`, and its vector.
    fn text(number: u64) -> (Key, Vec<f32>) {
        let mut key = [7; 32];
        key[..8].copy_from_slice(&number.to_ne_bytes());
        (
            key,
            (0..DIMENSION)
                .map(|at| number as f32 + at as f32 / 64.0)
                .collect(),
        )
    }

    fn found(cache: &Embeddings, number: u64) -> Option<bool> {
        let (key, expected) = text(number);
        let mut vector = vec![0.0; DIMENSION];
        let found = cache.get(&key, &mut vector);
        assert!(found.is_none() || vector == expected);
        found
    }

    fn put(cache: &Embeddings, number: u64, truncated: bool) {
        let (key, vector) = text(number);
        cache.put(&key, &vector, truncated);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        /// The obvious implementation: a list for each set, most recently used last.
        #[test]
        fn agree_with_the_obvious_reading(
            steps in prop::collection::vec((any::<bool>(), 0..40_u64, any::<bool>()), 1..300)
        ) {
            let folder = Folder::new();
            let (cache, reader) = (folder.made(2), Embeddings::open(&folder.0).expect("the file"));
            let mut naive: [Vec<(u64, bool)>; 2] = Default::default();
            for (puts, number, truncated) in steps {
                let list = &mut naive[(number % 2) as usize];
                let known = list.iter().position(|one| one.0 == number).map(|at| list.remove(at));
                if puts {
                    put(&cache, number, truncated);
                    if list.len() == WAYS {
                        list.remove(0);
                    }
                    list.push((number, truncated));
                } else {
                    prop_assert_eq!(found(&reader, number), known.map(|one| one.1));
                    list.extend(known);
                }
            }
        }
    }

    #[test]
    fn many_threads_see_whole_vectors() {
        let folder = Folder::new();
        drop(folder.made(1));
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..2_u64)
                .map(|thread| {
                    let path = &folder.0;
                    scope.spawn(move || {
                        let cache = Embeddings::open(path).expect("the file");
                        (0..20_000_u64).for_each(|round| put(&cache, (round * 7 + thread) % 12, false));
                    })
                })
                .collect();
            for _ in 0..2 {
                scope.spawn(|| {
                    let cache = Embeddings::open(&folder.0).expect("the file");
                    while !done.load(SeqCst) {
                        assert!((0..12).filter_map(|number| found(&cache, number)).all(|cut| !cut));
                    }
                });
            }
            writers
                .into_iter()
                .for_each(|writer| writer.join().expect("a writer"));
            done.store(true, SeqCst);
        });
        let cache = Embeddings::open(&folder.0).expect("the file");
        assert_eq!(
            (0..12).filter(|&number| found(&cache, number).is_some()).count(),
            WAYS
        );
    }

    #[test]
    fn what_a_killed_writer_left_is_no_vector_and_its_slot_is_used_again() {
        let folder = Folder::new();
        let cache = folder.made(1);
        (0..WAYS as u64).for_each(|number| put(&cache, number, false));
        let (head, numbers) = cache.slot(0, 3);
        head.sequence.fetch_add(1, SeqCst);
        assert_eq!(found(&cache, 3), None);
        put(&cache, 100, true);
        assert_eq!(found(&cache, 100), Some(true));
        assert!((0..8).all(|number| found(&cache, number).is_some() == (number != 3)));
        assert_eq!(head.sequence.load(SeqCst) % 2, 0);
        // A page lost by a power cut.
        numbers[5].store(0, SeqCst);
        assert_eq!(found(&cache, 100), None);
        put(&cache, 100, false);
        assert_eq!(found(&cache, 100), Some(false));
        cache.slot(0, 0).0.sequence.store(u32::MAX, SeqCst);
        put(&cache, 200, false);
        assert_eq!(found(&cache, 200), Some(false));
    }

    #[test]
    fn the_file_is_kept_where_it_fits_and_made_anew_where_not() {
        let folder = Folder::new();
        let cache = folder.made(3);
        put(&cache, 1, false);
        assert_eq!(found(&folder.made(3), 1), Some(false));
        assert_eq!(found(&folder.made(2), 1), None);
        fs::write(&folder.0, b"fgembed1").expect("a file");
        assert!(Embeddings::open(&folder.0).is_err());
        assert_eq!(found(&folder.made(2), 1), None);
        let mut short = vec![0.0; DIMENSION + 1];
        assert_eq!(folder.made(2).get(&text(1).0, &mut short), None);
    }

    #[test]
    fn keys_tell_models_and_texts_apart() {
        assert_eq!(key(&[1; 32], &["a", "bc"]), key(&[1; 32], &["abc"]));
        assert_ne!(key(&[1; 32], &["abc"]), key(&[2; 32], &["abc"]));
        assert_ne!(key(&[1; 32], &["abc"]), key(&[1; 32], &["abd"]));
        let plain = |text: &str| -> Key {
            Sha256::new_with_prefix([1; 32])
                .chain_update(text)
                .finalize()
                .into()
        };
        assert_eq!(key(&[1; 32], &["abc"]), plain("abc"));
        assert_ne!(key(&[1; 32], &["é"]), plain("é"));
        assert_eq!(key(&[1; 32], &["é", "a"]), key(&[1; 32], &["éa"]));
    }
}
