/** The door's problems: every code that the routes document is sent, and no others; a store that fails. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { routeList } from '../../src/contract/routes.js';
import type { InTurn } from '../../src/system/workQueue.js';
import { exchange, head, RawClient, type RawResponse } from '../support/raw.js';
import { FailingStore, openTestStore } from '../support/serving.js';
import { doorClient, explored, startDoor, startTestExploration, type DoorClient } from '../support/door.js';

const failing = new FailingStore(await openTestStore());
const store = failing.seen;
const limits = { bodyWindowMs: 100, sweepMs: 20, bodyBytes: 7 << 20 };
/** Room for three and a half of the largest bodies of the other paths. */
const tight = { ...limits, bodyBytes: 7 << 16 };
const exploration = startTestExploration({ store });
const door = await startDoor({ store, limits, exploration });
const limited = await startDoor({
  store,
  exploration,
  routeLimits: { submissions: 1, previews: 1, explorations: 6, pages: 1 },
});
const reserved = await startDoor({ store, isStorageReserved: () => true });
const submissions = ['/dream', '/dream_confirm', '/harvest'] as const;

/** The paths that explore. */
const exploring = ['/graph/near', '/walk', '/graph', '/graph/fragments', '/focus', '/leaderboard'] as const;

const bodies = {
  '/dream': { title: 'a', content: 'b' },
  '/dream_confirm': { confirm: '0'.repeat(64), title: 'a', content: 'b' },
  '/harvest': { text: '<<SHARD>>{"title":"a","content":"c"}<</SHARD>>' },
} as const;

/** Notes what a raw answer's code was, as the client does. */
function note(client: DoorClient, path: string, status: number, body: Buffer): unknown {
  const { code } = JSON.parse(body.toString()) as { code: string };
  const key = `POST ${path} ${status}`;
  client.sent.set(key, (client.sent.get(key) ?? new Set()).add(code));
  return code;
}

for (const path of submissions) {
  describe(`POST ${path}`, () => {
    test('with a body too long, compressed, or that never ends', async () => {
      const limit = path === '/harvest' ? 2 << 20 : 64 << 10;
      const long = await exchange(door.port, head('POST', path, { 'Content-Length': String(limit + 1) }));
      assert.deepEqual([long.status, note(door, path, long.status, long.body)], [413, 'body_too_large']);
      const compressed = await door.post(path, bodies[path], { 'Content-Encoding': 'gzip' });
      assert.deepEqual([compressed.status, compressed.body['code']], [415, 'unsupported_encoding']);
      const client = await RawClient.open(door.port);
      const slow = await client
        .send(head('POST', path, { 'Content-Length': '100', 'Content-Type': 'application/json' }))
        .send('{')
        .response();
      assert.deepEqual([slow.status, note(door, path, slow.status, slow.body)], [408, 'body_timeout']);
      client.destroy();
    });

    test('beside more bodies than the worker holds', async () => {
      const size = path === '/harvest' ? 1 << 20 : 64 << 10;
      const { port } = path === '/harvest' ? door : await startDoor({ store, limits: tight, exploration });
      const fields = { 'Content-Length': String(size), 'Content-Type': 'application/json' };
      const most = Buffer.alloc((size >> 3) * 7, ' ');
      let refused: RawResponse | undefined;
      for (let round = 0; round < 20 && (refused?.status ?? 408) === 408; round += 1) {
        const holders = await Promise.all([1, 2, 3].map(() => RawClient.open(port)));
        for (const holder of holders) holder.send(head('POST', path, fields)).send(most);
        await new Promise((resolve) => setTimeout(resolve, 30));
        const last = await RawClient.open(port);
        refused = await last
          .send(head('POST', path, fields))
          .send(most)
          .response();
        last.destroy();
        for (const holder of holders) holder.destroy();
      }
      assert.ok(refused !== undefined);
      assert.deepEqual([refused.status, note(door, path, refused.status, refused.body)], [503, 'overloaded']);
    });

    test('while little of the disk is left', async () => {
      const answer = await reserved.post(path, bodies[path]);
      assert.deepEqual([answer.status, answer.body['code']], [503, 'storage_reserved']);
      for (const [key, codes] of reserved.sent)
        door.sent.set(key, new Set([...(door.sent.get(key) ?? []), ...codes]));
    });

    test('while the store fails', async () => {
      for (const failure of ['not written', 'written'] as const) {
        failing.failure = failure;
        const answer = await door.post(path, bodies[path]);
        failing.failure = undefined;
        if (path === '/dream_confirm') assert.equal(answer.status, 409);
        else assert.deepEqual([answer.status, answer.body['code']], [503, 'store_unavailable']);
        assert.equal(answer.headers.get('retry-after') ?? '1', '1');
      }
    });
  });
}

