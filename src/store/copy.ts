/** Copies every record of one engine to another, and then makes sure that both hold the same. */
import { createHash, type Hash } from 'node:crypto';
import type { Engine } from './engine.js';
import { unfinishedCopyKey } from './open.js';
import type { Entry, Reading, Unavailable } from './store.js';

/** What a copy came to. `reason`s are sentences for the operator. */
export type CopyOutcome =
  | { readonly kind: 'copied'; readonly records: number; readonly digest: string }
  /** Nothing was written. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The target is marked as unfinished: no server takes it. */
  | { readonly kind: 'failed'; readonly reason: string };

/** Told how far a pass has come: records out of about so many. */
export type Progress = (
  pass: 'copy' | 'verify source' | 'verify target',
  records: number,
  total: number,
) => void;

/** Bytes of a page that are aimed at. */
const pageBytes = 2 * 1024 * 1024;

const mostRecords = 1_024;

/** Every record; keys that begin with a zero byte are an engine's own. */
const everything = { from: Buffer.of(1), to: Buffer.of(255, 255) } as const;

const unfinished =
  'The store to copy to holds an unfinished copy. ' +
  'Empty it (remove the folder, or drop the tables) and try again.';

const occupied = 'The store to copy to holds records already. A copy needs an empty one.';

const halfSource = 'The store to copy from is itself an unfinished copy.';

const changed = 'The store to copy from changed meanwhile. Stop the servers that use it and try again.';

/** A copy writes whatever was there. */
const noKeys = (): readonly Uint8Array[] => [];

/** What a pass over all records found. */
interface Pass {
  readonly records: number;
  /** SHA-256 over lengths, keys and values in the order of keys, in hex. */
  readonly digest: string;
}

/**
 * Copies `from` to `to`, which must hold nothing. A marker in the target says that it is unfinished until a
 * second pass over both has found the same records: in the source, so that it did not change meanwhile, and
 * in the target.
 */
export async function copyStore(from: Engine, to: Engine, progress: Progress): Promise<CopyOutcome> {
  const reason = await obstacle(from, to);
  if (reason !== undefined) return { kind: 'refused', reason };
  const marked = await to.transact(noKeys, () => [{ key: unfinishedCopyKey, value: Buffer.from('1') }]);
  if (marked !== undefined) return { kind: 'failed', reason: marked.reason };
  return copyMarked(from, to, progress);
}

/** Why a copy cannot begin, if it cannot. */
async function obstacle(from: Engine, to: Engine): Promise<string | undefined> {
  const targetMarker = await to.get(unfinishedCopyKey);
  if (targetMarker.kind === 'unavailable') return targetMarker.reason;
  if (targetMarker.value !== undefined) return unfinished;
  const present = await to.scan({ ...everything, limit: 1 });
  if (present.kind === 'unavailable') return present.reason;
  if (present.value.length > 0) return occupied;
  const sourceMarker = await from.get(unfinishedCopyKey);
  if (sourceMarker.kind === 'unavailable') return sourceMarker.reason;
  return sourceMarker.value === undefined ? undefined : halfSource;
}

async function copyMarked(from: Engine, to: Engine, progress: Progress): Promise<CopyOutcome> {
  const failed = (reason: string): CopyOutcome => ({ kind: 'failed', reason });
  const total = await from.count();
  if (total.kind === 'unavailable') return failed(total.reason);
  const copied = await pass(from, async (page, records) => {
    progress('copy', records, total.value);
    return to.transact(noKeys, () => page);
  });
  if (copied.kind === 'unavailable') return failed(copied.reason);
  const { digest, records } = copied.value;
  const source = await pass(from, (_, count) => {
    progress('verify source', count, records);
    return undefined;
  });
  if (source.kind === 'unavailable') return failed(source.reason);
  if (source.value.digest !== digest) return failed(changed);
  const target = await pass(to, (_, count) => {
    progress('verify target', count, records);
    return undefined;
  });
  if (target.kind === 'unavailable') return failed(target.reason);
  if (target.value.digest !== digest || target.value.records !== records) {
    return failed(`The copy holds other records than its source (${target.value.records} and ${records}).`);
  }
  const cleared = await to.transact(noKeys, () => [{ key: unfinishedCopyKey, value: undefined }]);
  return cleared === undefined ? { kind: 'copied', records, digest } : failed(cleared.reason);
}

/** Reads every record but the marker, page by page; ends where `visit` says that it failed. */
async function pass(
  engine: Engine,
  visit: (page: readonly Entry[], records: number) => Promise<Unavailable | undefined> | undefined,
): Promise<Reading<Pass>> {
  const hash = createHash('sha256');
  let from: Uint8Array = everything.from;
  let limit = 64;
  let records = 0;
  for (;;) {
    const found = await engine.scan({ from, to: everything.to, limit });
    if (found.kind === 'unavailable') return found;
    const page = found.value.filter(({ key }) => Buffer.compare(key, unfinishedCopyKey) !== 0);
    records += page.length;
    for (const entry of page) digest(hash, entry);
    const failed = await visit(page, records);
    if (failed !== undefined) return failed;
    const last = found.value.at(-1);
    if (last === undefined || found.value.length < limit) {
      return { kind: 'read', value: { records, digest: hash.digest('hex') } };
    }
    from = Buffer.concat([last.key, Buffer.of(0)]);
    limit = nextLimit(found.value, limit);
  }
}

/** Records of the next page, so that it has about {@link pageBytes}; it grows slowly, as values differ. */
function nextLimit(page: readonly Entry[], limit: number): number {
  const bytes = page.reduce((sum, { key, value }) => sum + key.byteLength + value.byteLength, 0);
  const wanted = Math.floor((pageBytes * page.length) / Math.max(1, bytes));
  return Math.max(1, Math.min(wanted, limit * 2, mostRecords));
}

function digest(hash: Hash, { key, value }: Entry): void {
  const lengths = Buffer.allocUnsafe(8);
  lengths.writeUInt32BE(key.byteLength, 0);
  lengths.writeUInt32BE(value.byteLength, 4);
  hash.update(lengths).update(key).update(value);
}
