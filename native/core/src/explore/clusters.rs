//! The index of exploration: a tree of clusters of the fragments' vectors, in one mapped file that every
//! worker of a machine reads and one of them writes. It is a cache: it can be rebuilt from the vectors.
//!
//! **Structure.** A node is a cluster: its centroid (`middle`), and the indexes of its fragments in the log's
//! order (`places`). A full node is divided into two ([`mod@divide`]), and later fragments go to its halves.
//! A vector that many fragments share gets a node of its own, which grows by a chain of nodes.
//!
//! **Every state of the log at once.** A node that was divided keeps its indexes, and records the number of
//! fragments at which it was divided. A search among the first `count` fragments treats a node that was
//! divided later as undivided, and skips later indexes. Its answer depends on these fragments alone, whenever
//! it is asked.
//!
//! **One writer, by a lock that its caller holds.** A node is complete before its parent says that it was
//! divided, and indexes never move, so readers need no lock. A writer that is killed leaves at most a node
//! that nothing refers to; the fragment that it was inserting is inserted only once. After a power cut, some
//! pages may be missing: [`Clusters::begin`] has the index rebuilt unless it was closed, or the machine has
//! not been restarted.

use std::hint::black_box;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

use super::nearest::{similarity, square};
use super::vectors::{View, hash_of, magic_of};
use crate::embed::static_model::{DIMENSION, Vector, quantized};
use crate::system::blocks::{Current, Layout, Magic, Mapped, MappedBlocks, Sizes};
use divide::{Division, divide};
use sketch::{GROUP, Group, WORDS, sketch};

pub mod board;
mod divide;
mod search;
mod sketch;

pub use search::{Cluster, Effort};

/// The form of the file.
const FORM: [u8; 8] = *b"fgindex3";
const HEADER_BYTES: usize = 4096;
/// Offsets of the header's numbers: fragments and the last one's checksum; nodes; whether the file was
/// replaced; the boot id of the machine that last wrote.
const STATE_AT: usize = size_of::<Magic>();
const NODES_AT: usize = STATE_AT + 8;
const GIVEN_UP_AT: usize = NODES_AT + 8;
const BOOT_AT: usize = GIVEN_UP_AT + 8;
const BOARD_AT: usize = BOOT_AT + 8;

/// Most indexes in a node.
const PLACES: usize = 448;
/// Nodes of a block of the file, which is a whole number of pages.
const BLOCK_NODES: usize = 64;
const ROOT: u32 = 0;
/// More levels than any valid tree has: a search in a damaged one stops there.
const MOST_LEVELS: usize = 512;

/// An ordinary cluster.
const CLUSTER: u32 = 0;
/// A node whose fragments all have the same vector, its centroid.
const SAME: u32 = 1;
/// A continuation of such a node.
const CHAIN: u32 = 2;

/// The numbers of a node that a search reads on its way down the levels. `kind` and `square` are written
/// before anything leads to the node.
#[repr(C)]
#[derive(Default)]
struct Head {
    kind: u32,
    /// The middle's squared length.
    square: u32,
    /// Number of its places.
    length: AtomicU32,
    /// At least the last of them.
    latest: AtomicU32,
    /// The count of fragments from which on it is divided; 0: it is not.
    divided: AtomicU32,
    halves: [AtomicU32; 2],
    /// Next node of its chain; 0: none. `last` is the node at the end, where the writer appends.
    next: AtomicU32,
    last: AtomicU32,
    unused: [u32; 7],
}

/// The places of a node, and the sketches of their vectors.
#[repr(C)]
struct Members {
    places: [AtomicU32; PLACES],
    sketches: [[[AtomicU64; GROUP]; WORDS]; PLACES / GROUP],
}

/// Nodes as they lie in the file. All heads lie together, and all middles: a search compares most nodes of a
/// level, but reads the members of few.
#[repr(C)]
struct Block {
    heads: [Head; BLOCK_NODES],
    middles: [Vector; BLOCK_NODES],
    members: [Members; BLOCK_NODES],
}

/// The file of an index.
struct IndexFile;

impl Layout for IndexFile {
    const NAME: &'static str = "an index";
    const SIZES: Sizes = Sizes {
        header: HEADER_BYTES,
        block: size_of::<Block>(),
    };
    // The root is in the first one.
    const LEAST: usize = 1;
    const GIVEN_UP_AT: usize = GIVEN_UP_AT;
}

const _: () = assert!(size_of::<Block>().is_multiple_of(4096) && size_of::<Head>() == 64);
const _: () = assert!(PLACES.is_multiple_of(GROUP));

/// A node.
#[derive(Clone, Copy)]
struct Node<'a> {
    head: &'a Head,
    middle: &'a Vector,
    members: &'a Members,
}

