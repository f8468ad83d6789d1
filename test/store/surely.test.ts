/** Units that are committed again while the store is unavailable, and take effect once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StoreUnavailable, type Operation } from '../../src/store/store.js';
import { commitSurely } from '../../src/store/surely.js';
import { SetClock } from '../support/access.js';
import { Gate } from '../support/gate.js';
import { FailingStore, openTestStore } from '../support/serving.js';
import { until } from '../support/until.js';

const append: Operation = { kind: 'append', log: 'leads', value: Buffer.from('one') };

test('a unit takes effect once, however often its answer is lost', async () => {
  const store = await openTestStore();
  const failing = new FailingStore(store);
  const clock = new SetClock();
  for (const failure of ['not written', 'written'] as const) {
    const before = await store.last('leads');
    const slept: number[] = [];
    failing.failure = failure;
    failing.commits = 0;
    const sleep = (ms: number): Promise<void> => {
      slept.push(ms);
      if (slept.length === 3) failing.failure = undefined;
      return clock.sleep(ms);
    };
    const commit = commitSurely(failing.seen, { monotonicMs: clock.monotonicMs, sleep });
    const outcome = await commit([append]);
    assert.equal(outcome.kind, 'done');
    assert.equal(await store.last('leads'), before + 1);
    assert.deepEqual(slept, [250, 250, 250]);
    assert.equal(failing.commits, 4);
    assert.equal((await commit([append])).kind, 'done');
    assert.equal(await store.last('leads'), before + 2, 'another call is another unit');
  }
});

test('the store is left alone during a pause', async () => {
  const failing = new FailingStore(await openTestStore());
  failing.failure = 'not written';
  const gate = new Gate();
  const release = gate.hold();
  let pauses = 0;
  const sleep = (): Promise<void> => {
    pauses += 1;
    return gate.passed();
  };
  const committed = commitSurely(failing.seen, { monotonicMs: () => 0, sleep })([append]);
  await until(() => pauses === 1);
  for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
  assert.equal(failing.commits, 1);
  failing.failure = undefined;
  release();
  assert.equal((await committed).kind, 'done');
});

test('after twenty seconds its outcome stays unknown', async () => {
  const failing = new FailingStore(await openTestStore());
  const clock = new SetClock();
  failing.failure = 'not written';
  await assert.rejects(commitSurely(failing.seen, clock)([append]), StoreUnavailable);
  assert.equal(clock.monotonicMs(), 20_000);
  assert.equal(failing.commits, 81);
});

test('once nobody awaits the outcome, the unit is not committed again', async () => {
  const failing = new FailingStore(await openTestStore());
  failing.failure = 'not written';
  const clock = new SetClock();
  const left = (): boolean => clock.monotonicMs() >= 500;
  await assert.rejects(commitSurely(failing.seen, clock, left)([append]), StoreUnavailable);
  assert.equal(failing.commits, 2);
  failing.failure = undefined;
  assert.equal((await commitSurely(failing.seen, clock, left)([append])).kind, 'done', 'it is tried once');
});

test('an error of another kind is thrown at once', async () => {
  const store = await openTestStore();
  const clock = new SetClock();
  const broken = { newUnitId: () => store.newUnitId(), commit: () => Promise.reject(new Error('a defect')) };
  await assert.rejects(commitSurely(broken, clock)([append]), /^Error: a defect$/);
  assert.equal(clock.monotonicMs(), 0);
});
