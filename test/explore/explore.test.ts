/** The exploration routes through HTTP: neighbours, walks, graph, lists, standings, as of any position. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import type { FocusResponse } from '../../src/contract/focus.js';
import type { FragmentsResponse, GraphResponse } from '../../src/contract/graph.js';
import type { LeaderboardResponse } from '../../src/contract/leaderboard.js';
import type { NearResponse } from '../../src/contract/near.js';
import type { WalkResponse } from '../../src/contract/walk.js';
import { examples } from '../support/examples.js';
import { Gate } from '../support/gate.js';
import { exploreExamples } from './exploreReference.js';
import { openTestStore } from '../support/serving.js';
import type { ReadVectors } from '../../src/explore/explore.js';
import type { InTurn } from '../../src/system/workQueue.js';
import { exchange, head, RawClient } from '../support/raw.js';
import { assertTakesTurn } from '../support/threadPool.js';
import { until } from '../support/until.js';
import { embedding, explored, placesOf, startDoor, startTestExploration } from '../support/door.js';
import { cosine, type Submitted } from './exploreReference.js';

const store = await openTestStore();
const exploration = startTestExploration({ store });
const door = await startDoor({ store, exploration });
const submitted: Submitted[] = [];

async function submit(fields: Omit<Submitted, 'receipt' | 'vector'>): Promise<string> {
  const { body } = await door.post('/dream', { ...fields });
  const receipt = String(body['receipt']);
  const { title, content, visitor } = fields;
  const vector = embedding.embedText(`${title}\n${content}\n`);
  if (!(visitor ?? '').startsWith('probe')) submitted.push({ ...fields, receipt, vector });
  return receipt;
}

for (const fields of exploreExamples) await submit(fields);
const probe = await submit({ title: 'Probe', content: 'lattice struts under load', visitor: 'probe:uptime' });
await explored(exploration);

const near = (query: Record<string, string>) => door.get<NearResponse>('/graph/near', query);
const receiptsOf = (list: readonly { readonly receipt: string }[]) => list.map(({ receipt }) => receipt);

/** The obvious reading: every similarity, sorted; of equals the earlier first. */
function nearestTo(vector: Uint8Array, among: readonly Submitted[], except = ''): Submitted[] {
  const scored = among.map((each) => ({ each, similarity: cosine(vector, each.vector) }));
  return scored
    .filter(({ each, similarity }) => similarity > 0 && each.receipt !== except)
    .sort((a, b) => b.similarity - a.similarity)
    .map(({ each }) => each);
}

/** The vectors, with some of their methods replaced. */
function readVectors(replaced: Partial<ReadVectors>): ReadVectors {
  const { vectors } = exploration.explore;
  return {
    state: () => vectors.state(),
    count: (asOf) => vectors.count(asOf),
    select: (...given) => vectors.select(...given),
    receipts: (...given) => vectors.receipts(...given),
    board: () => vectors.board(),
    kinds: (...given) => vectors.kinds(...given),
    links: (...given) => vectors.links(...given),
    standings: (...given) => vectors.standings(...given),
    regions: (...given) => vectors.regions(...given),
    nearest: (...given) => vectors.nearest(...given),
    walk: (...given) => vectors.walk(...given),
    ...replaced,
  };
}

test('the work of closed connections is dropped', async () => {
  const signals: AbortSignal[] = [];
  const made: number[] = [];
  let looked = 0;
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  const { explore } = exploration;
  const vectors = readVectors({
    walk(...given) {
      looked += 1;
      const walking = explore.vectors.walk(...given);
      return {
        async steps() {
          await opened;
          const steps = await walking.steps();
          made.push(steps.length);
          return steps;
        },
        stop: () => walking.stop(),
      };
    },
  });
  const inTurn: InTurn = (work, signal) => {
    signals.push(signal);
    return explore.inTurn(work, signal);
  };
  const own = await startDoor({
    store,
    exploration: { ...exploration, explore: { ...explore, vectors, inTurn } },
  });
  const clients = await Promise.all(Array.from({ length: 30 }, () => RawClient.open(own.port)));
  for (const client of clients) client.send(head('GET', '/walk?steps=100&seed=a'));
  await until(() => signals.length >= clients.length);
  for (const client of clients) client.destroy();
  await until(() => signals.every(({ aborted }) => aborted));
  open();
  assert.equal((await own.get<GraphResponse>('/graph', { limit: '1' })).status, 200);
  assert.equal(looked, 1, 'the others never begin');
  assert.deepEqual(made, [1], 'the walk that had begun ends before its next search');
});

