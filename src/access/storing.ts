/** Storing by callers without a key, limited in bytes per network: a /24 (IPv4) or a /48 (IPv6). */
import type { Answer } from '../contract/exchange.js';
import type { Access as NativeAccess } from '../native/index.js';
import type { Clock } from '../system/clock.js';
import { networkOf } from '../system/network.js';
import { facts, factsRoom, kinds, outcomes } from './nativeDecision.js';
import { overStored } from './refusals.js';

/** Bytes per unit of the limit: its bucket counts in whole numbers. */
const unitBytes = 64;

/** Most units a minute that a bucket counts exactly. */
const mostUnits = 1_000_000;

/** Parts of the limit. */
interface StoringParts {
  readonly native: Pick<NativeAccess, 'admitAddress' | 'spend'>;
  readonly clock: Pick<Clock, 'machineMicros' | 'wallMs'>;
  /** Limit per network (kB a minute); 0 or absent: no limit. */
  readonly storedKbPerMinute?: number;
}

/** The storing limit of networks. */
export interface StoringLimit {
  /** Charges bytes to the network of an address; returns the answer if the limit refuses them. */
  readonly take: (address: Uint8Array, bytes: number) => Answer | undefined;
  /** Charges bytes that are stored already, even beyond the limit: later requests then wait. */
  readonly spend: (address: Uint8Array, bytes: number) => void;
}

/** Makes the limit. `onCrowded`: a network had no slot of its own. */
export function storingLimit(
  { native, clock, storedKbPerMinute = 0 }: StoringParts,
  onCrowded: () => void,
): StoringLimit {
  if (storedKbPerMinute === 0) return { take: () => undefined, spend: () => undefined };
  const perMinute = Math.min(mostUnits, Math.ceil((storedKbPerMinute * 1_000) / unitBytes));
  const told = factsRoom();
  const spendUnits = (address: Uint8Array, units: number): void => {
    if (units > 0) native.spend(kinds.stored, networkOf(address), perMinute, units, clock.machineMicros());
  };
  const unitsOf = (bytes: number): number => Math.ceil(bytes / unitBytes);
  return {
    take(address, bytes) {
      const asked = [kinds.stored, networkOf(address), perMinute, 0, false, false] as const;
      const outcome = native.admitAddress(...asked, clock.machineMicros(), clock.wallMs(), told);
      if (outcome === outcomes.Crowded || outcome === outcomes.OverCrowd) onCrowded();
      if (outcome !== outcomes.Admitted && outcome !== outcomes.Crowded) {
        return overStored(storedKbPerMinute, told[facts.RetrySeconds] ?? 1);
      }
      // Admission has counted one unit. The bucket may go into debt: later requests wait until it is paid.
      spendUnits(address, unitsOf(bytes) - 1);
      return undefined;
    },
    spend: (address, bytes) => spendUnits(address, unitsOf(bytes)),
  };
}

/** Most bytes that the record of an address's usage takes on the disk. */
const usageBytes = 512;

/**
 * Decides whether a subject of usage may have a new record. An address's record counts against the storing
 * limit of its network, a key's record does not. `onRefused`: the record is refused.
 */
export function usageRoom({ take }: StoringLimit, onRefused: () => void): (subject: Uint8Array) => boolean {
  return ([kind, ...address]) => {
    if (kind !== kinds.anonymous) return true;
    const isRefused = take(Uint8Array.from(address), usageBytes) !== undefined;
    if (isRefused) onRefused();
    return !isRefused;
  };
}
