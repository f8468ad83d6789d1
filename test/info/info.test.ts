/** The information routes: their answers fit the document and tell what is so. */
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Answer } from '../../src/contract/exchange.js';
import type { PrivacyResponse, ReadyResponse, VersionResponse } from '../../src/contract/info.js';
import type { LimitsResponse } from '../../src/contract/limits.js';
import { type RouteId, routes } from '../../src/contract/routes.js';
import { banner, health } from '../../src/info/banner.js';
import { limits, rateLimits } from '../../src/info/limits.js';
import { openapi } from '../../src/info/openapi.js';
import { privacy } from '../../src/info/privacy.js';
import { dataFolderCheck, nativeModuleCheck, ready, storeCheck } from '../../src/info/ready.js';
import { SERVICE_VERSION, version } from '../../src/info/version.js';
import { native } from '../../src/native/addon.js';
import { storedData } from '../../src/store/retention.js';
import type { Store } from '../../src/store/store.js';
import { systemClock } from '../../src/system/clock.js';
import { examples, gateway } from '../contract/examples.js';
import { shippedTiers } from '../access/fixture.js';
import { assertFits } from '../contract/schemaCheck.js';

/** The handlers take no notice of the request, so none is made up. */
type Ignoring = () => Answer | Promise<Answer>;

async function jsonOf(handler: unknown, id: RouteId, status = 200): Promise<unknown> {
  const answer = await (handler as Ignoring)();
  assert.equal(answer.status, status);
  assert.equal(answer.charge, 0);
  assert.ok('json' in answer.body);
  const value = JSON.parse(JSON.stringify(answer.body.json)) as unknown;
  const path = `/paths/${routes[id].path.replaceAll('/', '~1')}/get`;
  assertFits(value, `${path}/responses/${status}/content/application~1json/schema`);
  return value;
}

const noWarnings = (): Promise<string[]> => Promise.resolve([]);

test('banner, health and privacy answer as their examples show', async () => {
  assert.deepEqual(await jsonOf(banner, 'banner'), examples.banner.response.body);
  assert.deepEqual(await jsonOf(health, 'health'), examples.health.response.body);
  const { stored } = examples.privacy.response.body as PrivacyResponse;
  const all = storedData({ clicksRetentionDays: 90, leadsRetentionDays: 0, embedCacheStore: true });
  assert.deepEqual(stored, all.slice(0, stored.length));
  assert.deepEqual(await jsonOf(privacy(stored), 'privacy'), examples.privacy.response.body);
});

test('privacy lists what each table declares', async () => {
  const entry = { what: 'Email.', why: 'To reply.', retention: '90 days.', where: 'leads' };
  const { stored } = (await jsonOf(privacy([entry]), 'privacy')) as PrivacyResponse;
  assert.deepEqual(stored, [entry]);
});

test('version names what runs, in strings', async () => {
  const parts = { native: native.version(), unicode: native.unicodeVersion() };
  const body = (await jsonOf(version(parts), 'version')) as VersionResponse;
  assert.deepEqual(Object.keys(body), Object.keys(examples.version.response.body as VersionResponse));
  assert.equal(body['service'], '0.4.0');
  assert.equal(body['node'], process.versions.node);
  assert.match(body['unicode'] ?? '', /^\d+\.\d+\.\d+$/);
});

test('limits follow the route table and the types', async () => {
  const rates = rateLimits(shippedTiers(), {
    audits: 6,
    leads: 10,
    checkout: 10,
    submissions: 60,
    previews: 60,
  });
  assert.deepEqual(
    rates.map(({ name, limit }) => [name, limit]),
    [
      ['anonymous.requests', 60],
      ['anonymous.characters', 1e6],
      ['developer.requests', 600],
      ['developer.characters', 5e7],
      ['growth.requests', 6_000],
      ['growth.characters', 1e9],
      ['enterprise.requests', 60_000],
      ['enterprise.characters', 2e10],
      ['anonymous.embed_docs', 50],
      ['keyed.embed_docs', 1000],
      ['unknown_keys', 60],
      ['audits', 6],
      ['leads', 10],
      ['checkout', 10],
      ['submissions', 60],
      ['previews', 60],
    ],
  );
  const body = (await jsonOf(limits(rates), 'limits')) as LimitsResponse;
  assert.deepEqual(
    body.bodies.find(({ route }) => route === 'fuse'),
    { route: 'fuse', method: 'POST', path: '/v1/fuse', max_body_bytes: 33554432 },
  );
  assert.deepEqual(
    body.fields.filter(({ request }) => request === 'FuseRequest').map(({ field }) => field),
    ['docs', 'top_k', 'weights.bm25', 'weights.dense', 'rrf_k', 'k1', 'b'],
  );
  assert.deepEqual(body.rates, rates);
  assert.deepEqual([body.json_nesting, body.validation_errors, body.validation_input_bytes], [128, 100, 256]);
});

test('openapi.json is the document', async () => {
  const answer = await (openapi() as unknown as Ignoring)();
  assert.ok('bytes' in answer.body && typeof answer.body.bytes === 'string');
  assert.equal(answer.body.type, 'application/json');
  assert.deepEqual(JSON.parse(answer.body.bytes), JSON.parse(JSON.stringify(gateway())));
});

test('ready says what is not, and leaves nothing in the data folder', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-ready-'));
  const answering: Pick<Store, 'probe'> = {
    probe: () => Promise.resolve({ kind: 'read', value: undefined }),
  };
  const checks = [
    dataFolderCheck(folder),
    storeCheck(answering, systemClock),
    nativeModuleCheck(native.version, SERVICE_VERSION),
  ];
  assert.deepEqual(await jsonOf(ready(checks, noWarnings), 'ready'), examples.ready.response.body);
  assert.deepEqual(readdirSync(folder), []);
  rmSync(folder, { recursive: true });
  const body = (await jsonOf(ready(checks, noWarnings), 'ready', 503)) as ReadyResponse;
  assert.equal(body.ready, false);
  assert.deepEqual(
    body.checks.map(({ check, reason }) => [check, reason]),
    [
      ['data_folder', 'The data folder cannot be written (ENOENT).'],
      ['store', null],
      ['native_module', null],
    ],
  );
  const old = nativeModuleCheck(() => '0.3.0', SERVICE_VERSION);
  const { checks: outcomes, warnings } = (await jsonOf(
    ready([old], () => Promise.resolve(['Soon.'])),
    'ready',
    503,
  )) as ReadyResponse;
  assert.match(outcomes[0]?.reason ?? '', /0\.3\.0, not 0\.4\.0/);
  assert.deepEqual(warnings, ['Soon.']);
});

test('the store is probed once a second at most, and its reason is told', async () => {
  let nowMs = 0;
  let probes = 0;
  const probe: Store['probe'] = () => {
    probes += 1;
    return Promise.resolve(
      probes === 1
        ? { kind: 'unavailable', reason: 'No space left on device' }
        : { kind: 'read', value: undefined },
    );
  };
  const check = storeCheck({ probe }, { monotonicMs: () => nowMs });
  const failed = 'The store cannot be written (No space left on device).';
  assert.equal(await check.run(), failed);
  nowMs = 999;
  assert.equal(await check.run(), failed);
  assert.equal(probes, 1);
  nowMs = 1000;
  assert.equal(await check.run(), null);
  assert.equal(probes, 2);
});
