/** Charges on their way to the store: each is stored once or waits, whatever the store does. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Added, UsageSource } from '../../src/access/keyring.js';
import { UsageFlush, type UsageDelta } from '../../src/access/usage.js';
import type { Log } from '../../src/system/log.js';
import { createLog } from '../../src/system/log.js';

const charge = (name: string, characters: number): UsageDelta => {
  return { subject: Buffer.from(name), monthStartMs: 10, characters, days: [] };
};

/** A process's charges, and what was told and logged of them. */
function flushing(add: UsageSource['add']) {
  const charges: UsageDelta[] = [];
  const said: string[] = [];
  const say = (what: string) => (subject: Uint8Array, monthStartMs: number, count: number) => {
    said.push(`${what} ${Buffer.from(subject).toString()} ${monthStartMs} ${count}`);
  };
  const owe = ({ subject, monthStartMs, characters }: UsageDelta): void => {
    say('owe')(subject, monthStartMs, characters);
  };
  const ledger = { takeCharged: () => charges.splice(0), owe, raise: say('raise') };
  const log: Log = {
    ...createLog('silent'),
    warn: (fields) => void said.push(`warn ${JSON.stringify(fields)}`),
    error: () => void said.push('error'),
  };
  const load = (): Promise<undefined> => Promise.resolve(undefined);
  return { flush: new UsageFlush({ add, load }, ledger, log, () => true), charges, said };
}

test('what the store accepts raises the total, and nothing waits or is logged', async () => {
  const { flush, charges, said } = flushing((_, { characters }) => Promise.resolve(100 + characters));
  charges.push(charge('a', 1), charge('b', 2));
  await flush.flush();
  assert.deepEqual(said.splice(0), ['raise a 10 101', 'raise b 10 102']);
  await flush.flush();
  assert.deepEqual(said, [], 'once');
});

test('only what the store cannot accept waits, even if the store throws', async () => {
  const outcomes: Readonly<Record<string, () => Promise<number | 'unavailable'>>> = {
    away: () => Promise.resolve('unavailable'),
    broken: () => Promise.reject(new Error('broken')),
    kept: () => Promise.resolve(7),
  };
  const { flush, charges, said } = flushing(
    (subject) => outcomes[Buffer.from(subject).toString()]?.() ?? Promise.resolve(0),
  );
  charges.push(charge('away', 1), charge('broken', 2), charge('kept', 3));
  await flush.flush();
  assert.deepEqual(said.toSorted(), [
    'error',
    'owe away 10 1',
    'owe broken 10 2',
    'raise kept 10 7',
    'warn {"waiting":2}',
  ]);
});

test('a charge of unknown outcome is retried by itself, and later charges of its subject wait', async () => {
  const calls: string[] = [];
  let outcome: 'unsure' | number = 'unsure';
  const again = (): Promise<Added> => {
    calls.push('again');
    return Promise.resolve(outcome === 'unsure' ? { again } : outcome);
  };
  const { flush, charges, said } = flushing((_, { characters }) => {
    calls.push(`add ${characters}`);
    return Promise.resolve(calls.length === 1 ? { again } : 100 + characters);
  });
  charges.push(charge('a', 1));
  await flush.flush();
  assert.deepEqual([calls.splice(1), said.splice(0)], [[], ['warn {"waiting":1}']], 'it is not owed');
  charges.push(charge('a', 2), charge('b', 3));
  await flush.flush();
  assert.deepEqual(calls.splice(0), ['add 1', 'again', 'add 3']);
  assert.deepEqual(said.splice(0).toSorted(), ['owe a 10 2', 'raise b 10 103', 'warn {"waiting":2}']);
  outcome = 7;
  charges.push(charge('a', 2));
  await flush.flush();
  assert.deepEqual(calls.splice(0), ['again', 'add 2']);
  assert.deepEqual(said.splice(0), ['raise a 10 7', 'raise a 10 102']);
  await flush.flush();
  assert.deepEqual(calls, [], 'once');
});

test('up to ten thousand charges of unknown outcome are retried; any more are charged again', async () => {
  const again = (): Promise<Added> => Promise.resolve({ again });
  const { flush, charges, said } = flushing(again);
  const names = Array.from({ length: 10_001 }, (_, at) => `s${at}`);
  charges.push(...names.map((name) => charge(name, 1)));
  await flush.flush();
  assert.deepEqual(said.splice(0), ['owe s10000 10 1', 'warn {"waiting":10001}']);
  await flush.flush();
  assert.deepEqual(said.splice(0), ['warn {"waiting":10000}'], 'each of them is still retried');
});

test('a charge that its subject may not make is dropped, even if only a retry finds out', async () => {
  const again = (): Promise<Added> => Promise.resolve('refused');
  const { flush, charges, said } = flushing((subject) =>
    Promise.resolve(Buffer.from(subject).toString() === 'a' ? 'refused' : { again }),
  );
  charges.push(charge('a', 1), charge('b', 2));
  await flush.flush();
  assert.deepEqual(said.splice(0), ['warn {"waiting":1}']);
  await flush.flush();
  await flush.flush();
  assert.deepEqual(said, []);
});

test('a flush begins when the previous one has ended, and ends when all that it took is stored', async () => {
  const ends: (() => void)[] = [];
  const { flush, charges, said } = flushing(
    (_, { characters }) =>
      new Promise((resolve) => {
        ends.push(() => resolve(characters));
      }),
  );
  const turn = (): Promise<void> => new Promise(setImmediate);
  charges.push(charge('a', 1));
  const first = flush.flush();
  await turn();
  charges.push(charge('b', 2));
  let over = false;
  const second = flush.flush().then(() => (over = true));
  await turn();
  assert.deepEqual([ends.length, charges.length], [1, 1], 'the second has taken nothing');
  ends.shift()?.();
  await first;
  assert.deepEqual([said, over], [['raise a 10 1'], false]);
  await turn();
  ends.shift()?.();
  await second;
  assert.deepEqual(said, ['raise a 10 1', 'raise b 10 2']);
});