test('a confirmation while the store fails', async () => {
  const { body } = await door.get('/dream_get', { title: 'p', content: 'q' });
  const confirm = String(body['confirm']);
  failing.failure = 'not written';
  const posted = await door.post('/dream_confirm', { confirm, title: 'p', content: 'q' });
  const bare = await door.post('/dream_confirm', { confirm });
  const asked = await door.get('/dream_confirm', { confirm });
  const read = await door.get('/receipt/fr_01M7YQ1WE038NKRKAYDXR834J3');
  failing.failure = undefined;
  for (const answer of [posted, bare, asked, read]) {
    assert.deepEqual([answer.status, answer.body['code']], [503, 'store_unavailable']);
  }
  const late = await door.post('/dream_confirm', { confirm });
  assert.deepEqual([late.status, late.body['status']], [200, 'quarantined']);
});

test('a submission whose outcome was lost is a duplicate when it is sent again', async () => {
  const fragment = { title: 'lost', content: 'answer', idempotency_key: 'lost' };
  failing.failure = 'written';
  failing.failReads = false;
  const first = await door.post('/dream', fragment);
  failing.failure = undefined;
  failing.failReads = true;
  const again = await door.post('/dream', fragment);
  assert.deepEqual(
    [first.status, again.status, again.body['status'], again.headers.get('idempotent-replayed')],
    [503, 200, 'duplicate', 'true'],
  );
});

describe('the limits by address', () => {
  test('count fragments, confirmations and harvests together, previews apart', async () => {
    const client = doorClient(limited.port);
    const first = await client.post('/harvest', { text: '' });
    assert.deepEqual([first.status, first.headers.get('ratelimit-policy')], [200, '"minute";q=1;w=60']);
    for (const path of submissions) {
      const over = await client.post(path, bodies[path]);
      assert.deepEqual([over.status, over.body['code']], [429, 'rate_limited']);
      assert.match(over.headers.get('retry-after') ?? '', /^\d+$/);
    }
    assert.equal((await client.get('/dream_get', { title: 'a', content: 'b' })).status, 200);
    const over = await client.get('/dream_get', { title: 'a', content: 'b' });
    assert.deepEqual([over.status, over.body['code']], [429, 'rate_limited']);
    assert.equal((await client.get('/dream_confirm')).status, 200);
    for (const path of exploring) await client.get(path, path === '/graph/near' ? { text: 'a' } : {});
    for (const path of exploring) assert.equal((await client.get(path)).status, 429);
    await client.get('/how');
    assert.equal((await client.get('/how')).status, 429);
    for (const [key, codes] of client.sent)
      door.sent.set(key, new Set([...(door.sent.get(key) ?? []), ...codes]));
  });
});

