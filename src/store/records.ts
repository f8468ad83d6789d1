/** All records of a store in the order of keys, and their digest: shared by copies and backups. */
import { createHash, type Hash } from 'node:crypto';
import type { Scan } from './engine.js';
import { unfinishedCopyKey } from './open.js';
import type { Entry } from './store.js';

/** Findings of a walk over all records. */
export interface Summary {
  readonly records: number;
  /** Bytes of the records as {@link frame} writes them. */
  readonly bytes: number;
  /** SHA-256 over the records as {@link frame} writes them, in hex. */
  readonly digest: string;
}

/**
 * Called with each page; `records`: number of records up to this page. Awaited before the next page is read.
 */
export type Visit = (page: readonly Entry[], records: number) => unknown;

/** A walk over all records. */
export type Walk = (visit: Visit) => Promise<Summary>;

/** Target size of a page in bytes. */
const pageBytes = 2 * 1024 * 1024;

const mostRecords = 1_024;

/** Every record; keys that begin with a zero byte are an engine's own. */
export const everything = { from: Buffer.of(1), to: Buffer.of(255, 255) } as const;

/** Bytes before a record's key and value: their lengths, 32 bits each, big-endian. */
export const frameHead = 8;

/** A record's lengths, to be followed by its key and its value. */
export function frame({ key, value }: Entry): Buffer {
  const lengths = Buffer.allocUnsafe(frameHead);
  lengths.writeUInt32BE(key.byteLength, 0);
  lengths.writeUInt32BE(value.byteLength, 4);
  return lengths;
}

/** Counts and digests records. */
export class Tally {
  private readonly hash: Hash = createHash('sha256');
  private bytes = 0;
  records = 0;

  /**
   * Adds a page. It is hashed in one call: a call for each part of a record would take most of a walk's time.
   */
  add(page: readonly Entry[]): void {
    const bytes = Buffer.concat(page.flatMap((entry) => [frame(entry), entry.key, entry.value]));
    this.hash.update(bytes);
    this.bytes += bytes.byteLength;
    this.records += page.length;
  }

  /** The totals; nothing can be added after this. */
  summary(): Summary {
    return { records: this.records, bytes: this.bytes, digest: this.hash.digest('hex') };
  }
}

/** A walk over what `scan` reads, without the marker of unfinished copies. */
export function walkOver(scan: Scan): Walk {
  return async (visit) => {
    const tally = new Tally();
    let from: Uint8Array = everything.from;
    let limit = 64;
    for (;;) {
      const found = await scan({ from, to: everything.to, limit });
      const page = found.filter(({ key }) => Buffer.compare(key, unfinishedCopyKey) !== 0);
      tally.add(page);
      await visit(page, tally.records);
      const last = found.at(-1);
      if (last === undefined || found.length < limit) return tally.summary();
      from = Buffer.concat([last.key, Buffer.of(0)]);
      limit = nextLimit(found, limit);
    }
  };
}

/**
 * Records to read for the next page of about {@link pageBytes}; it grows slowly, as the sizes of values vary.
 */
function nextLimit(page: readonly Entry[], limit: number): number {
  const bytes = page.reduce((sum, { key, value }) => sum + key.byteLength + value.byteLength, 0);
  const wanted = Math.floor((pageBytes * page.length) / Math.max(1, bytes));
  return Math.max(1, Math.min(wanted, limit * 2, mostRecords));
}
