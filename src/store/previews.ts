/**
 * Previews of fragments that wait to be confirmed, where several machines share the store. Each lies under
 * the period in which it ends, so that those that have ended are removed by their keys alone.
 */
import type { Store } from './store.js';
import { integer, table, text, type ValueOf } from './table.js';

/** Length of a period (ms): no preview waits longer. */
const periodMs = 30 * 60_000;

/** Previews removed in one step. */
const prunedTogether = 1_000;

const previewTable = table('preview', {
  /** The accepted strings as canonical JSON. */
  fragment: text,
  /** Wall time from which on it is not found (ms). */
  expiresAtMs: integer,
});

/** A preview as it is stored. */
export type StoredPreview = ValueOf<typeof previewTable>;

/** A preview's bytes and back. */
export const { encode: encodePreview, decode: decodePreview } = previewTable;

/** The period of a time, as keys begin with it. */
function periodOf(wallMs: number): Buffer {
  const period = Buffer.alloc(4);
  period.writeUInt32BE(Math.floor(wallMs / periodMs));
  return period;
}

/** Stores a preview under its token (32 bytes), whatever was there. It ends within a period. */
export async function storePreview(store: Store, token: Uint8Array, preview: StoredPreview): Promise<void> {
  const key = Buffer.concat([periodOf(preview.expiresAtMs), token]);
  await store.commit([{ kind: 'put', space: 'previews', key, value: encodePreview(preview) }]);
}

/** The preview of a token that ends after a time; undefined: there is none. */
export async function findPreview(
  store: Pick<Store, 'get'>,
  token: Uint8Array,
  nowMs: number,
): Promise<StoredPreview | undefined> {
  // The later one first: a preview that was asked for again waits longer.
  for (const endMs of [nowMs + periodMs, nowMs]) {
    const value = await store.get('previews', Buffer.concat([periodOf(endMs), token]));
    const found = value === undefined ? undefined : decodePreview(value);
    if (found !== undefined && found.expiresAtMs > nowMs) return found;
  }
  return undefined;
}

/**
 * Removes the previews that ended a period ago, so that clocks of machines may differ by as much. Resolves to
 * how many.
 */
export async function removePreviews(store: Pick<Store, 'prune'>, nowMs: number): Promise<number> {
  const before = periodOf(nowMs - periodMs);
  for (let removed = 0; ;) {
    const pruned = await store.prune('previews', before, prunedTogether);
    removed += pruned;
    if (pruned < prunedTogether) return removed;
  }
}
