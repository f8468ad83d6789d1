/** Keys in the store: found by hash and by id, and each change of one is reported once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeEvent } from '../../src/store/tables/events.js';
import {
  allKeys,
  changeKey,
  endedKey,
  findKey,
  findKeyById,
  insertKey,
  overlapping,
  unlinked,
  type KeyRecord,
} from '../../src/store/tables/keys.js';
import type { Store } from '../../src/store/store.js';
import { collect } from '../support/collect.js';
import { openTestStore } from '../support/serving.js';
import { commit } from './subject.js';

function key(number: number, given: Partial<KeyRecord> = {}): KeyRecord {
  return {
    ...{ hash: Buffer.alloc(32, number), id: `key_${number}`, tier: 'growth', hint: 'fg_', origin: 'order' },
    ...{ issuedAtMs: 1, expiresAtMs: null, status: 'active', reason: null, changedAtMs: 1, ...unlinked },
    ...given,
  };
}

async function stored(...keys: readonly KeyRecord[]): Promise<Store> {
  const store = await openTestStore();
  for (const each of keys) assert.equal((await commit(store, ...insertKey(each))).kind, 'done');
  return store;
}

test('a key is found by its hash and by its id, which has at most 64 bytes', async () => {
  const [longest, longer] = [key(1, { id: 'é'.repeat(32) }), key(2, { id: 'i'.repeat(65) })];
  const store = await stored(longest, longer, key(3));
  assert.equal((await findKeyById(store, longest.id))?.id, longest.id);
  for (const id of ['', longer.id, 'é'.repeat(33), 'i'.repeat(1_000), 'key_4']) {
    assert.equal(await findKeyById(store, id), undefined, id);
  }
  assert.equal((await findKey(store, key(3).hash))?.id, 'key_3');
  assert.equal(await findKey(store, key(4).hash), undefined);
});

test('a key is found by an id of one character', async () => {
  const store = await stored(key(1, { id: 'k' }));
  assert.equal((await findKeyById(store, 'k'))?.id, 'k');
});

test('a key stored under the hash of another grants nothing', async () => {
  const store = await stored(key(1));
  const [entry] = await store.scan('keys', { limit: 1 });
  const value = entry?.value ?? assert.fail('there is no key');
  await commit(store, { kind: 'insert', space: 'keys', key: key(2).hash, value });
  await assert.rejects(findKey(store, key(2).hash), /^Error: Key key_1 lies under another hash$/);
});

test('keys are listed in the order of their ids, except an id whose key is gone', async () => {
  const store = await stored(key(3), key(1));
  await commit(store, { kind: 'insert', space: 'keysById', key: Buffer.from('key_2'), value: key(2).hash });
  assert.deepEqual(
    (await collect(allKeys(store))).map((each) => each.id),
    ['key_1', 'key_3'],
  );
});

test('every change of a key is in the log of changes, and its end is an event, once', async () => {
  const store = await stored(key(1));
  const changes = async () =>
    (await store.read('keyChanges', { after: 0, limit: 9 })).map(({ value }) => Buffer.from(value));
  const events = async () =>
    (await store.read('events', { after: 0, limit: 9 })).map(({ value }) => decodeEvent(value));
  const change = async (to: Partial<KeyRecord>) =>
    (await changeKey(store, 'key_1', (from) => ({ to: { ...from, ...to } }))).kind;
  assert.equal(await change({ status: 'suspended', reason: 'asked', changedAtMs: 2 }), 'changed');
  assert.equal(await change({ status: 'active', reason: null, changedAtMs: 3 }), 'changed');
  assert.deepEqual(await events(), []);
  const ended = await changeKey(store, 'key_1', (from) => ({ to: endedKey(from, 'lost', 4).to }));
  assert.ok(ended.kind === 'changed' && ended.key.status === 'revoked');
  const revoked = { type: 'key.revoked', object: 'key_1', atMs: 4 };
  assert.deepEqual(await events(), [revoked]);
  assert.equal(await change({ reason: 'said more', changedAtMs: 5 }), 'changed');
  assert.deepEqual(await events(), [revoked], 'it had ended before');
  assert.deepEqual(
    await changes(),
    Array.from({ length: 5 }, () => key(1).hash),
  );
});

test('the key that another replaced works beside it until it is revoked or expires', async () => {
  const newer = key(9, { replaces: 'key_1' });
  const works = async (older: Partial<KeyRecord>, nowMs: number): Promise<string[]> => {
    const store = await stored(key(1, older));
    return (await overlapping(store, newer, nowMs)).map(({ id }) => id);
  };
  assert.deepEqual(await works({}, 5), ['key_1']);
  assert.deepEqual(await works({ status: 'suspended', reason: 'asked' }, 5), ['key_1']);
  assert.deepEqual(await works({ expiresAtMs: 6 }, 5), ['key_1']);
  assert.deepEqual(await works({ expiresAtMs: 5 }, 5), []);
  assert.deepEqual(await works({ status: 'revoked', reason: 'asked' }, 5), []);
  const store = await stored(key(1));
  assert.deepEqual(await overlapping(store, key(9), 5), [], 'it replaces none');
  assert.deepEqual(await overlapping(store, key(9, { replaces: 'key_2' }), 5), [], 'that one is gone');
});
