/** Work in turn: bounded, in order, and dropped when its asker goes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { remembered, workQueue } from '../../src/system/workQueue.js';

/** Work that ends when told. */
function gate() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

const staying = new AbortController().signal;

test('a set number of pieces runs at once, and the others in order', async () => {
  const inTurn = workQueue(2, 10);
  const begun: number[] = [];
  const gates = [0, 1, 2, 3].map(gate);
  const done = gates.map(({ opened }, at) =>
    inTurn(async () => {
      begun.push(at);
      await opened;
      return at;
    }, staying),
  );
  assert.deepEqual(begun, [0, 1]);
  gates[1]?.open();
  assert.equal(await done[1], 1);
  assert.deepEqual(begun, [0, 1, 2]);
  for (const { open } of gates) open();
  assert.deepEqual(await Promise.all(done), [0, 1, 2, 3]);
});

test('work whose asker has gone is never begun, and makes room', async () => {
  const inTurn = workQueue(1, 2);
  const first = gate();
  const running = inTurn(() => first.opened.then(() => 'done'), staying);
  const leaving = new AbortController();
  let begun = 0;
  const count = () => Promise.resolve((begun += 1));
  const left = inTurn(count, leaving.signal);
  const waits = inTurn(count, staying);
  assert.equal(await inTurn(count, staying), 'busy', 'no more may wait');
  leaving.abort();
  assert.equal(await left, 'busy');
  const after = inTurn(count, staying);
  assert.equal(await inTurn(count, leaving.signal), 'busy', 'who has gone does not begin');
  first.open();
  assert.deepEqual(await Promise.all([running, waits, after]), ['done', 1, 2]);
});

test('work that fails lets the next begin', async () => {
  const inTurn = workQueue(1, 2);
  const failed = inTurn(() => Promise.reject(new Error('broken')), staying);
  const next = inTurn(() => Promise.resolve('next'), staying);
  await assert.rejects(failed, /broken/);
  assert.equal(await next, 'next');
});

test('work that many wait for continues until the last of them has gone', async () => {
  const inTurn = workQueue(1, 8);
  const first = gate();
  void inTurn(() => first.opened, staying);
  let made = 0;
  const at = remembered((asOf, signal) => inTurn(() => Promise.resolve((made += 1) * 100 + asOf), signal));
  const askers = [new AbortController(), new AbortController()];
  const values = askers.map(({ signal }) => at(7, signal));
  askers[0]?.abort();
  first.open();
  assert.deepEqual(await Promise.all(values), [107, 107]);
  assert.equal(await at(7, staying), 107, 'told again');
  const second = gate();
  void inTurn(() => second.opened, staying);
  const lone = new AbortController();
  const given = at(8, lone.signal);
  lone.abort();
  assert.equal(await given, 'busy');
  second.open();
  assert.equal(await at(8, staying), 208, 'made anew after all had gone');
});

test('work that has begun ends with its value, even if its asker goes', async () => {
  const inTurn = workQueue(1, 1);
  const [first, second] = [gate(), gate()];
  const running = inTurn(() => first.opened.then(() => 'first'), staying);
  const leaving = new AbortController();
  const begun = gate();
  const waits = inTurn(() => {
    begun.open();
    return second.opened.then(() => 'second');
  }, leaving.signal);
  first.open();
  assert.equal(await running, 'first');
  await begun.opened;
  leaving.abort();
  second.open();
  assert.equal(await waits, 'second');
  let made = 0;
  assert.equal(await inTurn(() => Promise.resolve((made += 1)), leaving.signal), 'busy');
  assert.equal(made, 0, 'there was room, but nobody to work for');
});

test('work that failed, or found no room, is tried again for the next asker', async () => {
  let made = 0;
  const outcomes = [
    () => Promise.resolve('busy' as const),
    () => Promise.reject(new Error('broken')),
    () => Promise.resolve(3),
  ];
  const at = remembered(() => outcomes[made++]?.() ?? assert.fail('remembered'));
  assert.equal(await at(7, staying), 'busy');
  await assert.rejects(at(7, staying), /broken/);
  assert.equal(await at(7, staying), 3);
  assert.equal(await at(7, staying), 3);
  assert.equal(made, 3);
});

test('abandoned work does not remove what was made since', async () => {
  const made: number[] = [];
  const at = remembered((asOf) => {
    made.push(asOf);
    return asOf === 7 ? new Promise<number>(() => undefined) : Promise.resolve(asOf);
  });
  const leaving = new AbortController();
  void at(7, leaving.signal);
  assert.equal(await at(8, staying), 8);
  leaving.abort();
  assert.equal(await at(8, staying), 8);
  assert.deepEqual(made, [7, 8]);
});

test('work that its last asker abandons is done again for the next', () => {
  const signals: AbortSignal[] = [];
  const at = remembered((_, signal) => {
    signals.push(signal);
    return new Promise<number>(() => undefined);
  });
  const [one, other] = [new AbortController(), new AbortController()];
  const values = [at(7, one.signal), at(7, other.signal)];
  assert.equal(values[0], values[1]);
  const aborted = (): boolean[] => signals.map((signal) => signal.aborted);
  one.abort();
  assert.deepEqual(aborted(), [false]);
  other.abort();
  assert.deepEqual(aborted(), [true]);
  void at(7, staying);
  assert.deepEqual(aborted(), [true, false]);
});
