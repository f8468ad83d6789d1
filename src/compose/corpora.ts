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
  /** The key of the hashes of terms. */
  readonly corpusKey: Uint8Array;
  /** Resolves when all is known that was stored before the call. */
  readonly look: () => Promise<unknown>;
  readonly stop: () => void;
}

/** Loads those of the store, where requests that name them are served, and follows them until stopped. */
export async function namedStatistics({
  isServed,
  ...parts
}: OpenedStore &
  Omit<CorpusFollowerParts, 'corpora'> & { readonly isServed: boolean }): Promise<NamedStatistics> {
  const key = corpusKey(parts.secrets);
  const table = new native.Corpora(key);
  const follower = new CorpusFollower({ ...parts, corpora: table });
  if (isServed) await follower.start();
  const ownerOf = ownerIn(table, native.hashKey);
  return { table, ownerOf, corpusKey: key, look: () => follower.look(), stop: () => follower.stop() };
}