impl<'a> Node<'a> {
    fn kind(self) -> u32 {
        self.head.kind
    }

    /// Its halves, if it is divided in the state of `count` fragments.
    fn halves(self, count: u32) -> Option<[u32; 2]> {
        let divided = self.head.divided.load(Acquire);
        let there = divided != 0 && divided <= count;
        there.then(|| self.head.halves.each_ref().map(|half| half.load(Relaxed)))
    }

    fn length(self) -> usize {
        (self.head.length.load(Acquire) as usize).min(PLACES)
    }

    /// Places of its own, in order.
    fn places(self) -> impl DoubleEndedIterator<Item = u32> + 'a {
        let places = &self.members.places[..self.length()];
        places.iter().map(|place| place.load(Relaxed))
    }

    /// A place of its own.
    fn place(self, at: usize) -> u32 {
        self.members.places[at].load(Relaxed)
    }

    /// Number of its own places before `count`.
    fn before(self, count: u32) -> usize {
        let length = self.length();
        // All of them, unless the state is an earlier one.
        if self.head.latest.load(Relaxed) < count {
            return length;
        }
        self.members.places[..length].partition_point(|place| place.load(Relaxed) < count)
    }

    /// Adds a place, unless a writer that was killed has already added it. The node must not be full.
    fn push(self, place: u32, vector: &Vector) {
        if self.places().next_back().is_none_or(|last| last < place) {
            let Head { length, latest, .. } = self.head;
            let at = length.load(Relaxed) as usize;
            self.members.places[at].store(place, Relaxed);
            let group = &self.members.sketches[at / GROUP];
            for (word, value) in group.iter().zip(sketch(vector)) {
                word[at % GROUP].store(value, Relaxed);
            }
            latest.store(place, Relaxed);
            length.store(at as u32 + 1, Release);
        }
    }

    /// The full groups of sketches of its first `count` places. `count` must come from [`Node::before`].
    fn groups(self, count: usize) -> &'a [Group] {
        let written = &self.members.sketches[..count / GROUP];
        // SAFETY: an atomic number has the layout of its number. A sketch is written before the length counts
        // it, which the caller has already read, and never changes again.
        unsafe { std::slice::from_raw_parts(written.as_ptr().cast(), written.len()) }
    }

    /// A group of sketches, by its index; some may not be written yet.
    fn group(self, at: usize) -> Group {
        let group = &self.members.sketches[at];
        std::array::from_fn(|word| std::array::from_fn(|one| group[word][one].load(Relaxed)))
    }

    /// Reads from the pages that a search among `count` fragments may read: if the node is divided, its
    /// fragments lie in other nodes.
    fn warm(self, count: u32) {
        black_box((self.kind(), self.middle[0]));
        if self.halves(count).is_none() {
            black_box(self.place(0));
            for [[first, ..], ..] in &self.members.sketches {
                black_box(first.load(Relaxed));
            }
        }
    }

    fn full(self) -> bool {
        self.head.length.load(Relaxed) as usize >= PLACES
    }
}

/// A node that is not in the file yet.
struct Made {
    head: Head,
    middle: Vector,
    members: Members,
}

impl Made {
    /// A node with `members`, at most [`PLACES`].
    fn new(kind: u32, middle: Vector, members: &[(u32, &Vector)]) -> Self {
        let square = square(&middle);
        let made = Self {
            head: Head {
                kind,
                square,
                ..Head::default()
            },
            middle,
            members: Members {
                places: std::array::from_fn(|_| AtomicU32::new(0)),
                sketches: std::array::from_fn(|_| Default::default()),
            },
        };
        for &(place, vector) in members {
            made.node().push(place, vector);
        }
        made
    }

    fn node(&self) -> Node<'_> {
        let Self {
            head,
            middle,
            members,
        } = self;
        Node {
            head,
            middle,
            members,
        }
    }
}

/// Nodes as they were mapped at some time.
struct Nodes(Mapped);

impl Nodes {
    /// A node; `None` if there is none, as in a damaged file.
    fn at(&self, id: u32) -> Option<Node<'_>> {
        let block = self.0.get(id as usize / BLOCK_NODES)?.as_ptr().cast::<Block>();
        let at = id as usize % BLOCK_NODES;
        // SAFETY: the places lie in the block, aligned as the block is; a node that something leads to is
        // complete, and only its atomics change. Every bit pattern is a node. No reference reaches beyond
        // it, as other nodes may be written meanwhile.
        Some(unsafe {
            Node {
                head: &(*block).heads[at],
                middle: &(*block).middles[at],
                members: &(*block).members[at],
            }
        })
    }
}

