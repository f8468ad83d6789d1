//! The fragments of exploration in one mapped file that every worker of a machine reads and one of them
//! writes: a vector each and what is filtered by, in the log's order. A cache: it can always be made anew.
//!
//! **Layout.** A header (magic, count, position, the last receipt seen, whether the file was given up), then
//! blocks of [`BLOCK`] fragments: their vectors, their squared lengths, their facts. A block's bytes are all
//! written when it is added, so that a full disk refuses it then and kills nobody later.
//!
//! **One writer, by a lock that its caller holds.** What lies before the count never changes, and the count
//! grows after what it counts is there: readers need no lock. A writer that is killed loses what it had not
//! counted yet. After a power cut pages may be there or not, one by one: each fragment carries a checksum,
//! and [`Vectors::verify`] cuts the file at the first that is wrong.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU8, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use memmap2::{MmapOptions, MmapRaw};
use siphasher::sip::SipHasher24;

use crate::mapped;
use crate::nearest::{BLOCK, Best, Neighbour, square};
use crate::static_model::{DIMENSION, Vector};

/// The form of the file.
const FORM: [u8; 8] = *b"fgvectr2";
const HEADER_BYTES: usize = 4096;
/// Places of the header's numbers.
const COUNT_AT: usize = size_of::<Magic>();
const POSITION_AT: usize = COUNT_AT + 8;
const GIVEN_UP_AT: usize = POSITION_AT + 8;
const LAST_AT: usize = GIVEN_UP_AT + 8;

const VECTOR_BYTES: usize = BLOCK * DIMENSION;
const FACTS_AT: usize = VECTOR_BYTES + BLOCK * size_of::<u32>();
const BLOCK_BYTES: usize = FACTS_AT + BLOCK * size_of::<Facts>();

/// The form of the file and what made its vectors.
type Magic = [u8; 16];

/// First bytes of a file whose vectors were made by `method`.
fn magic_of(method: &str) -> Magic {
    let mut magic = [0; 16];
    magic[..8].copy_from_slice(&FORM);
    magic[8..].copy_from_slice(&hash_of(method).to_le_bytes());
    magic
}

/// Most bytes of a receipt's id.
pub const RECEIPT_BYTES: usize = 88;
/// Neighbours that a fragment is linked with.
pub const LINKS: usize = 3;
/// Least similarity of a link.
pub const LINK_LEAST: f64 = 0.3;

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
    checksum: u32,
    /// Its kind, by a number that the caller gives.
    pub kind: u8,
    receipt_length: u8,
    unused: [u8; 2],
    receipt_bytes: [u8; RECEIPT_BYTES],
}

impl Facts {
    /// Facts of a fragment; nothing where its receipt's id is too long.
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

    /// The checksum of a fragment: of its vector and of all facts but this one.
    fn sum(&self, vector: &Vector) -> u32 {
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

/// The hash by which texts are told apart here; 0 is left to the absent one.
pub fn hash_of(text: &str) -> u64 {
    if text.is_empty() {
        return 0;
    }
    SipHasher24::new().hash(text.as_bytes()).max(1)
}

/// A visitor's standing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Hash of the visitor.
    pub visitor: u64,
    /// Its fragments of different content.
    pub fragments: u32,
    /// Place of its first fragment.
    pub first: u32,
}

/// Position of the file in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Fragments in it.
    pub count: u32,
    /// The last position of the log that was looked at; not all have a fragment here.
    pub position: u64,
    /// The receipt there.
    pub last_receipt: String,
}

/// Filter of fragments; an absent member does not restrict.
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
    fn fits(&self, facts: &Facts) -> bool {
        self.kind.is_none_or(|kind| kind == facts.kind)
            && self.visitor.is_none_or(|visitor| visitor == facts.visitor)
            && self.since_ms.is_none_or(|since| since <= facts.received_at_ms)
    }
}

/// Neighbours of a fragment among those before it.
type Links = Vec<Neighbour>;

