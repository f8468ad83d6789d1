/** Ids of units: 6 bytes of wall time in milliseconds, then 10 random bytes, so that ids sort by time. */
import type { Clock } from '../system/clock.js';
import type { Randomness } from '../system/randomness.js';

/** Makes the id of a new unit. */
export type UnitIds = () => Uint8Array;

/** Bytes of {@link UnitIds}' random part drawn at once: one draw costs more than many slices. */
const drawnBytes = 4096;

/** Makes ids from the machine's clock and randomness. */
export function unitIds(clock: Pick<Clock, 'wallMs'>, randomness: Randomness): UnitIds {
  let pool: Uint8Array = Buffer.alloc(0);
  return () => {
    if (pool.byteLength < 10) pool = randomness(drawnBytes);
    const id = Buffer.allocUnsafe(16);
    id.writeUIntBE(Math.max(0, clock.wallMs()), 0, 6);
    id.set(pool.subarray(0, 10), 6);
    pool = pool.subarray(10);
    return id;
  };
}

/** The smallest id of a unit made at `wallMs`. */
export function firstUnitIdOf(wallMs: number): Uint8Array {
  const id = Buffer.alloc(16);
  id.writeUIntBE(Math.max(0, Math.floor(wallMs)), 0, 6);
  return id;
}
