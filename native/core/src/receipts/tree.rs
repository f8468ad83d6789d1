//! The Merkle tree of the log of receipts: hashes, inclusion and consistency proofs of RFC 6962 (section 2.1)
//! over the tiles of C2SP tlog-tiles.
//!
//! A tile holds up to 256 hashes of consecutive complete subtrees: tile (L, N) has those of 256^L leaves,
//! from number 256·N on. Only tiles are stored. A proof's hash is that of a range of leaves, which splits
//! into complete subtrees, each of which is in one tile.

#[cfg(test)]
mod naive;

use sha2::{Digest, Sha256};

/// SHA-256 of a leaf or of a subtree.
pub type Hash = [u8; 32];

/// Bytes of a hash.
pub const HASH_BYTES: usize = 32;

/// Hashes in a full tile.
pub const TILE_WIDTH: usize = 256;

/// Levels of a subtree within one tile.
const TILE_HEIGHT: u32 = 8;

/// Most leaves of a tree: the numbers up to it are exact in JavaScript.
pub const MAX_LEAVES: u64 = (1 << 53) - 1;

/// Hash of a leaf.
pub fn leaf_hash(entry: &[u8]) -> Hash {
    let mut hash = Sha256::new();
    hash.update([0]);
    hash.update(entry);
    hash.finalize().into()
}

/// Hash of a subtree from those of its halves.
pub fn node_hash(left: &Hash, right: &Hash) -> Hash {
    let mut hash = Sha256::new();
    hash.update([1]);
    hash.update(left);
    hash.update(right);
    hash.finalize().into()
}

/// Hash over a sequence of subtrees of one height; the empty tree's hash if there are none.
pub fn root_of(hashes: &[Hash]) -> Hash {
    match hashes {
        [] => Sha256::digest([]).into(),
        [only] => *only,
        _ => {
            let (left, right) = hashes.split_at(split(hashes.len() as u64) as usize);
            node_hash(&root_of(left), &root_of(right))
        }
    }
}

/// The largest power of two below `count`, which is at least 2.
fn split(count: u64) -> u64 {
    1 << (count - 1).ilog2()
}

/// Splits bytes into hashes; `None` if they are not a whole number of hashes.
pub fn hashes_of(bytes: &[u8]) -> Option<Vec<Hash>> {
    let (hashes, rest) = bytes.as_chunks::<HASH_BYTES>();
    rest.is_empty().then(|| hashes.to_vec())
}

/// Leaves from `start` on, before `end`. For each range used here, the tree of RFC 6962 has a subtree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Number of the first leaf.
    pub start: u64,
    /// Number of the first leaf after it.
    pub end: u64,
}

/// Level and index of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tile {
    /// Its hashes are those of 256^level leaves.
    pub level: u32,
    /// Index in its level.
    pub index: u64,
}

/// The stored hashes of one tile, from its first on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileHashes {
    /// Its level and index.
    pub tile: Tile,
    /// At most 256 of them.
    pub hashes: Vec<Hash>,
}

/// A complete subtree of 2^height leaves: its index among those of its height.
#[derive(Clone, Copy)]
struct Node {
    height: u32,
    index: u64,
}

impl Node {
    /// The tile that contains it, and the range of hashes there that it covers.
    fn place(self) -> (Tile, usize, usize) {
        let level = self.height / TILE_HEIGHT;
        let within = self.height % TILE_HEIGHT;
        let first = self.index << within;
        let tile = Tile {
            level,
            index: first / TILE_WIDTH as u64,
        };
        (tile, (first % TILE_WIDTH as u64) as usize, 1 << within)
    }
}

/// The complete subtrees of a range, the largest first.
fn nodes(Range { start, end }: Range) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut at = start;
    while at < end {
        let height = (end - at).ilog2();
        nodes.push(Node {
            height,
            index: at >> height,
        });
        at += 1 << height;
    }
    nodes
}

/// The statement that a list of hashes proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The root of the tree of `size` leaves: one hash.
    Root {
        /// Number of leaves.
        size: u64,
    },
    /// PATH(index, D[size]): the leaf is in the tree.
    Inclusion {
        /// Index of the leaf, from 0.
        index: u64,
        /// Number of leaves.
        size: u64,
    },
    /// PROOF(old, D[size]): the tree of `size` leaves extends that of `old`.
    Consistency {
        /// Number of leaves of the earlier tree.
        old: u64,
        /// Number of leaves.
        size: u64,
    },
}

