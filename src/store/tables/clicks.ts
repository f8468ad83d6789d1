/** The clicks: a log with many clicks in each entry, so that thousands a second need few writes. */
import { appendEntry, entriesAfter, type Kept } from '../entries.js';
import type { Store } from '../store.js';
import { rows, table } from '../table.js';

/** A click as stored. It identifies no visitor. */
export interface Click {
  /** Wall time (ms). */
  readonly atMs: number;
  /** The link's token as received, cut if it is longer than any token. */
  readonly token: string;
  /** The click's destination, cut if it is very long. */
  readonly destination: string;
  /** True if this server made the token for that destination. */
  readonly valid: boolean;
  /** True if the request looks like a program's. */
  readonly bot: boolean;
}

function click(row: readonly unknown[]): Click {
  const [atMs, token, destination, valid, bot] = row;
  if (
    typeof atMs !== 'number' ||
    typeof token !== 'string' ||
    typeof destination !== 'string' ||
    typeof valid !== 'boolean' ||
    typeof bot !== 'boolean'
  ) {
    throw new Error('A click record has a row that is not a click');
  }
  return { atMs, token, destination, valid, bot };
}

const clickTable = table('click', {
  clicks: rows(click, ({ atMs, token, destination, valid, bot }) => [atMs, token, destination, valid, bot]),
});

/** A block's bytes. */
export function encodeClicks(clicks: readonly Click[]): Uint8Array {
  return clickTable.encode({ clicks });
}

/** The clicks of a block's bytes. */
export function decodeClicks(block: Uint8Array): readonly Click[] {
  return clickTable.decode(block).clicks;
}

/** Appends a block; it is on disk when this resolves. `unitId`: the same for every retry. */
export function appendClicks(store: Store, unitId: Uint8Array, clicks: readonly Click[]): Promise<void> {
  return appendEntry(store, unitId, 'clicks', encodeClicks(clicks));
}

/** The clicks of the blocks after a position; the clicks of a block share its position. */
export async function* clicksAfter(store: Store, after: number): AsyncGenerator<Kept<Click>, void> {
  for await (const { position, value } of entriesAfter(store, 'clicks', after)) {
    for (const each of decodeClicks(value)) yield { position, value: each };
  }
}
