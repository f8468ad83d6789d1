/**
 * POST /v1/fuse with requests that it must refuse or accept: the exact status, and a server that survives.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { routes } from '../../src/contract/routes.js';
import { servedRoute } from '../../src/http/pipeline.js';
import type { Embedder } from '../../src/models/embedder.js';
import { readModelFolder } from '../../src/models/modelFolder.js';
import { native } from '../../src/native/addon.js';
import { fuseHandler, LOOP_BODY_LIMIT } from '../../src/search/fuse.js';
import { embedderMode, noModels } from '../support/embedding.js';
import { MemoryKeys, openTiers, testAccess } from '../support/access.js';
import { copiedModel, shippedModel, startEmbedder } from '../support/models.js';
import { memoryFolder } from '../support/run.js';
import { startServer } from '../support/http.js';
import { exchange, head, post, RawClient, type RawResponse } from '../support/raw.js';
import { until } from '../support/until.js';

const keys = new MemoryKeys();
const growth = { ...openTiers().growth, requests_per_minute: 1 };
const access = testAccess({ tiers: { ...openTiers(), growth }, keys });
const handler = fuseHandler({ ...native, embedMode: noModels() });
const route = servedRoute({ ...routes.fuse, id: 'fuse' }, handler, {
  ...native,
  access,
});
const { metric, port } = await startServer({ routes: [route], limits: { bodyBytes: 128 << 20 } });

const path = '/v1/fuse';
const good = '{"query":"a","docs":[{"id":"1","text":"a b","dense_score":1}]}';

interface ErrorBody {
  readonly detail: string | readonly { type: string; loc: (string | number)[]; ctx?: { error?: string } }[];
  readonly code?: string;
}

/** Codes that came while these tests ran, by status. */
const sent = new Map<string, Set<string>>();

function errorOf(response: RawResponse): ErrorBody {
  const body = JSON.parse(response.body.toString()) as ErrorBody;
  if (body.code !== undefined) {
    const codes = sent.get(String(response.status)) ?? new Set();
    sent.set(String(response.status), codes.add(body.code));
  }
  return body;
}

async function send(
  body: string | Uint8Array,
  fields: Readonly<Record<string, string>> = {},
): Promise<RawResponse> {
  const bytes = Buffer.from(body);
  const client = await RawClient.open(port);
  const length = { 'Content-Length': String(bytes.length), ...fields };
  const response = await client
    .send(head('POST', path, length))
    .send(bytes)
    .response();
  client.destroy();
  return response;
}

/** Where and why a body is not JSON. */
async function refusal(body: string | Uint8Array): Promise<[unknown, unknown]> {
  const response = await send(body);
  assert.equal(response.status, 422);
  const [error, ...others] = errorOf(response).detail as Exclude<ErrorBody['detail'], string>;
  assert.deepEqual([error?.type, others.length], ['json_invalid', 0]);
  return [error?.loc[1], error?.ctx?.error];
}

/** A body with `text` in place of a text. */
const withText = (text: string): string => good.replace('a b', text);

describe('no JSON', () => {
  const cases: readonly (readonly [string, string | Uint8Array, number, string])[] = [
    ['cut off', good.slice(0, -1), good.length - 1, 'syntax'],
    ['a trailing comma', good.replace('1}', '1,}'), good.indexOf('1}') + 2, 'syntax'],
    ['an escaped lone surrogate', withText('\\ud800'), good.indexOf('a b'), 'lone surrogate'],
    [
      'a number beyond binary64',
      good.replace(':1}', ':1e999}'),
      good.indexOf(':1}') + 1,
      'number beyond binary64',
    ],
    ['NaN', good.replace(':1}', ':NaN}'), good.indexOf(':1}') + 1, 'NaN'],
    ['-Infinity', good.replace(':1}', ':-Infinity}'), good.indexOf(':1}') + 1, 'Infinity'],
    ['a byte order mark', `\ufeff${good}`, 0, 'BOM'],
    ['nesting 10,000 deep', '['.repeat(10_000), 128, 'nesting over 128'],
    [
      'nesting in an ignored member',
      good.replace('{', `{"x":${'['.repeat(10_000)},`),
      132,
      'nesting over 128',
    ],
    ['a raw surrogate', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), 1, 'lone surrogate'],
    ['bytes that are no UTF-8', Buffer.from([0x22, 0xff, 0x22]), 1, 'invalid UTF-8'],
  ];
  for (const [name, body, offset, reason] of cases) {
    test(name, async () => assert.deepEqual(await refusal(body), [offset, reason]));
  }

  test('the same in a body too long for the event loop', async () => {
    const long = 'a '.repeat(LOOP_BODY_LIMIT);
    assert.deepEqual(await refusal(withText(`${long}\\ud800`)), [
      good.indexOf('a b') + long.length,
      'lone surrogate',
    ]);
  });
});