/// The file as this process has mapped it.
type Mapping = MappedBlocks<IndexFile>;

impl Mapping {
    fn state(&self) -> IndexState {
        let both = self.number(STATE_AT).load(Acquire);
        IndexState {
            count: both as u32,
            check: (both >> 32) as u32,
        }
    }

    fn nodes(&self) -> io::Result<Nodes> {
        // The root always exists.
        let count = (self.number(NODES_AT).load(Acquire) as usize).max(1);
        Ok(Nodes(self.blocks.at_least(count.div_ceil(BLOCK_NODES))?))
    }

    /// Writes nodes that nothing leads to yet; returns the first one's id. The caller is the only writer.
    fn add(&self, nodes: Vec<Made>) -> io::Result<u32> {
        let first = (self.number(NODES_AT).load(Relaxed) as usize).max(1);
        let end = first + nodes.len();
        let id = u32::try_from(end).map_err(|_| io::Error::other("the index is full"))?;
        while self.blocks.in_file()? < end.div_ceil(BLOCK_NODES) {
            self.blocks.grow(self.blocks.in_file()? + 1)?;
        }
        let blocks = self.blocks.at_least(end.div_ceil(BLOCK_NODES))?;
        let count = nodes.len() as u32;
        for (at, node) in (first..).zip(nodes) {
            let block = blocks[at / BLOCK_NODES].as_mut_ptr().cast::<Block>();
            let at = at % BLOCK_NODES;
            // SAFETY: the places lie within the block, aligned; nothing leads there yet, and this is the only
            // writer.
            unsafe {
                (&raw mut (*block).heads[at]).write(node.head);
                (&raw mut (*block).middles[at]).write(node.middle);
                (&raw mut (*block).members[at]).write(node.members);
            }
        }
        self.number(NODES_AT).store(end as u64, Release);
        Ok(id - count)
    }
}

/// State of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexState {
    /// Number of fragments in it, which are the first of the log.
    pub count: u32,
    /// Checksum of the last of them.
    check: u32,
}

impl IndexState {
    /// True if it was built from the fragments of a view that has all fragments.
    pub fn fits(&self, all: &View) -> bool {
        let last = (self.count as usize).checked_sub(1);
        last.is_none_or(|last| last < all.count() && all.facts(last).checksum() == self.check)
    }
}

/// The index of one file.
pub struct Clusters {
    file: Current<IndexFile>,
}

/// Hash of the machine's boot id; 1 if the system has none.
fn this_boot() -> u64 {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").map_or(1, |id| hash_of(id.trim()))
}

impl Clusters {
    /// Opens the index at `path` of vectors that were made by `method`; creates an empty one if there is no
    /// usable file.
    pub fn open(path: &Path, method: &str) -> io::Result<Self> {
        let magic = magic_of(FORM, method);
        let file = match Current::open(path, magic) {
            Err(error) if matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::NotFound) => {
                Mapping::create(path, &magic)?;
                Current::open(path, magic)?
            }
            opened => opened?,
        };
        Ok(Self { file })
    }

    /// The state of the index.
    pub fn state(&self) -> io::Result<IndexState> {
        Ok(self.file.get()?.state())
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> io::Result<u64> {
        self.file.get()?.blocks.bytes()
    }

    /// Reads from every page that a search of the current state may read, so that the system maps it.
    pub fn warm(&self) -> io::Result<()> {
        let mapping = self.file.get()?;
        let count = mapping.state().count;
        let nodes = mapping.nodes()?;
        // A search reaches nodes by their parents; this visits all.
        for id in 0..mapping.number(NODES_AT).load(Acquire) as u32 {
            if let Some(node) = nodes.at(id) {
                node.warm(count);
            }
        }
        Ok(())
    }

    /// True if the file has all nodes that its header counts.
    pub fn is_whole(&self) -> io::Result<bool> {
        let mapping = self.file.get()?;
        let nodes = mapping.number(NODES_AT).load(Acquire) as usize;
        Ok(nodes.div_ceil(BLOCK_NODES) <= mapping.blocks.in_file()?)
    }

    /// First step of the writer: replaces the file by an empty one unless it is reliable and was built from
    /// the fragments of a view that has all. False if it was replaced.
    pub fn begin(&self, all: &View) -> io::Result<bool> {
        let mapping = self.file.get()?;
        let wrote = mapping.number(BOOT_AT).load(Acquire);
        // Closed, or written since this machine's boot: the system's memory has what the writer wrote.
        let reliable = wrote == 0 || (wrote == this_boot() && wrote != 1);
        let good = reliable && mapping.state().fits(all);
        if !good {
            self.reset()?;
        }
        self.file.get()?.number(BOOT_AT).store(this_boot(), Release);
        Ok(good)
    }

    /// Replaces the file by an empty one. The caller is the only writer.
    pub fn reset(&self) -> io::Result<()> {
        let fresh = self.file.replace()?;
        fresh.number(BOOT_AT).store(this_boot(), Release);
        Ok(())
    }

    /// Last step of the writer: after it returns, a power cut loses nothing of the index.
    pub fn close(&self) -> io::Result<()> {
        let mapping = self.file.get()?;
        mapping.blocks.sync()?;
        mapping.number(BOOT_AT).store(0, Release);
        mapping.blocks.sync()
    }

    /// Inserts the next fragment of a view. The caller is the only writer.
    pub fn insert(&self, all: &View) -> io::Result<()> {
        let mapping = self.file.get()?;
        let place = mapping.state().count;
        let vector = all.vector(place as usize);
        // The vector of a fragment without known words has no direction: it is nobody's neighbour.
        if square(vector) != 0 {
            put(&mapping, all, place, vector)?;
        }
        let check = all.facts(place as usize).checksum();
        let both = u64::from(place + 1) | u64::from(check) << 32;
        mapping.number(STATE_AT).store(both, Release);
        Ok(())
    }
}

