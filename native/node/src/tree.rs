//! Binding of the log's Merkle tree. Sizes and indexes are JavaScript numbers; hashes are concatenated in
//! buffers, 32 bytes each.

use fusegate_core::receipts::tree::{Growing, Hash, MAX_LEAVES, Proof, TileHashes, hashes_of, leaf_hash};
use napi::bindgen_prelude::{Buffer, Result};
use napi_derive::napi;

/// Level and index of a tile of the log, and its first hashes.
#[napi(object)]
pub struct LogTile {
    pub level: u32,
    pub index: f64,
    /// The hashes, concatenated.
    pub hashes: Buffer,
}

/// Level and index of a tile of the log.
#[napi(object)]
pub struct LogTilePlace {
    pub level: u32,
    pub index: f64,
}

fn count(number: f64) -> Option<u64> {
    let fits = number >= 0.0 && number <= MAX_LEAVES as f64 && number.fract() == 0.0;
    fits.then_some(number as u64)
}

fn invalid(what: &str) -> napi::Error {
    napi::Error::from_reason(format!("No {what} of a log"))
}

fn hashes(bytes: &[u8]) -> Result<Vec<Hash>> {
    hashes_of(bytes).ok_or_else(|| invalid("hashes"))
}

fn proof(kind: &str, at: f64, size: f64) -> Option<Proof> {
    let (at, size) = (count(at)?, count(size)?);
    match kind {
        "root" => Some(Proof::Root { size }),
        "inclusion" => Some(Proof::Inclusion { index: at, size }),
        "consistency" => Some(Proof::Consistency { old: at, size }),
        _ => None,
    }
}

/// Adds leaves to a log of `size` leaves: entries of 32 bytes, concatenated. `edge`: the last tile of each
/// level, from the leaves up, empty if it is full. Returns every tile that changed, in its new state.
/// @throws if the edge does not fit the size
#[napi]
pub fn log_grow(size: f64, edge: Vec<Buffer>, entries: &[u8]) -> Result<Vec<LogTile>> {
    let edge = edge.iter().map(|tile| hashes(tile)).collect::<Result<Vec<_>>>()?;
    let size = count(size).ok_or_else(|| invalid("size"))?;
    let mut tree = Growing::new(size, edge).ok_or_else(|| invalid("such edge"))?;
    let entries = hashes(entries)?;
    let changed = tree.add(entries.iter().map(|entry| leaf_hash(entry)));
    let tiles = changed.into_iter().map(|TileHashes { tile, hashes }| LogTile {
        level: tile.level,
        index: tile.index as f64,
        hashes: hashes.concat().into(),
    });
    Ok(tiles.collect())
}

/// The tiles that a proof needs. `kind`: `root` of `size` leaves; `inclusion` of leaf `at`; `consistency` of
/// the first `at` leaves. Null if there is no such proof.
#[napi]
pub fn log_proof_tiles(kind: String, at: f64, size: f64) -> Option<Vec<LogTilePlace>> {
    let tiles = proof(&kind, at, size)?.tiles()?;
    let places = tiles.into_iter().map(|tile| LogTilePlace {
        level: tile.level,
        index: tile.index as f64,
    });
    Some(places.collect())
}

/// The hashes of a proof, concatenated, from the tiles that {@link logProofTiles} names, in that order. Null
/// if there is no such proof, or a tile is missing or too short.
#[napi]
pub fn log_proof(kind: String, at: f64, size: f64, tiles: Vec<Buffer>) -> Option<Buffer> {
    let proof = proof(&kind, at, size)?;
    let places = proof.tiles()?;
    let tiles = places
        .into_iter()
        .zip(tiles)
        .map(|(tile, bytes)| hashes_of(&bytes).map(|hashes| TileHashes { tile, hashes }))
        .collect::<Option<Vec<_>>>()?;
    Some(proof.hashes(&tiles)?.concat().into())
}
