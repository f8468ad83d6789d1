/**
 * `fusegate store copy`: both ways between LMDB and PostgreSQL, what it refuses, and what half a copy leaves.
 */
import assert from 'node:assert/strict';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { copyStore, fillStore } from '../../src/store/copy.js';
import { recordKey } from '../../src/store/bytes.js';
import type { Engine } from '../../src/store/engine.js';
import { openStore } from '../../src/store/open.js';
import { walkOver, type Walk } from '../../src/store/records.js';
import { StoreUnavailable, whenUnavailable } from '../../src/store/store.js';
import { run, temporaryFolder } from '../support/run.js';
import { engineOver } from './engineOver.js';
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

test('a copy has every record, reports each pass, and does one step at a time', async () => {
  const [from, to] = [await seed(lmdb()), lmdb()];
  const [source, target] = [await engineAt(from), await engineAt(to)];
  const steps: string[] = [];
  let under = 0;
  const slowly = engineOver(target, {
    async transact(keys, decide) {
      assert.equal((under += 1), 1, 'nothing else is under way');
      await new Promise(setImmediate);
      const writes = decide(() => undefined);
      if (steps.at(-1) !== 'records') steps.push(writes.length === 1 ? 'marker' : 'records');
      else if (writes.some(({ value }) => value === undefined)) steps.push('no marker');
      await target.transact(keys, () => writes);
      under -= 1;
    },
  });
  const passes = new Set<string>();
  const outcome = await copyStore(source, slowly, (pass, count, total) => {
    assert.ok(count > 0 && count <= total);
    passes.add(`${pass} ${total}`);
  });
  assert.equal(under, 0);
  assert.deepEqual(steps, ['marker', 'records', 'no marker']);
  assert.ok(outcome.kind === 'copied' && outcome.records === 801, JSON.stringify(outcome));
  assert.match(outcome.digest, /^[0-9a-f]{64}$/);
  assert.deepEqual([...passes], ['copy 801', 'verify source 801', 'verify target 801']);
  for (const engine of [source, target]) await engine.close();
  assert.deepEqual(await dump(to), await dump(from));
  await (await storeAt(to)).close();
});

test('records are written in small transactions, whatever the pages of their source', async () => {
  const target = await engineAt(lmdb());
  const sizes = [...Array<number>(2_500).fill(9), ...Array<number>(12).fill(200_000), 900_000, 1, 1];
  const entries = sizes.map((size, at) => ({
    key: bytes(`\u0001${String(at).padStart(5, '0')}`),
    value: Buffer.alloc(size),
  }));
  const written: number[] = [];
  const counting = engineOver(target, {
    transact: (keys, decide) =>
      target.transact(keys, (read) => {
        const writes = decide(read);
        written.push(writes.length);
        return writes;
      }),
  });
  const walk: Walk = async (visit) => {
    await visit({ entries, records: entries.length });
    return walkOver((range) => target.scan(range))(quiet);
  };
  const source = { name: 'restore', walk, about: entries.length };
  const outcome = await fillStore(source, counting, quiet, () => Promise.resolve(undefined));
  assert.ok(outcome.kind === 'copied' && outcome.records === entries.length, JSON.stringify(outcome));
  // Between the two of the marker: 1,000 records or 512 KiB, or one record that is larger.
  assert.deepEqual(written.slice(1, -1), [1_000, 1_000, 502, 2, 2, 2, 2, 2, 1, 2]);
  await target.close();
});

test('a store with one record is not empty, which takes reading only that record', async () => {
  const target = await engineAt(lmdb());
  const source = await engineAt(await seed(lmdb()));
  await target.transact(
    () => [],
    () => [{ key: recordKey('keys', bytes('k')), value: bytes('v') }],
  );
  const limits: number[] = [];
  const seen: Engine = {
    ...faultyEngine(target, () => assert.fail('nothing is written')),
    scan: (range) => (limits.push(range.limit), target.scan(range)),
  };
  const outcome = await copyStore(source, seen, quiet);
  assert.match(outcome.kind === 'refused' ? outcome.reason : '', /holds records already/);
  assert.deepEqual(limits, [1]);
  for (const engine of [source, target]) await engine.close();
});

test('a copy is refused if either store does not answer, and fails if the last step does', async () => {
  const [source, target] = [await engineAt(await seed(lmdb())), await engineAt(lmdb())];
  const away = new StoreUnavailable('It is away.');
  const refused = { kind: 'refused', reason: 'It is away.' };
  const unread = engineOver(source, { get: () => Promise.reject(away) });
  assert.deepEqual(await copyStore(unread, target, quiet), refused);
  const unseen = engineOver(target, { scan: () => Promise.reject(away) });
  assert.deepEqual(await copyStore(source, unseen, quiet), refused);
  const walk = walkOver((range) => source.scan(range));
  const good = (): Promise<undefined> => Promise.resolve(undefined);
  const last = async (): Promise<string> => Promise.resolve('It could not be finished.');
  const filled = await fillStore({ name: 'fill', walk, about: 1 }, target, quiet, good, last);
  assert.deepEqual(filled, { kind: 'failed', reason: 'It could not be finished.' });
  const again = await copyStore(source, target, quiet);
  assert.match(again.kind === 'refused' ? again.reason : '', /unfinished copy/);
  const whole = await engineAt(lmdb());
  // A count is only for the progress.
  const uncounted = engineOver(source, { count: () => Promise.reject(away) });
  const counted = await engineAt(lmdb());
  assert.equal((await copyStore(uncounted, counted, quiet)).kind, 'copied');
  await counted.close();
  const finished = await fillStore({ name: 'fill', walk, about: 1 }, whole, quiet, good);
  assert.equal(finished.kind, 'copied');
  const unwritten = await engineAt(lmdb());
  const never = faultyEngine(unwritten, () => 'failed, not written');
  assert.deepEqual(await copyStore(source, never, quiet), {
    kind: 'failed',
    reason: 'A fault was injected.',
  });
  for (const engine of [source, target, whole, unwritten]) await engine.close();
});

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

test('a source that changes meanwhile, and a target that loses something, are detected', async () => {
  const source = await engineAt(await seed(lmdb()));
  const targets = [await engineAt(lmdb()), await engineAt(lmdb())] as const;
  const key = recordKey('keys', bytes('0/late'));
  const changing = engineOver(source, {
    async scan(range) {
      const page = await source.scan(range);
      if (page.length < range.limit)
        await source.transact(
          () => [],
          () => [{ key, value: bytes('late') }],
        );
      return page;
    },
  });
  const changed = await copyStore(changing, targets[0], quiet);
  assert.match(changed.kind === 'failed' ? changed.reason : changed.kind, /changed meanwhile/);
  const lossy = engineOver(targets[1], {
    transact: (keys, decide) => targets[1].transact(keys, (read) => decide(read).slice(0, 50)),
  });
  const lost = await copyStore(source, lossy, quiet);
  assert.match(lost.kind === 'failed' ? lost.reason : lost.kind, /holds other records than the source/);
  for (const engine of [source, ...targets]) await engine.close();
});

test('the command refuses arguments that make no sense', async () => {
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

  test('every record is copied there and back', async () => {
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
