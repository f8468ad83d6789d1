/** Which work takes turns in the thread pool. */
import assert from 'node:assert/strict';
import { inPoolAnyway } from '../../src/system/threadPool.js';
import { Gate } from './gate.js';

/** Turns of the thread pool: as many pieces of work run at once. */
const turns = 3;

/**
 * Holds every turn of the thread pool, begins `work`, and gives the turns back: the work is done only then.
 * `later`: work of about the same length that takes no turn; it is begun and awaited several times meanwhile.
 */
export async function assertTakesTurn<Value>(
  work: () => Promise<Value>,
  later: () => Promise<unknown>,
): Promise<Value> {
  const gate = new Gate();
  const release = gate.hold();
  const others = Array.from({ length: turns }, () => inPoolAnyway(() => gate.passed()));
  let isDone = false;
  const asked = work().finally(() => (isDone = true));
  for (let times = 0; times < 10; times += 1) await later();
  const wasDone = isDone;
  release();
  await Promise.all(others);
  const value = await asked;
  assert.equal(wasDone, false, 'it does not wait for its turn');
  return value;
}
