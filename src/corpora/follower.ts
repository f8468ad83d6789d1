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
  readonly corpora: Pick<Corpora, 'add' | 'remove' | 'versions' | 'retry' | 'unsaved'>;
  readonly clock: Pick<Clock, 'every'>;
  readonly log: Pick<Log, 'error'>;
  /** Has the learner look soon at a name that was removed. */
  readonly hurry?: (name: string) => void;
}

/** Follows the named statistics. */
export function followCorpora(parts: CorpusFollowerParts): Follower<CorpusRecord> {
  const take = (name: string, record: CorpusRecord | undefined): Promise<void> =>
    takeCorpus(parts, name, record);
  return new Follower({ ...parts, changes: 'corpusChanges', space: 'corpora', decode: decodeCorpus, take });
}

/**
 * Takes a name as it is stored. A change that leaves a name without a version is a removal, as learning alone
 * is in no log: what this process learned of the name goes, too. If it has been learned again since, and
 * stored, nothing is lost: the next docs are merged with the stored sample, as in a new process. Docs that
 * are not stored yet may be the first of a new life of the name. They are left to the learner, which stores
 * them, or finds that their sample is gone and drops them. Nothing is awaited between the question and the
 * removal, so no save of this process can end between them.
 */
async function takeCorpus(
  parts: CorpusFollowerParts,
  name: string,
  record: CorpusRecord | undefined,
): Promise<void> {
  const { corpora } = parts;
  const stored = new Set(record?.versions.map(({ version }) => version));
  // Versions from before a removal are gone, even if the name exists again.
  const isOld = corpora.versions(name).some((version) => !stored.has(version));
  if (isOld || (stored.size === 0 && !corpora.unsaved().includes(name))) corpora.remove(name);
  if (stored.size === 0) parts.hurry?.(name);
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
