/** A withheld fragment is not found by any filter or similarity that would reveal its content. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FocusResponse } from '../../src/contract/focus.js';
import type { FragmentsResponse, GraphResponse } from '../../src/contract/graph.js';
import type { LeaderboardResponse } from '../../src/contract/leaderboard.js';
import type { NearResponse } from '../../src/contract/near.js';
import type { WalkResponse } from '../../src/contract/walk.js';
import { keepNotice } from '../../src/store/tables/notices.js';
import { exchange, head } from '../support/raw.js';
import { openTestStore } from '../support/serving.js';
import { explored, startDoor, startTestExploration } from '../support/door.js';

const store = await openTestStore();
let nowMs = 0;
const exploration = startTestExploration({ store, monotonicMs: () => nowMs });
const door = await startDoor({ store, exploration });

const receipts: string[] = [];
for (const [title, content, visitor] of [
  ['Bridges', 'lattice struts under load hold together', 'Ada'],
  ['Secret', 'lattice struts under load break at night', 'Mallory'],
  ['Beams', 'lattice beams under load bend', 'Mallory'],
  ['Bread', 'dough rises in the warm kitchen', 'Ada'],
] as const) {
  const { body } = await door.post('/dream', { title, content, visitor, kind: 'BRIDGE' });
  receipts.push(String(body['receipt']));
}
await explored(exploration);
const [, secret = '', beams = ''] = receipts;

async function decide(hidden: boolean, receipt = secret): Promise<void> {
  const notice = { hidden, reason: 'It names a person.', atMs: 0 };
  await assert.doesNotReject(keepNotice(store, receipt, notice));
  nowMs += 1_000;
}

const found = (list: readonly { readonly receipt: string }[]): boolean =>
  list.some(({ receipt }) => receipt === secret);

async function nearText(k: string): Promise<NearResponse['results']> {
  return (await door.get<NearResponse>('/graph/near', { text: 'lattice struts under load', k })).body.results;
}

async function byVisitor(visitor: string, limit = '100'): Promise<FragmentsResponse> {
  return (await door.get<FragmentsResponse>('/graph/fragments', { visitor, limit })).body;
}

describe('a withheld fragment', () => {
  test('is found by text and by visitor while it is shown', async () => {
    assert.ok(found(await nearText('2')));
    const { matching, fragments } = await byVisitor('Mallory');
    assert.deepEqual([matching, fragments.length, found(fragments)], [2, 2, true]);
  });

  test('is not near any text, and other results take its place', async () => {
    await decide(true);
    for (const k of ['1', '2', '3']) {
      const results = await nearText(k);
      assert.ok(!found(results));
      assert.equal(results.length, Math.min(Number(k), 2));
    }
    const page = await exchange(door.port, head('GET', '/graph?text=lattice', { Accept: 'text/html' }));
    assert.equal(page.status, 200);
    assert.ok(!page.body.toString().includes(secret));
    assert.ok(page.body.toString().includes('Beams'));
  });

  test('is counted without its content, where a count reveals only that it is there', async () => {
    const { body } = await door.get<FragmentsResponse>('/graph/fragments', { kind: 'bridge' });
    assert.deepEqual([body.total, body.matching, body.fragments.length], [4, 4, 4]);
    const shown = body.fragments.find(({ receipt }) => receipt === secret);
    assert.deepEqual([shown?.title, shown?.content, shown?.visitor], [null, null, null]);
  });

  test('has no neighbours, and is never a neighbour', async () => {
    const own = await door.get<NearResponse>('/graph/near', { receipt: secret });
    assert.deepEqual([own.status, own.body.results], [200, []]);
    const others = await door.get<NearResponse>('/graph/near', { receipt: receipts[0] ?? '' });
    assert.ok(others.body.results.length > 0 && !found(others.body.results));
  });

  test('is in no walk', async () => {
    for (let seed = 0; seed < 20; seed += 1) {
      const { body } = await door.get<WalkResponse>('/walk', { seed: String(seed), steps: '10' });
      assert.ok(body.steps.length > 0 && !found(body.steps));
    }
    const { status, body } = await door.get<WalkResponse>('/walk', { from: secret });
    assert.deepEqual([status, body.steps], [200, []]);
  });

  test('has no edge in the graph', async () => {
    const { body } = await door.get<GraphResponse>('/graph', {});
    assert.ok(body.edges.length > 0);
    assert.ok(body.edges.every(({ from, to }) => from !== secret && to !== secret));
    const node = body.nodes.find(({ receipt }) => receipt === secret);
    assert.deepEqual([node?.title, node?.withheld], [null, 'It names a person.']);
  });

  test('is not counted for its visitor, on any page', async () => {
    const all = await byVisitor('Mallory');
    assert.deepEqual([all.matching, all.fragments.length, found(all.fragments)], [1, 1, false]);
    const first = await byVisitor('Mallory', '1');
    assert.deepEqual([first.fragments.length, first.next_cursor], [1, null]);
    assert.equal((await byVisitor('Ada')).matching, 2);
    const { body } = await door.get<LeaderboardResponse>('/leaderboard', {});
    assert.ok(body.visitors.some(({ visitor }) => visitor === 'Mallory'));
  });

  test('is in no count, now or at any earlier position', async () => {
    const sum = (list: readonly { readonly fragments: number }[]): number =>
      list.reduce((total, { fragments }) => total + fragments, 0);
    const counts = async (query: Record<string, string>) => {
      const board = await door.get<LeaderboardResponse>('/leaderboard', query);
      const { kinds } = (await door.get<FocusResponse>('/focus', query)).body;
      return [...board.body.visitors.map(({ visitor, fragments }) => `${visitor} ${fragments}`), sum(kinds)];
    };
    const regions = async () => (await door.get<FocusResponse>('/focus', {})).body.regions;
    const { body } = await door.get<GraphResponse>('/graph', {});
    const now = Number(body.as_of);
    for (const query of [{}, { as_of: String(now) }]) {
      assert.deepEqual(await counts(query), ['Ada 2', 'Mallory 1', 3]);
    }
    // Neither before nor after it was submitted does anything change by it.
    assert.deepEqual(await counts({ as_of: String(now - 2) }), ['Ada 1', 1]);
    assert.deepEqual(await counts({ as_of: String(now - 3) }), ['Ada 1', 1]);
    const without = await regions();
    assert.ok(!found(without));
    await decide(false);
    assert.deepEqual(await counts({}), ['Ada 2', 'Mallory 2', 4]);
    assert.equal(sum(await regions()), sum(without) + 1);
    await decide(true);
    assert.deepEqual(await counts({}), ['Ada 2', 'Mallory 1', 3]);
  });

  test('does not reveal its visitor, unless another fragment does', async () => {
    const names = async (): Promise<string[]> => {
      const { body } = await door.get<LeaderboardResponse>('/leaderboard', {});
      return body.visitors.map(({ visitor }) => visitor);
    };
    // At last, there are more decisions than visitors.
    for (const decisions of [0, 1, 2, 20]) {
      for (let at = 0; at < decisions; at += 1) await decide(true, `fr_${at}`);
      assert.deepEqual(await names(), ['Ada', 'Mallory']);
      await decide(true, beams);
      assert.deepEqual(await names(), ['Ada']);
      await decide(false, beams);
    }
  });

  test('is found again once it is shown', async () => {
    await decide(false);
    assert.ok(found(await nearText('2')));
    assert.equal((await byVisitor('Mallory')).matching, 2);
    const own = await door.get<NearResponse>('/graph/near', { receipt: secret });
    assert.ok(own.body.results.length > 0);
  });
});

test('leaves no gap among the edges of a fragment that is like it', async () => {
  const opened = await openTestStore();
  let atMs = 0;
  const apart = startTestExploration({ store: opened, monotonicMs: () => atMs });
  const other = await startDoor({ store: opened, exploration: apart });
  const made: string[] = [];
  const texts = [
    'secretly buys globex in march',
    'opened shops',
    'opened a mill',
    'opened a mine',
    'buys globex',
  ];
  for (const [at, text] of texts.entries()) {
    const content = `acme corporation ${text}`;
    const { body } = await other.post('/dream', { title: `acme ${at}`, content });
    made.push(String(body['receipt']));
  }
  await explored(apart);
  const guess = made.at(-1);
  const edges = async (): Promise<string[]> => {
    const { body } = await other.get<GraphResponse>('/graph', {});
    return body.edges.filter(({ from }) => from === guess).map(({ to }) => to);
  };
  const before = await edges();
  assert.deepEqual([before.length, before.includes(made[0] ?? '')], [3, true]);
  await keepNotice(opened, made[0] ?? '', { hidden: true, reason: 'It names a firm.', atMs: 0 });
  atMs += 1_000;
  assert.deepEqual((await edges()).sort(), made.slice(1, 4).sort());
  await keepNotice(opened, made[0] ?? '', { hidden: false, reason: '', atMs: 0 });
  atMs += 1_000;
  assert.deepEqual(await edges(), before);
});
