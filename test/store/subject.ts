/** The subject of the conformance tests, and how they use it. */
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { StoreUnavailable, type Operation, type Outcome, type Store } from '../../src/store/store.js';
import { newUnitId } from '../support/openStore.js';
import { patientMs } from '../support/until.js';

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

/**
 * Tries a step that moves much data again while the store is unavailable: a disk that other work keeps busy
 * can make a database miss its time.
 */
export async function patiently<Value>(step: () => Promise<Value>): Promise<Value> {
  const endMs = performance.now() + patientMs;
  for (;;) {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || performance.now() > endMs) throw error;
    }
    // A database in doubt is asked again after a while, and until then refuses at once.
    await pause(50);
  }
}

/** Commits a large unit patiently, under one id. */
export function commitLarge(store: Store, ...operations: Operation[]): Promise<Outcome> {
  const id = newUnitId();
  return patiently(() => store.commit(operations, id));
}

/** Opens a store that is closed after the test. */
export async function opened(context: TestContext, { open }: Subject, url: string): Promise<Store> {
  const store = await open(url);
  context.after(() => store.close());
  return store;
}
