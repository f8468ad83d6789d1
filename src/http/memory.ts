/**
 * Memory that callers hold in one worker: their bodies, or answers that they have not taken. It is bounded
 * for all, for those without a key together, and for each network of theirs, so that no network without a key
 * has the memory of the others, and all without a key leave half of it to those with one.
 */

/** Holder of memory: the network of a caller without a key; undefined: one with a key. */
export type Holder = string | undefined;

/** Most bytes that one network without a key may hold; more only as the one piece that it holds. */
export const networkBytes = 64 * 1024 * 1024;

/** The network of an address, as memory is shared: a /24 (IPv4), or a /48 (IPv6). */
export function networkOf(address: Uint8Array): string {
  return Buffer.from(address.subarray(0, address.length === 4 ? 3 : 6)).toString('hex');
}

/** Whose part of the memory is used up. */
export type Shortage = 'network' | 'keyless' | 'all';

/** One kind of memory of one worker. */
export class MemoryBudget {
  held = 0;
  private keyless = 0;
  private readonly networks = new Map<string, number>();

  /** @param perNetwork bytes for each network without a key */
  constructor(
    readonly limit: number,
    private readonly perNetwork = networkBytes,
  ) {}

  /**
   * Whose share has no room for `bytes` more; undefined where there is room. `own`: what the piece that grows
   * holds already; a piece that is its network's only one may be larger than the network's part.
   */
  shortage(holder: Holder, bytes: number, own = 0): Shortage | undefined {
    if (holder !== undefined) {
      const ofNetwork = this.networks.get(holder) ?? 0;
      if (ofNetwork + bytes > this.perNetwork && ofNetwork > own) return 'network';
      if (this.keyless + bytes > this.limit / 2) return 'keyless';
    }
    return this.held + bytes > this.limit ? 'all' : undefined;
  }

  /** True if so much is held, with a body that is announced, that its sender must be looked at. */
  isTight(announced: number): boolean {
    return this.held + announced > Math.min(this.perNetwork, this.limit / 2);
  }

  /** Takes memory whether there is room or not. */
  take(holder: Holder, bytes: number): void {
    this.held += bytes;
    if (holder === undefined) return;
    this.keyless += bytes;
    this.networks.set(holder, (this.networks.get(holder) ?? 0) + bytes);
  }

  give(holder: Holder, bytes: number): void {
    this.held -= bytes;
    if (holder === undefined) return;
    this.keyless -= bytes;
    const left = (this.networks.get(holder) ?? 0) - bytes;
    if (left > 0) this.networks.set(holder, left);
    else this.networks.delete(holder);
  }
}