test('a page of the graph is not finished once its connection has closed', async () => {
  const { explore } = exploration;
  const asked: number[] = [];
  const gate = new Gate();
  const open = gate.hold();
  const links: ReadVectors['links'] = async (asOf, from, to, hidden) => {
    asked.push(from);
    await gate.passed();
    return explore.vectors.links(asOf, from, to, hidden);
  };
  let signal: AbortSignal | undefined;
  const inTurn: InTurn = (work, given) => {
    signal ??= given;
    return explore.inTurn(work, given);
  };
  const parts = { ...explore, vectors: readVectors({ links }), inTurn };
  const own = await startDoor({ store, exploration: { ...exploration, explore: parts } });
  const client = await RawClient.open(own.port);
  client.send(head('GET', '/graph?limit=1000'));
  await until(() => asked.length === 1);
  client.destroy();
  await until(() => signal?.aborted === true);
  open();
  assert.equal((await own.get<GraphResponse>('/graph', { limit: '1' })).status, 200);
  assert.deepEqual(asked, [0, 0], 'the fragments after the first ones are left out');
});

test('searches take their turn in the thread pool', async () => {
  const later = () => door.get('/info');
  for (const [path, query] of [
    ['/graph', {}],
    ['/graph/near', { text: 'Bread' }],
    ['/walk', { seed: 'turn' }],
    ['/focus', {}],
  ] as const) {
    const { status } = await assertTakesTurn(() => door.get(path, query), later);
    assert.equal(status, 200, path);
  }
});

describe('GET /graph/near', () => {
  test('finds the same as the naive reading, for texts and receipts', async () => {
    for (const text of ['lattice struts under load', 'BREAD', 'neutron', '格子']) {
      const { status, body } = await near({ text, k: '7' });
      assert.equal(status, 200);
      const expected = nearestTo(embedding.embedText(text), submitted).slice(0, 7);
      assert.deepEqual(receiptsOf(body.results), receiptsOf(expected), text);
      assert.deepEqual(
        [body.search, body.embedding, body.total],
        ['exact', { method: embedding.method, dimension: 256 }, submitted.length],
      );
    }
    for (const one of submitted.slice(0, 12)) {
      const { body } = await near({ receipt: one.receipt });
      const expected = nearestTo(one.vector, submitted, one.receipt).slice(0, 10);
      assert.deepEqual(receiptsOf(body.results), receiptsOf(expected));
      assert.ok(body.results.every(({ similarity }) => similarity > 0 && similarity <= 1));
      const [first] = body.results;
      const card = submitted.find(({ receipt }) => receipt === first?.receipt);
      assert.deepEqual([first?.title, first?.content, first?.withheld], [card?.title, card?.content, null]);
    }
  });

  test('finds neighbours of a probe, but a probe is never a neighbour', async () => {
    const { body } = await near({ receipt: probe, k: '100' });
    assert.ok(body.results.length > 0);
    const all = await near({ text: 'Probe lattice struts under load', k: '100' });
    assert.ok(!receiptsOf(all.body.results).includes(probe));
  });

  test('a text without words has no neighbours', async () => {
    assert.deepEqual((await near({ text: ' ?! ' })).body.results, []);
    assert.deepEqual((await near({ text: '' })).body.results, []);
  });

  test('refuses what it cannot read', async () => {
    const refusals: [Record<string, string>, string[]][] = [
      [{}, ['value_error query']],
      [{ receipt: probe, text: 'x' }, ['value_error query']],
      [{ text: 'x'.repeat(2001) }, ['string_too_long query.text']],
      [{ text: 'x', k: '0' }, ['greater_than_equal query.k']],
      [{ text: 'x', k: '101' }, ['less_than_equal query.k']],
      [{ text: 'x', k: 'ten' }, ['int_type query.k']],
      [{ text: 'x', as_of: '-1' }, ['value_error query.as_of']],
      [{ text: 'x', as_of: '99999' }, ['value_error query.as_of']],
      [{ as_of: 'now' }, ['value_error query', 'value_error query.as_of']],
    ];
    for (const [query, places] of refusals) {
      const answer = await door.get('/graph/near', query);
      assert.equal(answer.status, 422, JSON.stringify(query));
      assert.deepEqual(placesOf(answer), places, JSON.stringify(query));
    }
    for (const receipt of ['fr_01M7YQ1WE038NKRKAYDXR834J3', 'nothing']) {
      const answer = await door.get('/graph/near', { receipt });
      assert.deepEqual([answer.status, answer.body['code']], [404, 'receipt_not_found']);
    }
  });
});

