/**
 * Memory that callers hold in one worker: request bodies, or answers that they have not taken. There are
 * limits for everyone, for all callers without a key, and for each of their networks. So no network without a
 * key takes the others' memory, and callers without a key leave half of it to callers with one.
 */
import { networkOf } from '../system/network.js';

/** Holder of memory: the network of a caller without a key; undefined: one with a key. */
export type Holder = string | undefined;

/** Most bytes that one network without a key may hold; more only as a single piece. */
export const networkBytes = 64 * 1024 * 1024;

/** The name of an address's network. */
export function networkName(address: Uint8Array): string {
  return Buffer.from(networkOf(address)).toString('hex');
}

/** The share of memory that is used up. */
export type Shortage = 'network' | 'keyless' | 'all';

/** One kind of memory of one worker. */
export class MemoryBudget {
  held = 0;
  private keyless = 0;
  private readonly networks = new Map<string, number>();

  /**
   * @param perNetwork bytes for each network without a key
   */
  constructor(
    readonly limit: number,
    private readonly perNetwork = networkBytes,
  ) {}

  /**
   * The share that `bytes` more would exceed; undefined if there is none. `own`: bytes that the growing piece
   * holds already; a network's only piece may exceed the network's share.
   */
  shortage(holder: Holder, bytes: number, own = 0): Shortage | undefined {
    if (holder !== undefined) {
      const ofNetwork = this.ofNetwork(holder);
      if (ofNetwork + bytes > this.perNetwork && ofNetwork > own) return 'network';
      if (this.keyless + bytes > this.limit / 2) return 'keyless';
    }
    return this.held + bytes > this.limit ? 'all' : undefined;
  }

  /** True if so much is held, with an announced body, that the sender's share must be checked. */
  isTight(announced: number): boolean {
    return this.held + announced > Math.min(this.perNetwork, this.limit / 2);
  }

  /** Counts memory as held, even beyond a limit. */
  take(holder: Holder, bytes: number): void {
    this.held += bytes;
    if (holder === undefined) return;
    this.keyless += bytes;
    this.networks.set(holder, this.ofNetwork(holder) + bytes);
  }

  give(holder: Holder, bytes: number): void {
    this.held -= bytes;
    if (holder === undefined) return;
    this.keyless -= bytes;
    const left = this.ofNetwork(holder) - bytes;
    if (left > 0) this.networks.set(holder, left);
    else this.networks.delete(holder);
  }

  private ofNetwork(holder: string): number {
    return this.networks.get(holder) ?? 0;
  }
}
