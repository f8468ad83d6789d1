/** `fusegate history`: every command that changes something leaves an entry, and no other command does. */
import assert from 'node:assert/strict';
import { hostname, userInfo } from 'node:os';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { changeOf, changingCommands } from '../../src/commands/changes.js';
import { examples } from '../../src/commands/guide.js';
import { beginEntry, historyAfter, type HistoryEntry } from '../../src/store/tables/history.js';
import { registerSecrets } from '../../src/store/tables/secrets.js';
import { StoreUnavailable } from '../../src/store/store.js';
import { memoryFolder } from '../support/run.js';
import { storeAt } from '../support/openStore.js';
import { here } from '../support/here.js';

/** A store in a folder of its own, and the commands on it. */
async function installation() {
  const folder = memoryFolder();
  const STORE_URL = `lmdb:${folder}/store`;
  await (await storeAt(STORE_URL)).close();
  const environment = { STORE_URL, MASTER_SECRET: 'a-secret-of-the-tests-that-opens-nothing-at-all' };
  const fusegate = (...args: string[]) => here(args, environment);
  const entries = async (): Promise<HistoryEntry[]> => {
    const store = await storeAt(STORE_URL);
    try {
      const found: HistoryEntry[] = [];
      for await (const { value } of historyAfter(store, 0)) found.push(value);
      return found;
    } finally {
      await store.close();
    }
  };
  return { folder, fusegate, entries };
}

/** Commands that only read, or that work on files. */
const reading = new Set([
  ...['serve', 'doctor', 'fuse', 'normalize', 'audit', 'keys list', 'keys show', 'keys usage'],
  ...['orders list', 'orders show'],
  ...['orders mismatches', 'models list', 'models verify', 'models evaluate'],
  ...[
    'corpora list',
    'corpora show',
    'profiles list',
    'profiles show',
    'leads export',
    'interests export',
    'optouts export',
    'clicks export',
  ],
  ...['optout link', 'optout check', 'click link', 'webhooks list', 'webhooks test', 'receipts export'],
  ...['receipts verify', 'log audit', 'log verify', 'log witness', 'backup', 'history', 'version'],
  ...['completion', 'man'],
  // Its target must be what its source is, record by record.
  'store copy',
]);

