/** The information routes: their answers fit the document and are true. */
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
import { limits, rateLimits, waitingLimits } from '../../src/info/limits.js';
import { describedGateway, openapi } from '../../src/info/openapi.js';
import { privacy } from '../../src/info/privacy.js';
import {
  dataFolderCheck,
  nativeModuleCheck,
  ready,
  storeCheck,
  type ReadinessCheck,
  type ReadyParts,
} from '../../src/info/ready.js';
import { SERVICE_VERSION, version } from '../../src/info/version.js';
import { native } from '../../src/native/addon.js';
import { storedData } from '../../src/store/retention.js';
import { StoreUnavailable, type Store } from '../../src/store/store.js';
import { systemClock } from '../../src/system/clock.js';
import { examples, gateway } from '../support/examples.js';
import { createLog } from '../../src/system/log.js';
import { shippedTiers } from '../support/access.js';
import { assertFits } from '../contract/schemaCheck.js';
import { recordingLog, type Logged } from '../support/http.js';

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

/** The limits of lines. */
const lineRates = [
  { name: 'fuseBatch.line', limit: 4_194_304, unit: 'bytes of a line of POST /v1/fuse/batch' },
  { name: 'normalizeBatch.line', limit: 2_097_152, unit: 'bytes of a line of POST /v1/normalize/batch' },
];

/** The limited members of a fuse request. */
const fuseFields = [
  'docs',
  'top_k',
  'weights.bm25',
  'weights.dense',
  'rrf_k',
  'k1',
  'b',
  'corpus.docs',
  'corpus.average_length',
  'corpus.version',
  'boosts',
  'boosts[].value',
  'boosts[].origin',
  'boosts[].scale',
  'boosts[].offset',
  'boosts[].decay',
  'boosts[].weight',
  'collapse.keep',
  'diversify.diversity',
  'diversify.candidates',
  'highlight.chars',
  'highlight.fragments',
];

test('limits follow the route table and the types', async () => {
  const rates = rateLimits(shippedTiers(), {
    audits: 6,
    leads: 10,
    checkout: 10,
    submissions: 60,
    previews: 60,
    markers: 300,
    clicks: 600,
    explorations: 300,
    polls: 120,
    pages: 600,
    cardEvents: 6_000,
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
      ['markers', 300],
      ['previews', 60],
      ['clicks', 600],
      ['explorations', 300],
      ['polls', 120],
      ['pages', 600],
      ['cardEvents', 6_000],
      ['network_48', 64],
      ['network_56', 8],
      ['newcomers', 64],
    ],
  );
  const body = (await jsonOf(limits(rates), 'limits')) as LimitsResponse;
  assert.deepEqual(
    body.bodies.find(({ route }) => route === 'fuse'),
    { route: 'fuse', method: 'POST', path: '/v1/fuse', max_body_bytes: 33554432 },
  );
  assert.deepEqual(
    body.fields.filter(({ request }) => request === 'FuseRequest').map(({ field }) => field),
    fuseFields,
  );
  assert.deepEqual(body.rates, [...rates, ...lineRates]);
  assert.equal(body.access.mode, 'metered');
  assert.deepEqual([body.json_nesting, body.validation_errors, body.validation_input_bytes], [128, 100, 256]);
});

test('limits include how much may wait, and for how long, as it is set', () => {
  const orders = { maxUnpaidOrders: 0, unpaidOrdersPerAddress: 10 };
  const set = { ...orders, embedQueue: 5, embedDeadlineMs: 700, storedKbPerMinute: 384 };
  assert.deepEqual(
    waitingLimits(set).map(({ name, limit }) => [name, limit]),
    [
      ['unpaid_orders', 0],
      ['unpaid_orders_per_address', 10],
      ['embed_queue', 5],
      ['embed_deadline', 700],
      ['stored_by_network', 384],
      ['preview_life', 1_800],
    ],
  );
});

test('openapi.json is the document', async () => {
  const answer = await (openapi(describedGateway()) as unknown as Ignoring)();
  assert.ok('bytes' in answer.body && typeof answer.body.bytes === 'string');
  assert.equal(answer.body.type, 'application/json');
  assert.deepEqual(JSON.parse(answer.body.bytes), JSON.parse(JSON.stringify(gateway())));
});