describe('GET /walk', () => {
  const walk = (query: Record<string, string>) => door.get<WalkResponse>('/walk', query);

  test('steps where SHA-256 of seed and turn says', async () => {
    const { body } = await walk({ seed: 'autumn', steps: '6' });
    assert.equal(body.seed, 'autumn');
    const turn = (number: number, bound: number): number =>
      createHash('sha256').update(`autumn\n${number}`).digest().readUIntBE(0, 6) % bound;
    const way = [submitted[turn(0, submitted.length)]];
    while (way.length < 6) {
      const last = way.at(-1);
      assert.ok(last !== undefined);
      const open = nearestTo(last.vector, submitted)
        .filter((each) => !way.includes(each))
        .slice(0, 5);
      if (open.length === 0) break;
      way.push(open[turn(way.length, open.length)]);
    }
    assert.deepEqual(
      receiptsOf(body.steps),
      way.map((each) => each?.receipt),
    );
    assert.equal(new Set(receiptsOf(body.steps)).size, body.steps.length);
  });

  test('starts where it is told to, and without a seed says which one it took', async () => {
    const [, from] = receiptsOf(submitted);
    const { body } = await walk({ from: from ?? '', steps: '3' });
    assert.deepEqual([body.steps[0]?.receipt, body.steps[0]?.similarity], [from, 1]);
    const again = await walk({ from: from ?? '', steps: '3', seed: body.seed, as_of: body.as_of });
    assert.deepEqual(again.body, body);
    assert.equal((await door.get('/walk', { from: 'fr_01M7YQ1WE038NKRKAYDXR834J3' })).status, 404);
    assert.deepEqual(placesOf(await door.get('/walk', { steps: '101' })), ['less_than_equal query.steps']);
    assert.deepEqual(placesOf(await door.get('/walk', { as_of: 'x' })), ['value_error query.as_of']);
  });
});

describe('GET /graph', () => {
  const page = (query: Record<string, string>) => door.get<GraphResponse>('/graph', query);

  test('lists every fragment once, and its links to earlier ones', async () => {
    const nodes: GraphResponse['nodes'] = [];
    const edges: GraphResponse['edges'] = [];
    let cursor: string | null = null;
    do {
      const { status, body }: { status: number; body: GraphResponse } = await page({
        limit: '7',
        ...(cursor === null ? {} : { cursor }),
      });
      assert.equal(status, 200);
      nodes.push(...body.nodes);
      edges.push(...body.edges);
      cursor = body.next_cursor;
    } while (cursor !== null);
    assert.deepEqual(receiptsOf(nodes), receiptsOf(submitted));
    const expected = submitted.flatMap((each, index) =>
      nearestTo(each.vector, submitted.slice(0, index))
        .filter((other) => cosine(each.vector, other.vector) > 0.3)
        .slice(0, 3)
        .map((other) => [
          each.receipt,
          other.receipt,
          Math.round(cosine(each.vector, other.vector) * 1e6) / 1e6,
        ]),
    );
    assert.deepEqual(
      edges.map(({ from, to, similarity }) => [from, to, similarity]),
      expected,
    );
    assert.ok(edges.length > 10);
    const whole = await page({ limit: '1000' });
    assert.deepEqual([whole.body.nodes, whole.body.edges, whole.body.next_cursor], [nodes, edges, null]);
  });

  test('refuses cursors and limits that are none', async () => {
    for (const cursor of ['', '1', '1.2.3', 'x.1', '1.99', '999999.0', '-1.0', '01.0']) {
      assert.deepEqual(placesOf(await door.get('/graph', { cursor })), ['value_error query.cursor'], cursor);
    }
    assert.deepEqual(placesOf(await door.get('/graph', { limit: '1001' })), ['less_than_equal query.limit']);
    assert.deepEqual(placesOf(await door.get('/graph', { limit: '0' })), ['greater_than_equal query.limit']);
  });
});

