/**
 * What a route takes of its sender's share before a body is stored, with the admission otherwise unchanged.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Head } from '../../src/access/address.js';
import type { Admission } from '../../src/access/admission.js';
import type { Answer } from '../../src/contract/exchange.js';
import { recordBytes } from '../../src/contract/route.js';
import { routes } from '../../src/contract/routes.js';
import { storageReserved } from '../../src/http/failures.js';
import { admission, type PipelineParts } from '../../src/http/pipeline.js';
import { native } from '../../src/native/addon.js';
import { noOperator } from '../../src/outreach/operator.js';
import { pageMaker, unnamedPage } from '../../src/pages/page.js';
import { refusalPage } from '../../src/pages/refusal.js';
import { headFrom } from '../support/access.js';

const stranger = Uint8Array.of(192, 0, 2, 7);

function answer(status: number): Answer {
  return { status, body: { json: {} }, charge: 0 };
}

/** A request's head; `length`: its Content-Length, absent where the body is chunked. */
function headOf(length?: string): Head {
  return headFrom([...stranger], length === undefined ? {} : { 'content-length': length });
}

/** Admission that says yes, and what was asked of it. */
function watched(admitted: Partial<Admission> = { address: stranger }) {
  const asked: unknown[] = [];
  const limits = { rateLimit: 'limit', rateLimitPolicy: 'policy', remaining: 3 };
  const charge = (count: number): void => void asked.push(['charge', count]);
  const decided: Admission = { refusal: undefined, ...limits, charge, ...admitted };
  const full: { refusal?: Answer } = {};
  const access: PipelineParts['access'] = {
    keyed: (_, needsAddress) => (asked.push(['keyed', needsAddress]), decided),
    limited: (limit, _, counts) => (asked.push(['limited', limit, counts]), decided),
    store: (...taken) => (asked.push(['store', ...taken]), full.refusal),
    stored: (...taken) => void asked.push(['stored', ...taken]),
  };
  return { access, asked, decided, full };
}

type Watched = ReturnType<typeof watched>;

/** What a route decides. */
async function decide(
  id: 'buy' | 'dream' | 'leads' | 'harvest' | 'createCardOrder' | 'putCorpus' | 'graph' | 'fuse',
  { access }: Watched,
  { head = headOf('100'), ...changes }: Partial<PipelineParts> & { head?: Head } = {},
): Promise<Admission> {
  const admit = admission(routes[id], { ...native, access, ...changes });
  return admit === undefined ? assert.fail(`${id} asks for no admission`) : admit(head);
}

