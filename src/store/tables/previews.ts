/**
 * Previews of fragments that await confirmation, if several machines share the store. A preview's key begins
 * with the period of its expiry, so that expired ones are removed by key alone.
 */
import type { Store } from '../store.js';
import { integer, table, text, type ValueOf } from '../table.js';

/** Length of a period (ms): no preview lives longer. */
const periodMs = 30 * 60_000;

/** Most previews removed in one step. */
const prunedTogether = 1_000;

const previewTable = table('preview', {
  /** The accepted strings as canonical JSON. */
  fragment: text,
  /** Wall time of its expiry (ms). */
  expiresAtMs: integer,
});

/** A preview as stored. */
export type StoredPreview = ValueOf<typeof previewTable>;

/** Codec of a preview. */
export const { encode: encodePreview, decode: decodePreview } = previewTable;

/** The period of a time, as the first bytes of a key. */
function periodOf(wallMs: number): Buffer {
  const period = Buffer.alloc(4);
  period.writeUInt32BE(Math.floor(wallMs / periodMs));
  return period;
}

/** Stores a preview under its token (32 bytes), replacing any other. It expires within a period. */
export async function storePreview(store: Store, token: Uint8Array, preview: StoredPreview): Promise<void> {
  const key = Buffer.concat([periodOf(preview.expiresAtMs), token]);
  await store.commit([{ kind: 'put', space: 'previews', key, value: encodePreview(preview) }]);
}

/** The preview of a token that has not expired at `nowMs`; undefined: there is none. */
export async function findPreview(
  store: Pick<Store, 'get'>,
  token: Uint8Array,
  nowMs: number,
): Promise<StoredPreview | undefined> {
  // The later period first: a renewed preview expires later.
  for (const endMs of [nowMs + periodMs, nowMs]) {
    const value = await store.get('previews', Buffer.concat([periodOf(endMs), token]));
    const found = value === undefined ? undefined : decodePreview(value);
    if (found !== undefined && found.expiresAtMs > nowMs) return found;
  }
  return undefined;
}

/**
 * Removes previews that expired a period ago: the clocks of machines may differ by that much. Resolves to
 * their number.
 */
export async function removePreviews(store: Pick<Store, 'prune'>, nowMs: number): Promise<number> {
  const before = periodOf(nowMs - periodMs);
  for (let removed = 0; ;) {
    const pruned = await store.prune('previews', before, prunedTogether);
    removed += pruned;
    if (pruned < prunedTogether) return removed;
  }
}
