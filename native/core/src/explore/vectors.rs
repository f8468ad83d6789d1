//! The fragments of exploration in one mapped file that every worker of a machine reads and one of them
//! writes: a vector and the filterable data of each fragment, in the log's order. It is a cache: it can be
//! rebuilt.
//!
//! **Layout.** A header (magic, count, position, the last receipt seen, whether the file was replaced), then
//! blocks of [`BLOCK`] fragments: their vectors, their squared lengths, their facts. All bytes of a block are
//! written when it is added, so that a full disk is an error then, and never a SIGBUS later.
//!
//! **One writer, by a lock that its caller holds.** Fragments below the count never change, and the count
//! grows only after what it counts is written, so readers need no lock. A writer that is killed loses what it
//! had not counted yet. After a power cut, single pages may be missing: each fragment has a checksum, and
//! [`Vectors::verify`] truncates the file at the first wrong one.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::hint::black_box;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::nearest::{BLOCK, Best, Neighbour, square};
use crate::embed::static_model::{DIMENSION, Vector};
use crate::system::blocks::{Current, Layout, Magic, Mapped, MappedBlocks, PAGE, Sizes};

mod facts;

pub(crate) use facts::magic_of;
pub use facts::{Facts, Filter, RECEIPT_BYTES, hash_of};

/// The form of the file.
const FORM: [u8; 8] = *b"fgvectr2";
const HEADER_BYTES: usize = 4096;
/// Offsets of the header's numbers.
const COUNT_AT: usize = size_of::<Magic>();
const POSITION_AT: usize = COUNT_AT + 8;
const GIVEN_UP_AT: usize = POSITION_AT + 8;
const LAST_AT: usize = GIVEN_UP_AT + 8;

const VECTOR_BYTES: usize = BLOCK * DIMENSION;
const FACTS_AT: usize = VECTOR_BYTES + BLOCK * size_of::<u32>();
const BLOCK_BYTES: usize = FACTS_AT + BLOCK * size_of::<Facts>();

/// A file of vectors.
struct VectorFile;

impl Layout for VectorFile {
    const NAME: &'static str = "a file of vectors";
    const SIZES: Sizes = Sizes {
        header: HEADER_BYTES,
        block: BLOCK_BYTES,
    };
    const LEAST: usize = 0;
    const GIVEN_UP_AT: usize = GIVEN_UP_AT;
}

/// Most neighbours a fragment is linked to.
pub const LINKS: usize = 3;
/// Least similarity of a link.
pub const LINK_LEAST: f64 = 0.3;

/// A visitor's standing. More fragments rank first; of equal ones, the visitor who came first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Hash of the visitor.
    pub visitor: u64,
    /// Number of its fragments with distinct content.
    pub fragments: u32,
    /// Index of its first fragment.
    pub first: u32,
}

impl Ord for Standing {
    fn cmp(&self, other: &Self) -> Ordering {
        let fewer = other.fragments.cmp(&self.fragments);
        fewer
            .then(self.first.cmp(&other.first))
            .then(self.visitor.cmp(&other.visitor))
    }
}

impl PartialOrd for Standing {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// True if a fragment is hidden; `hidden`: indexes in order.
pub fn is_hidden(hidden: &[u32], index: u32) -> bool {
    hidden.binary_search(&index).is_ok()
}

/// Those of `hidden` in a range.
fn hidden_within(hidden: &[u32], range: Range<usize>) -> &[u32] {
    let place = |end: usize| hidden.partition_point(|&index| (index as usize) < end);
    &hidden[place(range.start)..place(range.end)]
}

/// State of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Number of fragments in it.
    pub count: u32,
    /// The last position of the log that was processed; some positions have no fragment here.
    pub position: u64,
    /// The receipt at that position.
    pub last_receipt: String,
}

/// Neighbours of a fragment among those before it.
pub type Links = Vec<Neighbour>;

/// The file as this process has mapped it.
type Mapping = MappedBlocks<VectorFile>;

impl Mapping {
    fn count(&self) -> usize {
        self.number(COUNT_AT).load(Acquire) as usize
    }

    /// The bytes of the last receipt, written before the position. A reader detects a torn one, as it
    /// compares the receipt with the log.
    fn last_bytes(&self) -> &[AtomicU8] {
        // SAFETY: the bytes lie in the header's page, and are accessed only as atomics.
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

    /// The first `count` fragments, as far as the file has blocks for them.
    fn view(&self, count: usize) -> io::Result<View> {
        let blocks = self.blocks.at_least(count.div_ceil(BLOCK))?;
        Ok(View { blocks, count })
    }
}

/// The first fragments of a file at the time of the call; valid as long as this lives.
pub struct View {
    blocks: Mapped,
    count: usize,
}

impl View {
    /// Number of fragments in it.
    pub fn count(&self) -> usize {
        self.count
    }

    fn vectors(&self, block: usize) -> &[Vector] {
        // SAFETY: a block begins with its vectors; those below the count never change again.
        unsafe {
            let first = self.blocks[block].as_ptr().cast::<Vector>();
            std::slice::from_raw_parts(first, self.within(block))
        }
    }

