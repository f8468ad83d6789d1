/** The limit on what networks store, over a native module that answers as it is told to. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { facts, kinds, outcomes } from '../../src/access/nativeDecision.js';
import { storingLimit, usageRoom } from '../../src/access/storing.js';
import type { Access as NativeAccess, AdmitOutcome } from '../../src/native/index.js';
import { SetClock } from '../support/access.js';

const four = Uint8Array.of(192, 0, 2, 1);
const six = Uint8Array.of(32, 1, 13, 184, 0, 7, 1, 1);

/** A limit, what it asks of the native module, and how often it found no slot. */
function world(storedKbPerMinute?: number) {
  const state = { outcome: outcomes.Admitted as AdmitOutcome, crowded: 0, asked: [] as unknown[][] };
  const admitAddress: NativeAccess['admitAddress'] = (kind, address, perMinute, ...rest) => {
    state.asked.push(['admit', kind, [...address], perMinute, ...rest.slice(0, 3)]);
    rest[5][facts.RetrySeconds] = 7;
    return state.outcome;
  };
  const spend: NativeAccess['spend'] = (kind, address, perMinute, count) =>
    void state.asked.push(['spend', kind, [...address], perMinute, count]);
  const kb = storedKbPerMinute === undefined ? {} : { storedKbPerMinute };
  const parts = { native: { admitAddress, spend }, clock: new SetClock(), ...kb };
  return { state, limit: storingLimit(parts, () => (state.crowded += 1)) };
}

test('each 64 bytes, or part of them, take one unit of a network’s room, the first on admission', () => {
  const { state, limit } = world(1);
  const admitted = ['admit', kinds.stored, [192, 0, 2], 16, 0, false, false];
  const spent = (units: number): unknown[] => ['spend', kinds.stored, [192, 0, 2], 16, units];
  for (const [bytes, units] of [
    [1, 0],
    [64, 0],
    [65, 1],
    [129, 2],
  ] as const) {
    assert.equal(limit.take(four, bytes), undefined);
    assert.deepEqual(state.asked.splice(0), units === 0 ? [admitted] : [admitted, spent(units)]);
    limit.spend(four, bytes);
    assert.deepEqual(state.asked.splice(0), [spent(units + 1)]);
  }
  limit.spend(four, 0);
  assert.deepEqual(state.asked, []);
  limit.take(six, 1);
  assert.deepEqual(state.asked, [['admit', kinds.stored, [32, 1, 13, 184, 0, 7], 16, 0, false, false]]);
});

test('without a limit nothing is counted, and a large limit is capped at what a bucket can count', () => {
  for (const kb of [undefined, 0]) {
    const { state, limit } = world(kb);
    state.outcome = outcomes.OverMinute;
    assert.equal(limit.take(four, 1e9), undefined);
    limit.spend(four, 1e9);
    assert.deepEqual(state.asked, []);
  }
  const { state, limit } = world(1e6);
  limit.take(four, 1);
  assert.equal(state.asked[0]?.[3], 1_000_000);
});

test('a refusal says when to try again, and a network without a slot of its own is counted', () => {
  const { state, limit } = world(64);
  for (const [outcome, status, crowded] of [
    [outcomes.Admitted, 200, 0],
    [outcomes.Crowded, 200, 1],
    [outcomes.OverMinute, 429, 0],
    [outcomes.OverCrowd, 429, 1],
  ] as const) {
    Object.assign(state, { outcome, crowded: 0, asked: [] });
    const refusal = limit.take(four, 65);
    assert.deepEqual([refusal?.status ?? 200, state.crowded], [status, crowded]);
    assert.equal(refusal?.headers?.['retry-after'], refusal && '7');
    assert.equal(state.asked.length, refusal === undefined ? 2 : 1, 'what is refused takes no room');
  }
});

test('a usage record of an address takes room of its network, and one of a key takes none', () => {
  const { state, limit } = world(64);
  let refused = 0;
  const mayMake = usageRoom(limit, () => (refused += 1));
  assert.equal(mayMake(Uint8Array.of(kinds.anonymous, ...four)), true);
  assert.deepEqual(state.asked.at(-1), ['spend', kinds.stored, [192, 0, 2], 1_000, 7]);
  state.outcome = outcomes.OverMinute;
  assert.deepEqual([mayMake(Uint8Array.of(kinds.anonymous, ...four)), refused], [false, 1]);
  assert.deepEqual([mayMake(Uint8Array.of(0, ...Buffer.alloc(32, 7))), refused], [true, 1]);
});
