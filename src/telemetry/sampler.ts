/** Decides which requests are recorded (OpenTelemetry's samplers), and makes ids, both from random bytes. */
import type { Randomness } from '../system/randomness.js';
import type { SamplerName } from './settings.js';
import type { TraceParent } from './traceContext.js';

/** Bytes of a trace's id and of a span's. */
const traceBytes = 16;
const spanBytes = 8;

/** Random bytes fetched at a time: a request uses six of them, a recorded one 24. */
const pooledBytes = 6_144;

/** The 48 bits of a trace id that are compared: the upper ones of the 56 that W3C requires to be random. */
const compared = { fromHex: 18, bytes: 6, values: 2 ** 48 } as const;

/** Chooses requests, and makes ids. */
export class Sampler {
  private pool: Buffer = Buffer.alloc(0);
  private at = 0;
  private readonly followsParent: boolean;
  /** The least value of those bits that is recorded: programs with equal ratios choose the same traces. */
  private readonly least: number;

  constructor(
    name: SamplerName,
    ratio: number,
    private readonly randomness: Randomness,
  ) {
    this.followsParent = name.startsWith('parentbased_');
    const share = name.endsWith('always_on') ? 1 : name.endsWith('always_off') ? 0 : ratio;
    this.least = Math.round((1 - share) * compared.values);
  }

  /**
   * The id of the trace in which a request is recorded; undefined if it is not. If the trace begins here,
   * only the bits that decide are drawn before the decision.
   */
  choose(parent: TraceParent | undefined): string | undefined {
    if (parent !== undefined) {
      const isChosen = this.followsParent ? parent.sampled : this.isChosenId(parent.traceId);
      return isChosen ? parent.traceId : undefined;
    }
    const at = this.take(compared.bytes);
    if (this.pool.readUIntBE(at, compared.bytes) < this.least) return undefined;
    const bits = this.pool.toString('hex', at, at + compared.bytes);
    const rest = this.hex(traceBytes - compared.bytes);
    return rest.slice(0, compared.fromHex) + bits + rest.slice(compared.fromHex);
  }

  /** A new span's id. */
  spanId(): string {
    return this.hex(spanBytes);
  }

  private isChosenId(traceId: string): boolean {
    const bits = traceId.slice(compared.fromHex, compared.fromHex + 2 * compared.bytes);
    return Number.parseInt(bits, 16) >= this.least;
  }

  private hex(bytes: number): string {
    const at = this.take(bytes);
    const text = this.pool.toString('hex', at, at + bytes);
    // An id of zeros is invalid.
    return /^0+$/.test(text) ? this.hex(bytes) : text;
  }

  /** Offset of the next random bytes in the pool. */
  private take(bytes: number): number {
    if (this.at + bytes > this.pool.length) {
      this.pool = this.randomness(pooledBytes);
      this.at = 0;
    }
    const { at } = this;
    this.at += bytes;
    return at;
  }
}