test('docs with wrong members: every error has its place, at most 100', async () => {
  const wrong = await send(
    '{"query":1,"docs":[1,null,{"id":"x"},{"id":2,"text":"t","dense_score":"s"}],"top_k":0.5}',
  );
  const places = (errorOf(wrong).detail as { type: string; loc: unknown[] }[]).map(({ type, loc }) => [
    type,
    ...loc,
  ]);
  assert.deepEqual(places, [
    ['string_type', 'body', 'query'],
    ['model_attributes_type', 'body', 'docs', 0],
    ['model_attributes_type', 'body', 'docs', 1],
    ['missing', 'body', 'docs', 2, 'text'],
    ['string_type', 'body', 'docs', 3, 'id'],
    ['float_type', 'body', 'docs', 3, 'dense_score'],
    ['int_type', 'body', 'top_k'],
  ]);
  const many = await send(`{"query":"a","docs":[${'1,'.repeat(100_000)}1]}`);
  assert.equal((errorOf(many).detail as unknown[]).length, 100);
  const empty = errorOf(await send('')).detail as { type: string; loc: unknown[] }[];
  assert.deepEqual(
    empty.map(({ type, loc }) => [type, loc]),
    [['missing', ['body']]],
  );
});

test('100,000 docs and an empty query are valid', async () => {
  const docs = Array.from({ length: 100_000 }, (_, at) => ({ id: String(at), text: 'b', dense_score: -at }));
  const response = await send(JSON.stringify({ query: '', docs }));
  assert.equal(response.status, 200);
  const answer = JSON.parse(response.body.toString()) as { results: { id: string; rank: number }[] };
  assert.deepEqual([answer.results.length, answer.results[0]?.id], [100_000, '0']);
  assert.deepEqual(answer.results.at(-1)?.rank, 100_000);
});

