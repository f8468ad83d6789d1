/** What the conformance tests are run on, and how they speak to it. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Operation, Outcome, Reading, Store } from '../../src/store/store.js';
import { newUnitId, storeAt } from './open.js';

/** An engine to test. */
export interface Subject {
  readonly name: string;
  /** Why it cannot be tested here, or false. */
  readonly skip: string | false;
  /** URL of a store that holds nothing. */
  readonly fresh: () => Promise<string>;
}

/** Bytes of a text. */
export const bytes = (text: string): Buffer => Buffer.from(text);

/** The value of a reading; fails when there is none. */
export function valueOf<Value>(reading: Reading<Value>): Value {
  if (reading.kind === 'unavailable') assert.fail(reading.reason);
  return reading.value;
}

/** Commits operations as a new unit. */
export function commit(store: Store, ...operations: Operation[]): Promise<Outcome> {
  return store.commit({ id: newUnitId(), operations });
}

/** Opens a store that is closed after the test. */
export async function opened(context: TestContext, url: string): Promise<Store> {
  const store = await storeAt(url);
  context.after(() => store.close());
  return store;
}
