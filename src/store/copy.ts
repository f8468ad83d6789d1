/** Copies every record of one engine to another, and then makes sure that both hold the same. */
import { createHash, type Hash } from 'node:crypto';
import type { Engine } from './engine.js';
import { unfinishedCopyKey } from './open.js';
import type { Entry, Reading } from './store.js';

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

/** Behind every key. */
const everything = { from: Buffer.of(0), to: Buffer.of(255, 255) } as const;

const unfinished =
  'The store to copy to holds an unfinished copy. ' +
  'Empty it (remove the folder, or drop the tables) and try again.';

const occupied = 'The store to copy to holds records already. A copy needs an empty one.';

/** What a pass over all records found. */
interface Pass {
  readonly records: number;
  /** SHA-256 over lengths, keys and values in the order of keys, in hex. */
  readonly digest: string;
}

/** A reason to stop in the middle of a pass. */
class Stopped extends Error {}

function valueOf<Value>(reading: Reading<Value>): Value {
  if (reading.kind === 'unavailable') throw new Stopped(reason(reading.reason));
  return reading.value;
}

function reason(text: string): string {
  return text.endsWith('.') ? text : `${text}.`;
}

/**
 * Copies `from` to `to`, which must hold nothing. A marker in the target says that it is unfinished until a
 * second pass over both has found the same records: in the source, so that it did not change meanwhile, and
 * in the target.
 */
export async function copyStore(from: Engine, to: Engine, progress: Progress): Promise<CopyOutcome> {
  try {
    if (valueOf(await to.get(unfinishedCopyKey)) !== undefined)
      return { kind: 'refused', reason: unfinished };
    const present = valueOf(await to.scan({ ...everything, limit: 1 }));
    if (present.length > 0) return { kind: 'refused', reason: occupied };
    if (valueOf(await from.get(unfinishedCopyKey)) !== undefined) {
      return { kind: 'refused', reason: 'The store to copy from is itself an unfinished copy.' };
    }
    await write(to, [{ key: unfinishedCopyKey, value: Buffer.from('1') }]);
  } catch (error) {
    if (error instanceof Stopped) return { kind: 'refused', reason: error.message };
    throw error;
  }
  try {
    return await copyMarked(from, to, progress);
  } catch (error) {
    if (error instanceof Stopped) return { kind: 'failed', reason: error.message };
    throw error;
  }
}

async function copyMarked(from: Engine, to: Engine, progress: Progress): Promise<CopyOutcome> {
  const total = valueOf(await from.count());
  const copied = await pass(from, async (page, records) => {
    await write(to, page);
    progress('copy', records, total);
  });
  const told = (name: 'verify source' | 'verify target') => (_: unknown, records: number) =>
    progress(name, records, copied.records);
  const source = await pass(from, told('verify source'));
  if (source.digest !== copied.digest) {
    throw new Stopped(
      'The store to copy from changed meanwhile. Stop the servers that use it and try again.',
    );
  }
  const target = await pass(to, told('verify target'));
  if (target.digest !== copied.digest || target.records !== copied.records) {
    throw new Stopped(
      `The copy holds other records than its source (${target.records} and ${copied.records}).`,
    );
  }
  await write(to, [{ key: unfinishedCopyKey, value: undefined }]);
  return { kind: 'copied', ...copied };
}

/** Durable when it resolves. */
async function write(
  engine: Engine,
  writes: readonly { readonly key: Uint8Array; readonly value: Uint8Array | undefined }[],
): Promise<void> {
  const failed = await engine.transact([], () => writes);
  if (failed !== undefined) throw new Stopped(reason(failed.reason));
}

/** Reads every record but the marker, page by page. */
async function pass(
  engine: Engine,
  visit: (page: readonly Entry[], records: number) => Promise<void> | void,
): Promise<Pass> {
  const hash = createHash('sha256');
  let from: Uint8Array = everything.from;
  let limit = 64;
  let records = 0;
  for (;;) {
    const found = valueOf(await engine.scan({ from, to: everything.to, limit }));
    const page = found.filter(({ key }) => Buffer.compare(key, unfinishedCopyKey) !== 0);
    records += page.length;
    for (const entry of page) digest(hash, entry);
    await visit(page, records);
    const last = found.at(-1);
    if (last === undefined || found.length < limit) return { records, digest: hash.digest('hex') };
    from = Buffer.concat([last.key, Buffer.of(0)]);
    limit = nextLimit(found, limit);
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