describe('GET /graph/fragments', () => {
  const list = (query: Record<string, string>) => door.get<FragmentsResponse>('/graph/fragments', query);

  test('filters by kind, visitor and time', async () => {
    const all = await list({});
    assert.deepEqual(receiptsOf(all.body.fragments), receiptsOf(submitted));
    assert.deepEqual([all.body.matching, all.body.total], [submitted.length, submitted.length]);
    const bridges = submitted.filter(({ kind }) => kind === 'BRIDGE');
    const found = await list({ kind: ' bridge ', limit: '2' });
    assert.deepEqual(receiptsOf(found.body.fragments), receiptsOf(bridges).slice(0, 2));
    assert.equal(found.body.matching, bridges.length);
    const more = await list({ kind: 'BRIDGE', cursor: found.body.next_cursor ?? '' });
    assert.deepEqual(receiptsOf(more.body.fragments), receiptsOf(bridges).slice(2));
    assert.equal(more.body.next_cursor, null);
    const adas = submitted.filter(({ visitor, kind }) => visitor === 'Ada' && kind === 'BRIDGE');
    assert.deepEqual(
      receiptsOf((await list({ visitor: 'Ada', kind: 'BRIDGE' })).body.fragments),
      receiptsOf(adas),
    );
    const since = all.body.fragments[3]?.received_at ?? '';
    const young = all.body.fragments.filter(({ received_at }) => received_at >= since);
    assert.deepEqual(receiptsOf((await list({ since })).body.fragments), receiptsOf(young));
    assert.equal((await list({ since: '2999-01-01' })).body.matching, 0);
    assert.equal((await list({ since: '2020-01-01T00:00:00+02:00' })).body.matching, submitted.length);
  });

  test('names everything that is wrong', async () => {
    const query = { kind: 'POEM', since: 'yesterday', cursor: 'x' };
    const places = ['value_error query.cursor', 'value_error query.kind', 'value_error query.since'];
    assert.deepEqual(placesOf(await door.get('/graph/fragments', query)), places);
    for (const since of ['2026-13-01', '2026-02-30', '2026-02-02T10:00', '1', '']) {
      assert.equal((await list({ since })).status, 422, since);
    }
  });
});

describe('GET /focus and /leaderboard', () => {
  test('count kinds and regions, fewest first', async () => {
    const { body } = await door.get<FocusResponse>('/focus');
    const counts = body.kinds.map(({ fragments }) => fragments);
    assert.equal(body.kinds.length, 8);
    assert.deepEqual(
      counts,
      [...counts].sort((a, b) => a - b),
    );
    for (const { kind, fragments } of body.kinds) {
      assert.equal(fragments, submitted.filter((each) => each.kind === kind).length, kind);
    }
    const sizes = body.regions.map(({ fragments }) => fragments);
    assert.deepEqual(
      sizes,
      [...sizes].sort((a, b) => a - b),
    );
    assert.equal(
      sizes.reduce((sum, size) => sum + size, 0),
      submitted.length,
    );
    for (const { receipt, title } of body.regions) {
      assert.equal(title, submitted.find((each) => each.receipt === receipt)?.title);
    }
    assert.deepEqual((await door.get<FocusResponse>('/focus')).body, body);
    assert.equal((await door.get('/focus', { as_of: 'x' })).status, 422);
  });

  test('rank visitors by different content', async () => {
    const { body } = await door.get<LeaderboardResponse>('/leaderboard');
    const names = [...new Set(submitted.map(({ visitor }) => visitor ?? ''))].filter((name) => name !== '');
    const contents = (name: string) =>
      new Set(submitted.filter(({ visitor }) => visitor === name).map(({ content }) => content)).size;
    const expected = names
      .map((visitor) => ({ visitor, fragments: contents(visitor) }))
      .sort((a, b) => b.fragments - a.fragments);
    assert.deepEqual(
      body.visitors.map(({ visitor, fragments }) => ({ visitor, fragments })),
      expected,
    );
    assert.deepEqual(
      body.visitors.map(({ rank }) => rank),
      [1, 2, 3, 3],
    );
    assert.equal((await door.get('/leaderboard', { as_of: 'x' })).status, 422);
  });
});