describe('other refusals', () => {
  test('a body that announces more than 32 MiB', async () => {
    const declared = await exchange(port, head('POST', path, { 'Content-Length': String((32 << 20) + 1) }));
    assert.deepEqual([declared.status, errorOf(declared).code], [413, 'body_too_large']);
    const huge = await exchange(port, head('POST', path, { 'Content-Length': '2147483648' }));
    assert.equal(huge.status, 413);
  });

  test('a body that never ends', async () => {
    const hasty = await startServer({ routes: [route], limits: { bodyWindowMs: 100, sweepMs: 20 } });
    const client = await RawClient.open(hasty.port);
    const response = await client
      .send(head('POST', path, { 'Content-Length': '100' }))
      .send('{')
      .response();
    assert.deepEqual([response.status, errorOf(response).code], [408, 'body_timeout']);
    client.destroy();
  });

  test('a compressed body, a key that nobody has, a doc without its score', async () => {
    const compressed = await exchange(port, post(path, good, { 'Content-Encoding': 'gzip' }));
    assert.deepEqual([compressed.status, errorOf(compressed).code], [415, 'unsupported_encoding']);
    const keyed = await exchange(port, post(path, good, { 'X-API-Key': 'fg_nobody' }));
    assert.deepEqual([keyed.status, errorOf(keyed).code], [401, 'invalid_api_key']);
    const bare = await exchange(port, post(path, good.replace(',"dense_score":1', '')));
    assert.deepEqual([bare.status, errorOf(bare).code], [503, 'no_model']);
  });

  test('no key, where one is needed', async () => {
    const closed = { ...native, access: testAccess({ mode: 'keys' }) };
    const served = servedRoute({ ...routes.fuse, id: 'fuse' }, handler, closed);
    const response = await exchange((await startServer({ routes: [served] })).port, post(path, good));
    assert.deepEqual([response.status, errorOf(response).code], [401, 'key_required']);
  });

  test('a model that cannot be run, has too much to do, or not the time', async () => {
    const folder = memoryFolder();
    const broken = copiedModel(folder, 'broken', {}, (copy) =>
      writeFileSync(join(copy, 'model.onnx'), 'none'),
    );
    const read = await readModelFolder(broken);
    assert.ok('model' in read);
    const bare = good.replace(',"dense_score":1', '');
    const codeFor = async (
      embedder: Embedder,
      body = bare,
    ): Promise<[number, string | undefined, boolean]> => {
      const [model] = embedder.models;
      const embedMode = embedderMode(embedder, model?.id ?? '');
      const parts = { ...native, embedMode };
      const served = servedRoute({ ...routes.fuse, id: 'fuse' }, fuseHandler(parts), {
        ...native,
        access,
      });
      const other = await startServer({ routes: [served] });
      const response = await exchange(other.port, post(path, body));
      return [response.status, errorOf(response).code, response.headers.has('retry-after')];
    };
    assert.deepEqual(await codeFor(startEmbedder([read.model])), [503, 'embed_failed', false]);
    const shipped = await shippedModel();
    const late = startEmbedder([shipped], { deadlineMs: 1 });
    assert.deepEqual(await codeFor(late), [503, 'embed_timeout', true]);
    const full = startEmbedder([shipped], { mostTexts: 1 });
    const stop = new AbortController();
    const texts = Array.from({ length: 100 }, (_, at) => Buffer.from(`text ${at} `.repeat(100)));
    const waiting = full.embed(shipped, texts, stop.signal);
    assert.deepEqual(await codeFor(full), [429, 'queue_full', true]);
    stop.abort();
    assert.equal((await waiting).kind, 'cancelled');
  });

  test('a key that may not be used, or not now', async () => {
    const codeFor = async (key: string): Promise<[number, string | undefined]> => {
      const response = await exchange(port, post(path, good, { 'X-API-Key': key }));
      return [response.status, errorOf(response).code];
    };
    assert.deepEqual(await codeFor(keys.issue({ expiresAtMs: 1 }).key), [401, 'key_expired']);
    assert.deepEqual(await codeFor(keys.issue({ status: 'revoked' }).key), [401, 'key_revoked']);
    assert.deepEqual(await codeFor(keys.issue({ status: 'suspended' }).key), [401, 'key_suspended']);
    const { key } = keys.issue({ tier: 'growth' });
    keys.available = false;
    assert.deepEqual(await codeFor(key), [503, 'store_unavailable']);
    keys.available = true;
    assert.deepEqual(await codeFor(key), [200, undefined]);
    assert.deepEqual(await codeFor(key), [429, 'rate_limited']);
  });

  test('an answer larger than a caller without a key may have', async () => {
    const docs = Array.from({ length: 800_000 }, () => '{"id":"","text":"","dense_score":0.1}').join(',');
    const response = await exchange(port, post(path, `{"query":"","docs":[${docs}],"explain":true}`));
    assert.deepEqual([response.status, errorOf(response).code], [413, 'answer_too_large']);
  });

  test('more bytes of bodies than a worker holds', async () => {
    const holders = await Promise.all([1, 2].map(() => RawClient.open(port)));
    for (const holder of holders) {
      holder
        .send(head('POST', path, { 'Content-Length': String(30 << 20) }))
        .send(Buffer.alloc(20 << 20, ' '));
    }
    await until(() => metric('fusegate_http_body_bytes') >= 40 << 20);
    const refused = await exchange(port, head('POST', path, { 'Content-Length': String(30 << 20) }));
    assert.deepEqual([refused.status, errorOf(refused).code], [503, 'overloaded']);
    holders.forEach((holder) => holder.destroy());
  });

  test('after all of them, the server still answers', async () => {
    assert.equal((await exchange(port, post(path, good))).status, 200);
  });
});

after(() => {
  const documented = Object.entries(routes.fuse.problems).map(([status, codes]) => [
    status,
    [...codes].sort(),
  ]);
  const came = [...sent].sort(([left], [right]) => Number(left) - Number(right));
  assert.deepEqual(
    came.map(([status, codes]) => [status, [...codes].sort()]),
    documented,
  );
});