    fn squares(&self, block: usize) -> &[u32] {
        // SAFETY: the squares follow, aligned as the block is; those below the count never change again.
        unsafe {
            let first = self.blocks[block].as_ptr().add(VECTOR_BYTES).cast::<u32>();
            std::slice::from_raw_parts(first, self.within(block))
        }
    }

    fn block_facts(&self, block: usize) -> &[Facts] {
        // SAFETY: the facts follow, aligned as the block is; every bit pattern is valid, and those below the
        // count never change again.
        unsafe {
            let first = self.blocks[block].as_ptr().add(FACTS_AT).cast::<Facts>();
            std::slice::from_raw_parts(first, self.within(block))
        }
    }

    /// Number of fragments in a block.
    fn within(&self, block: usize) -> usize {
        (self.count - block * BLOCK).min(BLOCK)
    }

    /// A fragment's vector; the index must be below the count.
    pub fn vector(&self, index: usize) -> &Vector {
        &self.vectors(index / BLOCK)[index % BLOCK]
    }

    /// The view of only the first `count` fragments.
    pub fn first(&self, count: usize) -> Self {
        Self {
            blocks: self.blocks.clone(),
            count: count.min(self.count),
        }
    }

    /// A fragment's squared length.
    pub(crate) fn square(&self, index: usize) -> u32 {
        self.squares(index / BLOCK)[index % BLOCK]
    }

    /// A fragment's facts; the index must be below the count.
    pub fn facts(&self, index: usize) -> &Facts {
        &self.block_facts(index / BLOCK)[index % BLOCK]
    }

    /// Reads from every page, so that the system maps it.
    pub fn warm(&self) {
        for block in 0..self.count.div_ceil(BLOCK) {
            for vector in self.vectors(block).iter().step_by(PAGE / size_of::<Vector>()) {
                black_box(vector[0]);
            }
            black_box(self.squares(block).first());
            for facts in self.block_facts(block).iter().step_by(PAGE / size_of::<Facts>()) {
                black_box(facts.position);
            }
        }
    }

    /// Every fragment's facts, in order.
    pub fn all_facts(&self) -> impl Iterator<Item = &Facts> {
        (0..self.count.div_ceil(BLOCK)).flat_map(|block| self.block_facts(block))
    }

    /// The `most` fragments nearest to `query`, among those that are not `hidden` (indexes in order).
    pub fn nearest(&self, query: &Vector, most: usize, hidden: &[u32]) -> Vec<Neighbour> {
        let mut best = Best::new(most, 0.0);
        let query = (query, square(query));
        for block in 0..self.count.div_ceil(BLOCK) {
            let first = block * BLOCK;
            let (vectors, squares) = (self.vectors(block), self.squares(block));
            let hidden = hidden_within(hidden, first..first + vectors.len());
            let is_visible = |index| !is_hidden(hidden, index);
            best.scan_visible(query, first as u32, vectors, squares, is_visible);
        }
        best.take()
    }

    /// For each fragment in a range, the nearest ones before it that are not `hidden`; none for a hidden one.
    /// Each block is read once for all of them.
    pub fn links(&self, from: usize, to: usize, hidden: &[u32]) -> Vec<Links> {
        let to = to.min(self.count);
        let best = |index: usize| {
            let most = if is_hidden(hidden, index as u32) { 0 } else { LINKS };
            Best::new(most, LINK_LEAST)
        };
        let mut all: Vec<Best> = (from..to).map(best).collect();
        for block in 0..to.div_ceil(BLOCK) {
            let first = block * BLOCK;
            let (vectors, squares) = (self.vectors(block), self.squares(block));
            let hidden = hidden_within(hidden, first..first + vectors.len());
            for (index, best) in (from..to).zip(&mut all) {
                let before = index.saturating_sub(first).min(vectors.len());
                best.scan_visible(
                    (self.vector(index), self.square(index)),
                    first as u32,
                    &vectors[..before],
                    &squares[..before],
                    |other| !is_hidden(hidden, other),
                );
            }
        }
        all.into_iter().map(Best::take).collect()
    }

    /// Indexes of the fragments that match and are not `hidden`, from an index on, at most `most`.
    pub fn select(&self, filter: &Filter, from: usize, most: usize, hidden: &[u32]) -> Vec<u32> {
        let fitting = (from..self.count).filter(|&index| filter.fits(self.facts(index)));
        let visible = fitting
            .map(|index| index as u32)
            .filter(|&index| !is_hidden(hidden, index));
        visible.take(most).collect()
    }

    /// Indexes of the fragments with these receipts, from an index on, in order.
    pub fn places_of(&self, receipts: &HashSet<&str>, from: usize) -> Vec<u32> {
        let named = |&index: &usize| receipts.contains(self.facts(index).receipt());
        (from..self.count)
            .filter(named)
            .map(|index| index as u32)
            .collect()
    }

