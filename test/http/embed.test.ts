/** POST /v1/fuse over HTTP with the included models, run as a server runs them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FuseRequest, FuseResponse } from '../../src/contract/fuse.js';
import { routes } from '../../src/contract/routes.js';
import { servedRoute } from '../../src/http/pipeline.js';
import { native } from '../../src/native/addon.js';
import type { EmbedMode } from '../../src/search/embedMode.js';
import { fuseHandler, LOOP_BODY_LIMIT } from '../../src/search/fuse.js';
import { MemoryKeys, openTiers, testAccess } from '../support/access.js';
import { shippedModel, startEmbedder } from '../support/models.js';
import { until } from '../support/until.js';
import { near } from '../reference/agreement.js';
import { plainStyle, writeBody } from '../support/bodies.js';
import { embedderMode, staticModel } from '../support/embedding.js';
import { startServer } from '../support/http.js';
import { exchange, head, post, RawClient, type RawResponse } from '../support/raw.js';

const keys = new MemoryKeys();
const access = testAccess({ tiers: openTiers(), keys });
const { key } = keys.issue();
const path = '/v1/fuse';

/** The port of a server whose models are these. */
async function serve(embedMode: EmbedMode): Promise<number> {
  const handler = fuseHandler({ ...native, embedMode });
  const parts = { ...native, access };
  const { port } = await startServer({
    routes: [servedRoute({ ...routes.fuse, id: 'fuse' }, handler, parts)],
  });
  return port;
}

const onnx = await shippedModel();
const embedder = startEmbedder([onnx, staticModel]);
const mode = embedderMode(embedder, onnx.id, 4);
const port = await serve(mode);

/** The embedder's own counter. */
function counted(metric: string): number {
  const values = embedder.process.metrics().find(({ name }) => name === metric)?.values ?? [];
  return values.reduce((sum, { value }) => sum + value, 0);
}

function body(response: RawResponse): FuseResponse {
  assert.equal(response.status, 200, response.body.toString());
  return JSON.parse(response.body.toString()) as FuseResponse;
}

async function send(request: unknown, fields: Readonly<Record<string, string>> = {}): Promise<RawResponse> {
  return exchange(port, post(path, JSON.stringify(request), fields));
}

/** A request that takes the embedder a second or so. */
function long(name: string): FuseRequest {
  const docs = Array.from({ length: 50 }, (_, at) => ({
    id: String(at),
    text: `${name} ${at} is long `.repeat(100),
  }));
  return { query: name, docs };
}

const startMs = performance.now();
body(await send(long('measured')));
/** A third of the time that such a request takes on this machine, as busy as it is now (ms). */
const thirdMs = Math.ceil((performance.now() - startMs) / 3);

function scores({ results }: FuseResponse): Map<string, number> {
  return new Map(results.map(({ id, dense_score: score }) => [id, score]));
}

/** Cosines of a query and texts by the model itself. */
async function cosines(query: string, texts: readonly string[]): Promise<number[]> {
  const bytes = [query, ...texts].map((text) => Buffer.from(text));
  const outcome = await embedder.embed(onnx, bytes, new AbortController().signal);
  assert.equal(outcome.kind, 'vectors');
  const vector = (at: number) => [...outcome.vectors.subarray(at * 384, (at + 1) * 384)];
  const dot = (a: number[], b: number[]) => a.reduce((sum, value, at) => sum + value * (b[at] ?? NaN), 0);
  const whole = vector(0);
  return texts.map((_, at) => {
    const other = vector(at + 1);
    return dot(whole, other) / Math.sqrt(dot(whole, whole) * dot(other, other));
  });
}

const texts = [
  'Leather hiking boots with a waterproof membrane',
  'Trail running shoes, light and breathable',
  'Waterproof spray for boots and jackets',
  'The price of bread rose in winter',
];
const request: FuseRequest = {
  query: 'shoes that keep feet dry',
  docs: texts.map((text, at) => ({ id: String(at), text })),
};