/// One file as this process has mapped it.
struct Mapping {
    file: Mutex<File>,
    header: MmapRaw,
    blocks: RwLock<Vec<Arc<MmapRaw>>>,
    /// Links that were asked for, by place: they never change, since later fragments have no part in them.
    links: Mutex<Vec<Option<Links>>>,
}

impl Mapping {
    fn open(path: &Path, magic: &Magic) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let foreign = || {
            let text = format!("{} is not a file of vectors of this version", path.display());
            io::Error::new(ErrorKind::InvalidData, text)
        };
        if file.metadata()?.len() < HEADER_BYTES as u64 {
            return Err(foreign());
        }
        let header = MmapOptions::new().len(HEADER_BYTES).map_raw(&file)?;
        // SAFETY: the mapping is longer than the magic, and nobody writes there once the file has its name.
        if unsafe { std::slice::from_raw_parts(header.as_ptr(), magic.len()) } != magic {
            return Err(foreign());
        }
        Ok(Self {
            file: Mutex::new(file),
            header,
            blocks: RwLock::default(),
            links: Mutex::default(),
        })
    }

    fn number(&self, at: usize) -> &AtomicU64 {
        // SAFETY: the header's numbers lie aligned in its page and are reached by atomics alone.
        unsafe { &*self.header.as_ptr().add(at).cast::<AtomicU64>() }
    }

    fn count(&self) -> usize {
        self.number(COUNT_AT).load(Acquire) as usize
    }

    /// The bytes of the receipt last seen, written before the position. A torn one is found out by its
    /// reader, who compares it with the log.
    fn last_bytes(&self) -> &[AtomicU8] {
        // SAFETY: the bytes lie in the header's page and are reached by atomics alone.
        unsafe {
            let first = self.header.as_ptr().add(LAST_AT).cast::<AtomicU8>();
            std::slice::from_raw_parts(first, RECEIPT_BYTES)
        }
    }

    fn last_receipt(&self) -> String {
        let bytes = self.last_bytes().iter().map(|byte| byte.load(Relaxed));
        let text: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
        String::from_utf8_lossy(&text).into_owned()
    }

    fn set_last_receipt(&self, receipt: &str) {
        let padded = receipt.bytes().chain(std::iter::repeat(0));
        for (byte, value) in self.last_bytes().iter().zip(padded) {
            byte.store(value, Relaxed);
        }
    }

    /// The first `count` fragments, as far as there are blocks for them in the file.
    fn view(self: &Arc<Self>, count: usize) -> io::Result<View> {
        let mapping = self.clone();
        let needed = count.div_ceil(BLOCK);
        {
            let blocks = self.blocks.read().unwrap_or_else(PoisonError::into_inner);
            if blocks.len() >= needed {
                return Ok(View {
                    mapping,
                    blocks: blocks[..needed].to_vec(),
                    count,
                });
            }
        }
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let length = file.metadata()?.len();
        let mut blocks = self.blocks.write().unwrap_or_else(PoisonError::into_inner);
        while blocks.len() < needed {
            let offset = (HEADER_BYTES + blocks.len() * BLOCK_BYTES) as u64;
            if length < offset + BLOCK_BYTES as u64 {
                return Err(io::Error::new(
                    ErrorKind::UnexpectedEof,
                    "the file of vectors was cut off",
                ));
            }
            let block = MmapOptions::new()
                .offset(offset)
                .len(BLOCK_BYTES)
                .map_raw(&*file)?;
            blocks.push(Arc::new(block));
        }
        Ok(View {
            mapping,
            blocks: blocks[..needed].to_vec(),
            count,
        })
    }

    /// Makes room for one more fragment.
    fn grow(&self, count: usize) -> io::Result<()> {
        let end = (HEADER_BYTES + (count / BLOCK + 1) * BLOCK_BYTES) as u64;
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let length = file.metadata()?.len();
        if length < end {
            let start = end - BLOCK_BYTES as u64;
            file.seek(SeekFrom::Start(start))?;
            file.write_all(&vec![0; BLOCK_BYTES])?;
        }
        Ok(())
    }
}

/// The first fragments of a file, as they were when it was asked for; good as long as this lives.
pub struct View {
    mapping: Arc<Mapping>,
    blocks: Vec<Arc<MmapRaw>>,
    count: usize,
}

