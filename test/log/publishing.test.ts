/** Publishing on a clock set by hand: how long a checkpoint waits for witnesses that do not answer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startPublishing, type PublishingParts } from '../../src/log/publishing.js';
import { native } from '../../src/native/addon.js';
import { findSigned } from '../../src/store/tables/receiptLog.js';
import type { Store } from '../../src/store/store.js';
import { systemClock, type Clock } from '../../src/system/clock.js';
import { openTestStore } from '../support/serving.js';
import { keyOf, MemoryFile, receiptUnit, sealOf } from './world.js';

/** Time for which a checkpoint waits for witnesses (docs/log.md). */
const holdMs = 1_000;

/** A process that publishes, on a clock that stands still until it is told to pass. */
class Scene {
  nowMs = 5_000;
  /** Times at which witnesses were asked, and what ends their silence. */
  readonly asked: { readonly atMs: number; readonly answer: () => void }[] = [];
  readonly refusals: unknown[] = [];
  /** Answers whether a key may be made. */
  openKey: PublishingParts['openKey'] = () => ({ value: keyOf(1) });
  private readonly timers = new Set<() => void>();
  private under = 0;

  constructor(private readonly store: Store) {}

  private readonly counted = <Value>(call: Promise<Value>): Promise<Value> => {
    this.under += 1;
    return call.finally(() => (this.under -= 1));
  };

  start(): ReturnType<typeof startPublishing> {
    const { store, counted } = this;
    const clock: Clock = {
      ...systemClock,
      wallMs: () => this.nowMs,
      monotonicMs: () => this.nowMs,
      every: (_, action) => {
        this.timers.add(action);
        return { stop: () => void this.timers.delete(action) };
      },
    };
    const cosign = (): Promise<void> =>
      new Promise((answer) => this.asked.push({ atMs: this.nowMs, answer }));
    return startPublishing({
      store: {
        ...store,
        newUnitId: () => store.newUnitId(),
        commit: (...given) => counted(store.commit(...given)),
        get: (...given) => counted(store.get(...given)),
        scan: (...given) => counted(store.scan(...given)),
        read: (...given) => counted(store.read(...given)),
        last: (...given) => counted(store.last(...given)),
      },
      clock,
      tree: native,
      openKey: this.openKey,
      origin: 'log.example',
      seen: new MemoryFile(),
      holder: 'a',
      log: { info: () => undefined, warn: (about) => void this.refusals.push(about) },
      witnessing: { cosign },
    });
  }

  /** Lets time pass, has every timer run, and waits until nothing is under way. */
  async pass(ms: number): Promise<void> {
    this.nowMs += ms;
    for (const action of [...this.timers]) action();
    do for (let turn = 0; turn < 8; turn += 1) await new Promise(setImmediate);
    while (this.under > 0);
  }

  async add(number: number): Promise<void> {
    await this.store.commit(receiptUnit(number, sealOf(number)));
  }

  async size(): Promise<number | undefined> {
    return (await findSigned(this.store))?.signed.size;
  }
}

test('a checkpoint waits a second for silent witnesses, and later checkpoints do not wait', async () => {
  const scene = new Scene(await openTestStore());
  await scene.add(0);
  const publishing = scene.start();
  await scene.pass(0);
  await scene.pass(0);
  assert.deepEqual([await scene.size(), scene.asked.length], [1, 1]);
  await scene.add(1);
  await scene.pass(500);
  await scene.pass(499);
  assert.equal(await scene.size(), 1, 'what is signed now would be cosigned by none');
  await scene.pass(1);
  assert.equal(await scene.size(), 2);
  assert.equal(scene.nowMs - (scene.asked[0]?.atMs ?? 0), holdMs);
  for (const number of [2, 3, 4]) {
    await scene.add(number);
    await scene.pass(1);
    assert.equal(await scene.size(), number + 1);
  }
  assert.equal(scene.asked.length, 1, 'those that are silent are not asked again');
  scene.asked[0]?.answer();
  await scene.add(5);
  await scene.pass(1);
  assert.deepEqual([await scene.size(), scene.asked.length], [6, 2]);
  assert.deepEqual(scene.refusals, []);
  scene.asked[1]?.answer();
  await publishing.stop();
});

test('a key is made for a log without one only; a key that is put back signs again', async () => {
  const store = await openTestStore();
  const [first, other] = [new Scene(store), new Scene(store)];
  const asked: boolean[] = [];
  let key: ReturnType<PublishingParts['openKey']> = { value: keyOf(1) };
  for (const scene of [first, other]) scene.openKey = (mayMake) => (asked.push(mayMake), key);
  await first.add(0);
  const earlier = first.start();
  await first.pass(0);
  await first.pass(500);
  assert.deepEqual([await first.size(), asked], [1, [true]], 'it is read once');
  first.asked[0]?.answer();
  await earlier.stop();
  key = { refused: 'The key is missing.' };
  other.nowMs = first.nowMs + 60_000;
  const publishing = other.start();
  await other.add(1);
  await other.pass(0);
  key = { value: keyOf(2) };
  await other.pass(10_000);
  assert.equal(other.refusals.length, 2);
  assert.deepEqual(other.refusals[0], { reason: 'The key is missing.' });
  assert.match(JSON.stringify(other.refusals[1]), /is signed by another key/);
  key = { value: keyOf(1) };
  await other.pass(10_000);
  await other.pass(0);
  assert.equal(await other.size(), 2);
  assert.deepEqual(asked, [true, false, false, false]);
  other.asked[0]?.answer();
  await publishing.stop();
});