test('the first leaderboard after a start does not wait for names', async () => {
  let read = 0;
  const names = new Set(submitted.map(({ visitor }) => visitor).filter((visitor) => visitor !== '')).size;
  const getMany: typeof store.getMany = (space, keys) => {
    if (space === 'fragments') read += keys.length;
    return store.getMany(space, keys);
  };
  const counting = Object.assign(Object.create(store) as typeof store, { getMany });
  const own = await startDoor({
    store: counting,
    exploration: { ...exploration, explore: { ...exploration.explore, store: counting } },
  });
  await until(() => read === names);
  const { body } = await own.get<LeaderboardResponse>('/leaderboard');
  assert.equal(body.visitors.length, names);
  assert.equal(read, names);
});

describe('GET /how', () => {
  test('answers with JSON, or with Markdown if that is preferred', async () => {
    const { body } = await door.get('/how');
    assert.deepEqual(body, examples.how.response.body);
    for (const [accept, type] of [
      ['text/markdown', 'text/markdown; charset=utf-8'],
      ['text/markdown;q=0.9, application/json;q=0.5', 'text/markdown; charset=utf-8'],
      ['*/*', 'application/json'],
      ['text/*;q=0.1, application/json', 'application/json'],
    ]) {
      const answer = await exchange(door.port, head('GET', '/how', { Accept: accept ?? '' }));
      assert.equal(answer.headers.get('content-type'), type, accept);
    }
  });
});

test('an answer can be reproduced after more was stored', async () => {
  const paths = [
    ['/graph/near', { text: 'lattice' }],
    ['/walk', { seed: 's' }],
    ['/graph', {}],
    ['/graph/fragments', { visitor: 'Ada' }],
    ['/focus', {}],
    ['/leaderboard', {}],
  ] as const;
  const before = await Promise.all(paths.map(([path, query]) => door.get(path, query)));
  const first = await door.get<GraphResponse>('/graph', { limit: '5' });
  await submit({ title: 'Later', content: 'A lattice of ledgers that comes later', visitor: 'Eve' });
  await explored(exploration);
  for (const [index, [path, query]] of paths.entries()) {
    const as_of = String(before[index]?.body['as_of']);
    assert.deepEqual((await door.get(path, { ...query, as_of })).body, before[index]?.body, path);
    const now = await door.get(path, query);
    assert.equal(now.body['total'], Number(before[index]?.body['total']) + 1);
  }
  const next = await door.get<GraphResponse>('/graph', {
    cursor: first.body.next_cursor ?? '',
    limit: '1000',
  });
  assert.deepEqual([next.body.as_of, next.body.total], [first.body.as_of, first.body.total]);
  assert.ok(!next.body.nodes.some(({ title }) => title === 'Later'));
});

test('the documented neighbours are those that the search finds', async () => {
  const alone = await openTestStore();
  const own = startTestExploration({ store: alone });
  const other = await startDoor({
    store: alone,
    exploration: own,
    wallMs: () => Date.parse('2026-11-21T09:30:00Z'),
  });
  await other.post('/dream', examples.dream.request.body);
  await explored(own);
  for (const id of ['near', 'walk', 'graph', 'graphFragments', 'focus', 'leaderboard'] as const) {
    const { request, response } = examples[id];
    const { body } = await other.get(request.path);
    const shown = JSON.stringify(response.body).replaceAll(/fr_\w{26}/g, 'fr_');
    assert.deepEqual(JSON.parse(JSON.stringify(body).replaceAll(/fr_\w{26}/g, 'fr_')), JSON.parse(shown), id);
  }
});

test('a store without fragments is explored, too', async () => {
  const empty = await startDoor({ store: await openTestStore() });
  const total = { as_of: '0', total: 0 };
  for (const [path, expected] of [
    ['/graph/near?text=x', { results: [] }],
    ['/walk', { steps: [] }],
    ['/graph', { nodes: [], edges: [], next_cursor: null }],
    ['/graph/fragments', { fragments: [], matching: 0, next_cursor: null }],
    ['/focus', { regions: [] }],
    ['/leaderboard', { visitors: [] }],
  ] as const) {
    const { status, body } = await empty.get(path);
    assert.equal(status, 200);
    assert.deepEqual({ ...body, ...total, ...expected }, body, path);
  }
});
