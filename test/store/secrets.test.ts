/** Fingerprints of secrets in the store: the right ones start, wrong ones are refused and change nothing. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { decodeFingerprints, openSecrets, registerSecrets } from '../../src/store/tables/secrets.js';
import { StoreUnavailable, type Store } from '../../src/store/store.js';
import { secretId } from '../../src/system/masterSecret.js';
import { systemRandomness } from '../../src/system/randomness.js';
import { secretPath } from '../../src/system/secretFile.js';
import { FailingStore, openTestStore } from '../support/serving.js';
import { temporaryFolder } from '../support/run.js';

const [a, b, c] = ['a', 'b', 'c'].map((letter) => letter.repeat(40)) as [string, string, string];

async function namedBy(store: Store): Promise<string[]> {
  const reading = await store.get('secrets', Buffer.from('master'));
  assert.ok(reading !== undefined);
  return decodeFingerprints(reading).map(({ id }) => id);
}

test('the first start registers, later ones with the same or more secrets pass', async () => {
  const store = await openTestStore();
  for (const secrets of [[a], [a], [b, a], [c, b, a]] as const) {
    assert.deepEqual(await registerSecrets(store, secrets, 'X'), { kind: 'registered' });
  }
  assert.deepEqual(await namedBy(store), [a, b, c].map(secretId));
});

test('a missing secret is named by its id, and nothing is registered', async () => {
  const store = await openTestStore();
  await registerSecrets(store, [a], 'X');
  const refused = await registerSecrets(store, [b, c], '/data/master-secret');
  assert.ok(refused.kind === 'refused');
  assert.match(
    refused.reason,
    new RegExp(`master secret ${secretId(a)}, which /data/master-secret does not hold`),
  );
  assert.deepEqual(await namedBy(store), [secretId(a)]);
});

test('of many that start at once with different secrets one wins', async () => {
  const store = await openTestStore();
  const secrets = Array.from({ length: 16 }, (_, index) => `${index}`.padStart(40, 'x'));
  const outcomes = await Promise.all(secrets.map((each) => registerSecrets(store, [each], 'X')));
  const winners = secrets.filter((_, index) => outcomes[index]?.kind === 'registered');
  assert.equal(winners.length, 1);
  assert.deepEqual(await namedBy(store), winners.map(secretId));
});

test('what was written though the store said unavailable passes the next time', async () => {
  const store = await openTestStore();
  const failing = new FailingStore(store);
  failing.failure = 'written';
  const half: Store = { ...failing.seen, get: (space, key) => store.get(space, key) };
  await assert.rejects(registerSecrets(half, [a], 'X'), StoreUnavailable);
  assert.deepEqual(await namedBy(store), [secretId(a)]);
  assert.deepEqual(await registerSecrets(store, [a], 'X'), { kind: 'registered' });
});

test('a lost secret file is not made anew over a store that names one', async () => {
  const store = await openTestStore();
  const dataFolder = temporaryFolder();
  const sources = { configured: [], dataFolder, randomness: systemRandomness };
  const nothing = await openSecrets(store, { ...sources, randomness: undefined });
  assert.ok('refused' in nothing && nothing.refused.includes('Start the server once'));
  assert.equal(existsSync(secretPath(dataFolder)), false);
  const opened = await openSecrets(store, sources);
  assert.ok('secrets' in opened);
  assert.deepEqual(await openSecrets(store, sources), opened);
  const elsewhere = temporaryFolder();
  const refused = await openSecrets(store, { ...sources, dataFolder: elsewhere });
  assert.ok('refused' in refused && refused.refused.includes(secretId(opened.secrets[0])));
  assert.ok(refused.refused.includes(secretPath(elsewhere)));
  assert.equal(existsSync(secretPath(elsewhere)), false);
  const configured = await openSecrets(store, { ...sources, configured: [a] });
  assert.ok('refused' in configured && configured.refused.includes('MASTER_SECRET does not hold'));
  const rotated = await openSecrets(store, { ...sources, configured: [a, ...opened.secrets] });
  assert.deepEqual(rotated, { secrets: [a, ...opened.secrets] });
});
