/**
 * `fusegate store copy`: both ways between LMDB and PostgreSQL, what it refuses, what is left of half a
 * copy.
 */
import assert from 'node:assert/strict';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { copyStore } from '../../src/store/copy.js';
import { recordKey } from '../../src/store/bytes.js';
import type { Engine } from '../../src/store/engine.js';
import { openStore } from '../../src/store/open.js';
import { whenUnavailable } from '../../src/store/store.js';
import { run, temporaryFolder } from '../support/run.js';
import { faultyEngine } from './faultyEngine.js';
import { engineAt, storeAt, testParts } from '../support/openStore.js';
import { postgresMissing, suiteServer } from '../support/postgresServer.js';
import { bytes } from './subject.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const lmdb = (): string => `lmdb:${temporaryFolder()}/store`;
const quiet = (): void => undefined;

/** Writes records of many sizes; resolves to the URL. */
async function seed(url: string): Promise<string> {
  const store = await storeAt(url);
  for (let index = 0; index < 40; index += 1) {
    const operations = Array.from({ length: 20 }, (_, step) => {
      const value = Buffer.alloc((index * 20 + step) ** 2 % 9_000, `${index}`);
      return step % 2 === 0
        ? ({ kind: 'append', log: 'leads', value } as const)
        : ({ kind: 'put', space: 'keys', key: bytes(`${index}/${step}`), value } as const);
    });
    await store.commit(operations);
  }
  await store.close();
  return url;
}

async function dump(url: string): Promise<string[]> {
  const engine = await engineAt(url);
  const found = await engine.scan({ from: Buffer.of(1), to: Buffer.of(255), limit: 9_999 });
  await engine.close();
  return found.map(
    ({ key, value }) => `${Buffer.from(key).toString('hex')} ${Buffer.from(value).toString('hex')}`,
  );
}

function refusal(url: string): Promise<string> {
  const opened = openStore(url, testParts).then(() => assert.fail('a server would use it'));
  return whenUnavailable(opened, ({ message }) => message);
}

test('a copy that stops half-way is marked, refused by servers and by another copy', async () => {
  const [from, to] = [await seed(lmdb()), lmdb()];
  const [source, target] = [await engineAt(from), await engineAt(to)];
  let transactions = 0;
  const failing = faultyEngine(target, () => ((transactions += 1) > 3 ? 'failed, not written' : 'none'));
  const outcome = await copyStore(source, failing, quiet);
  assert.deepEqual(outcome, { kind: 'failed', reason: 'A fault was injected.' });
  const again = await copyStore(source, target, quiet);
  assert.match(again.kind === 'refused' ? again.reason : '', /holds an unfinished copy/);
  const third = await engineAt(lmdb());
  const onward = await copyStore(target, third, quiet);
  assert.match(onward.kind === 'refused' ? onward.reason : '', /is itself an unfinished copy/);
  for (const engine of [source, target, third]) await engine.close();
  assert.match(await refusal(to), /unfinished copy/);
});

test('a source that changes meanwhile, and a target that loses something, are found', async () => {
  const source = await engineAt(await seed(lmdb()));
  const targets = [await engineAt(lmdb()), await engineAt(lmdb())] as const;
  const key = recordKey('keys', bytes('0/late'));
  const changing: Engine = {
    ...faultyEngine(source, () => 'none'),
    async scan(range) {
      const page = await source.scan(range);
      if (page.length < range.limit)
        await source.transact(
          () => [],
          () => [{ key, value: bytes('late') }],
        );
      return page;
    },
  };
  const changed = await copyStore(changing, targets[0], quiet);
  assert.match(changed.kind === 'failed' ? changed.reason : changed.kind, /changed meanwhile/);
  const lossy: Engine = {
    ...faultyEngine(targets[1], () => 'none'),
    transact: (keys, decide) => targets[1].transact(keys, (read) => decide(read).slice(0, 50)),
  };
  const lost = await copyStore(source, lossy, quiet);
  assert.match(lost.kind === 'failed' ? lost.reason : lost.kind, /holds other records than the source/);
  for (const engine of [source, ...targets]) await engine.close();
});

test('the command refuses what cannot be meant', async () => {
  const from = await seed(lmdb());
  const said = async (...args: string[]): Promise<string> => {
    const command = run(main, ['store', 'copy', ...args], {});
    assert.equal((await command.ended()).code, 1, command.output);
    return command.output;
  };
  assert.match(
    await said(from, from.replace('store', 'other').replace('lmdb:', 'sqlite:')),
    /TO must be lmdb:/,
  );
  assert.match(await said(lmdb(), lmdb()), /There is no store in/);
  const loop = join(temporaryFolder(), 'loop');
  symlinkSync(loop, loop);
  assert.match(await said(`lmdb:${loop}`, lmdb()), /The store in .+ cannot be read \(ELOOP\)\. Run this as/);
  assert.match(await said('file:none', lmdb()), /FROM cannot be read/);
  assert.match(await said(from, await seed(lmdb())), /holds records already/);
  const server = run(main, ['serve'], { PORT: '0', WORKERS: '1', STORE_URL: from });
  await server.prints(/listens on/);
  assert.match(await said(from, lmdb()), new RegExp(`in use by process ${server.pid}`));
  server.child.kill('SIGTERM');
  await server.ended();
});

const skip = postgresMissing();

describe('between LMDB and PostgreSQL', { skip }, () => {
  const server = suiteServer();

  test('every record goes there and back', async () => {
    const [from, middle, back] = [await seed(lmdb()), await server().database(), lmdb()];
    const file = `${temporaryFolder()}/url`;
    writeFileSync(file, `${middle}\n`);
    assert.equal(readFileSync(file, 'utf8').trim(), middle);
    for (const pair of [
      [from, `file:${file}`],
      [`file:${file}`, back],
    ]) {
      const command = run(main, ['store', 'copy', ...pair], {});
      assert.equal((await command.ended()).code, 0, command.output);
      assert.match(command.output, /^copy: \d+ of \d+ records$/m);
      assert.match(command.output, /^Copied and verified 801 records \(SHA-256 [0-9a-f]{64}\)\.$/m);
      assert.doesNotMatch(command.output, /postgres:/);
    }
    assert.deepEqual(await dump(middle), await dump(from));
    assert.deepEqual(await dump(back), await dump(from));
    const store = await storeAt(back);
    assert.equal(await store.last('leads'), 400);
    await store.close();
  });
});
