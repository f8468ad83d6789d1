/** The log's Merkle tree over its stored tiles: growth, and proofs from the tiles (RFC 6962). */
import { findTile, type StoredTile } from '../store/tables/receiptLog.js';
import type { Store } from '../store/store.js';

/** Hashes in a full tile, and bytes of a hash and of an entry. */
export const tileWidth = 256;
export const hashBytes = 32;

/** Kinds of proofs of the native module. */
export type ProofKind = 'root' | 'inclusion' | 'consistency';

/** The native module's part in the tree. */
export interface TreeParts {
  readonly logGrow: (size: number, edge: Buffer[], entries: Buffer) => StoredTile[];
  readonly logProofTiles: (
    kind: ProofKind,
    at: number,
    size: number,
  ) => { readonly level: number; readonly index: number }[] | null;
  readonly logProof: (kind: ProofKind, at: number, size: number, tiles: Buffer[]) => Buffer | null;
}

/** Finds the hashes of a tile; empty if there is none. */
export type FindTile = (level: number, index: number) => Promise<Buffer>;

/** The tiles of a store. */
export function storedTiles(store: Pick<Store, 'get'>): FindTile {
  return (level, index) => findTile(store, level, index);
}

/** Hashes of a tile in a log of `size` leaves. */
export function widthOf(size: number, level: number, index: number): number {
  const hashes = Math.floor(size / tileWidth ** level) - index * tileWidth;
  return Math.max(0, Math.min(tileWidth, hashes));
}

/**
 * The last tile of each level of a log of `size` leaves, from the leaves up; empty if it is full. Undefined
 * if a tile is missing or too short.
 */
export async function edgeOf(size: number, find: FindTile): Promise<Buffer[] | undefined> {
  const edge: Buffer[] = [];
  for (let level = 0; tileWidth ** level <= size; level += 1) {
    const index = Math.floor(size / tileWidth ** level / tileWidth);
    const width = widthOf(size, level, index);
    const tile = width === 0 ? Buffer.alloc(0) : await find(level, index);
    if (tile.byteLength < width * hashBytes) return undefined;
    edge.push(tile.subarray(0, width * hashBytes));
  }
  return edge;
}

/** The hashes of a proof, concatenated; undefined if a tile is missing or too short. */
export async function proofOf(
  { logProofTiles, logProof }: TreeParts,
  kind: ProofKind,
  at: number,
  size: number,
  find: FindTile,
): Promise<Buffer | undefined> {
  const places = logProofTiles(kind, at, size);
  if (places === null) return undefined;
  const tiles = await Promise.all(places.map(({ level, index }) => find(level, index)));
  return logProof(kind, at, size, tiles) ?? undefined;
}

/** The root of the first `size` leaves; undefined if a tile is missing or too short. */
export function rootOf(parts: TreeParts, size: number, find: FindTile): Promise<Buffer | undefined> {
  return proofOf(parts, 'root', 0, size, find);
}

/** Finds tiles among `tiles` first, then in `below`. */
export function laidOver(tiles: readonly StoredTile[], below: FindTile): FindTile {
  const byPlace = new Map(tiles.map((tile) => [`${tile.level}/${tile.index}`, Buffer.from(tile.hashes)]));
  return (level, index) => {
    const found = byPlace.get(`${level}/${index}`);
    return found === undefined ? below(level, index) : Promise.resolve(found);
  };
}
