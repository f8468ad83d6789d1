/** The named statistics of a worker: the native table, and the follower of the store's. */
import type { OpenedStore } from '../commands/withStore.js';
import { followCorpora, type CorpusFollowerParts } from '../corpora/follower.js';
import { CorpusLearner, type CorpusLearnerParts } from '../corpora/learner.js';
import { native } from '../native/addon.js';
import type { Corpora } from '../native/index.js';
import { corpusKey, learnerIn, type LearnerOf } from '../search/corpora.js';
import { systemRandomness } from '../system/randomness.js';

/** The named statistics of a process. */
export interface NamedStatistics {
  readonly table: Corpora;
  readonly learnerOf: LearnerOf;
  /** The hash of a key that owns statistics: that of the holder's first key. */
  readonly hashKey: (key: string) => Uint8Array | null;
  /** The key of the hashes of terms. */
  readonly corpusKey: Uint8Array;
  /** Resolves when everything stored before the call is known. */
  readonly look: () => Promise<unknown>;
  /** Resolves when everything learned is stored, as far as the store answers. */
  readonly stop: () => Promise<void>;
}

/** Loads the store's statistics, if requests that name them are served, and follows them until stopped. */
export async function namedStatistics({
  isServed,
  isOpen,
  hashKey,
  ...parts
}: OpenedStore &
  Omit<CorpusFollowerParts & CorpusLearnerParts, 'corpora' | 'randomness' | 'hurry'> &
  Pick<NamedStatistics, 'hashKey'> & {
    readonly isServed: boolean;
    /** True if callers without a key may add to public statistics. */
    readonly isOpen: boolean;
  }): Promise<NamedStatistics> {
  const key = corpusKey(parts.secrets);
  const table = new native.Corpora(key);
  const learner = new CorpusLearner({ ...parts, corpora: table, randomness: systemRandomness });
  const follower = followCorpora({ ...parts, corpora: table, hurry: learner.hurry });
  if (isServed) {
    await follower.start();
    learner.start();
  }
  const learnerOf = learnerIn(isOpen, hashKey);
  const stop = (): Promise<void> => {
    follower.stop();
    return learner.stop();
  };
  return { table, learnerOf, hashKey, corpusKey: key, look: () => follower.look(), stop };
}
