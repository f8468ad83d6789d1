/** The handlers of /v1/corpora/{name}: who owns a name, what is charged, and limits. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer, RouteRequest } from '../../src/contract/exchange.js';
import { corporaHandlers } from '../../src/corpora/handlers.js';
import { native } from '../../src/native/addon.js';
import { mostCorpusVersions } from '../../src/store/tables/corpora.js';
import { systemClock } from '../../src/system/clock.js';
import { openTestStore } from '../support/serving.js';
import { answered, requestWith } from '../support/embedding.js';

const parts = {
  ...native,
  clock: systemClock,
  corpusKey: Buffer.from('0123456789abcdef'),
  hashKey: (key: string) => Buffer.from(key.repeat(8)),
  look: () => Promise.resolve(),
};
const none = { signal: new AbortController().signal };

function request(name: string, key: string, body = '', type = 'application/x-ndjson'): RouteRequest<never> {
  const made = requestWith(Buffer.from(body), key, none.signal);
  return { ...made, path: { name }, header: () => type } as unknown as RouteRequest<never>;
}

/** The handlers of a server on a store of its own. */
async function server(isOpen: boolean) {
  const handlers = corporaHandlers({ ...parts, store: await openTestStore(), isOpen });
  const tell = (answer: Answer) => ({
    status: answer.status,
    charge: answer.charge,
    body: answered(answer) as Record<string, unknown>,
  });
  return {
    put: async (...asked: Parameters<typeof request>) => tell(await handlers.putCorpus(request(...asked))),
    get: async (...asked: Parameters<typeof request>) => tell(await handlers.corpus(request(...asked))),
    remove: async (...asked: Parameters<typeof request>) =>
      tell(await handlers.removeCorpus(request(...asked))),
  };
}

test('statistics put on an open server without a key are everybody’s, and charged as stored', async () => {
  const { put, get, remove } = await server(true);
  const made = await put('shop', '', '"hiking boots"\n"boots"\n');
  assert.deepEqual([made.status, made.charge], [200, 2]);
  assert.equal((await get('shop', '')).body['shared'], true);
  const ofKey = await get('shop', 'ada-');
  assert.deepEqual([ofKey.status, ofKey.body['shared']], [200, true]);
  // A key owns what it puts, and removes that alone.
  assert.equal((await remove('shop', 'ada-')).status, 404);
  const body = '"boots"\n';
  const own = await put('shop', 'ada-', body);
  assert.deepEqual([own.status, own.charge, own.body['version']], [200, body.length, 1]);
  assert.equal((await get('shop', 'ada-')).body['shared'], false);
  assert.equal((await remove('shop', '')).status, 200);
  assert.equal((await get('shop', '')).status, 404);
  assert.equal((await get('shop', 'ada-')).status, 200);
  assert.equal((await get('shop', 'bob-')).status, 404);
});

test('on other servers only keys may put and remove', async () => {
  const { put, remove } = await server(false);
  for (const answer of [await put('shop', '', '"boots"'), await remove('shop', '')]) {
    assert.deepEqual([answer.status, answer.body['code']], [401, 'key_required']);
  }
  assert.equal((await put('shop', 'ada-', '"boots"')).status, 200);
});

test('a name has a limited number of versions, and then none is added', async () => {
  const { put } = await server(true);
  for (let version = 1; version <= mostCorpusVersions; version += 1) {
    assert.equal((await put('shop', '', '"boots"')).body['version'], version);
  }
  const over = await put('shop', '', '"boots"');
  assert.deepEqual([over.status, over.charge, over.body['code']], [409, 0, 'corpus_limit']);
});

test('bodies are counted one at a time, and of many at once the last are refused', async () => {
  const { put } = await server(true);
  const answers = await Promise.all(Array.from({ length: 12 }, (_, at) => put(`n${at}`, '', '"boots"')));
  const statuses = answers.map(({ status }) => status);
  assert.deepEqual(statuses, [...Array<number>(8).fill(200), ...Array<number>(4).fill(503)]);
});

test('a sender of many bodies leaves room for those of others', async () => {
  const { put } = await server(true);
  const many = Array.from({ length: 12 }, (_, at) => put(`n${at}`, 'ada-', '"boots"'));
  const others = [put('shop', 'bob-', '"boots"'), put('shop', '', '"boots"')];
  assert.deepEqual(
    (await Promise.all(others)).map(({ status }) => status),
    [200, 200],
  );
  const statuses = (await Promise.all(many)).map(({ status }) => status);
  assert.equal(statuses.filter((status) => status === 503).length, 4);
});

test('a name that is full is refused before its body is read', async () => {
  const { put } = await server(true);
  for (let version = 1; version <= mostCorpusVersions; version += 1) await put('shop', '', '"boots"');
  assert.equal((await put('shop', '', 'no JSON')).status, 409);
  assert.equal((await put('other', '', 'no JSON')).status, 422);
});

test('a body that is no texts is refused at its line, and nothing is stored', async () => {
  const { put, get } = await server(true);
  const wrong: readonly (readonly [body: string, type: string, loc: unknown[]])[] = [
    ['"a"\n7\n', 'application/x-ndjson', ['body', 2]],
    ['', 'application/x-ndjson', ['body']],
    ['"..."', '', ['body']],
    ['{"docs":1}', 'application/json', ['body']],
    ['"a"', 'text/csv', ['header', 'content-type']],
  ];
  for (const [body, type, loc] of wrong) {
    const answer = await put('shop', '', body, type);
    assert.equal(answer.status, 422);
    assert.deepEqual((answer.body['detail'] as { loc: unknown }[])[0]?.loc, loc, body);
  }
  assert.equal((await put('a/b', '', '"a"')).status, 422);
  assert.equal((await get('shop', '')).status, 404);
});
