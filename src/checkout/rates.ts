/**
 * The price of a bitcoin in US cents: fixed by the operator, or from two HTTP sources that must agree. No
 * price is better than a wrong one: what is old, or what only one source says, is not used, and the reason is
 * told.
 */
import type { Clock } from '../system/clock.js';
import { centsIn } from './money.js';
import type { RateSource, RateUrl } from './rateSettings.js';

/** A price of a bitcoin, or the reason why there is none, a sentence for buyers. */
export type Rate =
  | {
      readonly cents: bigint;
      readonly source: string;
      /** When it was taken; of a fixed one: when this process began to use it. */
      readonly atMs: number;
      /** True if the operator fixed it: it does not grow old. */
      readonly stays?: true;
    }
  | { readonly reason: string };

/** Gives the rate in force. */
export interface Rates {
  readonly current: () => Promise<Rate>;
}

/** Largest difference between two sources, in basis points of the lower. */
const agreementBps = 200n;

/** Time that a rate of HTTP sources may be used (ms). */
export const longestAgeMs = 600_000;

/** Sources are asked at most so often (ms). */
const refreshMs = 30_000;

/** Dependencies of the HTTP sources. */
export interface RateParts {
  readonly clock: Pick<Clock, 'wallMs' | 'monotonicMs'>;
  /** Gets a URL's body; rejects when there is none in time, or its status is not 200. */
  readonly get: (url: string) => Promise<string>;
  /** Told of each rate that was taken; `stays`: it is in force until there is another. */
  readonly keep?: (rate: { readonly cents: bigint; readonly atMs: number; readonly stays: boolean }) => void;
}

/** The rates of a configured source. */
export function createRates(source: RateSource, parts: RateParts): Rates {
  if (source.kind === 'urls') return new HttpRates(source.urls, parts);
  const cents = BigInt(source.cents);
  const atMs = parts.clock.wallMs();
  parts.keep?.({ cents, atMs, stays: true });
  return { current: () => Promise.resolve({ cents, source: 'fixed', atMs, stays: true }) };
}

class HttpRates implements Rates {
  private last: Extract<Rate, { cents: bigint }> | undefined;
  private reason = 'No rate has been taken yet.';
  private askedMs = -Infinity;
  private asking: Promise<void> | undefined;

  constructor(
    private readonly urls: readonly [RateUrl, RateUrl],
    private readonly parts: RateParts,
  ) {}

  async current(): Promise<Rate> {
    const { clock } = this.parts;
    if (clock.monotonicMs() - this.askedMs >= refreshMs) {
      this.askedMs = clock.monotonicMs();
      this.asking = this.ask();
    }
    // A buyer waits only where there is nothing to show.
    if (this.fresh() === undefined) await this.asking;
    return this.fresh() ?? { reason: this.reason };
  }

  private fresh(): Rate | undefined {
    const { last } = this;
    return last !== undefined && this.parts.clock.wallMs() - last.atMs < longestAgeMs ? last : undefined;
  }

  private async ask(): Promise<void> {
    const [first, second] = await Promise.all(this.urls.map((url) => this.price(url)));
    if (first === undefined || second === undefined) {
      const names = this.urls.filter((_, index) => [first, second][index] === undefined);
      this.reason = `No rate: ${names.map(({ name }) => name).join(' and ')} gave no price.`;
      return;
    }
    const [lower, higher] = first < second ? [first, second] : [second, first];
    if ((higher - lower) * 10_000n > lower * agreementBps) {
      this.last = undefined;
      this.reason = 'No rate: the two sources differ by more than 2 %.';
      return;
    }
    const source = this.urls.map(({ name }) => name).join(', ');
    this.last = { cents: lower, source, atMs: this.parts.clock.wallMs() };
    this.parts.keep?.({ cents: lower, atMs: this.last.atMs, stays: false });
  }

  private async price({ url, pointer }: RateUrl): Promise<bigint | undefined> {
    try {
      const found = pointed(JSON.parse(await this.parts.get(url)), pointer);
      return typeof found === 'string' || typeof found === 'number' ? centsIn(String(found)) : undefined;
    } catch {
      return undefined;
    }
  }
}

/** The value that a JSON Pointer (RFC 6901) names; undefined when there is none. */
function pointed(value: unknown, pointer: string): unknown {
  const names = pointer.split('/').slice(1);
  return names
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((at, name) => {
      if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
      return (at as Readonly<Record<string, unknown>>)[name];
    }, value);
}
