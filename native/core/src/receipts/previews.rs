//! Previews of fragments that await confirmation, in one mapped file that all workers share.
//!
//! **Layout.** A header (magic, end), a table of chains, then the arena: a ring of consecutive records.
//! Places count from the file's creation and never wrap, so a record exists as long as its place is within
//! one arena of the end. The oldest are evicted first; nothing else is evicted early. A token's chain starts
//! at its bucket and leads from the newest record to older ones.
//!
//! **Everything happens under the file's lock**, which the kernel releases when its holder dies. A process
//! killed while it writes loses its own record, and perhaps those that the ring evicted for it: the end moves
//! before bytes are written, and the chain points to a record only afterwards.

use std::io;
use std::path::Path;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU64, fence};

use crate::system::mapped::{self, Locked, MappedFile};

const MAGIC: [u8; 8] = *b"fgprevw1";
/// Number of chains.
const BUCKETS: usize = 1 << 14;
/// Bytes before the chains: the magic, the end, zeros.
const HEADER_BYTES: usize = 4096;
const ARENA_AT: usize = HEADER_BYTES + BUCKETS * size_of::<AtomicU64>();
/// Bytes for records: at least 1,000 of the largest.
pub const ARENA_BYTES: usize = 16 << 20;
const FILE_BYTES: usize = ARENA_AT + ARENA_BYTES;
/// The first place; 0 ends a chain.
const FIRST: u64 = ALIGNMENT as u64;
const ALIGNMENT: usize = 8;

/// A confirmation token's 32 bytes.
pub type Token = [u8; 32];

/// Header before a record's payload.
#[repr(C)]
#[derive(Clone, Copy)]
struct RecordHead {
    /// Place of the next older record in the chain; 0: none.
    previous: u64,
    expires_at_ms: u64,
    length: u64,
    token: Token,
}

const HEAD_BYTES: usize = size_of::<RecordHead>();

/// A stored preview.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// The contents as stored.
    pub payload: Vec<u8>,
    /// When it expires (ms since 1970).
    pub expires_at_ms: u64,
}

/// The previews in one process.
pub struct Previews {
    file: MappedFile,
}

fn bucket(token: &Token) -> usize {
    usize::from(u16::from_le_bytes([token[0], token[1]])) % BUCKETS
}

impl Previews {
    /// Creates the file again, empty.
    pub fn create(path: &Path) -> io::Result<()> {
        let mut header = MAGIC.to_vec();
        header.extend(FIRST.to_ne_bytes());
        mapped::create(path, &header, FILE_BYTES)
    }

