/** What the conformance tests are run on, and how they speak to it. */
import type { TestContext } from 'node:test';
import { StoreUnavailable, type Operation, type Outcome, type Store } from '../../src/store/store.js';
import { newUnitId } from '../support/openStore.js';

/** An engine to test. */
export interface Subject {
  readonly name: string;
  /** Why it cannot be tested here, or false. */
  readonly skip: string | false;
  /** URL of a store that holds nothing. */
  readonly fresh: () => Promise<string>;
  /** Opens a store, also one more on what this process has open. */
  readonly open: (url: string) => Promise<Store>;
}

/** Bytes of a text. */
export const bytes = (text: string): Buffer => Buffer.from(text);

/** Commits operations as a new unit. */
export function commit(store: Store, ...operations: Operation[]): Promise<Outcome> {
  return store.commit(operations);
}

/** Times that a large unit is sent again. */
const mostRetries = 5;

/**
 * Commits a large unit. A disk that other work keeps busy can make a database miss its time: the unit has an
 * id, under which it is sent again then.
 */
export async function commitLarge(store: Store, ...operations: Operation[]): Promise<Outcome> {
  const id = newUnitId();
  for (let retries = 0; ; retries += 1) {
    try {
      return await store.commit(operations, id);
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || retries === mostRetries) throw error;
    }
  }
}

/** Opens a store that is closed after the test. */
export async function opened(context: TestContext, { open }: Subject, url: string): Promise<Store> {
  const store = await open(url);
  context.after(() => store.close());
  return store;
}
