/**
 * Stores what the requests of this process teach. Each second the samples of all changed names are merged
 * with the store's, and a version is frozen if one is due. A crash loses what was learned since the last
 * second.
 */
import type { Corpora } from '../native/index.js';
import { storeLearnt, type LearntChange } from '../store/tables/corpora.js';
import { whenUnavailable, type Store } from '../store/store.js';
import type { Clock, Timer } from '../system/clock.js';
import type { Log } from '../system/log.js';
import type { Randomness } from '../system/randomness.js';
import { reasonOf } from '../system/reason.js';
import { oneAtATime } from '../system/shared.js';

/** Interval of storing what was learned (ms). */
const storeMs = 1_000;

/** Bytes of a sample's id. */
const idBytes = 8;

/** Dependencies of the learner. */
export interface CorpusLearnerParts {
  readonly store: Store;
  /** The process's table. */
  readonly corpora: Pick<Corpora, 'unsaved' | 'learn' | 'saved' | 'endLearning' | 'retry'>;
  readonly clock: Pick<Clock, 'every' | 'wallMs'>;
  readonly randomness: Randomness;
  readonly log: Pick<Log, 'error'>;
}

/** Stores what this process learned. */
export class CorpusLearner {
  private timer: Timer | undefined;
  private readonly rounds = oneAtATime(() => this.storeAll());

  constructor(private readonly parts: CorpusLearnerParts) {}

  start(): void {
    this.timer = this.parts.clock.every(storeMs, () => void this.rounds.run());
  }

  stop(): void {
    this.timer?.stop();
  }

  /** Stores everything learned before the call. Names for which the store does not answer stay pending. */
  async storeAll(): Promise<void> {
    for (const name of this.parts.corpora.unsaved()) {
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
   * sample. Otherwise it would keep its settings and its place among the names. Only the learning state goes:
   * versions belong to the follower.
   */
  private forget(name: string): void {
    const { corpora } = this.parts;
    // Docs that came meanwhile are stored by the next round.
    if (corpora.unsaved().includes(name)) return;
    corpora.endLearning(name, false);
    corpora.retry();
  }

  private async join(name: string, sample: Uint8Array | undefined): Promise<LearntChange | undefined> {
    const { corpora, randomness } = this.parts;
    const stored = sample === undefined ? null : Buffer.from(sample);
    const step = await corpora.learn(name, stored, randomness(idBytes));
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
