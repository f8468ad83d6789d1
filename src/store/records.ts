/** All records of a store in the order of keys, and their digest: shared by copies and backups. */
import { createHash, type Hash } from 'node:crypto';
import type { Scan } from './engine.js';
import { unfinishedCopyKey } from './open.js';
import type { Entry } from './store.js';

/** Findings of a walk over all records. */
export interface Summary {
  readonly records: number;
  /** Bytes of the records, each with its lengths before it ({@link frameHead}). */
  readonly bytes: number;
  /** SHA-256 over these bytes, in hex. */
  readonly digest: string;
}

/** A page of records. */
export interface Page {
  readonly entries: readonly Entry[];
  /** Number of records up to the end of this page. */
  readonly records: number;
}

/** A page as it stands in a backup's file. */
export interface FramedPage extends Page {
  /** The entries, each with its lengths before it ({@link frameHead}). The next page may overwrite them. */
  readonly bytes: Buffer;
}

/** Called with each page. Awaited before the next page is read. */
export type Visit = (page: Page) => unknown;

/** A walk over all records. */
export type Walk = (visit: Visit) => Promise<Summary>;

/** Target size of a page in bytes. */
const pageBytes = 2 * 1024 * 1024;

const mostRecords = 1_024;

/** Every record; keys that begin with a zero byte are an engine's own. */
export const everything = { from: Buffer.of(1), to: Buffer.of(255, 255) } as const;

/** Bytes before a record's key and value: their lengths, 32 bits each, big-endian. */
export const frameHead = 8;

/** Frames one page after the other in one buffer: fewer large buffers for the garbage collector. */
class Framing {
  private room = Buffer.allocUnsafeSlow(pageBytes + pageBytes / 2);

  /** The records of a page, each after its lengths. The next call overwrites them. */
  frame(entries: readonly Entry[]): Buffer {
    const bytes = entries.reduce((sum, { key, value }) => sum + framedBytes(key, value), 0);
    if (bytes > this.room.byteLength) this.room = Buffer.allocUnsafeSlow(bytes);
    const { room } = this;
    let at = 0;
    for (const { key, value } of entries) {
      room.writeUInt32BE(key.byteLength, at);
      room.writeUInt32BE(value.byteLength, at + 4);
      room.set(key, at + frameHead);
      room.set(value, at + frameHead + key.byteLength);
      at += framedBytes(key, value);
    }
    return room.subarray(0, at);
  }
}

function framedBytes(key: Uint8Array, value: Uint8Array): number {
  return frameHead + key.byteLength + value.byteLength;
}

/** Counts and digests records. */
export class Tally {
  private readonly hash: Hash = createHash('sha256');
  private bytes = 0;
  records = 0;

  /** Adds records in their framed form. They are hashed in one call: one for each record would cost more. */
  add(records: number, framed: Uint8Array): void {
    this.hash.update(framed);
    this.bytes += framed.byteLength;
    this.records += records;
  }

  /** The totals; nothing can be added after this. */
  summary(): Summary {
    return { records: this.records, bytes: this.bytes, digest: this.hash.digest('hex') };
  }
}

/** A walk over what `scan` reads, without the marker of unfinished copies. */
export function walkOver(scan: Scan): (visit: (page: FramedPage) => unknown) => Promise<Summary> {
  return async (visit) => {
    const [tally, framing] = [new Tally(), new Framing()];
    let from: Uint8Array = everything.from;
    let limit = 64;
    for (;;) {
      const found = await scan({ from, to: everything.to, limit });
      const entries = found.filter(({ key }) => Buffer.compare(key, unfinishedCopyKey) !== 0);
      const bytes = framing.frame(entries);
      tally.add(entries.length, bytes);
      await visit({ entries, bytes, records: tally.records });
      const last = found.at(-1);
      if (last === undefined || found.length < limit) return tally.summary();
      from = Buffer.concat([last.key, Buffer.of(0)]);
      limit = nextLimit(found, limit);
    }
  };
}

/**
 * Records to read for the next page of about {@link pageBytes}, after a page that is not empty; it grows
 * slowly, as the sizes of values vary.
 */
function nextLimit(page: readonly Entry[], limit: number): number {
  const bytes = page.reduce((sum, { key, value }) => sum + key.byteLength + value.byteLength, 0);
  const wanted = Math.floor((pageBytes * page.length) / bytes);
  return Math.max(1, Math.min(wanted, limit * 2, mostRecords));
}
