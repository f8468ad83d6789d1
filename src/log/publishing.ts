/**
 * Publishes checkpoints: whichever process holds the lease `receipt log` polls for new leaves and signs. A
 * process whose machine may not sign takes no lease, so that another can.
 */
import { Candidate } from '../store/leases.js';
import { findSigned, type SignedCheckpoint } from '../store/tables/receiptLog.js';
import { whenUnavailable } from '../store/store.js';
import type { Clock, Timer } from '../system/clock.js';
import type { Log } from '../system/log.js';
import { oneAtATime } from '../system/shared.js';
import type { SecretResult } from '../system/secretFile.js';
import type { LogKey } from './note.js';
import { keyRefusal, mayMakeKey, signRound, type Round, type SignerParts } from './signer.js';
import type { Witnessing } from './witnessing.js';

/** Dependencies of publishing. */
export interface PublishingParts extends Omit<SignerParts, 'key'> {
  /** Reads this machine's key; makes it only if it is missing and `mayMake` is true. */
  readonly openKey: (mayMake: boolean) => SecretResult<LogKey>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** This process' id among those that share the store. */
  readonly holder: string;
  /** Gets signed checkpoints cosigned; absent: there are no witnesses. */
  readonly witnessing?: Pick<Witnessing, 'cosign'>;
}

/** Publishing, until it is stopped. */
export interface Publishing {
  readonly stop: () => Promise<void>;
}

/** Interval of polling the store (ms): a checkpoint includes each leaf within a second. */
const lookMs = 500;

/** Time that the lease lasts without a renewal (ms). */
const leaseMs = 6_000;

/**
 * Time for which signing waits for witnesses (ms): none could cosign checkpoints that are replaced sooner.
 */
const holdMs = 1_000;

/** Interval at which a long round reports its progress (ms). */
const progressMs = 2_000;

/** Pause after a refusal (ms): only the operator can resolve it. */
const restMs = 10_000;

const lease = 'receipt log';

class Publisher implements Publishing {
  private readonly timer: Timer;
  private readonly looks = oneAtATime(() => this.look());
  private readonly candidate: Candidate;
  /**
   * A pending question to the witnesses, and its start; a checkpoint signed meanwhile is cosigned next time.
   */
  private asking: { readonly sinceMs: number; readonly answered: Promise<void> } | undefined;
  private stopped = false;
  private key: { readonly value: LogKey } | undefined;
  /** The last logged reason, so that it is logged once. */
  private told: string | undefined;

  constructor(private readonly parts: PublishingParts) {
    this.candidate = new Candidate(parts, {
      name: lease,
      holder: parts.holder,
      durationMs: leaseMs,
      onHeld: () => void this.looks.run(),
      onLost: () => undefined,
    });
    this.timer = parts.clock.every(lookMs, () => void this.looks.run());
    void this.looks.run();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.timer.stop();
    await this.looks.settled();
    await this.asking?.answered;
    await this.candidate.stop();
  }

  private async look(): Promise<void> {
    try {
      await whenUnavailable(this.advance(), () => undefined);
    } catch (error) {
      this.refuse(String(error));
    }
  }

  private async advance(): Promise<void> {
    const { parts } = this;
    if (this.candidate.isResting()) return;
    const signed = (await findSigned(parts.store))?.signed;
    const opened = this.keyAfter(signed);
    if ('refused' in opened) {
      this.refuse(opened.refused);
      return;
    }
    const token = this.candidate.token();
    if (token !== undefined) return this.sign(token, opened.value);
    if (signed !== undefined && !signed.restored) await this.see(signed);
    if (!this.stopped) this.candidate.ask();
  }

  /** The key that continues after a signed checkpoint. One that may not is read again at the next look. */
  private keyAfter(signed: SignedCheckpoint | undefined): SecretResult<LogKey> {
    const key = this.key ?? this.parts.openKey(mayMakeKey(signed));
    if ('refused' in key) return key;
    const refused = keyRefusal(signed, key.value);
    this.key = refused === undefined ? key : undefined;
    return refused === undefined ? key : { refused };
  }

  /**
   * Records another machine's checkpoint in this one's file, too: it reveals a store that was rolled back.
   */
  private async see(signed: SignedCheckpoint): Promise<void> {
    const { seen } = this.parts;
    const newest = seen.read();
    const isNewer = newest === undefined || (!('wrong' in newest) && newest.size < signed.size);
    if (isNewer) await seen.write(signed);
  }

  /** Signs until no leaf is left. */
  private async sign(token: number, key: LogKey): Promise<void> {
    const { parts, asking } = this;
    if (asking !== undefined && parts.clock.monotonicMs() - asking.sinceMs < holdMs) return;
    let toldMs = parts.clock.monotonicMs();
    for (;;) {
      const round: Round = await signRound({ ...parts, key }, { lease, token });
      if (round.kind === 'refused') {
        this.refuse(round.reason);
        return;
      }
      this.told = undefined;
      if (round.kind === 'overtaken' || this.stopped) return;
      if (round.kind !== 'signed' || !round.more) {
        this.askWitnesses(token);
        return;
      }
      if (parts.clock.monotonicMs() - toldMs < progressMs) continue;
      toldMs = parts.clock.monotonicMs();
      const of = await parts.store.last('fragments');
      parts.log.info({ signed: round.size, of }, 'adding receipts to the log of receipts');
    }
  }

  /** Gets the last checkpoint cosigned, unless a question to the witnesses is pending. */
  private askWitnesses(token: number): void {
    const { witnessing, clock } = this.parts;
    if (witnessing === undefined || this.asking !== undefined) return;
    const answered = whenUnavailable(witnessing.cosign({ lease, token }), () => undefined)
      .catch((error: unknown) => this.refuse(String(error)))
      .finally(() => (this.asking = undefined));
    this.asking = { sinceMs: clock.monotonicMs(), answered };
  }

  /** Logs why nothing is signed, once while the reason stays the same, and leaves the lease to others. */
  private refuse(reason: string): void {
    this.candidate.rest(restMs);
    if (reason === this.told) return;
    this.told = reason;
    this.parts.log.warn({ reason }, 'no checkpoint of the log of receipts is signed');
  }
}

/** Starts to publish checkpoints. */
export function startPublishing(parts: PublishingParts): Publishing {
  return new Publisher(parts);
}
