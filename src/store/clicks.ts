/** The clicks: a log whose entries are blocks of many clicks, so that thousands a second cost few writes. */
import { visitEntries } from './entries.js';
import { defineRecord } from './record.js';
import type { Store, Unavailable } from './store.js';

/** A click as it is stored. Nothing in it says who clicked. */
export interface Click {
  /** Wall time (ms). */
  readonly atMs: number;
  /** The link's token as it came, cut where it is too long to be one. */
  readonly token: string;
  /** Where the click was sent, cut where it is very long. */
  readonly destination: string;
  /** Whether the token was made here for that destination. */
  readonly valid: boolean;
  /** Whether a program followed the link, as far as its request says. */
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
    throw new Error('A click record has a row that is no click');
  }
  return { atMs, token, destination, valid, bot };
}

const record = defineRecord<readonly Click[]>('click', {
  1: ({ rows }) => rows('clicks').map(click),
});

/** A block's bytes. */
export function encodeClicks(clicks: readonly Click[]): Uint8Array {
  const rows = clicks.map(({ atMs, token, destination, valid, bot }) => {
    return [atMs, token, destination, valid, bot] as const;
  });
  return record.encode(1, { clicks: rows });
}

/** The clicks of a block's bytes. */
export const decodeClicks = record.decode;

/** Appends a block; it is on disk when this resolves to undefined. `unitId`: a retry carries the same. */
export async function appendClicks(
  store: Store,
  unitId: Uint8Array,
  clicks: readonly Click[],
): Promise<Unavailable | undefined> {
  const outcome = await store.commit({
    id: unitId,
    operations: [{ kind: 'append', log: 'clicks', value: encodeClicks(clicks) }],
  });
  if (outcome.kind === 'unavailable') return outcome;
  if (outcome.kind !== 'done') throw new Error(`Appending clicks came to ${outcome.kind}`);
  return undefined;
}

/** Calls `visit` for each click of the blocks after a position; the clicks of a block share its position. */
export function visitClicks(
  store: Store,
  after: number,
  visit: (position: number, click: Click) => Promise<void>,
): Promise<Unavailable | undefined> {
  return visitEntries(store, 'clicks', after, async ({ position, value }) => {
    for (const each of decodeClicks(value)) await visit(position, each);
    return true;
  });
}
