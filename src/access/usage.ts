/** Characters that this process has charged, until the usage source stores them. */
import type { Log } from '../system/log.js';
import type { Added, MonthUsage, Unsure, UsageSource } from './keyring.js';

/** Interval at which charges are handed over (ms): they are durable within 10 s. */
export const usageFlushMs = 5_000;

/** Usage of a subject that is not durable yet. */
export interface UsageDelta extends MonthUsage {
  readonly subject: Uint8Array;
}

/** Pending usage, and the shared counts that totals correct. */
export interface UsageLedger {
  readonly takeCharged: () => readonly UsageDelta[];
  readonly owe: (delta: UsageDelta) => void;
  /** Reports the total of a month; other machines may have added to it. */
  readonly raise: (subject: Uint8Array, monthStartMs: number, total: number) => void;
}

/** Most charges of a process with an unknown outcome; those beyond are charged again. */
const mostUnsure = 10_000;

/** A subject as a key of a map. */
function nameOf(subject: Uint8Array): string {
  return Buffer.from(subject).toString('latin1');
}

/**
 * Hands charges over. A charge that was not stored stays pending, unless its subject may have no record. A
 * charge with an unknown outcome is retried by itself until the outcome is known, so that it counts once; the
 * charges after it wait. Flushes run one after the other.
 */
export class UsageFlush {
  private last: Promise<void> = Promise.resolve();
  private readonly unsure = new Map<string, readonly [delta: UsageDelta, again: Unsure['again']]>();

  constructor(
    private readonly source: UsageSource,
    private readonly ledger: UsageLedger,
    private readonly log: Log,
    /** Decides whether a subject without a record may get one. */
    private readonly mayMake: (subject: Uint8Array) => boolean = () => true,
  ) {}

  /** Resolves when all earlier charges are durable, or pending again. */
  flush(): Promise<void> {
    this.last = this.last.then(() => this.handOver());
    return this.last;
  }

  private async handOver(): Promise<void> {
    const charges = this.ledger.takeCharged();
    await Promise.all([...this.unsure.values()].map(([delta, again]) => this.settle(delta, again)));
    await Promise.all(charges.map((delta) => this.charge(delta)));
    const waiting = this.owed + this.unsure.size;
    this.owed = 0;
    if (waiting > 0) this.log.warn({ waiting }, 'usage could not be stored and waits');
  }

  /** Charges that this flush returned to the ledger. */
  private owed = 0;

  private charge(delta: UsageDelta): Promise<void> {
    const { subject, ...usage } = delta;
    if (this.unsure.has(nameOf(subject))) {
      this.owe(delta);
      return Promise.resolve();
    }
    return this.settle(delta, () => this.source.add(subject, usage, () => this.mayMake(subject)));
  }

  /** Tries a charge. A source that throws has a bug; its charges stay pending all the same. */
  private async settle(delta: UsageDelta, add: () => Promise<Added>): Promise<void> {
    let added: Added;
    try {
      added = await add();
    } catch (error) {
      this.log.error({ err: error }, 'usage could not be stored');
      added = 'unavailable';
    }
    const name = nameOf(delta.subject);
    if (typeof added === 'object' && (this.unsure.has(name) || this.unsure.size < mostUnsure)) {
      this.unsure.set(name, [delta, added.again]);
      return;
    }
    this.unsure.delete(name);
    if (added === 'unavailable' || typeof added === 'object') this.owe(delta);
    else if (added !== 'refused') this.ledger.raise(delta.subject, delta.monthStartMs, added);
  }

  private owe(delta: UsageDelta): void {
    this.ledger.owe(delta);
    this.owed += 1;
  }
}
