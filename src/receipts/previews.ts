/**
 * Previews that await confirmation, shared by the workers of a machine, and by all machines that share the
 * store. They may be lost.
 */
import type { Fragment } from '../contract/fragment.js';
import type { Previews as NativePreviews } from '../native/index.js';
import { findPreview, storePreview } from '../store/tables/previews.js';
import { whenUnavailable, type Store } from '../store/store.js';
import type { Clock } from '../system/clock.js';
import { canonicalJson } from './verify.js';

/** Lifetime of a preview (ms). */
export const previewMs = 30 * 60_000;

/**
 * Most bytes that a worker writes to a shared store in the lifetime of a preview, equal to the size of the
 * machine's own file. Further previews stay on this machine alone.
 */
export const sharedBytes = 16 * 1024 * 1024;

/** The stored previews. */
export interface Previews {
  /**
   * Stores accepted strings under their confirmation token. Returns the time at which they expire (wall time,
   * ms): a promise if machines share the store, which resolves once the other machines can read them.
   */
  readonly keep: (token: string, fragment: Fragment) => number | Promise<number>;
  /**
   * The accepted strings that were stored under a token; undefined if there are none.
   * @throws StoreUnavailable if another machine may have it and the store does not answer
   */
  readonly find: (token: string) => Promise<Fragment | undefined>;
}

/** Dependencies of previews. */
export interface PreviewsParts {
  /** The machine's own file of previews. */
  readonly native: NativePreviews;
  /** The store that other machines share; absent: this machine is alone. */
  readonly shared?: Store;
  readonly clock: Pick<Clock, 'wallMs'>;
}

/** Previews in the native module's file, and in the store if machines share it. */
export function createPreviews({ native, shared, clock }: PreviewsParts): Previews {
  const room = roomOf(clock);
  return {
    keep(token, fragment) {
      const expiresAtMs = clock.wallMs() + previewMs;
      const bytes = Buffer.from(token, 'hex');
      const payload = canonicalJson({ ...fragment });
      // A preview that does not fit counts as lost: its confirmation must send the fields again.
      native.put(bytes, payload, expiresAtMs);
      if (shared === undefined || !room(Buffer.byteLength(payload))) return expiresAtMs;
      const stored = storePreview(shared, bytes, { fragment: payload, expiresAtMs });
      return whenUnavailable(stored, () => undefined).then(() => expiresAtMs);
    },
    async find(token) {
      const bytes = Buffer.from(token, 'hex');
      const here = native.get(bytes, clock.wallMs());
      if (here !== null) return fragmentOf(here.payload);
      const there = shared === undefined ? undefined : await findPreview(shared, bytes, clock.wallMs());
      return there === undefined ? undefined : fragmentOf(there.fragment);
    },
  };
}

function fragmentOf(payload: string): Fragment {
  return JSON.parse(payload) as Fragment;
}

/** Counts bytes against {@link sharedBytes}, from 0 again after a preview's lifetime; false: too many. */
function roomOf(clock: Pick<Clock, 'wallMs'>): (bytes: number) => boolean {
  let [beganMs, used] = [-Infinity, 0];
  return (bytes) => {
    const nowMs = clock.wallMs();
    if (Math.abs(nowMs - beganMs) >= previewMs) [beganMs, used] = [nowMs, 0];
    used += bytes;
    return used <= sharedBytes;
  };
}
