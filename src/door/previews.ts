/** Previews that wait for their confirmation, shared by the workers of a machine; they may be lost. */
import type { Fragment } from '../contract/fragment.js';
import type { Previews as NativePreviews } from '../native/index.js';
import type { Clock } from '../system/clock.js';
import { canonicalJson } from './verify.js';

/** Lifetime of a preview (ms). */
export const previewMs = 30 * 60_000;

/** A preview that is there. */
export interface Preview {
  readonly fragment: Fragment;
  readonly expiresAtMs: number;
}

/** The previews of this machine. */
export interface Previews {
  /** Keeps accepted strings under their confirmation token; returns when they expire (wall time, ms). */
  readonly keep: (token: string, fragment: Fragment) => number;
  /** The preview of a token; undefined when there is none any more. */
  readonly find: (token: string) => Preview | undefined;
}

/** Previews in the native module's file. */
export function createPreviews(native: NativePreviews, clock: Pick<Clock, 'wallMs'>): Previews {
  return {
    keep(token, fragment) {
      const expiresAtMs = Math.floor(clock.wallMs()) + previewMs;
      // One that cannot be kept is one that was lost: its confirmation brings the fields again.
      native.put(Buffer.from(token, 'hex'), canonicalJson({ ...fragment }), expiresAtMs);
      return expiresAtMs;
    },
    find(token) {
      const found = native.get(Buffer.from(token, 'hex'), Math.floor(clock.wallMs()));
      if (found === null) return undefined;
      return { fragment: JSON.parse(found.payload) as Fragment, expiresAtMs: found.expiresAtMs };
    },
  };
}