impl Proof {
    /// The ranges whose hashes make the proof, in order; `None` if there is no such proof.
    pub fn ranges(self) -> Option<Vec<Range>> {
        match self {
            Proof::Root { size } if size <= MAX_LEAVES => Some(vec![Range { start: 0, end: size }]),
            Proof::Inclusion { index, size } if index < size && size <= MAX_LEAVES => {
                Some(inclusion(index, size))
            }
            Proof::Consistency { old, size } if 0 < old && old <= size && size <= MAX_LEAVES => {
                Some(consistency(old, size))
            }
            _ => None,
        }
    }

    /// The tiles that the proof needs, each once.
    pub fn tiles(self) -> Option<Vec<Tile>> {
        let ranges = self.ranges()?;
        let mut tiles: Vec<Tile> = ranges
            .into_iter()
            .flat_map(nodes)
            .map(|node| node.place().0)
            .collect();
        tiles.sort_unstable();
        tiles.dedup();
        Some(tiles)
    }

    /// The proof's hashes; `None` if there is no such proof, or a tile is missing or too short.
    pub fn hashes(self, tiles: &[TileHashes]) -> Option<Vec<Hash>> {
        let ranges = self.ranges()?;
        ranges.into_iter().map(|range| range_hash(range, tiles)).collect()
    }
}

fn inclusion(index: u64, size: u64) -> Vec<Range> {
    let mut range = Range { start: 0, end: size };
    let mut proof = Vec::new();
    while range.end - range.start > 1 {
        let middle = range.start + split(range.end - range.start);
        let (left, right) = halves(range, middle);
        let is_left = index < middle;
        proof.push(if is_left { right } else { left });
        range = if is_left { left } else { right };
    }
    proof.reverse();
    proof
}

fn consistency(old: u64, size: u64) -> Vec<Range> {
    let mut range = Range { start: 0, end: size };
    let mut proof = Vec::new();
    while range.end > old {
        let middle = range.start + split(range.end - range.start);
        let (left, right) = halves(range, middle);
        let is_left = old <= middle;
        proof.push(if is_left { right } else { left });
        range = if is_left { left } else { right };
    }
    // The verifier knows the old tree itself.
    if range.start > 0 {
        proof.push(range);
    }
    proof.reverse();
    proof
}

fn halves(Range { start, end }: Range, middle: u64) -> (Range, Range) {
    let left = Range { start, end: middle };
    (left, Range { start: middle, end })
}

fn range_hash(range: Range, tiles: &[TileHashes]) -> Option<Hash> {
    let mut hash = None;
    for node in nodes(range).into_iter().rev() {
        let (tile, first, count) = node.place();
        let at = tiles.iter().find(|each| each.tile == tile)?;
        let left = root_of(at.hashes.get(first..first + count)?);
        hash = Some(match hash {
            None => left,
            Some(right) => node_hash(&left, &right),
        });
    }
    Some(hash.unwrap_or_else(|| root_of(&[])))
}

/// A tree that grows at its end. It holds the last tile of each level that is not full.
#[derive(Clone, Debug)]
pub struct Growing {
    size: u64,
    edge: Vec<Vec<Hash>>,
}

/// Number of hashes in the last tile of a level, in a tree of `size` leaves; 0 if that tile is full.
fn edge_width(size: u64, level: u32) -> usize {
    (size.checked_shr(TILE_HEIGHT * level).unwrap_or(0) % TILE_WIDTH as u64) as usize
}

impl Growing {
    /// The tree of `size` leaves. `edge`: the last tile of each level, from the leaves up, empty if it is
    /// full; `None` if they do not fit the size.
    pub fn new(size: u64, edge: Vec<Vec<Hash>>) -> Option<Growing> {
        let fits = (0u32..8).all(|level| {
            let width = edge.get(level as usize).map_or(0, Vec::len);
            width == edge_width(size, level)
        });
        (fits && size <= MAX_LEAVES).then_some(Growing { size, edge })
    }

    /// Number of leaves.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Adds leaves by their hashes and returns every tile that this made or changed, in its new state.
    pub fn add(&mut self, leaves: impl IntoIterator<Item = Hash>) -> Vec<TileHashes> {
        let before = self.size;
        let mut changed = Vec::new();
        for leaf in leaves {
            self.push(0, leaf, &mut changed);
            self.size += 1;
        }
        for (level, hashes) in self.edge.iter().enumerate() {
            let height = TILE_HEIGHT * level as u32;
            if hashes.is_empty() || before >> height == self.size >> height {
                continue;
            }
            let tile = Tile {
                level: level as u32,
                index: (self.size >> height) / TILE_WIDTH as u64,
            };
            let hashes = hashes.clone();
            changed.push(TileHashes { tile, hashes });
        }
        changed
    }