test('ready says what is not ready, and leaves nothing in the data folder', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-ready-'));
  const answering: Pick<Store, 'probe'> = {
    probe: () => Promise.resolve(undefined),
  };
  const checks = [
    dataFolderCheck(folder),
    storeCheck(answering),
    nativeModuleCheck(native.version, SERVICE_VERSION),
  ];
  assert.deepEqual(await jsonOf(readyWith(checks), 'ready'), examples.ready.response.body);
  assert.deepEqual(readdirSync(folder), []);
  rmSync(folder, { recursive: true });
  const body = (await jsonOf(readyWith(checks), 'ready', 503)) as ReadyResponse;
  assert.equal(body.ready, false);
  assert.deepEqual(
    body.checks.map(({ check, code, reason }) => [check, code, reason]),
    [
      ['data_folder', 'data_folder_unwritable', 'The data folder cannot be written (ENOENT).'],
      ['store', null, null],
      ['native_module', null, null],
    ],
  );
  const old = nativeModuleCheck(() => '0.3.0', SERVICE_VERSION);
  const { checks: outcomes, warnings } = (await jsonOf(
    readyWith([old], { warn: () => Promise.resolve(['Soon.']) }),
    'ready',
    503,
  )) as ReadyResponse;
  assert.match(outcomes[0]?.reason ?? '', /0\.3\.0, not 0\.4\.0/);
  assert.deepEqual(warnings, ['Soon.']);
});

const silent = createLog('silent');

/** Readiness by these checks. */
function readyWith(checks: readonly ReadinessCheck[], given: Partial<ReadyParts> = {}) {
  return ready({ checks, warn: noWarnings, clock: systemClock, log: silent, ...given });
}

test('the store is probed at most once a second; strangers get a code, and the log the reason', async () => {
  let nowMs = 0;
  let probes = 0;
  const probe: Store['probe'] = () => {
    probes += 1;
    const full = new StoreUnavailable('No space left on device at db.internal:5432');
    return probes === 1 ? Promise.reject(full) : Promise.resolve();
  };
  const logged: Logged[] = [];
  const clock = { monotonicMs: () => nowMs, after: systemClock.after };
  const handler = readyWith([storeCheck({ probe })], { clock, log: recordingLog(logged) });
  const failed = {
    check: 'store',
    ok: false,
    code: 'store_unwritable',
    reason: 'The store cannot be written; the log of the server says why.',
  };
  const told = async (status: number) => ((await jsonOf(handler, 'ready', status)) as ReadyResponse).checks;
  assert.deepEqual(await told(503), [failed]);
  nowMs = 999;
  assert.deepEqual(await told(503), [failed]);
  assert.equal(probes, 1);
  assert.deepEqual(
    logged.map(({ level, message }) => [level, message]),
    [['warn', 'not ready']],
  );
  assert.match(JSON.stringify(logged[0]?.fields), /No space left on device at db\.internal:5432/);
  nowMs = 1000;
  assert.deepEqual(await told(200), [{ check: 'store', ok: true, code: null, reason: null }]);
  assert.equal(probes, 2);
  assert.deepEqual([logged.length, logged[1]?.message], [2, 'ready again']);
});

test('simultaneous requests share one look at the data folder', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-ready-'));
  for (let round = 0; round < 20; round += 1) {
    const handler = readyWith([dataFolderCheck(folder)]);
    const answers = Array.from({ length: 8 }, () => jsonOf(handler, 'ready'));
    for (const body of await Promise.all(answers)) assert.equal((body as ReadyResponse).ready, true);
  }
  rmSync(folder, { recursive: true });
});

test('a store that does not answer delays no answer', async () => {
  let nowMs = 0;
  let answering = true;
  const waits: (() => void)[] = [];
  let waited = 0;
  const clock = {
    monotonicMs: () => nowMs,
    after: (delayMs: number, action: () => void) => {
      assert.ok(delayMs < 300);
      waited += 1;
      waits.push(action);
      return { stop: () => void waits.splice(waits.indexOf(action), 1) };
    },
  };
  let probes = 0;
  const probe: Store['probe'] = () => {
    probes += 1;
    return answering ? Promise.resolve(undefined) : new Promise(() => undefined);
  };
  const handler = readyWith([storeCheck({ probe })], { clock });
  const asked = async (status: number) => {
    const answer = jsonOf(handler, 'ready', status);
    await new Promise(setImmediate);
    for (const action of waits.splice(0)) action();
    return (await answer) as ReadyResponse;
  };
  assert.equal((await asked(200)).ready, true);
  answering = false;
  nowMs = 5_000;
  assert.equal((await asked(200)).ready, true, 'what was so lately stands while a look takes its time');
  nowMs = 10_000;
  const { checks } = await asked(503);
  assert.deepEqual([checks[0]?.ok, checks[0]?.code], [false, 'no_answer']);
  await asked(503);
  assert.equal(probes, 2, 'the look under way is the only one');
  assert.equal(waited, 2, 'who asks later does not wait for a look that takes its time');
});