describe('the history', () => {
  test('knows of every command whether it changes something', () => {
    const all = Object.keys(examples);
    assert.deepEqual(
      all.filter((path) => changingCommands.includes(path) === reading.has(path)),
      [],
    );
    assert.ok(changingCommands.every((path) => all.includes(path)));
  });

  test('has an entry for each change: who, where, when, what, and how it ended', async () => {
    const { folder, fusegate, entries } = await installation();
    const beganMs = Date.now();
    const made = await fusegate('keys', 'create', '--tier', 'developer', '--json');
    assert.equal(made.code, 0, made.output);
    const { id, api_key: rawKey } = JSON.parse(made.output) as { id: string; api_key: string };
    assert.equal((await fusegate('keys', 'list')).code, 0);
    assert.equal((await fusegate('keys', 'revoke', id)).code, 0);
    assert.equal((await fusegate('keys', 'revoke', 'no-such-key')).code, 1);
    const hook = await fusegate('webhooks', 'add', 'https://example.com/events?token=hidden', '--json');
    const webhook = (JSON.parse(hook.output) as { id: string }).id;
    const texts = join(folder, 'texts.jsonl');
    writeFileSync(texts, '"a red bike"\n');
    assert.equal((await fusegate('corpora', 'put', 'shop', texts)).code, 0);
    const settings = join(folder, 'settings.json');
    writeFileSync(settings, '{"k1":1}');
    assert.equal((await fusegate('profiles', 'put', 'shop', settings)).code, 0);
    // Without a profile they change nothing.
    assert.equal((await fusegate('tune', folder)).code, 1);
    assert.equal((await fusegate('tune', folder, '--profile', 'shop')).code, 1);
    assert.equal((await fusegate('calibrate', folder, '--profile', 'other')).code, 1);
    assert.equal((await fusegate('forget', 'jolyon@example.com', '--yes')).code, 0);
    const found = await entries();
    assert.deepEqual(
      found.map(({ command, object, outcome }) => [command, object, outcome]),
      [
        ['keys create', id, 'done'],
        ['keys revoke', id, 'done'],
        ['keys revoke', 'no-such-key', 'failed'],
        ['webhooks add', webhook, 'done'],
        ['corpora put', 'shop', 'done'],
        ['profiles put', 'shop', 'done'],
        ['tune', 'shop', 'failed'],
        ['calibrate', 'other', 'failed'],
        ['forget', null, 'done'],
      ],
    );
    for (const { user, host, atMs } of found) {
      assert.ok(user.startsWith(userInfo().username));
      assert.equal(host, hostname());
      assert.ok(atMs >= beganMs - 1 && atMs <= Date.now());
    }
    const text = JSON.stringify(found);
    // None of these can be in an id by chance.
    for (const secret of [rawKey, 'hidden', 'jolyon']) assert.ok(!text.includes(secret), secret);
  });

  test('and other commands leave the secrets of the store as they are', async () => {
    const { folder } = await installation();
    const STORE_URL = `lmdb:${folder}/store`;
    const [own, next] = ['the-servers-own-secret', 'a-secret-that-comes-next'].map((word) => word.repeat(2));
    const store = await storeAt(STORE_URL);
    await registerSecrets(store, [own ?? ''], 'X');
    const before = await store.get('secrets', Buffer.from('master'));
    await store.close();
    const environment = { STORE_URL, MASTER_SECRET: `${next},${own}` };
    for (const args of [['history'], ['keys', 'create', '--tier', 'growth'], ['keys', 'list']]) {
      const { code, output } = await here(args, environment);
      assert.equal(code, 0, output);
    }
    const again = await storeAt(STORE_URL);
    assert.deepEqual(await again.get('secrets', Buffer.from('master')), before);
    await again.close();
  });

  test('is listed for people and for programs', async () => {
    const { fusegate } = await installation();
    assert.match((await fusegate('history')).output, /No command has changed anything yet/);
    await fusegate('keys', 'revoke', 'k\u001b[31m');
    await fusegate('keys', 'create', '--tier', 'growth');
    const listed = await fusegate('history');
    assert.match(listed.output, /^position +at +who +outcome +what\n1 +\d{4}-.*failed +keys revoke k/);
    assert.ok(!listed.output.includes('\u001b'), 'no control character reaches the terminal');
    const json = (await fusegate('history', '--json', '--after', '1')).output.trim().split('\n');
    const [entry] = json.map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.equal(json.length, 1);
    assert.deepEqual(
      [entry?.['position'], entry?.['command'], entry?.['outcome'], entry?.['host']],
      [2, 'keys create', 'done', hostname()],
    );
  });

  test('keeps the entry of a command that did not finish', async () => {
    const { fusegate, folder } = await installation();
    const store = await storeAt(`lmdb:${folder}/store`);
    const who = { user: 'ada', host: 'web1', atMs: 1_000 };
    await beginEntry(store, { ...who, command: 'keys revoke', object: 'one' });
    await store.close();
    assert.match((await fusegate('history')).output, /ada@web1 +not ended +keys revoke one$/m);
  });

  test('is written before the change: if it cannot be written, nothing is changed', async () => {
    const unavailable = new StoreUnavailable('away');
    const store = { commit: () => Promise.reject(unavailable) } as never;
    const entry = { user: 'ada', host: 'web1', atMs: 1, command: 'keys create', object: null };
    await assert.rejects(beginEntry(store, entry), unavailable);
  });

  test('shortens the name of an object to 256 characters', () => {
    const called = { path: 'keys revoke', args: ['k'.repeat(5_000)], options: {} };
    assert.equal(changeOf(called)?.object?.length, 256);
    assert.equal(changeOf({ ...called, path: 'keys list' }), undefined);
  });
});
