/**
 * Stores what the requests of this process teach. Each second the samples of changed names are merged with
 * the store's, and a version is frozen if one is due. Each time the whole sample is written, however few docs
 * are new: the larger it is, the longer its name waits for its next turn. A crash loses what was learned
 * since a name's last turn.
 */
import type { Corpora } from '../native/index.js';
import { storeLearnt, type LearntChange } from '../store/tables/corpora.js';
import { ownerOf } from '../store/tables/names.js';
import { whenUnavailable, type Store } from '../store/store.js';
import type { Clock, Timer } from '../system/clock.js';
import type { Log } from '../system/log.js';
import type { Randomness } from '../system/randomness.js';
import { reasonOf } from '../system/reason.js';
import { oneAtATime } from '../system/shared.js';

/** Interval of storing what was learned (ms). */
const storeMs = 1_000;

/** Bytes of a sample for which its name waits a second: what a name writes in the long run. */
const sampleBytesPerSecond = 256 * 1_024;

/** Bytes of a sample's id. */
const idBytes = 8;

/** Dependencies of the learner. */
export interface CorpusLearnerParts {
  readonly store: Store;
  /** The process's table. */
  readonly corpora: Pick<Corpora, 'unsaved' | 'learn' | 'saved' | 'endLearning' | 'forget' | 'isCrowded'>;
  readonly clock: Pick<Clock, 'every' | 'wallMs' | 'monotonicMs'>;
  readonly randomness: Randomness;
  readonly log: Pick<Log, 'error'>;
  /** True while names without an owner must not be stored. */
  readonly isStorageReserved?: () => boolean;
}

/** Stores what this process learned. */
export class CorpusLearner {
  private timer: Timer | undefined;
  private readonly rounds = oneAtATime(() => this.storeDue());
  /** Times from which on names may be stored again ({@link Clock.monotonicMs}); others may be at once. */
  private readonly dueMs = new Map<string, number>();

  constructor(private readonly parts: CorpusLearnerParts) {}

  start(): void {
    this.timer = this.parts.clock.every(storeMs, () => void this.rounds.run());
  }

  /** Ends the rounds, and stores everything. */
  async stop(): Promise<void> {
    this.timer?.stop();
    await this.rounds.settled();
    await this.storeAll();
  }

  /**
   * Stores everything learned before the call. Names for which the store does not answer stay pending, and so
   * do those without an owner while the disk is nearly full.
   */
  storeAll(): Promise<void> {
    return this.storeEach(this.parts.corpora.unsaved());
  }

  /** As {@link storeAll}, without the names that wait for their turn. */
  storeDue(): Promise<void> {
    const { corpora, clock } = this.parts;
    const nowMs = clock.monotonicMs();
    for (const [name, atMs] of this.dueMs) if (atMs <= nowMs) this.dueMs.delete(name);
    // Texts wait in limited memory. When there is little left, larger writes are better than lost texts.
    const isDue = (name: string): boolean => !this.dueMs.has(name) || corpora.isCrowded(name);
    return this.storeEach(corpora.unsaved().filter(isDue));
  }

  /** Lets a name have its turn in the next round: its docs may begin a new sample. */
  readonly hurry = (name: string): void => void this.dueMs.delete(name);

  private async storeEach(names: readonly string[]): Promise<void> {
    for (const name of names) {
      const { isStorageReserved } = this.parts;
      if (ownerOf(name) === undefined && isStorageReserved?.() === true) continue;
      await whenUnavailable(this.store(name), () => undefined).catch((error: unknown) => {
        this.end(name, error);
      });
    }
  }

  private async store(name: string): Promise<void> {
    const { store, corpora, clock } = this.parts;
    const nowMs = clock.wallMs();
    const outcome = await storeLearnt(store, name, (sample) => this.join(name, sample), nowMs);
    if (outcome === 'stored') corpora.saved(name);
    else if (outcome === 'none') this.forget(name);
    else if (outcome !== 'nothing') corpora.endLearning(name, outcome !== 'over');
  }

  /**
   * Forgets a name of which nothing is stored: it was removed, and what was pending was dropped with its
   * sample. Otherwise it would keep its settings and its place among the names. Docs that came meanwhile are
   * stored by the next round. Only the learning state goes: versions belong to the follower.
   */
  private forget(name: string): void {
    this.parts.corpora.forget(name);
  }

  private async join(name: string, sample: Uint8Array | undefined): Promise<LearntChange | undefined> {
    const { corpora, randomness, clock } = this.parts;
    const stored = sample === undefined ? null : Buffer.from(sample);
    const step = await corpora.learn(name, stored, randomness(idBytes));
    // A sample that stays as it is was read nevertheless.
    const bytes = (step?.sample ?? stored)?.byteLength ?? 0;
    this.dueMs.set(name, clock.monotonicMs() + (1_000 * bytes) / sampleBytesPerSecond);
    if (step === null) return undefined;
    const { frozen, ...change } = step;
    if (frozen == null) return { ...change, frozen: undefined };
    const { bytes: statistics, docs, averageLength, terms } = frozen;
    return { ...change, frozen: { statistics, docs, averageLength, terms } };
  }

  private end(name: string, error: unknown): void {
    this.parts.log.error({ name, reason: reasonOf(error) }, 'a name no longer learns');
    this.parts.corpora.endLearning(name, true);
  }
}