    fn push(&mut self, level: u32, hash: Hash, full: &mut Vec<TileHashes>) {
        let at = level as usize;
        if self.edge.len() == at {
            self.edge.push(Vec::with_capacity(TILE_WIDTH));
        }
        self.edge[at].push(hash);
        if self.edge[at].len() < TILE_WIDTH {
            return;
        }
        let hashes = std::mem::take(&mut self.edge[at]);
        let root = root_of(&hashes);
        let index = (self.size >> (TILE_HEIGHT * level)) / TILE_WIDTH as u64;
        full.push(TileHashes {
            tile: Tile { level, index },
            hashes,
        });
        self.push(level + 1, root, full);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn leaves(size: u64) -> Vec<Hash> {
        (0..size).map(|index| leaf_hash(&index.to_be_bytes())).collect()
    }

    /// Every tile of a tree grown in steps; full tiles and the last of each level.
    fn grown(size: u64, step: usize) -> Vec<TileHashes> {
        let mut tree = Growing::new(0, Vec::new()).expect("an empty tree");
        let mut tiles: Vec<TileHashes> = Vec::new();
        for group in leaves(size).chunks(step) {
            for changed in tree.add(group.iter().copied()) {
                tiles.retain(|tile| tile.tile != changed.tile);
                tiles.push(changed);
            }
        }
        assert_eq!(tree.size(), size);
        tiles
    }

    fn check(index: u64, old: u64, size: u64, step: usize) {
        let all = leaves(size);
        let tiles = grown(size, step);
        assert_eq!(
            Proof::Root { size: old }.hashes(&tiles),
            Some(vec![naive::root(&all[..old as usize])])
        );
        let inclusion = Proof::Inclusion { index, size };
        assert_eq!(inclusion.hashes(&tiles), Some(naive::path(index as usize, &all)));
        if old > 0 {
            let proof = Proof::Consistency { old, size };
            assert_eq!(proof.hashes(&tiles), Some(naive::proof(old as usize, &all)));
            let needed = proof.tiles().expect("tiles");
            let few: Vec<_> = tiles
                .iter()
                .filter(|tile| needed.contains(&tile.tile))
                .cloned()
                .collect();
            assert_eq!(few.len(), needed.len());
            assert_eq!(proof.hashes(&few), proof.hashes(&tiles));
        }
    }

    #[test]
    fn small_trees_are_those_of_the_oracle() {
        for size in 1..20 {
            for index in 0..size {
                check(index, index + 1, size, 3);
            }
        }
    }

    #[test]
    fn trees_around_whole_tiles_are_those_of_the_oracle() {
        for size in [255, 256, 257, 511, 512, 513] {
            for index in [0, size / 2, size - 1] {
                check(index, size - index, size, 100);
            }
        }
        check(65_535, 65_536, 65_537, 10_000);
    }

    #[test]
    fn the_empty_tree_has_the_hash_of_nothing() {
        let empty = Proof::Root { size: 0 }.hashes(&[]).expect("a root");
        let digest: Hash = Sha256::digest([]).into();
        assert_eq!(empty, vec![digest]);
    }

    #[test]
    fn impossible_proofs_and_missing_tiles_are_refused() {
        let tiles = grown(600, 600);
        assert_eq!(
            Proof::Inclusion {
                index: 600,
                size: 600
            }
            .hashes(&tiles),
            None
        );
        assert_eq!(Proof::Consistency { old: 0, size: 600 }.hashes(&tiles), None);
        assert_eq!(Proof::Consistency { old: 601, size: 600 }.hashes(&tiles), None);
        assert_eq!(Proof::Root { size: MAX_LEAVES + 1 }.tiles(), None);
        assert_eq!(Proof::Root { size: 601 }.hashes(&tiles), None);
        assert_eq!(Proof::Inclusion { index: 1, size: 600 }.hashes(&tiles[1..]), None);
        assert!(Growing::new(3, vec![leaves(2)]).is_none());
        assert!(Growing::new(256, vec![vec![], leaves(1)]).is_some());
        assert_eq!(hashes_of(&[0; 33]), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn trees_are_those_of_the_oracle(
            size in 1u64..1_500,
            at in 0.0..1.0,
            to in 0.0..1.0,
            step in 1usize..700,
        ) {
            let part = |share: f64| (size as f64 * share) as u64;
            check(part(at), part(to), size, step);
        }
    }
}