test('exploring while as many searches wait as may', async () => {
  const busy: InTurn = () => Promise.resolve('busy');
  const explore = { ...exploration.explore, inTurn: busy, inShortTurn: busy, inListTurn: busy };
  const own = await startDoor({ store, exploration: { ...exploration, explore } });
  for (const path of exploring) {
    // The present leaderboard is counted already: an earlier one is not.
    const query = { '/graph/near': { text: 'a' }, '/leaderboard': { as_of: '0' } };
    const answer = await own.get(path, path in query ? query[path as keyof typeof query] : {});
    assert.deepEqual([answer.status, answer.body['code']], [503, 'overloaded'], path);
    assert.equal(answer.headers.get('retry-after'), '1');
  }
  for (const [key, codes] of own.sent) door.sent.set(key, new Set([...(door.sent.get(key) ?? []), ...codes]));
});

test('exploring while the store fails', async () => {
  assert.equal((await door.post('/dream', { title: 'e', content: 'explored', visitor: 'Eve' })).status, 200);
  await explored(exploration);
  const questions = [
    ['/graph/near', { text: 'explored' }],
    ['/walk', { seed: 's' }],
    ['/graph', {}],
    ['/graph/fragments', {}],
    ['/focus', {}],
    ['/leaderboard', {}],
  ] as const;
  failing.failure = 'not written';
  const answers = await Promise.all(questions.map(([path, query]) => door.get(path, query)));
  failing.failure = undefined;
  for (const [index, answer] of answers.entries()) {
    assert.deepEqual([answer.status, answer.body['code']], [503, 'store_unavailable'], questions[index]?.[0]);
  }
  for (const [path, query] of questions) assert.equal((await door.get(path, query)).status, 200);
});

test('what does not exist, and what contradicts an earlier request', async () => {
  const key = { idempotency_key: 'k' };
  assert.equal((await door.post('/dream', { title: 'x', content: 'y', ...key })).status, 200);
  assert.equal((await door.post('/dream', { title: 'x', content: 'z', ...key })).status, 409);
  assert.equal((await door.post('/dream_confirm', { confirm: '0'.repeat(64) })).status, 404);
  const receipt = 'fr_01M7YQ1WE038NKRKAYDXR834J3';
  assert.equal((await door.get(`/receipt/${receipt}`)).status, 404);
  assert.equal((await door.get('/graph/near', { receipt })).status, 404);
  assert.equal((await door.get('/walk', { from: receipt })).status, 404);
});

test('the log before its first checkpoint, for unknown paths, and without a store', async () => {
  const { body } = await door.post('/dream', { title: 'logged', content: 'later' });
  const proof = `/receipt/${String(body['receipt'])}/proof`;
  for (const path of ['/checkpoint', '/log/vkey', proof]) {
    const answer = await door.get(path);
    assert.deepEqual([answer.status, answer.body['code']], [503, 'log_not_ready'], path);
    assert.equal(answer.headers.get('retry-after'), '1');
  }
  const tiles = ['/tile/0/000', '/tile/0/000.p/1', '/tile/0/x001/000.p/1', '/tile/0/x001/x000/000.p/1'];
  const other = '/receipt/fr_01M7YQ1WE038NKRKAYDXR834J3/proof';
  const stamp = '/log/stamps/2026-11-21/checkpoint';
  for (const path of [...tiles, other, stamp]) assert.equal((await door.get(path)).status, 404, path);
  failing.failure = 'not written';
  for (const path of ['/checkpoint', '/log/vkey', ...tiles, proof, stamp]) {
    const answer = await door.get(path);
    assert.deepEqual([answer.status, answer.body['code']], [503, 'store_unavailable'], path);
  }
  failing.failure = undefined;
});

after(() => {
  const documented = routeList
    // The log's page is none of the door's API.
    .filter(({ id, part }) => part === 'door' && id !== 'logPage')
    .flatMap(({ method, path, problems }) =>
      Object.entries(problems).flatMap(([status, codes]) =>
        codes.map((code) => `${method} ${path} ${status} ${code}`),
      ),
    );
  const came = [...door.sent].flatMap(([key, codes]) => [...codes].map((code) => `${key} ${code}`));
  assert.deepEqual(came.sort(), documented.sort());
});
