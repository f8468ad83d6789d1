/** The store's named statistics in this process: loaded before the first request, then followed. */
import type { Corpora } from '../native/index.js';
import { decodeCorpus, findStatistics, type CorpusRecord } from '../store/tables/corpora.js';
import { Follower } from '../store/follower.js';
import type { Store } from '../store/store.js';
import type { Clock } from '../system/clock.js';
import type { Log } from '../system/log.js';

/** Parts of the follower. */
export interface CorpusFollowerParts {
  readonly store: Store;
  /** The process's table. */
  readonly corpora: Pick<Corpora, 'add' | 'remove' | 'versions' | 'retry'>;
  readonly clock: Pick<Clock, 'every'>;
  readonly log: Pick<Log, 'error'>;
}

/** Follows the named statistics. */
export function followCorpora(parts: CorpusFollowerParts): Follower<CorpusRecord> {
  const take = (name: string, record: CorpusRecord | undefined): Promise<void> =>
    takeCorpus(parts, name, record);
  return new Follower({ ...parts, changes: 'corpusChanges', space: 'corpora', decode: decodeCorpus, take });
}

async function takeCorpus(
  parts: CorpusFollowerParts,
  name: string,
  record: CorpusRecord | undefined,
): Promise<void> {
  const { corpora } = parts;
  const stored = new Set(record?.versions.map(({ version }) => version));
  // Versions from before a removal are gone, even if the name exists again.
  if (corpora.versions(name).some((version) => !stored.has(version))) corpora.remove(name);
  if (record !== undefined) await addVersions(parts, record);
  // A removal makes room for names that could not be stored.
  corpora.retry();
}

/** Adds the versions of a name that are newer than the known ones. */
async function addVersions(
  { store, corpora, log }: CorpusFollowerParts,
  { name, versions }: CorpusRecord,
): Promise<void> {
  const known = corpora.versions(name).at(-1) ?? 0;
  for (const { version, learnt } of versions.filter((each) => each.version > known)) {
    const statistics = await findStatistics(store, name, version);
    // Removed since its record was read: another change reports that.
    if (statistics === undefined) return;
    if (!(await corpora.add(name, version, Buffer.from(statistics), learnt))) {
      log.error(
        { name, version },
        'statistics are damaged, of a later version, or under another master secret',
      );
    }
  }
}
