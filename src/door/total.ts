/** Whether the fragments take as much of the disk as they may (`DOOR_MAX_GB`). */
import { fragmentBytes } from '../store/fragments.js';
import { whenUnavailable, type Store } from '../store/store.js';
import type { Clock } from '../system/clock.js';
import type { Log } from '../system/log.js';

/** Interval at which the total is looked at, which the holder of the sweep's lease brings up to date (ms). */
const lookMs = 5_000;

/** Parts of following the total. */
export interface FragmentTotalParts {
  readonly store: Pick<Store, 'get'>;
  /** Most bytes of all fragments; 0: any number. */
  readonly mostBytes: number;
  readonly clock: Pick<Clock, 'every'>;
  readonly log: Pick<Log, 'warn' | 'info'>;
}

/** The total as this process last saw it. */
export interface FragmentTotal {
  /** True if no more fragments are stored. */
  readonly isFull: () => boolean;
  readonly look: () => Promise<void>;
  readonly stop: () => void;
}

/** Follows the total. A store that does not answer leaves things as they were. */
export function followTotal({ store, mostBytes, clock, log }: FragmentTotalParts): FragmentTotal {
  if (mostBytes === 0) return { isFull: () => false, look: () => Promise.resolve(), stop: () => undefined };
  let full = false;
  const look = async (): Promise<void> => {
    const bytes = await whenUnavailable(fragmentBytes(store), () => undefined);
    if (bytes === undefined || bytes >= mostBytes === full) return;
    full = bytes >= mostBytes;
    const megabytes = Math.floor(bytes / 1e6);
    if (full)
      log.warn({ megabytes }, 'fragments take as much of the disk as DOOR_MAX_GB has: none is stored');
    else log.info({ megabytes }, 'there is room for fragments again');
  };
  const timer = clock.every(lookMs, () => void look());
  void look();
  return { isFull: () => full, look, stop: () => timer.stop() };
}
