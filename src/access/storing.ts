/** What strangers send to be stored, bounded in bytes by network: a /24 (IPv4) or a /48 (IPv6). */
import type { Answer } from '../contract/exchange.js';
import type { Access as NativeAccess } from '../native/index.js';
import type { Clock } from '../system/clock.js';
import { facts, kinds, outcomes } from './nativeDecision.js';
import { overStored } from './refusals.js';

/** Bytes that one unit of the limit stands for: its bucket counts whole numbers. */
const unitBytes = 64;

/** Most units a minute that a bucket holds exactly. */
const mostUnits = 1_000_000;

/** Parts of the limit. */
interface StoringParts {
  readonly native: Pick<NativeAccess, 'admitAddress' | 'spend'>;
  readonly clock: Pick<Clock, 'machineMicros' | 'wallMs'>;
  /** What a network may send (kB a minute); 0, or not given: any amount. */
  readonly storedKbPerMinute?: number;
}

/** Bytes of an address that name its network. */
function networkOf(address: Uint8Array): Uint8Array {
  return address.subarray(0, address.length === 4 ? 3 : 6);
}

/** Takes room for bytes out of what an address's network has. `onCrowded`: it had no place of its own. */
export function storingLimit(
  { native, clock, storedKbPerMinute = 0 }: StoringParts,
  onCrowded: () => void,
): (address: Uint8Array, bytes: number) => Answer | undefined {
  if (storedKbPerMinute === 0) return () => undefined;
  const perMinute = Math.min(mostUnits, Math.ceil((storedKbPerMinute * 1_000) / unitBytes));
  const told = new Float64Array(facts.count);
  return (address, bytes) => {
    const network = networkOf(address);
    const micros = clock.machineMicros();
    const asked = [kinds.stored, network, perMinute] as const;
    const outcome = native.admitAddress(...asked, 0, false, micros, clock.wallMs(), told);
    if (outcome === outcomes.crowded || outcome === outcomes.overCrowd) onCrowded();
    if (outcome !== outcomes.admitted && outcome !== outcomes.crowded) {
      return overStored(storedKbPerMinute, told[facts.retry] ?? 1);
    }
    const units = Math.ceil(bytes / unitBytes);
    // One is counted already. The bucket may owe: what comes next waits until that is paid.
    if (units > 1) native.spend(...asked, units - 1, micros);
    return undefined;
  };
}