impl View {
    /// Fragments in it.
    pub fn count(&self) -> usize {
        self.count
    }

    fn vectors(&self, block: usize) -> &[Vector] {
        // SAFETY: a block begins with its vectors; those before the count never change again.
        unsafe {
            let first = self.blocks[block].as_ptr().cast::<Vector>();
            std::slice::from_raw_parts(first, self.within(block))
        }
    }

    fn squares(&self, block: usize) -> &[u32] {
        // SAFETY: the squares follow, aligned as the block is; those before the count never change again.
        unsafe {
            let first = self.blocks[block].as_ptr().add(VECTOR_BYTES).cast::<u32>();
            std::slice::from_raw_parts(first, self.within(block))
        }
    }

    fn block_facts(&self, block: usize) -> &[Facts] {
        // SAFETY: the facts follow, aligned as the block is; every bit pattern is one, and those before the
        // count never change again.
        unsafe {
            let first = self.blocks[block].as_ptr().add(FACTS_AT).cast::<Facts>();
            std::slice::from_raw_parts(first, self.within(block))
        }
    }

    /// Fragments of a block.
    fn within(&self, block: usize) -> usize {
        (self.count - block * BLOCK).min(BLOCK)
    }

    /// A fragment's vector; the place must be before the count.
    pub fn vector(&self, index: usize) -> &Vector {
        &self.vectors(index / BLOCK)[index % BLOCK]
    }

    /// A fragment's squared length.
    fn square(&self, index: usize) -> u32 {
        self.squares(index / BLOCK)[index % BLOCK]
    }

    /// A fragment's facts; the place must be before the count.
    pub fn facts(&self, index: usize) -> &Facts {
        &self.block_facts(index / BLOCK)[index % BLOCK]
    }

    /// Every fragment's facts, in order.
    pub fn all_facts(&self) -> impl Iterator<Item = &Facts> {
        (0..self.blocks.len()).flat_map(|block| self.block_facts(block))
    }

    /// The nearest to a vector among those from a place on.
    pub fn nearest(&self, query: &Vector, most: usize, from: usize) -> Vec<Neighbour> {
        let mut best = Best::new(most, 0.0);
        let length = square(query);
        for block in from / BLOCK..self.blocks.len() {
            let skipped = from.saturating_sub(block * BLOCK).min(self.within(block));
            let first = (block * BLOCK + skipped) as u32;
            let (vectors, squares) = (&self.vectors(block)[skipped..], &self.squares(block)[skipped..]);
            best.scan(query, length, first, vectors, squares);
        }
        best.take()
    }

    /// As [`View::nearest`], among those at some places and those from a place on.
    pub fn rescore(&self, query: &Vector, most: usize, places: &[u32], from: usize) -> Vec<Neighbour> {
        let mut found = self.nearest(query, most, from);
        let length = square(query);
        for &index in places
            .iter()
            .filter(|&&index| (index as usize) < from.min(self.count))
        {
            let at = index as usize;
            let mut best = Best::new(1, 0.0);
            let (vectors, squares) = (std::slice::from_ref(self.vector(at)), [self.square(at)]);
            best.scan(query, length, index, vectors, &squares);
            found.extend(best.take());
        }
        found.sort_by(Neighbour::order);
        found.dedup_by_key(|neighbour| neighbour.index);
        found.truncate(most);
        found
    }

    /// For each fragment from a place to another the nearest among those before it. Each block is read once
    /// for all of them.
    fn find_links(&self, from: usize, to: usize) -> Vec<Links> {
        let mut all: Vec<Best> = (from..to).map(|_| Best::new(LINKS, LINK_LEAST)).collect();
        for block in 0..to.div_ceil(BLOCK) {
            let first = block * BLOCK;
            let (vectors, squares) = (self.vectors(block), self.squares(block));
            for (index, best) in (from..to).zip(&mut all) {
                let before = index.saturating_sub(first).min(vectors.len());
                let (vectors, squares) = (&vectors[..before], &squares[..before]);
                best.scan(
                    self.vector(index),
                    self.square(index),
                    first as u32,
                    vectors,
                    squares,
                );
            }
        }
        all.into_iter().map(Best::take).collect()
    }