describe('the model that ships', () => {
  test('scores are its cosines, and are looked up the second time', async () => {
    const first = await send(request);
    const answer = body(first);
    assert.equal(answer.dense_source, 'model:all-MiniLM-L6-v2');
    assert.equal(answer.warnings?.some(({ code }) => code === 'truncated_input') ?? false, false);
    const expected = await cosines(request.query, texts);
    for (const [id, score] of scores(answer)) {
      assert.ok(
        near(score, expected[Number(id)] ?? NaN),
        `${id}: ${score} is not ${expected[Number(id)] ?? ''}`,
      );
    }
    assert.ok((expected[0] ?? 0) > (expected[3] ?? 0) + 0.3);
    const before = { ...mode.dense.lookups(), texts: counted('fusegate_embed_texts_total') };
    const second = await send(request);
    assert.deepEqual(second.body, first.body);
    const after = { ...mode.dense.lookups(), texts: counted('fusegate_embed_texts_total') };
    assert.deepEqual(after, { ...before, hits: before.hits + texts.length + 1 });
  });

  test('a score does not depend on the other texts of its request', async () => {
    const all = scores(body(await send(request)));
    for (const [at, doc] of request.docs.entries()) {
      const others = [{ id: 'x', text: `something else ${at}` }, doc, { id: 'y', text: doc.text }];
      const found = scores(body(await send({ ...request, docs: others })));
      assert.deepEqual([found.get(doc.id), found.get('y')], [all.get(doc.id), all.get(doc.id)]);
    }
  });

  test('a text longer than the model reads gets a warning, also when it is looked up', async () => {
    const docs = [{ id: 'long', text: 'dry feet '.repeat(400) }, ...request.docs];
    for (const round of ['computed', 'looked up']) {
      const { warnings = [] } = body(await send({ ...request, docs }));
      assert.deepEqual(
        warnings.map(({ code }) => code),
        ['truncated_input', 'text_truncated'],
        round,
      );
      assert.match(warnings[1]?.message ?? '', /the text of docs\.0\.$/);
    }
    for (const [more, told] of [
      [1, 'docs.0, and of one more.'],
      [2, 'docs.0, and of 2 more.'],
    ] as const) {
      const alike = Array.from({ length: more }, (_, at) => ({ ...docs[0], id: `long ${at}` }));
      const { warnings = [] } = body(await send({ ...request, docs: [...docs, ...alike] }));
      assert.ok(warnings[1]?.message.endsWith(told), warnings[1]?.message);
    }
  });

  test('entity_map is applied before embedding', async () => {
    const docs = [{ id: 'a', text: 'the 🥾 is dry' }];
    const mapped = body(await send({ query: 'boot', docs, entity_map: { '🥾': 'boot' } }));
    const [expected] = await cosines('boot', ['the boot is dry']);
    assert.ok(near(scores(mapped).get('a') ?? NaN, expected ?? NaN));
    assert.equal(mapped.results[0]?.text, 'the 🥾 is dry');
  });

  test('a body with escaped names, or too long for the event loop, gets the same scores', async () => {
    const plain = body(await send(request));
    const escaped = writeBody(request, { ...plainStyle, escapedNames: 0.5 });
    assert.deepEqual(body(await exchange(port, post(path, escaped))), plain);
    const far = { id: 'far', text: 'feet dry '.repeat(40_000) };
    const long = { ...request, docs: [...request.docs, far] };
    const whole = JSON.stringify(long);
    assert.ok(whole.length > LOOP_BODY_LIMIT);
    const answer = body(await send(long));
    assert.deepEqual([...scores(answer)].filter(([id]) => id !== 'far').sort(), [...scores(plain)].sort());
    const other = writeBody({ ...long, query: 'boots' }, { ...plainStyle, escapedNames: 0.5 });
    const expected = body(await send({ ...long, query: 'boots' }));
    assert.deepEqual(body(await exchange(port, post(path, other))), expected);
  });

  test('simultaneous requests get what each gets alone', async () => {
    const queries = ['warm hat', 'cheap bread', 'red paint', 'fast train'].flatMap((query) => [query, query]);
    const together = await Promise.all(queries.map((query) => send({ ...request, query })));
    for (const [at, query] of queries.entries()) {
      assert.deepEqual(body(await send({ ...request, query })), body(together[at] as RawResponse));
    }
  });

  test('a connection that closes takes its texts out of the queue', async () => {
    const before = counted('fusegate_embed_texts_total');
    const client = await sendLong('gone');
    client.destroy();
    await until(() => counted('fusegate_embed_queue_texts') === 0);
    assert.ok(counted('fusegate_embed_texts_total') - before < 50);
  });
});

