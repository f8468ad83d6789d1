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
 * charge with an unknown outcome is retried separately until the outcome is known, so that it counts once;
 * the charges after it wait. Flushes run one after the other.
 */
export class UsageFlush {
  private last: Promise<void> = Promise.resolve();
  private readonly unsure = new Map<string, readonly [delta: UsageDelta, again: Unsure['again']]>();

  constructor(
    private readonly source: UsageSource,
    private readonly ledger: UsageLedger,
    private readonly log: Log,
    /** Decides whether a subject without a record may get one. */
    private readonly mayMake: (subject: Uint8Array) => boolean,
  ) {}

  /** Resolves when all earlier charges are durable, or pending again. */
  flush(): Promise<void> {
    this.last = this.last.then(() => this.handOver());
    return this.last;
  }

  private async handOver(): Promise<void> {
    const charges = this.ledger.takeCharged();
    const unsure = [...this.unsure.values()].map(([delta, again]) => this.settle(delta, again));
    const retried = await Promise.all(unsure);
    const charged = await Promise.all(charges.map((delta) => this.charge(delta)));
    const waiting = [...retried, ...charged].filter((waits) => waits).length;
    if (waiting > 0) this.log.warn({ waiting }, 'usage could not be stored and waits');
  }

  /** True if the charge still waits. */
  private async charge(delta: UsageDelta): Promise<boolean> {
    const { subject, ...usage } = delta;
    if (this.unsure.has(nameOf(subject))) return this.owe(delta);
    return this.settle(delta, () => this.source.add(subject, usage, () => this.mayMake(subject)));
  }

  /** Tries a charge; true if it still waits. */
  private async settle(delta: UsageDelta, add: () => Promise<Added>): Promise<boolean> {
    const added = await this.tried(add);
    const name = nameOf(delta.subject);
    if (typeof added === 'object' && (this.unsure.has(name) || this.unsure.size < mostUnsure)) {
      this.unsure.set(name, [delta, added.again]);
      return true;
    }
    this.unsure.delete(name);
    if (added === 'unavailable' || typeof added === 'object') return this.owe(delta);
    if (added !== 'refused') this.ledger.raise(delta.subject, delta.monthStartMs, added);
    return false;
  }

  /** A source that throws has a bug; its charges stay pending all the same. */
  private async tried(add: () => Promise<Added>): Promise<Added> {
    try {
      return await add();
    } catch (error) {
      this.log.error({ err: error }, 'usage could not be stored');
      return 'unavailable';
    }
  }

  private owe(delta: UsageDelta): true {
    this.ledger.owe(delta);
    return true;
  }
}