    /// Links of the fragments from a place to another: up to [`LINKS`] each, to fragments before it. What was
    /// asked for once is known from then on.
    pub fn links(&self, from: usize, to: usize) -> Vec<Links> {
        let to = to.min(self.count);
        let mut known = self.mapping.links.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < to {
            known.resize(to, None);
        }
        let first = (from..to).find(|&at| known[at].is_none());
        let last = (from..to).rfind(|&at| known[at].is_none());
        if let (Some(first), Some(last)) = (first, last) {
            for (at, links) in (first..).zip(self.find_links(first, last + 1)) {
                known[at] = Some(links);
            }
        }
        (from..to)
            .map(|at| known[at].clone().unwrap_or_default())
            .collect()
    }

    /// Places of the fragments that fit, from a place on, at most so many.
    pub fn select(&self, filter: &Filter, from: usize, most: usize) -> Vec<u32> {
        let numbered = (0_u32..).zip(self.all_facts()).skip(from);
        let fitting = numbered.filter(|(_, facts)| filter.fits(facts));
        fitting.map(|(index, _)| index).take(most).collect()
    }

    /// Every visitor's standing, those with most fragments first, of equals the earlier. Fragments without a
    /// visitor have none.
    pub fn standings(&self) -> Vec<Standing> {
        let mut found: HashMap<u64, (u32, HashSet<u64>)> = HashMap::new();
        for (index, facts) in (0_u32..)
            .zip(self.all_facts())
            .filter(|(_, facts)| facts.visitor != 0)
        {
            let (_, contents) = found
                .entry(facts.visitor)
                .or_insert_with(|| (index, HashSet::new()));
            contents.insert(facts.content);
        }
        let standing = |(visitor, (first, contents)): (u64, (u32, HashSet<u64>))| Standing {
            visitor,
            fragments: contents.len() as u32,
            first,
        };
        let mut standings: Vec<Standing> = found.into_iter().map(standing).collect();
        standings.sort_by_key(|standing| (Reverse(standing.fragments), standing.first));
        standings
    }

    /// Capacity, in fragments.
    pub fn matching(&self, filter: &Filter) -> usize {
        self.all_facts().filter(|facts| filter.fits(facts)).count()
    }
}

/// The file of vectors. Where its writer gave it up for a new one, the next call has that.
pub struct Vectors {
    path: PathBuf,
    magic: Magic,
    mapping: RwLock<Arc<Mapping>>,
}

