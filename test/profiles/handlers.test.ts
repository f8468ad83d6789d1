/** The handlers of /v1/profiles/{name}: who owns a name, what is charged, and limits. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Answer, RouteRequest } from '../../src/contract/exchange.js';
import { profileMembers, profileSettingsType, type ProfileSettings } from '../../src/contract/profiles.js';
import { checkBody } from '../../src/contract/schema/validate.js';
import { shapeOf } from '../../src/contract/schema/shape.js';
import { native } from '../../src/native/addon.js';
import { profileHandlers } from '../../src/profiles/handlers.js';
import { mostProfileVersions } from '../../src/store/tables/profiles.js';
import { systemClock } from '../../src/system/clock.js';
import { nearly } from '../contract/arbitrary.js';
import { draws } from '../support/length.js';
import { openTestStore } from '../support/serving.js';
import { answered, requestWith } from '../support/embedding.js';

function request<Input>(name: string, key: string, input: Input): RouteRequest<Input> {
  return { ...requestWith(Buffer.alloc(0), key), path: { name }, input };
}

/** The handlers of a server on a store of its own. */
async function server(isOpen: boolean) {
  const handlers = profileHandlers({
    ...{ store: await openTestStore(), clock: systemClock, isOpen },
    hashKey: (key: string) => Buffer.from(key.repeat(8)),
    look: () => Promise.resolve(),
  });
  const tell = (answer: Answer) => ({
    status: answer.status,
    charge: answer.charge,
    body: answered(answer) as Record<string, unknown>,
  });
  return {
    put: async (name: string, key: string, settings: ProfileSettings = {}) =>
      tell(await handlers.putProfile(request(name, key, settings))),
    get: async (name: string, key: string) => tell(await handlers.profile(request(name, key, undefined))),
    remove: async (name: string, key: string) =>
      tell(await handlers.removeProfile(request(name, key, undefined))),
  };
}

test('on an open server, a profile without a key is everybody’s, and charged by what is stored', async () => {
  const { put, get, remove } = await server(true);
  const settings: ProfileSettings = { weights: { bm25: 1, dense: 2 }, k1: 1.2 };
  const made = await put('shop', '', settings);
  assert.deepEqual([made.status, made.charge, made.body['version']], [200, 2, 1]);
  assert.deepEqual(made.body['settings'], settings);
  const { created_at: at } = made.body;
  const everybodys = { name: 'shop', shared: true, versions: [{ version: 1, settings, created_at: at }] };
  assert.deepEqual(
    [(await get('shop', '')).body, (await get('shop', 'ada-')).body],
    [everybodys, everybodys],
  );
  // A key owns what it puts, and removes that alone.
  assert.equal((await remove('shop', 'ada-')).status, 404);
  const own = await put('shop', 'ada-', { b: 0 });
  assert.deepEqual([own.status, own.charge, own.body['version']], [200, '{"b":0}'.length, 1]);
  assert.equal((await get('shop', 'ada-')).body['shared'], false);
  assert.deepEqual((await remove('shop', '')).body, { name: 'shop', removed: true });
  assert.deepEqual([(await get('shop', '')).status, (await get('shop', 'bob-')).status], [404, 404]);
  assert.equal((await get('shop', 'ada-')).status, 200);
});

test('a profile is shown as it was put, version by version', async () => {
  const { put, get } = await server(true);
  const all: ProfileSettings[] = [
    { entity_map: { 'a"\\b': 'c\u2028 \ud83d\ude00', ['__proto__']: 'd' } },
    { legs: { bm25: { weight: 2 } } },
    {},
  ];
  const made = [];
  for (const settings of all) made.push((await put('shop', '', settings)).body);
  const shown = (await get('shop', '')).body['versions'] as Record<string, unknown>[];
  assert.deepEqual(
    shown.map((version) => ({ name: 'shop', ...version })),
    made,
  );
  assert.deepEqual(
    shown.map(({ settings }) => JSON.stringify(settings)),
    all.map((settings) => JSON.stringify(settings)),
  );
});

test('on other servers only keys may put and remove', async () => {
  const { put, remove } = await server(false);
  for (const answer of [await put('shop', ''), await remove('shop', '')]) {
    assert.deepEqual([answer.status, answer.body['code']], [401, 'key_required']);
  }
  assert.equal((await put('shop', 'ada-')).status, 200);
});

test('a profile has a limited number of versions, and then none is added', async () => {
  const { put } = await server(true);
  for (let version = 1; version <= mostProfileVersions; version += 1) {
    assert.equal((await put('shop', '')).body['version'], version);
  }
  const over = await put('shop', '');
  assert.deepEqual([over.status, over.charge, over.body['code']], [409, 0, 'profile_limit']);
});

test('a name that no profile may have is refused', async () => {
  const { put, get, remove } = await server(true);
  for (const answer of [await put('a/b', ''), await get('a b', ''), await remove('', '')]) {
    assert.equal(answer.status, 422);
    assert.deepEqual((answer.body['detail'] as { loc: unknown }[])[0]?.loc, ['path', 'name']);
  }
});

test('settings are accepted exactly if a request with them can be read', () => {
  let valid = 0;
  const read = (settings: unknown): boolean => new native.Profiles().add('x', 1, JSON.stringify(settings));
  fc.assert(
    fc.property(nearly(shapeOf(profileSettingsType)), fc.subarray([...profileMembers]), (drawn, some) => {
      const isObject = typeof drawn === 'object' && drawn !== null && !Array.isArray(drawn);
      const names: readonly string[] = some;
      const settings: unknown = isObject
        ? Object.fromEntries(Object.entries(drawn).filter(([name]) => names.includes(name)))
        : drawn;
      const checked = checkBody(profileSettingsType, settings);
      valid += Number(checked.ok);
      assert.equal(read(settings), checked.ok, JSON.stringify(settings));
    }),
    { seed: 20_261_123, numRuns: draws(4_000) },
  );
  assert.ok(valid > draws(400), `${valid} valid`);
  for (const wrong of [
    { query: 'a' },
    { docs: [] },
    { top_k: 3 },
    { learn: true },
    { profile: 'x' },
    { K1: 1 },
  ]) {
    assert.deepEqual([checkBody(profileSettingsType, wrong).ok, read(wrong)], [false, false]);
  }
});
