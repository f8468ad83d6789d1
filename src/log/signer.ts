/**
 * Signs checkpoints of the log of receipts (docs/log.md). A round adds the leaves to the tiles and signs one
 * checkpoint, in this order: it reads the store, records in the machine's file what it will sign, and writes
 * tiles and checkpoint in one unit under the lease's fence. After a crash between two steps the file names
 * leaves that the store has, and the next round signs exactly that size again. A checkpoint is never signed
 * if the last one in the store, or the newest in the file, could contradict it.
 */
import {
  findSigned,
  keepCheckpoint,
  placeLeaf,
  readLeaves,
  writeSigned,
  writeTile,
  type Leaf,
  type SignedCheckpoint,
  type StoredTile,
} from '../store/tables/receiptLog.js';
import type { Fence, Store } from '../store/store.js';
import type { Clock } from '../system/clock.js';
import { signCheckpoint, verifierText, type LogKey } from './note.js';
import type { Seen, SeenFile } from './seen.js';
import { edgeOf, laidOver, rootOf, storedTiles, type FindTile, type TreeParts } from './tree.js';

/** Most leaves that a checkpoint adds; the next one adds the rest. */
const roundLeaves = 4_096;

/** Dependencies of signing. */
export interface SignerParts {
  readonly store: Store;
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly tree: TreeParts;
  readonly key: LogKey;
  readonly origin: string;
  readonly seen: SeenFile;
}

/** Outcome of a round. */
export type Round =
  /** `more`: leaves are left for the next round. */
  | { readonly kind: 'signed'; readonly size: number; readonly more: boolean }
  | { readonly kind: 'nothing new' }
  /** Another process signed meanwhile, or holds the lease. */
  | { readonly kind: 'overtaken' }
  /** Signing could contradict an earlier checkpoint; the reason is a sentence for the operator. */
  | { readonly kind: 'refused'; readonly reason: string };

const same = (left: Uint8Array, right: Uint8Array): boolean => Buffer.compare(left, right) === 0;

const decide =
  'Restore a store that has it, or start a new log with another key: fusegate log resolve --new-key.';

const retired =
  'The key of the log here was retired. Give this machine the new one, by LOG_KEY or the file log-key of ' +
  'the machine that has it, or stop this server and run here: fusegate log resolve --new-key.';

/** The checkpoint with its key retired: any key that never signed may continue after its root and size. */
export function keyless(signed: SignedCheckpoint): SignedCheckpoint {
  const { publicKey, retiredKeys } = signed;
  if (publicKey.byteLength === 0) return signed;
  return { ...signed, publicKey: new Uint8Array(), retiredKeys: [...retiredKeys, publicKey] };
}

/** True if the log has no key, or a retired one: only then may a new one be made. */
export function mayMakeKey(signed: SignedCheckpoint | undefined): boolean {
  return signed === undefined || signed.publicKey.byteLength === 0;
}

/** Returns why a key may not continue after a signed checkpoint; undefined if it may. */
export function keyRefusal(
  signed: SignedCheckpoint | undefined,
  { publicKey }: Pick<LogKey, 'publicKey'>,
): string | undefined {
  if (signed === undefined || same(signed.publicKey, publicKey)) return undefined;
  if (signed.publicKey.byteLength === 0) {
    // Another machine may have it yet, or this one after a crash before its file was renamed.
    return signed.retiredKeys.some((key) => same(key, publicKey)) ? retired : undefined;
  }
  const theirs = verifierText({ name: signed.origin, publicKey: signed.publicKey });
  return (
    `The log of this store is signed by another key, ${theirs}. Give this machine that key, by LOG_KEY or ` +
    'the file log-key, or start a new log with another key: fusegate log resolve --new-key.'
  );
}

/** A tree that will be signed. */
interface Grown {
  readonly size: number;
  readonly leaves: readonly Leaf[];
  readonly tiles: readonly StoredTile[];
  readonly root: Buffer;
  readonly find: FindTile;
}

