/**
 * The log of clicks: complete, in order, once each, while the store works or fails, and after it is closed.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClickLog } from '../../src/outreach/clickLog.js';
import { clicksAfter, type Click } from '../../src/store/tables/clicks.js';
import type { Store } from '../../src/store/store.js';
import type { Clock } from '../../src/system/clock.js';
import { recordingLog, type Logged } from '../support/http.js';
import { FailingStore, openTestStore } from '../support/serving.js';

/** A clock whose periodic timers fire when told. */
function manualClock(): { readonly clock: Clock; readonly tick: () => void } {
  const actions = new Set<() => void>();
  const clock: Clock = {
    wallMs: () => 0,
    monotonicMs: () => 0,
    machineMicros: () => 0,
    after: () => ({ stop: () => undefined }),
    every: (_, action) => {
      actions.add(action);
      return { stop: () => void actions.delete(action) };
    },
    sleep: () => Promise.resolve(),
  };
  return { clock, tick: () => actions.forEach((action) => action()) };
}

const click = (atMs: number): Click => ({ atMs, token: 'token', destination: '/', valid: true, bot: false });

interface Stored {
  readonly times: number[];
  readonly blocks: number;
}

async function stored(store: Store): Promise<Stored> {
  const times: number[] = [];
  const positions = new Set<number>();
  for await (const { position, value } of clicksAfter(store, 0)) {
    positions.add(position);
    times.push(value.atMs);
  }
  return { times, blocks: positions.size };
}

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, index) => from + index);

async function setUp(limit?: number, isStorageReserved?: () => boolean) {
  const failing = new FailingStore(await openTestStore());
  const { clock, tick } = manualClock();
  const lines: Logged[] = [];
  const reserve = isStorageReserved === undefined ? {} : { isStorageReserved };
  const parts = { store: failing.seen, clock, log: recordingLog(lines), ...reserve };
  const log = new ClickLog(limit === undefined ? parts : { ...parts, limit });
  const metric = (name: string): number | undefined =>
    log.metrics().find((each) => each.name === name)?.values[0]?.value;
  return { failing, tick, lines, log, metric };
}

test('a click whose token was not made here is counted, and takes no room', async () => {
  const { log, metric, failing } = await setUp(1_000);
  for (let count = 0; count < 5_000; count += 1) {
    log.record({ ...click(count), valid: false, destination: `/${'a'.repeat(2_000)}` });
  }
  log.record(click(7));
  assert.ok(await log.flush());
  assert.deepEqual((await stored(failing.seen)).times, [7]);
  assert.deepEqual(
    [metric('fusegate_clicks_invalid_total'), metric('fusegate_clicks_dropped_total')],
    [5_000, 0],
  );
});

test('clicks beyond what their network may store are only counted', async () => {
  const failing = new FailingStore(await openTestStore());
  const { clock } = manualClock();
  let left = 1_000;
  const mayStore = (address: Uint8Array, bytes: number): boolean => {
    assert.deepEqual([...address], [192, 0, 2, 1]);
    left -= bytes;
    return left >= 0;
  };
  const log = new ClickLog({ store: failing.seen, clock, log: recordingLog([]), mayStore });
  for (let count = 0; count < 100; count += 1) log.record(click(count), Uint8Array.of(192, 0, 2, 1));
  assert.ok(await log.flush());
  const { times } = await stored(failing.seen);
  assert.ok(times.length > 0 && times.length < 100, `${times.length} stored`);
  const unstored = log.metrics().find(({ name }) => name === 'fusegate_clicks_unstored_total');
  assert.equal(unstored?.values[0]?.value, 100 - times.length);
});

test('while the disk is nearly full, clicks are only counted', async () => {
  let reserved = true;
  const { log, metric, failing } = await setUp(undefined, () => reserved);
  log.record(click(1));
  reserved = false;
  log.record(click(2));
  assert.ok(await log.flush());
  assert.deepEqual((await stored(failing.seen)).times, [2]);
  assert.equal(metric('fusegate_clicks_unstored_total'), 1);
});

test('clicks between two writes form one block', async () => {
  const { failing, tick, log, metric } = await setUp();
  for (const atMs of range(0, 1_000)) log.record(click(atMs));
  assert.equal(metric('fusegate_clicks_waiting'), 1_000);
  tick();
  log.record(click(1_000));
  await log.flush();
  assert.deepEqual(await stored(failing.seen), { times: range(0, 1_001), blocks: 2 });
  assert.equal(metric('fusegate_clicks_waiting'), 0);
  tick();
  assert.equal(failing.commits, 2, 'nothing is written where nothing came');
});

test('large blocks are split', async () => {
  const { failing, log } = await setUp();
  const large = { ...click(0), destination: `/?${'\\'.repeat(2_000)}`, token: '\ud800'.repeat(128) };
  for (const atMs of range(0, 2_000)) log.record({ ...large, atMs });
  await log.flush();
  const { times, blocks } = await stored(failing.seen);
  assert.deepEqual(times, range(0, 2_000));
  assert.equal(blocks, 5);
});

test('a block whose write failed is stored once when the store is back', async () => {
  for (const failure of ['written', 'not written'] as const) {
    const { failing, tick, lines, log, metric } = await setUp();
    failing.failure = failure;
    log.record(click(0));
    assert.equal(await log.flush(), false);
    log.record(click(1));
    tick();
    assert.equal(await log.flush(), false);
    assert.equal(metric('fusegate_clicks_waiting'), 2);
    failing.failure = undefined;
    assert.equal(await log.flush(), true);
    assert.deepEqual((await stored(failing.seen)).times, [0, 1], failure);
    assert.deepEqual(
      lines.map(({ level, message }) => [level, message]),
      [
        ['error', 'clicks wait: the store does not accept them'],
        ['info', 'clicks are written again'],
      ],
    );
  }
});

test('beyond the limit the oldest clicks are dropped, counted and reported', async () => {
  const { failing, lines, log, metric } = await setUp(70 * 100);
  failing.failure = 'not written';
  for (const atMs of range(0, 150)) log.record(click(atMs));
  const dropped = metric('fusegate_clicks_dropped_total') ?? 0;
  assert.ok(dropped >= 50 && dropped <= 70, `${dropped}`);
  assert.ok(lines.some(({ message }) => message.includes('the oldest are dropped')));
  failing.failure = undefined;
  await log.flush();
  assert.deepEqual((await stored(failing.seen)).times, range(dropped, 150));
});

test('closing writes what waits, and reports what it could not write', async () => {
  const { failing, tick, log } = await setUp();
  log.record(click(0));
  await log.close();
  assert.deepEqual((await stored(failing.seen)).times, [0]);
  log.record(click(1));
  tick();
  assert.equal(failing.commits, 1, 'the timer is stopped');
  const broken = await setUp();
  broken.failing.failure = 'not written';
  broken.log.record(click(0));
  await broken.log.close();
  const last = broken.lines.at(-1);
  assert.deepEqual(
    [last?.fields, last?.message],
    [{ clicks: 1 }, 'clicks could not be written and are lost'],
  );
});
