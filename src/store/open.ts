/** The kinds of engines, and opening the store of a `STORE_URL`. */
import { recordKey } from './bytes.js';
import type { EngineKind, Located, StoreParts } from './engine.js';
import { createStore } from './groupCommit.js';
import { lmdbKind } from './engines/lmdb/lmdbLocation.js';
import { postgresKind } from './engines/postgres/postgresLocation.js';
import { StoreUnavailable, type Store } from './store.js';
import { unitIds } from './unitId.js';

/** The kinds of engines, in the order of documents and messages. */
export const engineKinds: readonly EngineKind[] = [lmdbKind, postgresKind];

/**
 * The key of the marker that an unfinished `fusegate store copy` leaves in its target, so that no server
 * mistakes a part for the whole.
 */
export const unfinishedCopyKey = recordKey('state', Buffer.from('unfinished copy'));

/** Parses the URL of a store. */
export function parseStoreUrl(text: string): Located {
  for (const kind of engineKinds) {
    const located = kind.locate(text);
    if (located !== undefined) return located;
  }
  return { wrong: `must be ${engineKinds.map(({ form }) => form).join(', or ')}` };
}

/**
 * Opens the store of a checked `STORE_URL`.
 * @throws StoreUnavailable if it cannot serve.
 */
export async function openStore(url: string, parts: StoreParts): Promise<Store> {
  const parsed = parseStoreUrl(url);
  if ('wrong' in parsed) throw new StoreUnavailable(`STORE_URL ${parsed.wrong}.`);
  const engine = await parsed.location.open(parts);
  try {
    if ((await engine.get(unfinishedCopyKey)) === undefined) {
      return createStore(engine, unitIds(parts.clock, parts.randomness));
    }
    throw new StoreUnavailable(
      'The store holds an unfinished copy or restore: empty it and run that command again.',
    );
  } catch (error) {
    await engine.close();
    throw error;
  }
}