/** Sends what keeps the embedder busy for a second or so, and resolves when its texts wait. */
async function sendLong(query: string): Promise<RawClient> {
  const text = `${query} ${'is long '.repeat(200)}`;
  const docs = Array.from({ length: 50 }, (_, at) => ({ id: String(at), text: `${at} ${text}` }));
  const whole = JSON.stringify({ query, docs });
  const client = await RawClient.open(port);
  client.send(head('POST', path, { 'Content-Length': String(whole.length) })).send(whole);
  await until(() => counted('fusegate_embed_queue_texts') > 0);
  return client;
}

describe('more work than fits the deadline', () => {
  const statuses = async (to: number, requests: readonly FuseRequest[]): Promise<number[]> => {
    const sent = requests.map((each) => exchange(to, post(path, JSON.stringify(each))));
    const answers = await Promise.all(sent);
    for (const answer of answers) assert.equal(answer.headers.has('retry-after'), answer.status !== 200);
    return answers.map(({ status }) => status);
  };

  const mostRounds = 60;

  /** Sends requests again until all are answered, so many rounds at most; in how many one was refused. */
  const refusals = async (deadlineMs: number, names: readonly string[]): Promise<number> => {
    const to = await serve(embedderMode(startEmbedder([onnx], { deadlineMs }), onnx.id, 4));
    const requests = names.map((name) => long(`${name} within ${deadlineMs}`));
    for (let round = 0; round < mostRounds; round += 1) {
      const found = await statuses(to, requests);
      if (found.every((status) => status === 200)) return round;
      const known = found.every((status) => [200, 429, 503].includes(status));
      assert.ok(known, found.join(' '));
    }
    return mostRounds;
  };

  /**
   * How busy the machine is may change: a shorter deadline is too short for all of it at once, a longer one
   * is enough for a part.
   */
  const areAnsweredInTheEnd = async (names: readonly string[]): Promise<void> => {
    let deadlineMs = thirdMs;
    const tried: string[] = [];
    while (tried.length < 12) {
      const refused = await refusals(deadlineMs, names);
      if (refused > 0 && refused < mostRounds) return;
      tried.push(`${refused} rounds with one refused by ${deadlineMs} ms`);
      deadlineMs = Math.ceil(refused === 0 ? deadlineMs / 3 : deadlineMs * 2);
    }
    assert.fail(tried.join(', '));
  };

  test('a request that is repeated gets further each time, until it is answered', () =>
    areAnsweredInTheEnd(['again']));

  test('several requests that are repeated are all answered in the end', () =>
    areAnsweredInTheEnd(['one', 'two', 'three']));
});

describe('static-256 over HTTP', () => {
  const named = { ...request, embed_model: 'static-256' };

  test('does not wait for the texts of another model', async () => {
    const client = await sendLong('busy');
    const answer = body(await send(named));
    assert.ok(counted('fusegate_embed_queue_texts') > 0);
    client.destroy();
    assert.equal(answer.dense_source, 'model:static-256');
    const found = scores(answer);
    assert.ok((found.get('1') ?? 0) > (found.get('3') ?? 0) + 0.2);
  });

  test('accepts more docs with a key', async () => {
    const docs = Array.from({ length: 51 }, (_, at) => ({ id: String(at), text: `text ${at}` }));
    const refused = await send({ ...named, docs });
    assert.equal(refused.status, 422);
    assert.match(refused.body.toString(), /"max_length":50,"actual_length":51/);
    assert.equal(body(await send({ ...named, docs }, { 'X-API-Key': key })).results.length, 51);
    assert.equal(body(await send({ ...named, docs }, { Authorization: `Bearer ${key}` })).results.length, 51);
    assert.equal((await send({ ...named, docs }, { Authorization: 'Bearer fake-api-key' })).status, 422);
  });
});