    /// Maps the file.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = MappedFile::open(path, &MAGIC, FILE_BYTES, "previews")?;
        Ok(Self { file })
    }

    /// Stores a payload under a token until it expires or is evicted; an earlier one of the same token is no
    /// longer found. False if it is larger than a quarter of the arena, or the system refuses the lock.
    pub fn put(&self, token: &Token, payload: &[u8], expires_at_ms: u64) -> bool {
        let lock = self.file.lock();
        if !lock.is_held() || payload.len() > ARENA_BYTES / 4 {
            return false;
        }
        let place = self.reserve(&lock, HEAD_BYTES + payload.len());
        let chain = &self.chains()[bucket(token)];
        let head = RecordHead {
            previous: chain.load(SeqCst),
            expires_at_ms,
            length: payload.len() as u64,
            token: *token,
        };
        let start = self.at(place);
        // SAFETY: `reserve` found room for head and payload in the arena at `place`, which is aligned for a
        // head; the lock excludes all other access to the arena.
        unsafe {
            start.cast::<RecordHead>().write(head);
            start
                .add(HEAD_BYTES)
                .copy_from_nonoverlapping(payload.as_ptr(), payload.len());
        }
        fence(SeqCst);
        chain.store(place, SeqCst);
        true
    }

    /// The newest preview of a token, unless it has expired.
    pub fn get(&self, token: &Token, now_ms: u64) -> Option<Preview> {
        let lock = self.file.lock();
        if !lock.is_held() {
            return None;
        }
        let mut place = self.chains()[bucket(token)].load(SeqCst);
        while let Some(head) = self.head(&lock, place) {
            if head.token == *token {
                return (head.expires_at_ms > now_ms).then(|| Preview {
                    payload: self.payload(&lock, place, &head),
                    expires_at_ms: head.expires_at_ms,
                });
            }
            // Only backwards, whatever a killed process left: so the chain ends.
            place = if head.previous < place { head.previous } else { 0 };
        }
        None
    }

    /// Moves the end past a new record of `length` bytes, and returns its place.
    fn reserve(&self, _: &Locked<'_>, length: usize) -> u64 {
        let end = self.end().load(SeqCst);
        let length = length.next_multiple_of(ALIGNMENT) as u64;
        let left = ARENA_BYTES as u64 - end % ARENA_BYTES as u64;
        let place = if length > left { end + left } else { end };
        self.end().store(place + length, SeqCst);
        fence(SeqCst);
        place
    }

    /// The head of the record at a place; `None` if it is gone.
    fn head(&self, _: &Locked<'_>, place: u64) -> Option<RecordHead> {
        let end = self.end().load(SeqCst);
        let there = place >= FIRST && place < end && end - place <= ARENA_BYTES as u64;
        let room = ARENA_BYTES as u64 - place % ARENA_BYTES as u64;
        if !there || !place.is_multiple_of(ALIGNMENT as u64) || room < HEAD_BYTES as u64 {
            return None;
        }
        // SAFETY: the head is within the arena and aligned; every bit pattern is valid, and the lock excludes
        // writers.
        let head = unsafe { self.at(place).cast::<RecordHead>().read() };
        (head.length <= room - HEAD_BYTES as u64).then_some(head)
    }

    fn payload(&self, _: &Locked<'_>, place: u64, head: &RecordHead) -> Vec<u8> {
        // SAFETY: `head` verified that the payload is within the arena; the lock excludes writers.
        unsafe { std::slice::from_raw_parts(self.at(place).add(HEAD_BYTES), head.length as usize) }.to_vec()
    }

    fn end(&self) -> &AtomicU64 {
        // SAFETY: the eight bytes after the magic are aligned and accessed only atomically.
        unsafe { &*self.file.start().add(MAGIC.len()).cast::<AtomicU64>() }
    }

    fn chains(&self) -> &[AtomicU64] {
        // SAFETY: BUCKETS numbers fit between header and arena, aligned, and accessed only atomically.
        unsafe {
            let first = self.file.start().add(HEADER_BYTES).cast::<AtomicU64>();
            std::slice::from_raw_parts(first, BUCKETS)
        }
    }

    /// The byte at a place. Places are multiples of the alignment, and so is the arena's start.
    fn at(&self, place: u64) -> *mut u8 {
        // SAFETY: the remainder is within the arena.
        unsafe {
            self.file
                .start()
                .add(ARENA_AT + (place % ARENA_BYTES as u64) as usize)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use std::path::PathBuf;
    use std::sync::atomic::AtomicUsize;

    /// A separate file for each test, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            static NEXT: AtomicUsize = AtomicUsize::new(0);
            let name = format!(
                "fusegate-previews-{}-{}",
                std::process::id(),
                NEXT.fetch_add(1, SeqCst)
            );
            Self(std::env::temp_dir().join(name))
        }

        fn made(&self) -> Previews {
            Previews::create(&self.0).expect("a file");
            Previews::open(&self.0).expect("the file")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    /// The obvious implementation: a queue of records by place, the oldest evicted first.
    #[derive(Default)]
    struct Naive {
        records: VecDeque<(u64, Token, Preview)>,
        end: u64,
    }

    impl Naive {
        fn put(&mut self, token: Token, payload: Vec<u8>, expires_at_ms: u64) {
            let arena = ARENA_BYTES as u64;
            let length = (HEAD_BYTES + payload.len()).div_ceil(8) as u64 * 8;
            let start = self.end.max(FIRST);
            let place = if start % arena + length > arena {
                start.next_multiple_of(arena)
            } else {
                start
            };
            self.end = place + length;
            let end = self.end;
            self.records.retain(|(place, ..)| place + arena >= end);
            let preview = Preview {
                payload,
                expires_at_ms,
            };
            self.records.push_back((place, token, preview));
        }

        fn get(&self, token: &Token, now_ms: u64) -> Option<Preview> {
            let (.., preview) = self.records.iter().rev().find(|(_, other, _)| other == token)?;
            (preview.expires_at_ms > now_ms).then(|| preview.clone())
        }
    }

    /// One of 40 tokens in two buckets.
    fn token(number: u8) -> Token {
        let mut token = [0; 32];
        token[0] = number % 2;
        token[31] = number % 40;
        token
    }

    #[derive(Clone, Debug)]
    enum Step {
        Put(u8, usize, u64),
        Get(u8, u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let size = prop_oneof![0..64_usize, 1_000..20_000_usize, 1_500_000..4_000_000_usize];
        let put = (any::<u8>(), size, 0..20_u64).prop_map(|(token, size, at)| Step::Put(token, size, at));
        let get = (any::<u8>(), 0..20_u64).prop_map(|(token, at)| Step::Get(token, at));
        prop::collection::vec(prop_oneof![put, get], 1..60)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn agree_with_the_obvious_reading(steps in steps()) {
            let folder = Folder::new();
            let (writer, mut naive) = (folder.made(), Naive::default());
            let reader = Previews::open(&folder.0).expect("the file");
            for (count, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Put(number, size, expires) => {
                        let payload = vec![count as u8; size];
                        prop_assert!(writer.put(&token(number), &payload, expires));
                        naive.put(token(number), payload, expires);
                    }
                    Step::Get(number, now) => {
                        let found = reader.get(&token(number), now);
                        prop_assert!(found == naive.get(&token(number), now));
                    }
                }
            }
            for number in 0..40 {
                prop_assert!(writer.get(&token(number), 0) == naive.get(&token(number), 0));
            }
        }
    }

    #[test]
    fn many_threads_and_mappings_see_whole_records() {
        let folder = Folder::new();
        drop(folder.made());
        std::thread::scope(|scope| {
            for thread in 0..4_u8 {
                let path = &folder.0;
                scope.spawn(move || {
                    let previews = Previews::open(path).expect("the file");
                    for round in 0..400_usize {
                        let size = 10_000 + round * 37 % 30_000;
                        let own = token(thread.wrapping_add(round as u8));
                        assert!(previews.put(&own, &vec![own[31]; size], 1));
                        let other = token((round * 7) as u8);
                        let found = previews.get(&other, 0);
                        assert!(
                            found.is_none_or(|found| found.payload.iter().all(|&byte| byte == other[31]))
                        );
                    }
                });
            }
        });
    }

    #[test]
    fn what_is_not_ours_is_refused() {
        let folder = Folder::new();
        std::fs::write(&folder.0, b"fgprevw1").expect("a file");
        assert!(Previews::open(&folder.0).is_err());
        std::fs::write(&folder.0, vec![0; FILE_BYTES]).expect("a file");
        assert!(Previews::open(&folder.0).is_err());
        assert!(!folder.made().put(&token(1), &vec![0; ARENA_BYTES / 4 + 1], 1));
    }

    #[test]
    fn a_damaged_chain_is_only_lost() {
        let folder = Folder::new();
        let previews = folder.made();
        assert!(previews.put(&token(1), b"x", 1));
        for place in [1, 8, 12, u64::MAX, ARENA_BYTES as u64, ARENA_BYTES as u64 - 8] {
            previews.chains()[bucket(&token(1))].store(place, SeqCst);
            let found = previews.get(&token(1), 0);
            assert_eq!(found.is_some(), place == 8, "{place}");
        }
    }
}