/// Inserts a fragment into its node, which is divided first if it is full.
fn put(mapping: &Mapping, all: &View, place: u32, vector: &Vector) -> io::Result<()> {
    let damaged = || io::Error::new(ErrorKind::InvalidData, "the index is damaged");
    let mut id = ROOT;
    for _ in 0..MOST_LEVELS {
        let nodes = mapping.nodes()?;
        let node = nodes.at(id).ok_or_else(damaged)?;
        if let Some(halves) = node.halves(place + 1) {
            let left = goes_left(&nodes, vector, halves).ok_or_else(damaged)?;
            id = halves[usize::from(!left)];
        } else if node.kind() == SAME {
            return put_same(mapping, &nodes, node, (place, vector));
        } else if node.full() && node.places().next_back() != Some(place) {
            divide_node(mapping, node, all, place)?;
        } else {
            node.push(place, vector);
            return Ok(());
        }
    }
    Err(damaged())
}

/// True if a vector goes to the left half; `None` if a half does not exist. A node of one vector takes only
/// that vector.
fn goes_left(nodes: &Nodes, vector: &Vector, [left, right]: [u32; 2]) -> Option<bool> {
    let (left, right) = (nodes.at(left)?, nodes.at(right)?);
    Some(if left.kind() == SAME {
        vector == left.middle
    } else {
        similarity(vector, left.middle) >= similarity(vector, right.middle)
    })
}

/// Adds an index to the chain of a node of one vector.
fn put_same(
    mapping: &Mapping,
    nodes: &Nodes,
    node: Node<'_>,
    (place, vector): (u32, &Vector),
) -> io::Result<()> {
    let last = node.head.last.load(Relaxed);
    let end = if last == 0 { Some(node) } else { nodes.at(last) };
    let Some(end) = end else { return Ok(()) };
    if !end.full() {
        end.push(place, vector);
    } else if end.places().next_back() != Some(place) {
        let more = mapping.add(vec![Made::new(CHAIN, [0; DIMENSION], &[(place, vector)])])?;
        end.head.next.store(more, Release);
        node.head.last.store(more, Release);
    }
    Ok(())
}

/// Divides a full node, as of the state that has the fragment at `place`.
fn divide_node(mapping: &Mapping, node: Node<'_>, all: &View, place: u32) -> io::Result<()> {
    let places: Vec<u32> = node.places().collect();
    let vectors: Vec<&Vector> = places.iter().map(|&at| all.vector(at as usize)).collect();
    let Division { left, right, same } = divide(&vectors);
    let half = |members: &[usize], kind: u32| {
        let mut sums = [0_i64; DIMENSION];
        for &member in members {
            let pairs = sums.iter_mut().zip(vectors[member]);
            pairs.for_each(|(sum, &one)| *sum += i64::from(one));
        }
        let middle = match members.first() {
            Some(&first) if kind == SAME => *vectors[first],
            Some(_) => quantized(&sums),
            None => *node.middle,
        };
        let members: Vec<(u32, &Vector)> = members
            .iter()
            .map(|&member| (places[member], vectors[member]))
            .collect();
        Made::new(kind, middle, &members)
    };
    let left = half(&left, if same { SAME } else { CLUSTER });
    let first = mapping.add(vec![left, half(&right, CLUSTER)])?;
    node.head.halves[0].store(first, Relaxed);
    node.head.halves[1].store(first + 1, Relaxed);
    node.head.divided.store(place + 1, Release);
    Ok(())
}

#[cfg(test)]
mod tests;