    /// Every visitor's standing, in rank order. Fragments that are hidden or have no visitor do not count.
    pub fn standings(&self, hidden: &[u32]) -> Vec<Standing> {
        // One allocation: a stranger can give every fragment another visitor.
        let mut counted: Vec<(u64, u64, u32)> = (0_u32..)
            .zip(self.all_facts())
            .filter(|(index, facts)| facts.visitor != 0 && !is_hidden(hidden, *index))
            .map(|(index, facts)| (facts.visitor, facts.content, index))
            .collect();
        counted.sort_unstable();
        let of_visitor = counted.chunk_by(|one, next| one.0 == next.0);
        let mut standings: Vec<Standing> = of_visitor
            .map(|fragments| Standing {
                visitor: fragments[0].0,
                fragments: fragments.chunk_by(|one, next| one.1 == next.1).count() as u32,
                first: fragments.iter().map(|one| one.2).min().unwrap_or(0),
            })
            .collect();
        standings.sort_unstable();
        standings
    }

    /// Those of `hidden` that it has.
    pub fn hidden<'a>(&self, hidden: &'a [u32]) -> &'a [u32] {
        &hidden[..hidden.partition_point(|&index| (index as usize) < self.count)]
    }

    /// Number of fragments that match.
    pub fn matching(&self, filter: &Filter) -> usize {
        self.all_facts().filter(|facts| filter.fits(facts)).count()
    }
}

/// The file of vectors. When its writer replaces it, the next call uses the new file.
pub struct Vectors {
    file: Current<VectorFile>,
}

impl Vectors {
    /// Keeps the file at `path` if it has this version and vectors made by `method`; otherwise creates an
    /// empty one. False if another file was replaced.
    pub fn prepare(path: &Path, method: &str) -> io::Result<bool> {
        let magic = magic_of(FORM, method);
        match Mapping::open(path, &magic) {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::NotFound) => {
                Mapping::create(path, &magic)?;
                Ok(error.kind() == ErrorKind::NotFound)
            }
            Err(error) => Err(error),
        }
    }

    /// Maps the file that was prepared for `method`.
    pub fn open(path: &Path, method: &str) -> io::Result<Self> {
        let file = Current::open(path, magic_of(FORM, method))?;
        Ok(Self { file })
    }

    /// The state of the file.
    pub fn state(&self) -> io::Result<State> {
        let mapping = self.file.get()?;
        // The position first: the fragments up to it are counted already.
        let position = mapping.number(POSITION_AT).load(Acquire);
        let count = mapping.count() as u32;
        Ok(State {
            count,
            position,
            last_receipt: mapping.last_receipt(),
        })
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> io::Result<u64> {
        self.file.get()?.blocks.bytes()
    }

    /// All fragments.
    pub fn all(&self) -> io::Result<View> {
        let mapping = self.file.get()?;
        mapping.view(mapping.count())
    }

    /// The fragments whose positions in the log are at most `position`.
    pub fn view(&self, position: u64) -> io::Result<View> {
        let mapping = self.file.get()?;
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
        let mapping = self.file.get()?;
        let count = mapping.count();
        mapping.blocks.grow(count / BLOCK + 1)?;
        let facts = Facts {
            checksum: facts.sum(vector),
            ..facts
        };
        let view = mapping.view(count + 1)?;
        let block = view.blocks[count / BLOCK].as_mut_ptr();
        let at = count % BLOCK;
        // SAFETY: the slots lie within the block, aligned; they are not below the count, so nobody reads
        // them, and this is the only writer.
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

    /// Records that the log was processed up to a position, and the receipt there. The caller is the only
    /// writer.
    pub fn see(&self, position: u64, receipt: &str) -> io::Result<()> {
        let mapping = self.file.get()?;
        mapping.set_last_receipt(receipt);
        mapping.number(POSITION_AT).store(position, Release);
        Ok(())
    }

    /// Checks every fragment and truncates the file at the first wrong one; returns the number of fragments
    /// cut off. The caller is the only writer, and readers either do not use those fragments yet or detect
    /// them as wrong.
    pub fn verify(&self) -> io::Result<u32> {
        let mapping = self.file.get()?;
        let count = mapping.count();
        let room = mapping.blocks.in_file()? * BLOCK;
        let view = mapping.view(count.min(room))?;
        let right = |index: &usize| {
            let (facts, vector) = (view.facts(*index), view.vector(*index));
            facts.checksum == facts.sum(vector) && view.square(*index) == square(vector)
        };
        let good = (0..view.count).take_while(right).count();
        let seen = mapping.number(POSITION_AT).load(Acquire);
        let last = good.checked_sub(1).map(|index| *view.facts(index));
        let reached = last.map_or(0, |facts| facts.position);
        // Truncated; or killed between storing the count and the position.
        if good < count || seen < reached {
            self.see(reached, last.as_ref().map_or("", Facts::receipt))?;
            mapping.number(COUNT_AT).store(good as u64, Release);
        }
        Ok((count - good) as u32)
    }

    /// Replaces the file by an empty one. The caller is the only writer.
    pub fn reset(&self) -> io::Result<()> {
        self.file.replace()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
