/** Checks the fragments' share of the disk against its limit (`DOOR_MAX_GB`). */
import { addBytes, bindingBytes, fragmentBytes } from '../store/tables/fragments.js';
import { whenUnavailable, type Store } from '../store/store.js';
import type { Clock } from '../system/clock.js';
import type { Log } from '../system/log.js';
import { oneAtATime } from '../system/shared.js';

/** Interval of reading the total (ms); the holder of the sweep's lease updates it. */
const lookMs = 5_000;

/** Dependencies of following the total. */
export interface FragmentTotalParts {
  readonly store: Pick<Store, 'get' | 'commit'>;
  /** Most bytes of all fragments; 0: no limit. */
  readonly mostBytes: number;
  readonly clock: Pick<Clock, 'every'>;
  readonly log: Pick<Log, 'warn' | 'info'>;
}

/** The room that fragments have. */
export interface FragmentRoom {
  /** True if no more fragments are stored. */
  readonly isFull: () => boolean;
  /** Counts a key that was bound to an earlier fragment: the count of fragments does not include it. */
  readonly countBinding: () => void;
}

/** Room without a limit. */
export const endlessRoom: FragmentRoom = { isFull: () => false, countBinding: () => undefined };

/** The total as this process last saw it. */
export interface FragmentTotal extends FragmentRoom {
  readonly look: () => Promise<void>;
  readonly stop: () => void;
}

/** Follows the total. While the store does not answer, the last known total counts. */
export function followTotal({ store, mostBytes, clock, log }: FragmentTotalParts): FragmentTotal {
  if (mostBytes === 0) return { ...endlessRoom, look: () => Promise.resolve(), stop: () => undefined };
  let full = false;
  let bindings = 0;
  const addBindings = async (): Promise<void> => {
    const added = bindings;
    if (added > 0 && (await addBytes(store, added * bindingBytes))) bindings -= added;
  };
  // Two at once could add the same keys twice.
  const { run: look } = oneAtATime(async (): Promise<void> => {
    await whenUnavailable(addBindings(), () => undefined);
    const bytes = await whenUnavailable(fragmentBytes(store), () => undefined);
    if (bytes === undefined || bytes >= mostBytes === full) return;
    full = bytes >= mostBytes;
    const megabytes = Math.floor(bytes / 1e6);
    if (full)
      log.warn({ megabytes }, 'fragments take as much disk space as DOOR_MAX_GB allows: no more are stored');
    else log.info({ megabytes }, 'there is room for fragments again');
  });
  const timer = clock.every(lookMs, () => void look());
  void look();
  return { isFull: () => full, countBinding: () => void (bindings += 1), look, stop: () => timer.stop() };
}
