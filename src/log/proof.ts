/** Proofs that a leaf is in the log: made from tiles, verified without them (C2SP tlog-proof, RFC 6962). */
import { createHash } from 'node:crypto';
import { fromBase64, openCheckpoint, type Checkpoint, type VerifierKey } from './note.js';
import { hashBytes } from './tree.js';

const head = 'c2sp.org/tlog-proof@v1';

/** A proof as text. `hashes`: the path's, 32 bytes each, the leaf's sibling first. */
export function proofText(index: number, hashes: Buffer, note: string): string {
  const lines = [head, `index ${index}`];
  for (let at = 0; at < hashes.byteLength; at += hashBytes) {
    lines.push(hashes.toString('base64', at, at + hashBytes));
  }
  return `${lines.join('\n')}\n\n${note}`;
}

const sha256 = (...parts: readonly Uint8Array[]): Buffer => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};

/** Hash of a leaf with an entry. */
function leafHash(entry: Uint8Array): Buffer {
  return sha256(Buffer.of(0), entry);
}

/**
 * The root that a path leads to from a leaf (RFC 9162, 2.1.3.2); undefined if the path's length does not fit
 * that leaf in a tree of that size.
 */
function rootByPath(
  leaf: Uint8Array,
  index: number,
  size: number,
  path: readonly Uint8Array[],
): Buffer | undefined {
  let [node, last] = [BigInt(index), BigInt(size) - 1n];
  if (node > last) return undefined;
  let root: Buffer = Buffer.from(leaf);
  for (const hash of path) {
    // Beyond this, the last node is not 0: the loops below end.
    if (last === 0n) return undefined;
    if (node % 2n === 1n || node === last) {
      root = sha256(Buffer.of(1), hash, root);
      while (node % 2n === 0n) [node, last] = [node >> 1n, last >> 1n];
    } else root = sha256(Buffer.of(1), root, hash);
    [node, last] = [node >> 1n, last >> 1n];
  }
  return last === 0n ? root : undefined;
}

/**
 * True if a path proves that a log of `size` leaves with one root extends a log of `old` leaves with another
 * (RFC 9162, 2.1.4.2). `old` is at least 1.
 */
export function isConsistent(
  [old, oldRoot]: readonly [number, Uint8Array],
  [size, root]: readonly [number, Uint8Array],
  path: readonly Uint8Array[],
): boolean {
  if (old === size) return path.length === 0 && Buffer.compare(oldRoot, root) === 0;
  if (old < 1 || old > size) return false;
  let [node, last] = [BigInt(old) - 1n, BigInt(size) - 1n];
  while (node % 2n === 1n) [node, last] = [node >> 1n, last >> 1n];
  // If the old tree is complete, its own root begins the path.
  const rest = node === 0n ? [oldRoot, ...path] : [...path];
  const first = rest.shift();
  if (first === undefined) return false;
  let [before, after]: [Buffer, Buffer] = [Buffer.from(first), Buffer.from(first)];
  for (const hash of rest) {
    if (last === 0n) return false;
    if (node % 2n === 1n || node === last) {
      [before, after] = [sha256(Buffer.of(1), hash, before), sha256(Buffer.of(1), hash, after)];
      while (node % 2n === 0n) [node, last] = [node >> 1n, last >> 1n];
    } else after = sha256(Buffer.of(1), after, hash);
    [node, last] = [node >> 1n, last >> 1n];
  }
  return last === 0n && before.equals(oldRoot) && after.equals(root);
}

/** A verified proof. */
export interface Proven {
  readonly index: number;
  readonly checkpoint: Checkpoint;
}

/** Verifies a proof that an entry is in the log of a key; `wrong` is a sentence part. */
export function verifyProof(
  proof: string,
  entry: Uint8Array,
  key: VerifierKey,
): Proven | { readonly wrong: string } {
  const end = proof.indexOf('\n\n');
  const [first, ...lines] = proof.slice(0, Math.max(0, end)).split('\n');
  if (first !== head) return { wrong: `is no ${head}` };
  // `extra` is not authenticated and has no meaning here.
  if (lines[0]?.startsWith('extra ') === true) lines.shift();
  const [, number] = /^index (0|[1-9][0-9]{0,15})$/.exec(lines.shift() ?? '') ?? [];
  if (number === undefined) return { wrong: 'has no index' };
  const path = lines.map(fromBase64).filter((hash) => hash?.byteLength === hashBytes) as Buffer[];
  if (path.length !== lines.length) return { wrong: 'has a line that is not a hash' };
  const checkpoint = openCheckpoint(proof.slice(end + 2), key);
  if ('wrong' in checkpoint) return { wrong: `has a checkpoint that ${checkpoint.wrong}` };
  const index = Number(number);
  const root = rootByPath(leafHash(entry), index, checkpoint.size, path);
  if (root === undefined || Buffer.compare(root, checkpoint.root) !== 0) {
    return { wrong: 'does not lead from this receipt to the root of its checkpoint' };
  }
  return { index, checkpoint };
}
