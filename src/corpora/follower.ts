/** The store's named statistics in this process: loaded before the first request, then followed. */
import type { Corpora } from '../native/index.js';
import { allCorpora, findCorpus, findStatistics, type CorpusRecord } from '../store/corpora.js';
import { whenUnavailable, type Store } from '../store/store.js';
import type { Clock, Timer } from '../system/clock.js';
import type { Log } from '../system/log.js';

/** Interval of polling for changes (ms): each is known everywhere within a second. */
const lookMs = 250;

/** Most changes read in one poll. */
const pageEntries = 100;

/** Dependencies of the follower. */
export interface CorpusFollowerParts {
  readonly store: Store;
  /** The process's table. */
  readonly corpora: Pick<Corpora, 'add' | 'remove' | 'versions' | 'retry'>;
  readonly clock: Pick<Clock, 'every'>;
  readonly log: Pick<Log, 'error'>;
}

/** Follows the named statistics. */
export class CorpusFollower {
  private timer: Timer | undefined;
  private seen: number | undefined;
  /** Polls that run or are queued, and the last of them. */
  private looks = 0;
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly parts: CorpusFollowerParts) {}

  /** Loads everything, then polls; if the store does not answer, the next poll tries again. */
  async start(): Promise<void> {
    this.timer = this.parts.clock.every(lookMs, () => {
      if (this.looks === 0) void this.look();
    });
    await this.look();
  }

  stop(): void {
    this.timer?.stop();
  }

  /** Polls once; resolves when this process knows everything stored before the call. */
  look(): Promise<unknown> {
    this.looks += 1;
    this.last = this.last.then(() => this.step()).finally(() => (this.looks -= 1));
    return this.last;
  }

  private step(): Promise<unknown> {
    const { seen } = this;
    return whenUnavailable(seen === undefined ? this.begin() : this.goOn(seen), () => undefined);
  }

  private async begin(): Promise<void> {
    const last = await this.parts.store.last('corpusChanges');
    for (const record of await allCorpora(this.parts.store)) await this.take(record);
    this.seen = last;
  }

  private async goOn(seen: number): Promise<void> {
    const { store, corpora } = this.parts;
    for (const { value, position } of await store.read('corpusChanges', {
      after: seen,
      limit: pageEntries,
    })) {
      const name = Buffer.from(value).toString();
      const record = await findCorpus(store, name);
      const stored = new Set(record?.versions.map(({ version }) => version));
      // Versions from before a removal must go, even if the name exists again.
      if (corpora.versions(name).some((version) => !stored.has(version))) corpora.remove(name);
      if (record !== undefined) await this.take(record);
      // A removal makes room for names that were refused.
      corpora.retry();
      this.seen = position;
    }
  }

  /** Loads the versions of a name that are not known yet. */
  private async take({ name, versions }: CorpusRecord): Promise<void> {
    const { store, corpora, log } = this.parts;
    const known = corpora.versions(name).at(-1) ?? 0;
    for (const { version, learnt } of versions.filter((each) => each.version > known)) {
      const statistics = await findStatistics(store, name, version);
      // Removed since its record was read: a later change reports it.
      if (statistics === undefined) return;
      if (!(await corpora.add(name, version, Buffer.from(statistics), learnt))) {
        log.error(
          { name, version },
          'statistics are damaged, of a later version, or under another master secret',
        );
      }
    }
  }
}