async function grow({ store, tree }: SignerParts, from: number, target: number): Promise<Grown | undefined> {
  const below = storedTiles(store);
  const edge = await edgeOf(from, below);
  if (edge === undefined) return undefined;
  const leaves: Leaf[] = [];
  while (from + leaves.length < target) {
    const start = from + leaves.length;
    const page = await readLeaves(store, start, Math.min(roundLeaves, target - start));
    if (page.length === 0) return undefined;
    leaves.push(...page);
  }
  const tiles = tree.logGrow(from, edge, Buffer.concat(leaves.map(({ seal }) => seal)));
  const find = laidOver(tiles, below);
  const root = await rootOf(tree, target, find);
  return root === undefined ? undefined : { size: target, leaves, tiles, root, find };
}

/** The size to sign next; undefined: nothing is new. */
function targetOf(
  signed: SignedCheckpoint | undefined,
  seen: Seen | undefined,
  last: number,
  origin: string,
): number | undefined {
  const from = signed?.size ?? 0;
  // A size recorded before a crash, and perhaps signed, is signed again exactly.
  if (seen !== undefined && seen.size > from) return seen.size;
  const target = Math.min(last, from + roundLeaves);
  const isKeyless = signed?.publicKey.byteLength === 0;
  return target > from || signed?.origin !== origin || isKeyless ? target : undefined;
}

/** Returns why the tree contradicts an earlier checkpoint; undefined if it does not. */
async function contradiction(
  { tree }: SignerParts,
  grown: Grown,
  earlier: readonly (Seen | undefined)[],
): Promise<string | undefined> {
  for (const known of earlier) {
    if (known === undefined) continue;
    const root = await rootOf(tree, known.size, grown.find);
    if (root === undefined || !same(root, known.root)) {
      return `The store's log is not the one whose checkpoint of ${known.size} leaves was signed. ${decide}`;
    }
  }
  return undefined;
}

async function publish(
  { store, clock, key, origin, seen }: SignerParts,
  fence: Fence,
  found: Awaited<ReturnType<typeof findSigned>>,
  { size, leaves, tiles, root }: Grown,
): Promise<boolean> {
  await seen.write({ size, root });
  const atMs = clock.wallMs();
  const note = signCheckpoint({ origin, size, root }, key);
  const retiredKeys = found?.signed.retiredKeys ?? [];
  const signed = { origin, publicKey: key.publicKey, size, root, note, atMs, restored: false, retiredKeys };
  const first = size - leaves.length;
  const outcome = await store.commit([
    { kind: 'fence', ...fence },
    writeSigned(found?.record, signed),
    ...tiles.map(writeTile),
    ...leaves.flatMap(({ receipt, placed }, at) => (placed ? [] : [placeLeaf(receipt, first + at)])),
    // A checkpoint without new leaves (another name or key) does not change when leaves were included.
    ...(leaves.length > 0 ? [keepCheckpoint(size, { root, atMs })] : []),
  ]);
  return outcome.kind === 'done';
}

/** Signs the next checkpoint under a lease. @throws StoreUnavailable */
export async function signRound(parts: SignerParts, fence: Fence): Promise<Round> {
  const { store, key, origin } = parts;
  const found = await findSigned(store);
  const signed = found?.signed;
  const reason = keyRefusal(signed, key) ?? restoredRefusal(signed);
  if (reason !== undefined) return { kind: 'refused', reason };
  const seen = parts.seen.read();
  if (seen !== undefined && 'wrong' in seen) return { kind: 'refused', reason: `${seen.wrong}. ${decide}` };
  const last = await store.last('fragments');
  const target = targetOf(signed, seen, last, origin);
  if (target === undefined) return { kind: 'nothing new' };
  if (target > last) {
    const gone = `This machine knows a signed checkpoint of ${target} leaves; the store has ${last}.`;
    return { kind: 'refused', reason: `${gone} It went back. ${decide}` };
  }
  const grown = await grow(parts, signed?.size ?? 0, target);
  if (grown === undefined) return { kind: 'refused', reason: `Tiles of the log are missing. ${decide}` };
  const against = await contradiction(parts, grown, [signed, seen]);
  if (against !== undefined) return { kind: 'refused', reason: against };
  if (!(await publish(parts, fence, found, grown))) return { kind: 'overtaken' };
  return { kind: 'signed', size: grown.size, more: grown.size < last };
}

function restoredRefusal(signed: SignedCheckpoint | undefined): string | undefined {
  if (signed?.restored !== true) return undefined;
  return (
    'The store was restored from a backup: checkpoints may have been signed since. Say which state counts: ' +
    'fusegate log resolve --continue where none was, --new-key where one was.'
  );
}
