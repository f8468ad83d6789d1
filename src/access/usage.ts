/** Characters that this process has charged, on their way to where usage outlives the server. */
import type { Log } from '../system/log.js';
import type { MonthUsage, UsageSource } from './keyring.js';

/** Interval at which charges are handed over (ms): they are durable within 10 s. */
export const usageFlushMs = 5_000;

/** Usage of a subject that is not yet kept. */
export interface UsageDelta extends MonthUsage {
  readonly subject: Uint8Array;
}

/** Usage that waits, and the shared counts that totals correct. */
export interface UsageLedger {
  readonly takeCharged: () => readonly UsageDelta[];
  readonly owe: (delta: UsageDelta) => void;
  /** Tells the total of a month, which other machines may have added to. */
  readonly raise: (subject: Uint8Array, monthStartMs: number, total: number) => void;
}

/**
 * Hands charges over; what is not kept waits for the next time, unless its subject may have no record.
 * Flushes do not overlap: each one begins when the one before has ended.
 */
export class UsageFlush {
  private last: Promise<void> = Promise.resolve();

  constructor(
    private readonly source: UsageSource,
    private readonly ledger: UsageLedger,
    private readonly log: Log,
    /** Decides whether a subject that has no record may have one. */
    private readonly mayMake: (subject: Uint8Array) => boolean = () => true,
  ) {}

  /** Resolves when all that was charged before is kept, or waits again. */
  flush(): Promise<void> {
    this.last = this.last.then(() => this.handOver());
    return this.last;
  }

  private async handOver(): Promise<void> {
    const charges = this.ledger.takeCharged();
    const kept = await Promise.all(
      charges.map(async (delta) => {
        const total = await this.add(delta);
        if (total === 'unavailable') this.ledger.owe(delta);
        else if (total !== 'refused') this.ledger.raise(delta.subject, delta.monthStartMs, total);
        return total !== 'unavailable';
      }),
    );
    const waiting = kept.filter((done) => !done).length;
    if (waiting > 0) this.log.warn({ waiting }, 'usage could not be kept and waits');
  }

  /** A source that throws is broken; its charges wait all the same. */
  private async add({ subject, ...usage }: UsageDelta): Promise<number | 'unavailable' | 'refused'> {
    try {
      return await this.source.add(subject, usage, () => this.mayMake(subject));
    } catch (error) {
      this.log.error({ err: error }, 'usage could not be kept');
      return 'unavailable';
    }
  }
}
