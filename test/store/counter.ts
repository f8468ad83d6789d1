/** A counter by compare-and-set. */
import type { Store } from '../../src/store/store.js';
import { newUnitId } from '../support/openStore.js';
import { retried } from './retried.js';

/** Adds one to the counter `name`, trying again after conflicts. */
export async function addOne(store: Store, name: string): Promise<void> {
  const key = Buffer.from(name);
  let present = await store.get('usage', key);
  for (;;) {
    const next = Buffer.from(String(Number(Buffer.from(present ?? []).toString() || '0') + 1));
    const operation =
      present === undefined
        ? ({ kind: 'insert', space: 'usage', key, value: next } as const)
        : ({ kind: 'replace', space: 'usage', key, from: present, to: next } as const);
    const unit = { id: newUnitId(), operations: [operation] };
    const outcome = await retried(store, unit);
    if (outcome.kind === 'done') return;
    if (outcome.kind === 'conflict') present = outcome.record;
  }
}
