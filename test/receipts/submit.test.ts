/** Submissions on a store where another submission comes between, or which lost a record. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { native } from '../../src/native/addon.js';
import { accept, submit, type GivenFragment, type Submitted } from '../../src/receipts/submit.js';
import type { Store } from '../../src/store/store.js';
import { endlessRoom } from '../../src/receipts/total.js';
import { systemClock } from '../../src/system/clock.js';
import { FailingStore, openTestStore } from '../support/serving.js';

const { sealFragment } = native;
const store = new FailingStore(await openTestStore()).seen;

async function submitted(given: GivenFragment, key?: string, to: Store = store): Promise<Submitted> {
  const parts = { store: to, clock: systemClock, sealFragment, room: endlessRoom };
  return (await submit(parts, given, key)).submitted;
}

test('of two submissions that use a new key at once, the first to bind it gets it', async () => {
  const [known, other] = [
    { title: 'known', content: 'It was stored before.' },
    { title: 'other', content: 'It comes between.' },
  ];
  assert.equal((await submitted(known)).kind, 'stored');
  const meanwhile = [(): Promise<Submitted> => submitted(other, 'a key')];
  const commit: Store['commit'] = async (...given) => {
    const outcome = await meanwhile.shift()?.();
    assert.ok(outcome === undefined || outcome.kind === 'stored');
    return store.commit(...given);
  };
  assert.deepEqual(await submitted(known, 'a key', { ...store, commit }), { kind: 'conflict' });
  assert.equal((await submitted(other, 'a key')).kind, 'duplicate');
});

test('a receipt that the store names and does not have is an error', async () => {
  const given = { title: 'lost', content: 'Its record is not there.' };
  assert.equal((await submitted(given)).kind, 'stored');
  const get: Store['get'] = (space, key) =>
    space === 'fragments' ? Promise.resolve(undefined) : store.get(space, key);
  await assert.rejects(submitted(given, undefined, { ...store, get }), /names receipt fr_\w+, which is not/);
});

test('absent fields are accepted like empty ones', () => {
  const bare = { title: 'bare', content: 'Nothing else.' };
  const empty = { mechanism: '', test: '', kind: '', visitor: '' };
  const none = { mechanism: null, test: null, kind: null, visitor: null };
  const expected = accept(sealFragment, { ...bare, ...empty });
  assert.deepEqual(expected.fragment, { ...bare, ...empty });
  for (const given of [bare, { ...bare, ...none }]) {
    assert.deepEqual(accept(sealFragment, given), expected);
  }
});