impl Vectors {
    /// Keeps a file of this version at `path` whose vectors were made by `method`, or makes it anew with
    /// nothing in it. False where another one lay there.
    pub fn prepare(path: &Path, method: &str) -> io::Result<bool> {
        let magic = magic_of(method);
        match Mapping::open(path, &magic) {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::NotFound) => {
                mapped::create(path, &magic, HEADER_BYTES)?;
                Ok(error.kind() == ErrorKind::NotFound)
            }
            Err(error) => Err(error),
        }
    }

    /// Maps the file that was prepared for `method`.
    pub fn open(path: &Path, method: &str) -> io::Result<Self> {
        let magic = magic_of(method);
        let mapping = RwLock::new(Arc::new(Mapping::open(path, &magic)?));
        Ok(Self {
            path: path.to_owned(),
            magic,
            mapping,
        })
    }

    fn current(&self) -> io::Result<Arc<Mapping>> {
        let mapping = self
            .mapping
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if mapping.number(GIVEN_UP_AT).load(Acquire) == 0 {
            return Ok(mapping);
        }
        let fresh = Arc::new(Mapping::open(&self.path, &self.magic)?);
        *self.mapping.write().unwrap_or_else(PoisonError::into_inner) = fresh.clone();
        Ok(fresh)
    }

    /// Its position in the log.
    pub fn state(&self) -> io::Result<State> {
        let mapping = self.current()?;
        // The position first: what it covers is counted already.
        let position = mapping.number(POSITION_AT).load(Acquire);
        let count = mapping.count() as u32;
        Ok(State {
            count,
            position,
            last_receipt: mapping.last_receipt(),
        })
    }

    /// The fragments whose positions in the log are at most `position`.
    pub fn view(&self, position: u64) -> io::Result<View> {
        let mapping = self.current()?;
        let all = mapping.view(mapping.count())?;
        let (mut low, mut high) = (0, all.count);
        while low < high {
            let middle = low.midpoint(high);
            if all.facts(middle).position <= position {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        mapping.view(low)
    }

    /// Adds a fragment. The caller is the only writer.
    pub fn append(&self, facts: Facts, vector: &Vector) -> io::Result<()> {
        let mapping = self.current()?;
        let count = mapping.count();
        mapping.grow(count)?;
        let facts = Facts {
            checksum: facts.sum(vector),
            ..facts
        };
        let view = mapping.view(count + 1)?;
        let block = view.blocks[count / BLOCK].as_mut_ptr();
        let at = count % BLOCK;
        // SAFETY: the places lie within the block, aligned; none is before the count, so that nobody reads
        // there, and this is the only writer.
        unsafe {
            block.cast::<Vector>().add(at).write(*vector);
            block
                .add(VECTOR_BYTES)
                .cast::<u32>()
                .add(at)
                .write(square(vector));
            block.add(FACTS_AT).cast::<Facts>().add(at).write(facts);
        }
        mapping.number(COUNT_AT).store(count as u64 + 1, Release);
        Ok(())
    }

    /// Notes that the log was looked at up to a position, whose receipt this is. The caller is the only
    /// writer.
    pub fn see(&self, position: u64, receipt: &str) -> io::Result<()> {
        let mapping = self.current()?;
        mapping.set_last_receipt(receipt);
        mapping.number(POSITION_AT).store(position, Release);
        Ok(())
    }

    /// Checks every fragment and cuts the file at the first that is wrong; returns how many were cut off. The
    /// caller is the only writer, and nobody reads yet what is cut off, or finds it wrong himself.
    pub fn verify(&self) -> io::Result<u32> {
        let mapping = self.current()?;
        let count = mapping.count();
        let in_file = mapping
            .file
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .metadata()?
            .len();
        let room = (in_file as usize - HEADER_BYTES) / BLOCK_BYTES * BLOCK;
        let view = mapping.view(count.min(room))?;
        let right = |index: &usize| {
            let (facts, vector) = (view.facts(*index), view.vector(*index));
            facts.checksum == facts.sum(vector) && view.square(*index) == square(vector)
        };
        let good = (0..view.count).take_while(right).count();
        let seen = mapping.number(POSITION_AT).load(Acquire);
        let last = good.checked_sub(1).map(|index| *view.facts(index));
        let reached = last.map_or(0, |facts| facts.position);
        // Counted, and killed before the position was noted; or cut off.
        if good < count || seen < reached {
            self.see(reached, last.as_ref().map_or("", Facts::receipt))?;
            mapping.number(COUNT_AT).store(good as u64, Release);
        }
        Ok((count - good) as u32)
    }

    /// Gives the file up for a new one with nothing in it. The caller is the only writer.
    pub fn reset(&self) -> io::Result<()> {
        let former = self.current()?;
        mapped::create(&self.path, &self.magic, HEADER_BYTES)?;
        former.number(GIVEN_UP_AT).store(1, Release);
        self.current()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::static_model::{Scratch, StaticModel, quantized, shipped};
    use std::sync::LazyLock;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::SeqCst;

    /// A file of its own for each test, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            static NEXT: AtomicUsize = AtomicUsize::new(0);
            let number = NEXT.fetch_add(1, SeqCst);
            let name = format!("fusegate-vectors-{}-{number}", std::process::id());
            Self(std::env::temp_dir().join(name))
        }

        fn opened(&self) -> Vectors {
            Vectors::prepare(&self.0, "test").expect("a file");
            Vectors::open(&self.0, "test").expect("the file")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn embed(text: &str) -> Vector {
        static MODEL: LazyLock<StaticModel> = LazyLock::new(shipped);
        quantized(&MODEL.embed(text, &mut Scratch::default()))
    }

    fn text(number: usize) -> String {
        let words = [
            "lattice", "ledger", "signal", "anchor", "proof", "relay", "witness", "strut",
        ];
        let word = |at: usize| words[(number * 31 + at * at * (number % 7 + 1)) % words.len()];
        format!("{} {} {} {}", word(1), word(2), word(3), number % 97)
    }

    /// Fills a file; every third position of the log has no fragment in it.
    fn fill(vectors: &Vectors, from: usize, to: usize) {
        for number in from..to {
            let position = (number + number / 2 + 1) as u64;
            let receipt = format!("fr_{number:026}");
            let mut facts =
                Facts::new(position, &receipt, number as u64 * 10, (number % 8) as u8).expect("room");
            facts.visitor = (number % 5) as u64;
            vectors.append(facts, &embed(&text(number))).expect("room");
            vectors.see(position, &receipt).expect("room");
        }
    }

    #[test]
    fn what_one_writes_another_reads_as_it_was_at_any_position() {
        let folder = Folder::new();
        let (writer, reader) = (folder.opened(), folder.opened());
        let many = 2 * BLOCK + 100;
        fill(&writer, 0, BLOCK + 3);
        assert_eq!(reader.view(u64::MAX).expect("a view").count(), BLOCK + 3);
        fill(&writer, BLOCK + 3, many);
        let state = reader.state().expect("a state");
        assert_eq!(
            (state.count as usize, state.last_receipt),
            (many, format!("fr_{:026}", many - 1))
        );
        for number in [0, 1, 2, BLOCK - 1, BLOCK, many - 1] {
            let facts = *reader.view(u64::MAX).expect("a view").facts(number);
            assert_eq!(facts.receipt(), format!("fr_{number:026}"));
            let then = reader.view(facts.position).expect("a view");
            assert_eq!(then.count(), number + 1);
            assert_eq!(then.vector(number), &embed(&text(number)));
        }
        assert_eq!(reader.view(0).expect("a view").count(), 0);
    }

    #[test]
    fn neighbours_and_links_agree_with_the_obvious_reading() {
        let folder = Folder::new();
        let vectors = folder.opened();
        fill(&vectors, 0, BLOCK + 200);
        let view = vectors.view(u64::MAX).expect("a view");
        let naive = |query: &Vector, from: usize, to: usize, most: usize, least: f64| {
            let mut all: Vec<Neighbour> = (from..to)
                .map(|index| Neighbour {
                    index: index as u32,
                    similarity: crate::nearest::similarity(query, view.vector(index)),
                })
                .filter(|one| one.similarity > least)
                .collect();
            all.sort_by(Neighbour::order);
            all.truncate(most);
            all
        };
        for number in (0..view.count()).step_by(97) {
            let query = view.vector(number);
            assert_eq!(
                view.nearest(query, 7, number),
                naive(query, number, view.count(), 7, 0.0)
            );
            let places: Vec<u32> = (0..number as u32).collect();
            assert_eq!(
                view.rescore(query, 7, &places, number),
                naive(query, 0, view.count(), 7, 0.0)
            );
        }
        let ranges = [
            (5, 9),
            (0, 3),
            (BLOCK - 2, BLOCK + 30),
            (3, 20),
            (1100, BLOCK + 200),
        ];
        for (from, to) in ranges {
            let links = view.links(from, to);
            assert_eq!(links.len(), to - from);
            for (index, links) in (from..to).zip(links) {
                assert_eq!(
                    links,
                    naive(view.vector(index), 0, index, LINKS, LINK_LEAST),
                    "{index}"
                );
            }
        }
    }

    #[test]
    fn filters_agree_with_the_obvious_reading() {
        let folder = Folder::new();
        let vectors = folder.opened();
        fill(&vectors, 0, 500);
        let view = vectors.view(u64::MAX).expect("a view");
        let filter = Filter {
            kind: Some(3),
            visitor: Some(1),
            since_ms: Some(1_000),
        };
        let fits = |number: &usize| number % 8 == 3 && number % 5 == 1 && *number >= 100;
        let all: Vec<u32> = (0..500).filter(fits).map(|number| number as u32).collect();
        assert_eq!(view.select(&filter, 0, 1_000), all);
        assert_eq!(view.matching(&filter), all.len());
        assert_eq!(view.select(&filter, all[1] as usize, 2), all[1..3]);
        assert_eq!(view.matching(&Filter::default()), 500);
    }

    #[test]
    fn a_file_of_another_method_is_made_anew() {
        let folder = Folder::new();
        let prepared = |method: &str| Vectors::prepare(&folder.0, method).expect("a file");
        assert!(prepared("test"));
        fill(&folder.opened(), 0, 3);
        assert!(prepared("test"));
        assert_eq!(folder.opened().state().expect("a state").count, 3);
        assert!(Vectors::open(&folder.0, "other").is_err());
        assert!(!prepared("other"));
        let other = Vectors::open(&folder.0, "other").expect("the file");
        assert_eq!(other.state().expect("a state").count, 0);
    }

    #[test]
    fn standings_count_different_contents() {
        let folder = Folder::new();
        let vectors = folder.opened();
        for (position, (visitor, content)) in
            (1..).zip([("b", 1), ("a", 1), ("", 1), ("a", 1), ("a", 2), ("c", 7)])
        {
            let mut facts = Facts::new(position, "r", 0, 0).expect("room");
            (facts.visitor, facts.content) = (hash_of(visitor), content);
            vectors.append(facts, &embed("x")).expect("room");
        }
        let row = |visitor: &str, fragments: u32, first: u32| Standing {
            visitor: hash_of(visitor),
            fragments,
            first,
        };
        let found = vectors.view(u64::MAX).expect("a view").standings();
        assert_eq!(found, [row("a", 2, 1), row("b", 1, 0), row("c", 1, 5)]);
    }

    #[test]
    fn what_a_power_cut_left_wrong_is_cut_off() {
        let folder = Folder::new();
        fill(&folder.opened(), 0, BLOCK + 50);
        for (at, good) in [(BLOCK + 20, BLOCK + 20), (7, 7)] {
            let block = HEADER_BYTES + at / BLOCK * BLOCK_BYTES;
            let mut file = OpenOptions::new().write(true).open(&folder.0).expect("the file");
            file.seek(SeekFrom::Start((block + at % BLOCK * DIMENSION) as u64))
                .expect("a place");
            file.write_all(&[77; 16]).expect("room");
            let vectors = folder.opened();
            let before = vectors.state().expect("a state").count as usize;
            assert_eq!(vectors.verify().expect("a check") as usize, before - good);
            let state = vectors.state().expect("a state");
            assert_eq!(state.count as usize, good);
            assert_eq!(state.last_receipt, format!("fr_{:026}", good - 1));
            assert_eq!(vectors.verify().expect("a check"), 0);
        }
        let vectors = folder.opened();
        fill(&vectors, 7, 30);
        assert_eq!(
            (
                vectors.verify().expect("a check"),
                vectors.state().expect("a state").count
            ),
            (0, 30)
        );
    }

    #[test]
    fn a_file_given_up_is_followed_by_a_new_one() {
        let folder = Folder::new();
        let (writer, reader) = (folder.opened(), folder.opened());
        fill(&writer, 0, 10);
        let held = reader.view(u64::MAX).expect("a view");
        writer.reset().expect("a new file");
        assert_eq!(reader.state().expect("a state").count, 0);
        fill(&writer, 0, 3);
        assert_eq!(reader.view(u64::MAX).expect("a view").count(), 3);
        assert_eq!(held.facts(9).receipt(), format!("fr_{:026}", 9));
    }

    #[test]
    fn another_file_is_made_anew() {
        let folder = Folder::new();
        std::fs::write(&folder.0, vec![1; HEADER_BYTES]).expect("a file");
        assert!(Vectors::open(&folder.0, "test").is_err());
        assert_eq!(folder.opened().state().expect("a state").count, 0);
    }
}
