/** The named statistics of a worker: the native table, and what follows those of the store. */
import type { OpenedStore } from '../commands/withStore.js';
import { CorpusFollower, type CorpusFollowerParts } from '../corpora/follower.js';
import { native } from '../native/addon.js';
import type { Corpora } from '../native/index.js';
import { corpusKey, ownerIn, type OwnerOf } from '../search/corpora.js';

/** The named statistics of a process. */
export interface NamedStatistics {
  readonly table: Corpora;
  readonly ownerOf: OwnerOf;
  /** The hash of a key that owns statistics: that of its holder's first. */
  readonly hashKey: (key: string) => Uint8Array | null;
  /** The key of the hashes of terms. */
  readonly corpusKey: Uint8Array;
  /** Resolves when all is known that was stored before the call. */
  readonly look: () => Promise<unknown>;
  readonly stop: () => void;
}

/** Loads those of the store, where requests that name them are served, and follows them until stopped. */
export async function namedStatistics({
  isServed,
  hashKey,
  ...parts
}: OpenedStore &
  Omit<CorpusFollowerParts, 'corpora'> &
  Pick<NamedStatistics, 'hashKey'> & { readonly isServed: boolean }): Promise<NamedStatistics> {
  const key = corpusKey(parts.secrets);
  const table = new native.Corpora(key);
  const follower = new CorpusFollower({ ...parts, corpora: table });
  if (isServed) await follower.start();
  const ownerOf = ownerIn(table, hashKey);
  const following = { look: () => follower.look(), stop: () => follower.stop() };
  return { table, ownerOf, hashKey, corpusKey: key, ...following };
}
