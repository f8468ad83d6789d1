/**
 * Sizes of all stored names, as this process knows them, for limits on all of them together. Their records
 * are read once; after that a check reads the log of changed names, and only the records that it names. So a
 * check costs what was changed since the one before, and is as exact as a look at every record.
 */
import { inSlice } from '../../system/slices.js';
import { recordsAfter } from '../entries.js';
import { Following } from '../follower.js';
import type { Log, Space } from '../spaces.js';
import type { Store } from '../store.js';
import { UnreadableRecord } from '../table.js';
import { HeldNames, overNames, type NameLimits, type NameWords } from './names.js';

/** Size of a record: number of versions (0: the name was removed), and their bytes. */
export interface NameSize {
  readonly versions: number;
  readonly bytes: number;
}

/** The size of a name that is not there. */
export const noSize: NameSize = { versions: 0, bytes: 0 };

/** Where names are stored, and their limits. */
export interface KnownNamesParts {
  /** The log of changed names. */
  readonly changes: Log;
  readonly space: Space;
  readonly sizeOf: (record: Uint8Array) => NameSize;
  /** Small records, one a name, that also have bytes. They are in no log, and are read each time. */
  readonly samples?: { readonly space: Space; readonly bytesOf: (record: Uint8Array) => number };
  readonly limits: { readonly owned: NameLimits; readonly all: NameLimits };
  readonly words: NameWords;
}

/** The sizes of the names of a store. */
export class KnownNames {
  /** Names whose record has no version. Some may have no record any more: no log says so. */
  readonly removed = new Set<string>();
  private readonly held = new HeldNames();
  private readonly sizes = new Map<string, NameSize>();
  private readonly samples = new Map<string, { readonly record: Uint8Array; readonly bytes: number }>();
  private readonly following: Following;
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly store: Store,
    private readonly parts: KnownNamesParts,
  ) {
    const { changes, space } = parts;
    this.following = new Following({
      store,
      changes,
      space,
      take: (name, record) => this.take(name, record),
    });
  }

  /** The limit that `added` bytes under a name would exceed, by what is stored before the call. */
  async overLimit(name: string, added: number): Promise<string | undefined> {
    await this.following.catchUp();
    const { samples } = this.parts;
    if (samples !== undefined) {
      const reading = this.last.then(() => this.readSamples(samples));
      this.last = reading.catch(() => undefined);
      await reading;
    }
    return this.over(name, added);
  }

  /** As {@link overLimit}, except that undefined may rest on samples as an earlier call read them. */
  async mayBeOver(name: string, added: number): Promise<string | undefined> {
    await this.following.catchUp();
    return this.over(name, added) === undefined ? undefined : this.overLimit(name, added);
  }

  /** A name's versions and their bytes, as of the last call of one of the above. */
  sizeOf(name: string): NameSize {
    return this.sizes.get(name) ?? noSize;
  }

  private over(name: string, added: number): string | undefined {
    return overNames(this.held, name, added, this.parts.limits, this.parts.words);
  }

  private async take(name: string, record: Uint8Array | undefined): Promise<true> {
    const { sizeOf } = this.parts;
    const unread = (bytes: number): NameSize => ({ versions: 1, bytes });
    const size = record === undefined ? undefined : await inSlice(() => sizeIn(record, sizeOf, unread));
    this.removed.delete(name);
    if (size !== undefined && size.versions > 0) this.sizes.set(name, size);
    else this.sizes.delete(name);
    if (size?.versions === 0) this.removed.add(name);
    this.count(name);
    return true;
  }

  private async readSamples({ space, bytesOf }: NonNullable<KnownNamesParts['samples']>): Promise<void> {
    const absent = new Set(this.samples.keys());
    for await (const { key, value: record } of recordsAfter(this.store, space)) {
      const name = Buffer.from(key).toString();
      absent.delete(name);
      const known = this.samples.get(name)?.record;
      if (known !== undefined && Buffer.compare(known, record) === 0) continue;
      const bytes = await inSlice(() => sizeIn(record, bytesOf, (length) => length));
      this.samples.set(name, { record, bytes });
      this.count(name);
    }
    for (const name of absent) {
      this.samples.delete(name);
      this.count(name);
    }
  }

  /** Bytes under a name: of its versions, and of its sample. */
  private count(name: string): void {
    const [size, sample] = [this.sizes.get(name), this.samples.get(name)];
    const isHeld = size !== undefined || sample !== undefined;
    this.held.set(name, isHeld ? (size?.bytes ?? 0) + (sample?.bytes ?? 0) : undefined);
  }
}

/** A record's size. One that this version cannot read counts as many bytes as it has. */
function sizeIn<Size>(
  record: Uint8Array,
  sizeOf: (record: Uint8Array) => Size,
  unread: (bytes: number) => Size,
): Size {
  try {
    return sizeOf(record);
  } catch (error) {
    if (error instanceof UnreadableRecord) return unread(record.byteLength);
    throw error;
  }
}

/** A function that gives what this process knows of a store's names: the same for each call. */
export function knownNames(parts: KnownNamesParts): (store: Store) => KnownNames {
  const known = new WeakMap<Store, KnownNames>();
  return (store) => {
    const there = known.get(store) ?? new KnownNames(store, parts);
    known.set(store, there);
    return there;
  };
}