describe('what strangers send to be stored', () => {
  test('takes room for twice its length and a record, or for its maximum if that is unknown', async () => {
    for (const [id, length, bytes] of [
      ['dream', '100', 200],
      ['dream', '0', 0],
      ['dream', undefined, 2 * 64 * 1024],
      ['harvest', undefined, 2 * 512 * 1024],
      ['harvest', '1000000', 2_000_000],
      ['dream', 'no number', 0],
    ] as const) {
      const parts = watched();
      assert.equal((await decide(id, parts, { head: headOf(length) })).refusal, undefined);
      const { limit } = routes[id];
      assert.deepEqual(
        parts.asked.at(-1),
        ['store', limit, stranger, bytes + recordBytes],
        `${id} ${length}`,
      );
    }
  });

  test('takes room for only a record on a route without a body', () => {
    const { access, asked } = watched();
    const admit = admission({ ...routes.dream, body: { kind: 'none' } }, { ...native, access });
    admit?.(headOf());
    assert.deepEqual(asked.at(-1), ['store', routes.dream.limit, stranger, recordBytes]);
  });

  test('takes room for further records as they are counted', async () => {
    const parts = watched();
    const { charge, ...rest } = await decide('harvest', parts);
    assert.deepEqual({ ...rest, charge: parts.decided.charge }, parts.decided);
    parts.asked.length = 0;
    for (const count of [0, 1, 2, 5]) charge(count);
    const stored = (records: number) => ['stored', routes.harvest.limit, stranger, records * recordBytes];
    const charged = (count: number) => ['charge', count];
    assert.deepEqual(parts.asked, [charged(0), charged(1), charged(2), stored(1), charged(5), stored(4)]);
  });

  test('is refused by the limit of its network, with all else of the admission unchanged', async () => {
    const parts = watched();
    parts.full.refusal = answer(429);
    const { decided, full } = parts;
    assert.deepEqual(await decide('leads', parts), { ...decided, refusal: full.refusal });
  });

  test('is refused with a page where a person waits for one, with the name of the operator', async () => {
    for (const page of [pageMaker({ ...noOperator, name: 'Ada & Co' }), undefined]) {
      const parts = watched();
      parts.full.refusal = { ...answer(429), body: { json: { detail: 'Wait a minute.' } } };
      const { refusal } = await decide('buy', parts, page === undefined ? {} : { page });
      assert.deepEqual(refusal, refusalPage(parts.full.refusal, page ?? unnamedPage));
    }
  });

  test('is counted without an address where nothing else is counted', async () => {
    const parts = watched({});
    assert.equal((await decide('dream', parts)).refusal, undefined);
    const [, store] = parts.asked;
    assert.deepEqual(store, ['store', routes.dream.limit, new Uint8Array(0), 200 + recordBytes]);
  });

  test('takes no room if it is refused before, also while the disk is nearly full', async () => {
    const refused = watched({ refusal: answer(401) });
    assert.equal(await decide('dream', refused), refused.decided);
    for (const [id, full, refusal] of [
      ['dream', { isStorageReserved: () => true }, storageReserved],
      ['leads', { isStorageReserved: () => true }, storageReserved],
    ] as const) {
      const parts = watched();
      assert.deepEqual(await decide(id, parts, full), { ...parts.decided, refusal });
      assert.deepEqual(parts.asked.length, 1);
    }
    for (const id of ['leads', 'dream'] as const) {
      assert.equal((await decide(id, watched(), { isStorageReserved: () => false })).refusal, undefined);
    }
  });

  test('takes no room on a route that stores nothing from strangers', async () => {
    const parts = watched();
    const all = { isStorageReserved: () => true };
    assert.equal(await decide('graph', parts, all), parts.decided);
    assert.deepEqual(parts.asked, [['limited', routes.graph.limit, undefined]]);
  });
});

describe('what callers may store with a key or without one', () => {
  const refuseKeyless = answer(401);

  test('takes a record of the share of a stranger, and further ones as they are counted', async () => {
    const parts = watched();
    const { charge, ...rest } = await decide('putCorpus', parts);
    assert.deepEqual({ ...rest, charge: parts.decided.charge }, parts.decided);
    assert.deepEqual(parts.asked, [
      ['keyed', true],
      ['store', 'leads', stranger, recordBytes],
    ]);
    parts.asked.length = 0;
    charge(4);
    assert.deepEqual(parts.asked, [['stored', 'leads', stranger, 3 * recordBytes]]);
    parts.full.refusal = answer(429);
    assert.deepEqual(await decide('putCorpus', parts), { ...parts.decided, refusal: parts.full.refusal });
  });

  test('takes no share of the holder of a key, whose answer is charged as usual', async () => {
    const parts = watched({ key: 'key' });
    assert.equal(await decide('putCorpus', parts, { refuseKeyless }), parts.decided);
    assert.deepEqual(parts.asked, [['keyed', true]]);
  });

  test('is refused to strangers if they may store nothing, and to all on a nearly full disk', async () => {
    const isStorageReserved = (): boolean => true;
    for (const [admitted, changes, refusal] of [
      [{ address: stranger }, { refuseKeyless, isStorageReserved }, refuseKeyless],
      [{ address: stranger }, { isStorageReserved }, storageReserved],
      [{ key: 'key' }, { refuseKeyless, isStorageReserved }, storageReserved],
    ] as const) {
      const parts = watched(admitted);
      assert.deepEqual(await decide('putCorpus', parts, changes), { ...parts.decided, refusal });
      assert.deepEqual(parts.asked, [['keyed', true]]);
    }
    const refused = watched({ refusal: answer(429), address: stranger });
    assert.equal(await decide('putCorpus', refused, { refuseKeyless, isStorageReserved }), refused.decided);
  });

  test('is decided in the same way if the store had to be asked for the key', async () => {
    const parts = watched();
    const keyed = (): Promise<Admission> => Promise.resolve(parts.decided);
    const late = { ...parts, access: { ...parts.access, keyed } };
    assert.deepEqual(await decide('putCorpus', late, { refuseKeyless }), {
      ...parts.decided,
      refusal: refuseKeyless,
    });
    assert.equal(await decide('fuse', late), parts.decided);
  });
});
