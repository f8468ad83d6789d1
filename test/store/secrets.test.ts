/** Fingerprints of secrets in the store: right secrets start the server, wrong ones change nothing. */
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  decodeFingerprints,
  encodeFingerprints,
  fingerprintsKey,
  missingSecrets,
  openSecrets,
  registerSecrets,
  secretsFor,
} from '../../src/store/tables/secrets.js';
import { spaces } from '../../src/store/spaces.js';
import { StoreUnavailable, type Store } from '../../src/store/store.js';
import { masterSecretFile, secretFingerprint, secretId } from '../../src/system/masterSecret.js';
import { systemRandomness } from '../../src/system/randomness.js';
import { FailingStore, openTestStore } from '../support/serving.js';
import { temporaryFolder } from '../support/run.js';

const [a, b, c] = ['a', 'b', 'c'].map((letter) => letter.repeat(40)) as [string, string, string];

async function namedBy(store: Store): Promise<string[]> {
  const reading = await store.get('secrets', Buffer.from('master'));
  assert.ok(reading !== undefined);
  return decodeFingerprints(reading).map(({ id }) => id);
}

test('the first start registers its secrets; later ones with the same or more are accepted', async () => {
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

test('what was written although the store said unavailable is accepted the next time', async () => {
  const store = await openTestStore();
  const failing = new FailingStore(store);
  failing.failure = 'written';
  const half: Store = { ...failing.seen, get: (space, key) => store.get(space, key) };
  await assert.rejects(registerSecrets(half, [a], 'X'), StoreUnavailable);
  assert.deepEqual(await namedBy(store), [secretId(a)]);
  assert.deepEqual(await registerSecrets(store, [a], 'X'), { kind: 'registered' });
});

test('a process uses the secret that another makes while it starts', async () => {
  for (const moment of ['before the record is read', 'after'] as const) {
    const store = await openTestStore();
    const sources = { configured: [], dataFolder: temporaryFolder(), randomness: systemRandomness };
    let made: Awaited<ReturnType<typeof openSecrets>> | undefined;
    const beside: Store = {
      ...store,
      get: async (space, key) => {
        if (moment === 'before the record is read') made ??= await openSecrets(store, sources);
        const record = await store.get(space, key);
        made ??= await openSecrets(store, sources);
        return record;
      },
    };
    const opened = await openSecrets(beside, sources);
    assert.ok('value' in opened, moment);
    assert.deepEqual(opened, made);
  }
});

test('a lost secret file is not made anew over a store that names one', async () => {
  const store = await openTestStore();
  const dataFolder = temporaryFolder();
  const sources = { configured: [], dataFolder, randomness: systemRandomness };
  const nothing = await openSecrets(store, { ...sources, randomness: undefined });
  assert.ok('refused' in nothing && nothing.refused.includes('Start the server once'));
  assert.equal(existsSync(masterSecretFile(dataFolder).path), false);
  const opened = await openSecrets(store, sources);
  assert.ok('value' in opened);
  assert.deepEqual(await openSecrets(store, sources), opened);
  const elsewhere = temporaryFolder();
  const refused = await openSecrets(store, { ...sources, dataFolder: elsewhere });
  assert.ok('refused' in refused && refused.refused.includes(secretId(opened.value[0])));
  assert.ok(refused.refused.includes(masterSecretFile(elsewhere).path));
  assert.equal(existsSync(masterSecretFile(elsewhere).path), false);
  const configured = await openSecrets(store, { ...sources, configured: [a] });
  assert.ok('refused' in configured && configured.refused.includes('MASTER_SECRET does not hold'));
  const rotated = await openSecrets(store, { ...sources, configured: [a, ...opened.value] });
  assert.deepEqual(rotated, { value: [a, ...opened.value] });
});

test('a command registers nothing, and derives from the newest registered secret', async () => {
  const store = await openTestStore();
  const failing = new FailingStore(store);
  const open = (...configured: string[]) => {
    const sources = { configured, dataFolder: temporaryFolder(), randomness: undefined };
    return openSecrets(failing.seen, sources, 'command');
  };
  assert.deepEqual(await open(b, a), { value: [b, a] }, 'a store that no server has used names none');
  await registerSecrets(store, [a], 'X');
  assert.deepEqual(await open(c, b, a), { value: [a] });
  assert.deepEqual(await open(a, c), { value: [a] });
  const refused = await open(b, c);
  assert.ok('refused' in refused && refused.refused.includes(`secret ${secretId(a)}, which MASTER_SECRET`));
  await registerSecrets(store, [b, a], 'X');
  assert.deepEqual(await open(c, b, a), { value: [b, a] });
  assert.equal(failing.commits, 0);
});

test('a replaced worker does without secrets of later starts', async () => {
  const store = await openTestStore();
  const sources = { dataFolder: temporaryFolder(), randomness: systemRandomness };
  const replace = (...configured: string[]) => openSecrets(store, { ...sources, configured }, 'replacement');
  await registerSecrets(store, [a], 'X');
  await registerSecrets(store, [b, a], 'X');
  assert.deepEqual(await replace(a), { value: [a] });
  assert.ok('refused' in (await openSecrets(store, { ...sources, configured: [a] })), 'no start does');
  assert.ok('refused' in (await replace(b)), 'one that was there before is needed');
  assert.ok('refused' in (await replace(c)), 'a secret of its own must be named');
  assert.deepEqual(await replace(c, b, a), { value: [c, b, a] });
  assert.deepEqual(await namedBy(store), [a, b, c].map(secretId));
});

test('a start with known secrets writes nothing', async () => {
  const store = await openTestStore();
  await registerSecrets(store, [a, b], 'X');
  const failing = new FailingStore(store);
  assert.deepEqual(await registerSecrets(failing.seen, [b, a], 'X'), { kind: 'registered' });
  assert.equal(failing.commits, 0);
});

test('a secret is the one that the store names only if both id and fingerprint match', async () => {
  const [own, other] = [a, b].map((secret) => [secretId(secret), secretFingerprint(secret)] as const);
  assert.ok(own !== undefined && other !== undefined);
  for (const [id, fingerprint] of [
    [own[0], other[1]],
    [other[0], own[1]],
  ] as const) {
    const store = await openTestStore();
    const value = encodeFingerprints([{ id, fingerprint }]);
    await store.commit([{ kind: 'insert', space: 'secrets', key: Buffer.from('master'), value }]);
    const refused = await registerSecrets(store, [a], 'X');
    assert.ok(refused.kind === 'refused' && refused.reason.includes(`master secret ${id}, which X`));
  }
});

test('invalid secrets are refused with the name of their variable', async () => {
  const store = await openTestStore();
  const sources = { dataFolder: temporaryFolder(), randomness: systemRandomness };
  for (const [configured, reason] of [
    [['short'], /^MASTER_SECRET must be secrets of 32 to 256 visible ASCII characters/],
    [[a, a], /^MASTER_SECRET names a secret twice\.$/],
  ] as const) {
    const opened = await openSecrets(store, { ...sources, configured });
    assert.match('refused' in opened ? opened.refused : '', reason);
  }
  assert.equal(await store.get('secrets', Buffer.from('master')), undefined);
});

test('missing secrets that the store needs are named, each with its place', async () => {
  const store = await openTestStore();
  const dataFolder = temporaryFolder();
  const engine = {
    get: async (key: Uint8Array) => {
      assert.deepEqual(key, fingerprintsKey);
      return await store.get('secrets', Buffer.from('master'));
    },
  };
  const missing = (...masterSecrets: string[]) => missingSecrets(engine, { masterSecrets, dataFolder });
  const needs = (secret: string, where: string) =>
    `The server needs master secret ${secretId(secret)}: put your copy into ${where}.`;
  assert.deepEqual([await missing(), await missing(a)], [[], []], 'an empty store needs none');
  assert.deepEqual(secretsFor(undefined, { masterSecrets: [], dataFolder }), { secrets: [] });
  await registerSecrets(store, [b, a], 'X');
  const path = masterSecretFile(dataFolder).path;
  assert.deepEqual(await missing(), [needs(b, path), needs(a, path)]);
  assert.deepEqual(await missing(c), [needs(b, 'MASTER_SECRET'), needs(a, 'MASTER_SECRET')]);
  assert.deepEqual(await missing(c, a), [needs(b, 'MASTER_SECRET')]);
  assert.deepEqual(await missing(a, c, b), []);
  writeFileSync(path, `${a}\n`, { mode: 0o600 });
  assert.deepEqual(await missing(), [needs(b, path)]);
  assert.deepEqual(await missing(c), [needs(b, 'MASTER_SECRET'), needs(a, 'MASTER_SECRET')]);
  writeFileSync(path, `${b}\n${a}\n`);
  const named = await engine.get(fingerprintsKey);
  assert.deepEqual(await missing(), []);
  assert.deepEqual(secretsFor(named, { masterSecrets: [], dataFolder }), { secrets: [b, a] });
  assert.deepEqual(secretsFor(named, { masterSecrets: [a, b, c], dataFolder }), { secrets: [a, b, c] });
  writeFileSync(path, 'short');
  assert.match((await missing()).join(), new RegExp(`^The master secret ${path} must be `));
});

test('the record of the secrets is under the key that every version has used', async () => {
  const store = await openTestStore();
  await registerSecrets(store, [a], 'X');
  const [entry] = await store.scan('secrets', { limit: 1 });
  assert.deepEqual(fingerprintsKey.subarray(1), Buffer.from(entry?.key ?? []));
  assert.deepEqual(fingerprintsKey, Buffer.concat([Buffer.of(spaces.secrets), Buffer.from('master')]));
});
