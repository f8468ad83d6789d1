/**
 * The price of a bitcoin in US cents: fixed by the operator, or from two HTTP sources that must agree. No
 * price is better than a wrong one: a rate that is stale, or that only one source reports, is not used, and
 * the reason is reported.
 */
import type { Clock } from '../system/clock.js';
import { Recent } from '../system/shared.js';
import { centsIn } from './money.js';
import type { RateSource, RateUrl } from './rateSettings.js';

/** A price of a bitcoin, or the reason why there is none, a sentence for buyers. */
export type Rate =
  | {
      readonly cents: bigint;
      readonly source: string;
      /** When it was read; if fixed: when this process started to use it. */
      readonly atMs: number;
      /** True if the operator fixed it: it never becomes stale. */
      readonly stays?: true;
    }
  | { readonly reason: string };

/** The current rate. */
export interface Rates {
  readonly current: () => Promise<Rate>;
}

/** Largest difference between two sources, in basis points of the lower. */
const agreementBps = 200n;

/** Age at which a rate of HTTP sources becomes stale (ms). */
export const longestAgeMs = 600_000;

/** Shortest interval between questions to the sources (ms). */
const refreshMs = 30_000;

/** Dependencies of the HTTP sources. */
export interface RateParts {
  readonly clock: Pick<Clock, 'wallMs' | 'monotonicMs'>;
  /** Fetches a URL's body; rejects if it does not arrive in time, or its status is not 200. */
  readonly get: (url: string) => Promise<string>;
  /** Receives each new rate; `stays`: it is in force until the next one. */
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
  /** `takenMs`: the moment of the rate by the clock that nobody sets. */
  private last: { readonly rate: Extract<Rate, { cents: bigint }>; readonly takenMs: number } | undefined;
  private reason = 'No rate has been taken yet.';
  private readonly questions: Recent<void>;

  constructor(
    private readonly urls: readonly [RateUrl, RateUrl],
    private readonly parts: RateParts,
  ) {
    this.questions = new Recent(parts.clock, refreshMs);
  }

  async current(): Promise<Rate> {
    const asked = this.questions.of(() => this.ask());
    // A buyer waits only if there is no rate to show.
    if (this.fresh() === undefined) await asked;
    return this.fresh() ?? { reason: this.reason };
  }

  private fresh(): Rate | undefined {
    if (this.last === undefined) return undefined;
    const { clock } = this.parts;
    const { rate, takenMs } = this.last;
    // One clock may have been set back, the other stands still while the machine sleeps.
    const ageMs = Math.max(clock.wallMs() - rate.atMs, clock.monotonicMs() - takenMs);
    return ageMs < longestAgeMs ? rate : undefined;
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
    const { clock, keep } = this.parts;
    const source = this.urls.map(({ name }) => name).join(', ');
    const rate = { cents: lower, source, atMs: clock.wallMs() };
    this.last = { rate, takenMs: clock.monotonicMs() };
    keep?.({ cents: lower, atMs: rate.atMs, stays: false });
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

/** The value at a JSON Pointer (RFC 6901); undefined if there is none. */
function pointed(value: unknown, pointer: string): unknown {
  const names = pointer.split('/').slice(1);
  return names
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((at, name) => {
      if (!(at instanceof Object) || !Object.hasOwn(at, name)) return undefined;
      return (at as Readonly<Record<string, unknown>>)[name];
    }, value);
}
