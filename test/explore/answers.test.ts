/** Answers with many fragments: their memory, and the work that is left out once a connection has closed. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FragmentCard } from '../../src/contract/exploration.js';
import { eachCard, longAnswer, type ExploreParts } from '../../src/explore/explore.js';
import { exploreHandlers } from '../../src/explore/handlers.js';
import type { Answer, RouteRequest } from '../../src/contract/exchange.js';
import type { Store } from '../../src/store/store.js';
import { keepNotice } from '../../src/store/tables/notices.js';
import { workQueue, type InTurn } from '../../src/system/workQueue.js';
import { explored, startDoor, startTestExploration } from '../support/door.js';
import { Gate } from '../support/gate.js';
import { exchange, head } from '../support/raw.js';
import { openTestStore } from '../support/serving.js';
import { until } from '../support/until.js';

const store = await openTestStore();
const exploration = startTestExploration({ store });
const door = await startDoor({ store, exploration });
for (let at = 0; at < 4; at += 1) {
  const fields = { title: `lattice ${at}`, content: `a lattice of struts ${at}`, visitor: `visitor ${at}` };
  assert.equal((await door.post('/dream', fields)).status, 200);
}
await explored(exploration);

/** The store, of which `read` is called before each task that reads fragments. */
function watchedStore(read: (keys: readonly Uint8Array[]) => Promise<void>): Store {
  return new Proxy(store, {
    get(target, name) {
      if (name === 'getMany') {
        const getMany: Store['getMany'] = async (space, keys) => {
          if (space === 'fragments') await read(keys);
          return target.getMany(space, keys);
        };
        return getMany;
      }
      const member: unknown = Reflect.get(target, name);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
}

/** A request to a handler of exploration. */
function request(query: RouteRequest['query'], signal = new AbortController().signal): RouteRequest {
  return { query, signal: () => signal } as RouteRequest;
}

/** Parts of which each queue counts what it runs. */
class Watched {
  /** Requests that hold a turn. */
  readonly running = new Set<symbol>();
  most = 0;
  asked = 0;
  readonly parts: ExploreParts;

  constructor(read: () => Promise<void>) {
    const { explore } = exploration;
    const watched =
      (queue: InTurn): InTurn =>
      (work, signal) => {
        this.asked += 1;
        return queue(async () => {
          const turn = Symbol('turn');
          this.running.add(turn);
          this.most = Math.max(this.most, this.running.size);
          try {
            return await work();
          } finally {
            this.running.delete(turn);
          }
        }, signal);
      };
    this.parts = {
      ...explore,
      store: watchedStore(read),
      // No names are read ahead for the leaderboard.
      warmed: undefined,
      inTurn: watched(explore.inTurn),
      inShortTurn: watched(explore.inShortTurn),
      inListTurn: watched(explore.inListTurn),
    };
  }
}

/** Routes, and how many of their requests may hold cards at once. */
const many = [
  ['graphFragments', {}, 2],
  ['near', { text: 'lattice' }, 2],
  ['graph', {}, 1],
  ['walk', { seed: 'a' }, 1],
  ['focus', {}, 2],
] as const;

test('however many ask at once, one or two hold cards, until their JSON is written', async () => {
  for (const [id, query, most] of many) {
    const gate = new Gate();
    const open = gate.hold();
    let reading = 0;
    let mostReading = 0;
    let outside = 0;
    const watched = new Watched(async () => {
      if (watched.running.size === 0) outside += 1;
      reading += 1;
      mostReading = Math.max(mostReading, reading);
      await gate.passed();
      reading -= 1;
    });
    const ask = exploreHandlers(watched.parts)[id];
    // The shortest queue has room for them.
    const answers = Array.from({ length: 30 }, async () => ask(request({ ...query })));
    await until(() => watched.asked >= 30 && reading > 0);
    open();
    for (const { status, body } of await Promise.all(answers)) {
      assert.equal(status, 200);
      assert.ok(id === 'focus' || 'bytes' in body, `${id}: its JSON is written in its turn`);
    }
    assert.equal(outside, 0, `${id}: cards are read within a turn`);
    assert.ok(mostReading <= most, `${id}: ${mostReading} read cards at once`);
    assert.ok(watched.most <= most, `${id}: ${watched.most} have a turn at once`);
  }
});

describe('once a connection has closed', () => {
  test('no further cards are read', async () => {
    const closing = new AbortController();
    const read: number[] = [];
    const watched = watchedStore((keys) => {
      read.push(keys.length);
      closing.abort();
      return Promise.resolve();
    });
    const receipts = Array.from({ length: 1_000 }, (_, at) => `fr_${String(at).padStart(26, '0')}`);
    await eachCard(watched, receipts, closing.signal, (card) => assert.fail(card.receipt));
    assert.deepEqual(read, [80]);
  });

  test('no further JSON is written, and the answer is not one of its half', async () => {
    const closing = new AbortController();
    let written = 0;
    const item = {
      toJSON() {
        written += 1;
        closing.abort();
        return {};
      },
    };
    const make = () => Promise.resolve({ fragments: Array(1_000).fill(item) });
    const answer: Answer = await longAnswer(workQueue(1, 1), make, closing.signal);
    assert.equal(answer.status, 503);
    assert.ok(written < 100, `${written} items were written`);
  });

  test('the rest of a list is not read', async () => {
    const closing = new AbortController();
    let reads = 0;
    const watched = new Watched(() => {
      reads += 1;
      closing.abort();
      return Promise.resolve();
    });
    const { vectors } = exploration.explore;
    const [one] = (await vectors.select(vectors.state().position, {}, 0, 1, [])).places;
    assert.ok(one !== undefined);
    const select = () => Promise.resolve({ matching: 1_000, places: Array(1_000).fill(one) as [typeof one] });
    const parts = { ...watched.parts, vectors: { ...bound(vectors), select } };
    const answer = await exploreHandlers(parts).graphFragments(request({ limit: '1000' }, closing.signal));
    assert.equal(answer.status, 503);
    assert.equal(reads, 1);
  });
});

/** The methods of vectors that a list calls, on their own. */
function bound(vectors: ExploreParts['vectors']): ExploreParts['vectors'] {
  return new Proxy(vectors, {
    ownKeys: () => ['state', 'count'],
    getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
}

test('cards that are decoded in several pieces are those of their receipts, withheld or not', async () => {
  const cards: FragmentCard[] = [];
  const receipts = exploration.explore.vectors.receipts(0, 4);
  await keepNotice(store, receipts[2] ?? '', { hidden: true, reason: 'asked', atMs: 1 });
  const twenty = Array.from({ length: 20 }, (_, at) => receipts[at % 4] ?? '');
  await eachCard(store, twenty, new AbortController().signal, (card) => cards.push(card));
  assert.deepEqual(
    cards.map(({ receipt, title, withheld }) => [receipt, title, withheld]),
    twenty.map((receipt, at) =>
      at % 4 === 2 ? [receipt, null, 'asked'] : [receipt, `lattice ${at % 4}`, null],
    ),
  );
});

test('HEAD counts as a whole request, as its answer costs as much as that of GET', async () => {
  const own = await startDoor({ store, exploration, routeLimits: { explorations: 3 } });
  for (const path of ['/graph', '/graph/fragments', '/walk']) {
    assert.equal((await exchange(own.port, head('HEAD', path))).status, 200, path);
  }
  assert.equal((await exchange(own.port, head('HEAD', '/focus'))).status, 429);
  assert.equal((await own.get('/leaderboard')).status, 429);
});
