/** Which routes of the contract are served, and what the server knows about each. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Answer } from '../../src/contract/exchange.js';
import { routeList, routes, type Handlers, type RouteId } from '../../src/contract/routes.js';
import { servedRoute, servedRoutes } from '../../src/http/pipeline.js';
import type { ServedRoute } from '../../src/http/routes.js';
import { native } from '../../src/native/addon.js';
import { openTiers, testAccess } from '../support/access.js';
import { requestWith } from '../support/embedding.js';

const parts = { ...native, access: testAccess({ tiers: openTiers() }) };

/** A handler for each route, which is known again. */
const handlers = Object.fromEntries(
  routeList.map(({ id }) => [id, () => assert.fail(id)]),
) as unknown as Handlers;

function served(id: RouteId): ServedRoute {
  return servedRoute({ ...routes[id], id }, handlers[id], parts);
}

const idsOf = (all: readonly ServedRoute[]): string[] => all.map(({ route }) => route.id);

describe('what the server knows of a route', () => {
  const plain = { body: false, bodyLimit: 0, cors: false, acts: false, timed: false, headers: [] };
  const unlimited = { keylessAnswerLimit: Infinity };
  const unkept = {
    fields: { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer', 'x-robots-tag': 'noindex' },
  };
  const mebibyte = 1_048_576;
  const keyed = { headers: ['x-api-key'], keylessAnswerLimit: 64 * mebibyte };
  const known = {
    version: { method: 'GET', path: '/version', ...plain, cors: true, ...unlimited },
    click: {
      ...{ method: 'GET', path: '/c/{token}', ...plain, acts: true, ...unlimited },
      headers: ['user-agent', 'sec-purpose', 'purpose', 'x-moz'],
    },
    fuse: {
      ...{ method: 'POST', path: '/v1/fuse', ...plain, body: true, bodyLimit: 32 * mebibyte, timed: true },
      ...keyed,
    },
    fuseBatch: {
      ...{ method: 'POST', path: '/v1/fuse/batch', ...plain, body: true, bodyLimit: Infinity },
      ...{ lineLimit: 4 * mebibyte, ...keyed },
    },
    dreamConfirm: {
      ...{ method: 'POST', path: '/dream_confirm', ...plain, body: true, bodyLimit: 65_536, cors: true },
      ...{ headers: ['content-type'], ...unlimited },
    },
    putCorpus: {
      ...{ method: 'PUT', path: '/v1/corpora/{name}', ...plain, body: true, bodyLimit: 32 * mebibyte },
      ...{ headers: ['x-api-key', 'content-type'], ...unlimited, ...unkept },
    },
  } as const satisfies Partial<Record<RouteId, object>>;

  for (const [id, route] of Object.entries(known) as [keyof typeof known, object][]) {
    test(`${id}: its limits and header fields`, () => assert.deepEqual(served(id).route, { id, ...route }));
  }

  test('it checks and decides what the contract says, and nothing else', () => {
    const steps = (id: RouteId): string[] =>
      Object.keys(served(id))
        .filter((name) => name !== 'route')
        .sort();
    assert.deepEqual(steps('version'), ['handler']);
    assert.deepEqual(steps('unsubscribe'), ['handler']);
    assert.deepEqual(steps('cardWebhook'), ['admit', 'handler']);
    assert.deepEqual(steps('receipt'), ['check', 'handler']);
    assert.deepEqual(steps('fuse'), ['admit', 'handler', 'refuseMediaType']);
    assert.deepEqual(steps('fuseBatch'), ['admit', 'handler', 'refuseMediaType']);
    assert.deepEqual(steps('dreamConfirm'), ['admit', 'check', 'handler', 'refuseMediaType']);
    assert.deepEqual(steps('rerank'), ['admit', 'handler', 'refuseMediaType', 'writeFailure']);
    assert.equal(served('rerank').writeFailure, routes.rerank.failure.write);
    assert.equal(served('version').handler, handlers.version);
  });

  test('it refuses the media types of forms, and on routes of lines all others than those of lines', () => {
    const refused = (id: RouteId, type: string, crossOrigin = false): number | undefined =>
      served(id).refuseMediaType?.(type, crossOrigin)?.status;
    const form = 'application/x-www-form-urlencoded';
    for (const type of ['application/json', 'application/json; charset=utf-8', '']) {
      assert.equal(refused('fuse', type), undefined, type);
    }
    assert.deepEqual([refused('fuse', form), refused('fuse', 'text/plain', true)], [422, 422]);
    assert.equal(refused('dreamConfirm', form), undefined);
    assert.equal(refused('fuseBatch', 'application/x-ndjson'), undefined);
    assert.equal(refused('fuseBatch', form), 422);
    const { body } = served('fuseBatch').refuseMediaType?.(form, false) ?? assert.fail();
    assert.match(JSON.stringify('json' in body && body.json), /"loc":\["header","content-type"\]/i);
  });
});

describe('a body that is JSON or a form', () => {
  const confirm = 'a'.repeat(64);
  const form = 'application/x-www-form-urlencoded; charset=utf-8';

  /** What the check of POST /dream_confirm makes of a body. */
  async function checked(type: string, body: string): Promise<unknown> {
    const header = (name: string): string => (name === 'content-type' ? type : '');
    const request = { ...requestWith(Buffer.from(body)), header };
    return served('dreamConfirm').check?.(request);
  }

  /** Where the faults of a body are. */
  async function faults(type: string, body: string): Promise<string> {
    const result = await checked(type, body);
    const refused = (result as { readonly refused?: Answer }).refused ?? assert.fail('it is taken');
    return JSON.stringify('json' in refused.body && refused.body.json);
  }

  test('is read by its media type', async () => {
    const input = { confirm, title: 'A title', content: 'Some' };
    assert.deepEqual(await checked(form, `confirm=${confirm}&title=A+title&content=Some`), { input });
    assert.deepEqual(await checked('application/json', JSON.stringify(input)), { input });
    assert.match(await faults('application/json', `confirm=${confirm}`), /json_invalid/);
    assert.match(await faults('', `confirm=${confirm}`), /json_invalid/);
    assert.match(await faults(form, 'title=A'), /"confirm"/);
    assert.match(await faults(form, JSON.stringify(input)), /"confirm"/);
  });
});

describe('what is served', () => {
  test('is every route, in the order of the contract', () => {
    assert.deepEqual(
      idsOf(servedRoutes(handlers, parts)),
      routeList.map(({ id }) => id),
    );
  });

  test('is one part of the contract with what is everywhere', () => {
    const everywhere = ['health', 'ready', 'docsGuide', 'pageFile'];
    for (const part of ['gateway', 'door'] as const) {
      const ids = idsOf(servedRoutes(handlers, parts, [part]));
      const own = routeList.filter((route) => route.part === part).map(({ id }) => id);
      assert.deepEqual(ids.toSorted(), [...new Set([...own, ...everywhere])].sort());
    }
    assert.deepEqual(idsOf(servedRoutes(handlers, parts, [])).toSorted(), everywhere.toSorted());
  });

  test('is what the operator has chosen', () => {
    const ids = idsOf(servedRoutes(handlers, parts, ['gateway', 'door'], ['normalize']));
    assert.ok(ids.includes('normalize') && ids.includes('health'));
    assert.ok(!ids.includes('fuse') && !ids.includes('dream'));
  });
});
