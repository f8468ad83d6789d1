/** Admission: every outcome, header values at exact boundaries, usage on its way to the store and back. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Access, Admission } from '../../src/access/admission.js';
import type { Problem } from '../../src/contract/problem.js';
import type { RouteLimit } from '../../src/contract/routes.js';
import { untrustedProxy, type Head } from '../../src/access/address.js';
import { kinds } from '../../src/access/nativeDecision.js';
import { limitVariables } from '../../src/access/refusals.js';
import { native } from '../../src/native/addon.js';
import { systemClock } from '../../src/system/clock.js';
import { createLog } from '../../src/system/log.js';
import { systemRandomness } from '../../src/system/randomness.js';
import { keyTiers } from '../../src/access/tiers.js';
import { HandClock } from '../support/handClock.js';
import {
  headFrom,
  limitsFile,
  MemoryKeys,
  MemoryUsage,
  openTiers,
  SetClock,
  shippedTiers,
  testAccess,
} from '../support/access.js';

const peer = [192, 0, 2, 1];
const monthMs = 30 * 86_400_000;

/** What a client is told: status, code, Retry-After and the two fields of the limit. */
interface Told {
  readonly status: number;
  readonly code?: string;
  readonly retryAfter?: string;
  readonly limit: string;
  readonly policy: string;
}

function told({ refusal, rateLimit, rateLimitPolicy }: Admission): Told {
  const fields = { limit: rateLimit, policy: rateLimitPolicy };
  if (refusal === undefined) return { status: 200, ...fields };
  assert.ok('bytes' in refusal.body && typeof refusal.body.bytes === 'string');
  const { code, detail } = JSON.parse(refusal.body.bytes) as Problem;
  assert.match(detail, /^[A-Z].*\.$/s);
  const retryAfter = refusal.headers?.['retry-after'];
  return { status: refusal.status, code, ...(retryAfter === undefined ? {} : { retryAfter }), ...fields };
}

async function withKey(access: Access, key: string, from = peer): Promise<Told> {
  return told(await access.keyed(headFrom(from, { 'x-api-key': key })));
}

async function anonymously(access: Access, from = peer): Promise<Told> {
  return told(await access.keyed(headFrom(from)));
}

/** A tier whose key may send `perMinute` requests and `perMonth` characters. */
function withGrowth(perMinute: number, perMonth = 0) {
  const tiers = shippedTiers();
  const limits = { requests_per_minute: perMinute, characters_per_month: perMonth };
  return { ...tiers, growth: { ...tiers.growth, ...limits } };
}

const noLimit = { limit: '', policy: '' };

/** What is told of look-ups after `tried` unknown keys at once. */
function lookUps(tried: number) {
  return { limit: `"minute";r=${60 - tried};t=${tried}`, policy: '"minute";q=60;w=60' };
}

const invalid = { status: 401, code: 'invalid_api_key', ...lookUps(1) };

describe('keys', () => {
  test('a key that is mistyped is refused before any look-up', async () => {
    const keys = new MemoryKeys();
    const access = testAccess({ keys });
    const { key } = keys.issue();
    const last = key.endsWith('A') ? 'B' : 'A';
    for (const mistyped of ['x', key.slice(0, -1), key.slice(0, -1) + last, `${key} `, key.toLowerCase()]) {
      assert.deepEqual(await withKey(access, mistyped), invalid, mistyped);
    }
    assert.deepEqual(await withKey(access, 'é'.repeat(52)), invalid);
    assert.equal(keys.finds, 0);
  });

  test('a bearer token is a key if it begins like one, and any other is ignored', async () => {
    const keys = new MemoryKeys();
    const tiers = withGrowth(7);
    const clock = new SetClock();
    const { key } = keys.issue({ tier: 'growth' });
    const other = keys.issue({ tier: 'growth' }).key;
    const sent = async (fields: Readonly<Record<string, string>>): Promise<Told> =>
      told(await testAccess({ keys, tiers, clock }).keyed(headFrom(peer, fields)));
    const keyed = { status: 200, limit: '"minute";r=6;t=9', policy: '"minute";q=7;w=60' };
    for (const written of [`Bearer ${key}`, `bearer  ${key}`, `BEARER ${key} `, key]) {
      assert.deepEqual(await sent({ authorization: written }), keyed, written);
      assert.deepEqual(await sent({ authorization: written, 'x-api-key': key }), keyed);
      assert.deepEqual(await sent({ authorization: written, 'x-api-key': '' }), keyed);
      assert.deepEqual(await sent({ authorization: written, 'x-api-key': other }), invalid);
    }
    const anonymous = await sent({});
    assert.equal(anonymous.status, 200);
    for (const written of ['Bearer fake-api-key', 'Bearer x', 'Bearer ', 'Bearer', 'x', `Basic ${key}`]) {
      assert.deepEqual(await sent({ authorization: written }), anonymous, written);
      assert.deepEqual(await sent({ authorization: written, 'x-api-key': key }), keyed, written);
    }
    for (const mistyped of ['Bearer fg_x', `Bearer ${key}x`, 'fg_']) {
      assert.deepEqual(await sent({ authorization: mistyped }), invalid, mistyped);
    }
  });

  test('an unknown key is looked up each time, up to 60 times a minute for each address', async () => {
    const keys = new MemoryKeys();
    const access = testAccess({ keys, clock: new SetClock() });
    const stranger = native.writeKey(systemRandomness(32));
    for (let count = 1; count <= 60; count += 1) {
      assert.deepEqual(await withKey(access, stranger), { ...invalid, ...lookUps(count) });
      assert.equal(keys.finds, count);
    }
    const refused = { status: 429, code: 'rate_limited', retryAfter: '1', ...lookUps(60) };
    assert.deepEqual(await withKey(access, stranger), refused);
    assert.equal((await withKey(access, 'fg_x')).limit, refused.limit, 'what is no key is 401 all the same');
    assert.equal(keys.finds, 60);
    assert.deepEqual(await withKey(access, stranger, [192, 0, 2, 2]), invalid, 'another address');
    const { key } = keys.issue();
    assert.equal((await withKey(access, key)).status, 429, 'whoever tries keys waits with a good one too');
  });

  test('known keys are looked up once, and do not count as tries', async () => {
    const keys = new MemoryKeys();
    const access = testAccess({ keys, clock: new SetClock() });
    const issued = Array.from({ length: 70 }, () => keys.issue().key);
    for (const key of [...issued, ...issued]) assert.equal((await withKey(access, key)).status, 200);
    assert.equal(keys.finds, 70);
  });

  test('simultaneous requests with one unknown key share one look-up', async () => {
    const keys = new MemoryKeys();
    const access = testAccess({ keys });
    const { key } = keys.issue();
    const answers = await Promise.all([1, 2, 3].map(() => withKey(access, key)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200],
    );
    assert.equal(keys.finds, 1);
  });

  test('a key is refused once it has expired, to the millisecond, or is suspended or revoked', async () => {
    const keys = new MemoryKeys();
    const clock = new SetClock();
    const access = testAccess({ keys, clock });
    const { key } = keys.issue({ expiresAtMs: clock.wallMs() + 1000 });
    clock.pass(999);
    assert.equal((await withKey(access, key)).status, 200);
    clock.pass(1);
    assert.deepEqual(await withKey(access, key), { status: 401, code: 'key_expired', ...lookUps(1) });
    const suspended = keys.issue({ status: 'suspended' }).key;
    assert.equal((await withKey(access, suspended)).code, 'key_suspended');
    const revoked = keys.issue({ status: 'revoked', expiresAtMs: 1 }).key;
    assert.equal((await withKey(access, revoked)).code, 'key_revoked');
  });

  test('a change takes effect when it is announced, even while the record is being read', async () => {
    const keys = new MemoryKeys();
    const access = testAccess({ keys });
    const { key, hash } = keys.issue();
    assert.equal((await withKey(access, key)).status, 200);
    keys.change(hash, { status: 'revoked' });
    assert.equal((await withKey(access, key)).status, 200, 'not yet told');
    access.changed(hash);
    assert.equal((await withKey(access, key)).code, 'key_revoked');
    access.changed(hash);
    keys.change(hash, { status: 'active' });
    const asked = withKey(access, key);
    keys.change(hash, { status: 'suspended' });
    access.changed(hash);
    assert.equal((await asked).code, 'key_suspended', 'the old record was on its way');
    access.changed(hash);
    const askedAgain = withKey(access, key);
    keys.change(hash, { status: 'revoked' });
    access.allChanged();
    assert.equal((await askedAgain).code, 'key_revoked', 'so it was when any key may have changed');
    keys.change(hash, { status: 'active' });
    access.allChanged();
    assert.equal((await withKey(access, key)).status, 200);
  });

  test('a key of a tier that is not sold is an error of the server, not of the caller', async () => {
    const keys = new MemoryKeys();
    const { key } = keys.issue({ id: 'key_9', tier: 'gold' });
    await assert.rejects(
      withKey(testAccess({ keys }), key),
      /^Error: Key key_9 has a tier that is not sold$/,
    );
  });

  test('without the store an unknown key gets 503, and a known one keeps working', async () => {
    const keys = new MemoryKeys();
    const access = testAccess({ keys });
    const known = keys.issue().key;
    await withKey(access, known);
    keys.available = false;
    const unavailable = { status: 503, code: 'store_unavailable', retryAfter: '1', ...lookUps(1) };
    for (let count = 0; count < 70; count += 1) {
      assert.deepEqual(await withKey(access, keys.issue().key), unavailable, 'nor does it count as a try');
    }
    assert.equal((await withKey(access, known)).status, 200);
  });
});

describe('requests a minute', () => {
  test('fields and refusals at their boundaries', async () => {
    const keys = new MemoryKeys();
    const clock = new SetClock();
    const access = testAccess({ keys, clock, tiers: withGrowth(6) });
    const { key } = keys.issue({ tier: 'growth' });
    const policy = '"minute";q=6;w=60';
    for (const limit of ['r=5;t=10', 'r=4;t=20', 'r=3;t=30', 'r=2;t=40', 'r=1;t=50', 'r=0;t=60']) {
      assert.deepEqual(await withKey(access, key), { status: 200, limit: `"minute";${limit}`, policy });
    }
    const over = { status: 429, code: 'rate_limited', policy };
    const full = { ...over, retryAfter: '10', limit: '"minute";r=0;t=60' };
    assert.deepEqual(await withKey(access, key), full);
    clock.pass(9_001);
    const nearly = { ...over, retryAfter: '1', limit: '"minute";r=0;t=51' };
    assert.deepEqual(await withKey(access, key), nearly);
    clock.pass(999);
    assert.deepEqual(await withKey(access, key), { status: 200, limit: '"minute";r=0;t=60', policy });
    clock.pass(60_000);
    assert.deepEqual(await withKey(access, key), { status: 200, limit: '"minute";r=5;t=10', policy });
  });

  test('each key, each address and each kind of limit has its own count', async () => {
    const keys = new MemoryKeys();
    const clock = new SetClock();
    const tiers = { ...withGrowth(1), anonymous: { requests_per_minute: 1, characters_per_month: 0 } };
    const access = testAccess({ keys, clock, tiers, routeLimits: { leads: 1, checkout: 10 } });
    const [one, other] = [keys.issue({ tier: 'growth' }).key, keys.issue({ tier: 'growth' }).key];
    const statuses = async (): Promise<number[]> => [
      (await withKey(access, one)).status,
      (await withKey(access, other)).status,
      (await anonymously(access)).status,
      (await anonymously(access, [192, 0, 2, 2])).status,
      told(access.limited('leads', headFrom(peer))).status,
    ];
    assert.deepEqual(await statuses(), [200, 200, 200, 200, 200]);
    assert.deepEqual(await statuses(), [429, 429, 429, 429, 429]);
  });

  test('two processes count the requests of a key together', async () => {
    const file = limitsFile();
    const keys = new MemoryKeys();
    const parts = { file, keys, clock: new SetClock(), tiers: withGrowth(100) };
    const processes = [testAccess(parts), testAccess(parts)];
    const { key } = keys.issue({ tier: 'growth' });
    let passed = 0;
    for (let count = 0; count < 200; count += 1) {
      for (const access of processes) passed += (await withKey(access, key)).status === 200 ? 1 : 0;
    }
    assert.equal(passed, 100);
  });

  test('0 means no limit, and no header fields about one', async () => {
    const keys = new MemoryKeys();
    const tiers = { ...withGrowth(0), anonymous: { requests_per_minute: 0, characters_per_month: 0 } };
    const access = testAccess({ keys, tiers, routeLimits: { leads: 0, checkout: 10 } });
    const { key } = keys.issue({ tier: 'growth' });
    const free = { status: 200, ...noLimit };
    for (let count = 0; count < 100; count += 1) {
      assert.deepEqual(await withKey(access, key), free);
      assert.deepEqual(await anonymously(access), free);
      assert.deepEqual(told(access.limited('leads', headFrom(peer))), free);
    }
  });

  test('each route limit has its own count, apart from those of other routes, keys and orders', async () => {
    const names = Object.keys(kinds).filter((name) => name in limitVariables) as RouteLimit[];
    assert.equal(names.length, Object.keys(limitVariables).length);
    const one = Object.fromEntries(names.map((name) => [name, 1]));
    const access = testAccess({ clock: new SetClock(), routeLimits: one, storedKbPerMinute: 1 });
    assert.equal((await anonymously(access)).limit, '"minute";r=59;t=1');
    assert.equal((await withKey(access, new MemoryKeys().issue().key)).limit, '"minute";r=59;t=1');
    assert.equal(access.store('leads', Uint8Array.from(peer), 1_000), undefined);
    assert.equal(access.mayLookUp(Buffer.from(peer).toString('latin1'), 60_000), true);
    for (const name of names) assert.equal(told(access.limited(name, headFrom(peer))).status, 200, name);
    for (const name of names) assert.equal(told(access.limited(name, headFrom(peer))).status, 429, name);
    const numbers = [0, ...Object.values(kinds)];
    assert.equal(new Set(numbers).size, numbers.length, 'keys have the number 0');
  });

  test('a route without a limit still gives the address of its caller', () => {
    const access = testAccess({ routeLimits: { leads: 0 } });
    assert.deepEqual(access.limited('leads', headFrom(peer)).address, Uint8Array.from(peer));
  });

  test('without limits the address of a caller is read only if it is needed', async () => {
    const access = testAccess({ tiers: openTiers() });
    const nobody: Head = { ...headFrom(peer), peer: () => assert.fail('asked') };
    assert.deepEqual(await anonymously(access), { status: 200, ...noLimit });
    assert.equal((await access.keyed(nobody)).address, undefined);
    const known = { ...(await access.keyed(nobody)), address: Uint8Array.from(peer) };
    assert.deepEqual(await access.keyed(headFrom(peer), true), known, 'the address alone differs');
    const behind = testAccess({ tiers: openTiers(), trustedProxies: ['192.0.2.0/24'] });
    const named = { 'x-forwarded-for': '203.0.113.9' };
    assert.deepEqual((await behind.keyed(headFrom(peer, named))).address, Uint8Array.of(203, 0, 113, 9));
    for (const limits of [{ requests_per_minute: 1 }, { characters_per_month: 1 }]) {
      const tiers = { ...openTiers(), anonymous: { ...openTiers().anonymous, ...limits } };
      assert.deepEqual((await testAccess({ tiers }).keyed(headFrom(peer))).address, Uint8Array.from(peer));
    }
  });

  test('an untrusted proxy is reported even if nothing is limited', async () => {
    const access = testAccess({ tiers: openTiers() });
    await access.keyed(headFrom(peer));
    assert.deepEqual(access.warnings(), []);
    const named = headFrom(peer, { 'x-forwarded-for': '203.0.113.9' });
    for (let count = 0; count < 64; count += 1) await access.keyed(named);
    assert.deepEqual(access.warnings(), [untrustedProxy]);
  });

  test('a route limit has its fields and Retry-After', () => {
    const access = testAccess({ clock: new SetClock(), routeLimits: { leads: 1, checkout: 10 } });
    const ask = (): Told => told(access.limited('leads', headFrom(peer)));
    const fields = { limit: '"minute";r=0;t=60', policy: '"minute";q=1;w=60' };
    assert.deepEqual(ask(), { status: 200, ...fields });
    assert.deepEqual(ask(), { status: 429, code: 'rate_limited', retryAfter: '60', ...fields });
  });
});

describe('a refusal says whose limit it is and how the operator lifts it', () => {
  const one = { requests_per_minute: 1, characters_per_month: 0 };
  const five = { requests_per_minute: 0, characters_per_month: 5 };
  const nextMonth = (clock: SetClock): string => new Date(clock.wallMs() + monthMs).toISOString();
  const detailOf = async (access: Access, fields: Parameters<typeof headFrom>[1] = {}): Promise<string> => {
    const first = await access.keyed(headFrom(peer, fields));
    if (first.refusal === undefined) first.charge(5);
    const { refusal } = await access.keyed(headFrom(peer, fields));
    assert.ok(refusal !== undefined && 'bytes' in refusal.body && typeof refusal.body.bytes === 'string');
    return (JSON.parse(refusal.body.bytes) as Problem).detail;
  };

  test('for callers without a key', async () => {
    const tiers = shippedTiers();
    const clock = new SetClock();
    const minute = await detailOf(testAccess({ clock, tiers: { ...tiers, anonymous: one } }));
    assert.match(minute, /^Over the limit of 1 request a minute for an address without a key\. /);
    assert.match(minute, / with ANONYMOUS_REQUESTS_PER_MINUTE=0 or /);
    const month = await detailOf(testAccess({ clock, tiers: { ...tiers, anonymous: five } }));
    const begin =
      /^The 5 characters a month for an address without a key are used up\. The next month begins at /;
    assert.match(month, begin);
    assert.ok(month.includes(` at ${nextMonth(clock)}; `), month);
    assert.match(month, / with ANONYMOUS_CHARACTERS_PER_MONTH=0 or /);
  });

  test('for keys of a tier', async () => {
    const keys = new MemoryKeys();
    const clock = new SetClock();
    const { key } = keys.issue({ tier: 'growth', issuedAtMs: clock.wallMs() });
    for (const [limits, begin] of [
      [one, /^Over the limit of 1 request a minute for a key of tier growth\. /],
      [five, /^The 5 characters a month for a key of tier growth are used up\. The next month begins at /],
    ] as const) {
      const tiers = { ...shippedTiers(), growth: { ...shippedTiers().growth, ...limits } };
      const detail = await detailOf(testAccess({ keys, clock, tiers }), { 'x-api-key': key });
      assert.match(detail, begin);
      assert.match(detail, / sets the limits of tiers in TIERS_FILE, /);
      assert.equal(detail.includes(` at ${nextMonth(clock)}; `), limits === five);
    }
  });

  test('for look-ups of unknown keys', async () => {
    const access = testAccess({ clock: new SetClock() });
    const unknown = new MemoryKeys().issue().key;
    for (let count = 0; count < 60; count += 1) await withKey(access, unknown);
    const detail = await detailOf(access, { 'x-api-key': unknown });
    assert.match(detail, /^This address has sent too many unknown API keys\. /);
  });

  test('for a whole network, and for addresses without a slot', async () => {
    const tiers = shippedTiers();
    const table = new native.Access(limitsFile(), keyTiers(tiers));
    const access = testAccess({ native: table, tiers });
    for (const [outcome, begin] of [
      [native.AdmitOutcome.OverNetwork, /^Other addresses of this network have used up /],
      [native.AdmitOutcome.OverCrowd, /^So many addresses are calling that new ones share one limit, /],
    ] as const) {
      table.admitAddress = () => outcome;
      const detail = await detailOf(access);
      assert.match(detail, begin);
      assert.match(detail, / with ANONYMOUS_REQUESTS_PER_MINUTE=0 or /);
    }
  });

  test('for a request with two keys', async () => {
    const [one, other] = [new MemoryKeys().issue().key, new MemoryKeys().issue().key];
    const detail = await detailOf(testAccess(), { 'x-api-key': one, authorization: `Bearer ${other}` });
    assert.equal(detail, 'X-API-Key and Authorization carry different API keys. Send one of them.');
  });
});

test('the holder is the first key of its chain once the key is known here, or else the key', async () => {
  const keys = new MemoryKeys();
  const access = testAccess({ keys });
  const first = keys.issue();
  const { key, hash } = keys.issue({ countedAs: first.hash });
  assert.deepEqual(access.holderOf(key), hash, 'nobody has looked');
  await withKey(access, key);
  assert.deepEqual(Buffer.from(access.holderOf(key) ?? []), first.hash);
  // Its record may change while the request that it was admitted with is still arriving.
  access.changed(hash);
  assert.deepEqual(Buffer.from(access.holderOf(key) ?? []), first.hash);
  access.allChanged();
  assert.deepEqual(Buffer.from(access.holderOf(key) ?? []), first.hash);
  assert.equal(access.holderOf('fg_x'), null);
});

test('the operator is warned once of an untrusted proxy', () => {
  const lines: string[] = [];
  const log = { ...createLog('silent'), warn: (_: unknown, text: string) => lines.push(text) };
  const access = testAccess({ log: log as unknown as ReturnType<typeof createLog> });
  assert.deepEqual(access.warnings(), []);
  for (let count = 0; count < 200; count += 1) {
    access.limited('pages', headFrom(peer, { 'x-forwarded-for': '203.0.113.9' }));
  }
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? '', /TRUSTED_PROXIES/);
  assert.deepEqual(access.warnings(), lines);
});

describe('addresses', () => {
  test('an IPv6 /64 counts as one caller, and an IPv4-mapped address as its IPv4 address', async () => {
    const tiers = { ...shippedTiers(), anonymous: { requests_per_minute: 1, characters_per_month: 0 } };
    const access = testAccess({ tiers, clock: new SetClock() });
    const subnet = [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 1];
    assert.equal((await anonymously(access, [...subnet, 0, 0, 0, 0, 0, 0, 0, 1])).status, 200);
    assert.equal((await anonymously(access, [...subnet, 1, 2, 3, 4, 5, 6, 7, 8])).status, 429);
    const next = [...subnet.slice(0, 7), 2, 0, 0, 0, 0, 0, 0, 0, 1];
    assert.equal((await anonymously(access, next)).status, 200);
    const mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, ...peer];
    assert.equal((await anonymously(access, mapped)).status, 200);
    assert.equal((await anonymously(access, peer)).status, 429);
  });

  test('a network has a limit of its own, which holds even while months are being loaded', async () => {
    const anonymous = { requests_per_minute: 1, characters_per_month: 100 };
    const tiers = { ...shippedTiers(), anonymous };
    const usage = new MemoryUsage();
    const access = testAccess({ tiers, usage, clock: new SetClock() });
    const from = (high: number, low: number): number[] => [
      0x20,
      1,
      0xd,
      0xb8,
      0,
      9,
      high,
      low,
      1,
      2,
      3,
      4,
      5,
      6,
      7,
      8,
    ];
    const subnets = Array.from({ length: 3_000 }, (_, at) => from(at >> 8, at & 255));
    const answers = await Promise.all(subnets.map((peer) => anonymously(access, peer)));
    const passed = answers.filter(({ status }) => status === 200);
    assert.equal(passed.length, 64, 'a /48 has 64 times what an address has');
    assert.ok(usage.loads <= 64 + 8, `${usage.loads} look-ups: a /56 over its limit has none`);
    const refused = answers.find(({ status }) => status !== 200);
    const fields = { retryAfter: refused?.retryAfter, limit: refused?.limit, policy: '"minute";q=1;w=60' };
    assert.deepEqual(refused, { status: 429, code: 'rate_limited', ...fields });
    assert.match(fields.limit ?? '', /^"minute";r=0;t=\d+$/);
    assert.equal((await anonymously(access, [192, 0, 2, 200])).status, 200, 'another network');
  });

  test('a flood of addresses does not switch a limit off', () => {
    const access = testAccess({ clock: new SetClock(), routeLimits: { leads: 2 } });
    const admitted = (first: number, count: number): number => {
      let passed = 0;
      for (let at = first; at < first + count; at += 1) {
        const peer = [0x20, 1, at >> 24, at >> 16, at >> 8, at, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        passed += told(access.limited('leads', headFrom(peer))).status === 200 ? 1 : 0;
      }
      return passed;
    };
    admitted(0, 200_000);
    const passed = admitted(1 << 24, 10_000);
    assert.ok(passed < 1_000, `${passed} of 10,000 new networks passed when there was room for few`);
    const crowded = access.metrics().find(({ name }) => name === 'fusegate_limits_crowded_total');
    assert.ok(Number(crowded?.values[0]?.value) > 9_000);
  });

  test('a network without a slot of its own is counted each time it stores something', () => {
    const tiers = shippedTiers();
    const table = new native.Access(limitsFile(), keyTiers(tiers));
    table.admitAddress = () => native.AdmitOutcome.Crowded;
    const access = testAccess({ native: table, tiers, storedKbPerMinute: 64 });
    for (const count of [1, 2, 3]) {
      assert.equal(access.store('leads', Uint8Array.from(peer), 1), undefined);
      assert.equal(access.metrics()[1]?.values[0]?.value, count);
    }
  });

  test('an address without a slot, or with a crowded one, is admitted, and a metric counts it', () => {
    const tiers = shippedTiers();
    const table = new native.Access(limitsFile(), keyTiers(tiers));
    const access = testAccess({ native: table, tiers });
    const ask = (outcome: number): (number | undefined)[] => {
      table.admitAddress = () => outcome;
      assert.equal(access.limited('leads', headFrom(peer)).refusal, undefined);
      return access.metrics().map(({ values }) => values[0]?.value);
    };
    const { Admitted, Uncounted, Crowded } = native.AdmitOutcome;
    assert.deepEqual([Uncounted, Uncounted, Crowded, Admitted].map(ask), [
      [1, 0, 0],
      [2, 0, 0],
      [2, 1, 0],
      [2, 1, 0],
    ]);
  });

  test('an admission has the accepted key or else the address, and what is left of the minute', async () => {
    const keys = new MemoryKeys();
    const access = testAccess({ keys, clock: new SetClock(), tiers: withGrowth(7) });
    const { key } = keys.issue({ tier: 'growth' });
    const keyed = await access.keyed(headFrom(peer, { 'x-api-key': key }));
    assert.deepEqual([keyed.key, keyed.address, keyed.remaining], [key, undefined, 6]);
    const anonymous = await access.keyed(headFrom(peer));
    assert.deepEqual([anonymous.key, anonymous.address], [undefined, Uint8Array.from(peer)]);
    assert.equal(anonymous.remaining, shippedTiers().anonymous.requests_per_minute - 1);
  });

  test('every counter is 0 before the first request', () => {
    assert.deepEqual(
      testAccess()
        .metrics()
        .map(({ name, type, values }) => [name, type, values.map(({ value }) => value)]),
      [
        ['fusegate_limits_uncounted_total', 'counter', [0]],
        ['fusegate_limits_crowded_total', 'counter', [0]],
        ['fusegate_usage_unstored_total', 'counter', [0]],
      ],
    );
  });

  test('a second limit of 0 limits nothing, and one of 1 works', () => {
    const clock = new SetClock();
    const routeLimits = { submissions: 60, markers: 0 };
    const free = testAccess({ clock, routeLimits });
    for (let count = 0; count < 3; count += 1) {
      const admission = free.limited('submissions', headFrom(peer), 'markers');
      assert.equal(told(admission).policy, '"minute";q=60;w=60');
      admission.charge(1e6);
    }
    const one = testAccess({ clock, routeLimits: { ...routeLimits, markers: 1 } });
    const ask = (): Admission => one.limited('submissions', headFrom(peer), 'markers');
    ask().charge(3);
    clock.pass(179_000);
    assert.equal(told(ask()).status, 429);
    clock.pass(2_000);
    assert.equal(told(ask()).status, 200);
  });

  test('what a request turns out to contain counts against a second limit', () => {
    const clock = new SetClock();
    const access = testAccess({ clock, routeLimits: { submissions: 3, markers: 60 } });
    const ask = (): Admission => access.limited('submissions', headFrom(peer), 'markers');
    const large = ask();
    large.charge(120);
    const refused = told(ask());
    assert.deepEqual([refused.status, refused.retryAfter, refused.policy], [429, '61', '"minute";q=60;w=60']);
    clock.pass(61_000);
    const fields = { limit: '"minute";r=2;t=20', policy: '"minute";q=3;w=60' };
    assert.deepEqual(told(ask()), { status: 200, ...fields });
    clock.pass(60_000);
    for (let count = 0; count < 69; count += 1) ask();
    assert.equal(
      told(ask()).policy,
      fields.policy,
      'what the first limit refuses takes nothing from the second',
    );
  });

  test('the bytes that a network sends to be stored are limited for all its addresses together', () => {
    const clock = new SetClock();
    const access = testAccess({ clock, storedKbPerMinute: 64, routeLimits: { leads: 10, checkout: 0 } });
    const statusOf = (address: readonly number[], bytes: number) =>
      access.store('leads', Uint8Array.from(address), bytes)?.status ?? 200;
    // 64 kB are 1,000 units of 64 bytes.
    for (let last = 0; last < 100; last += 1) assert.equal(statusOf([192, 0, 2, last], 640), 200);
    assert.equal(statusOf([192, 0, 2, 200], 1), 429);
    assert.equal(statusOf([192, 0, 3, 1], 1), 200, 'another network');
    clock.pass(30_000);
    // Half of a minute's bytes are there; one request may take more, and what comes next waits for it.
    assert.equal(statusOf([192, 0, 2, 1], 96_000), 200);
    clock.pass(59_000);
    assert.equal(statusOf([192, 0, 2, 2], 1), 429);
    clock.pass(2_000);
    assert.equal(statusOf([192, 0, 2, 2], 1), 200);
    const of48 = (subnet: number) => [32, 1, 13, 184, 0, 7, subnet, 1];
    for (let subnet = 0; subnet < 100; subnet += 1) assert.equal(statusOf(of48(subnet), 640), 200);
    assert.equal(statusOf(of48(200), 1), 429);
    assert.equal(statusOf([32, 1, 13, 184, 0, 8, 0, 1], 1), 200, 'another /48 of the same provider');
    for (const bytes of [1e9, 1]) {
      assert.equal(
        access.store('checkout', Uint8Array.from([192, 0, 2, 2]), bytes),
        undefined,
        'switched off',
      );
    }
    const unlimited = testAccess({ clock, storedKbPerMinute: 0, routeLimits: { leads: 10 } });
    assert.equal(unlimited.store('leads', Uint8Array.from(peer), 1e9), undefined);
  });

  test('bytes found only after admission count too, even if the network already owes some', () => {
    const clock = new SetClock();
    const access = testAccess({ clock, storedKbPerMinute: 64, routeLimits: { leads: 10, checkout: 0 } });
    const address = Uint8Array.from([192, 0, 2, 1]);
    const isRefused = (): boolean => access.store('leads', address, 64) !== undefined;
    assert.equal(access.store('leads', address, 128_000), undefined);
    access.stored('leads', address, 64_000);
    access.stored('checkout', address, 1e9);
    // Three minutes' bytes, of which one was there.
    clock.pass(119_000);
    assert.ok(isRefused());
    clock.pass(2_000);
    assert.ok(!isRefused());
  });

  test('HEAD counts a tenth', () => {
    const access = testAccess({ clock: new SetClock(), routeLimits: { previews: 1 } });
    const head = { ...headFrom(peer), isHead: () => true };
    const statuses = Array.from({ length: 11 }, () => told(access.limited('previews', head)).status);
    assert.deepEqual(statuses, [...Array.from({ length: 10 }, () => 200), 429]);
  });

  test('callers whose address is unknown share one limit', async () => {
    const tiers = { ...shippedTiers(), anonymous: { requests_per_minute: 1, characters_per_month: 5 } };
    const access = testAccess({ tiers, clock: new SetClock(), usage: new MemoryUsage() });
    assert.equal((await anonymously(access, [])).status, 200);
    assert.equal((await anonymously(access, [])).status, 429);
  });
});

describe('characters a month', () => {
  const charged = async (access: Access, key: string, characters: number): Promise<Told> => {
    const admission = await access.keyed(headFrom(peer, key === '' ? {} : { 'x-api-key': key }));
    if (admission.refusal === undefined) admission.charge(characters);
    return told(admission);
  };

  test('are refused once used up, until the month of the key ends', async () => {
    const keys = new MemoryKeys();
    const clock = new SetClock();
    const access = testAccess({ keys, clock, tiers: withGrowth(600, 100) });
    const { key } = keys.issue({ tier: 'growth', issuedAtMs: clock.wallMs() - monthMs - 1000 });
    assert.equal((await charged(access, key, 99)).status, 200);
    assert.equal((await charged(access, key, 500)).status, 200, 'the charge is known only afterwards');
    const refused = await charged(access, key, 1);
    const retryAfter = String(monthMs / 1000 - 1);
    const policy = '"minute";q=600;w=60';
    const limit = '"minute";r=598;t=1';
    assert.deepEqual(refused, { status: 429, code: 'rate_limited', retryAfter, limit, policy });
    clock.pass(monthMs - 1001);
    assert.equal((await charged(access, key, 1)).retryAfter, '1');
    clock.pass(1);
    assert.equal((await charged(access, key, 100)).status, 200);
    assert.equal((await charged(access, key, 1)).status, 429);
  });

  test('of an address count from its first request', async () => {
    const clock = new SetClock();
    const tiers = { ...shippedTiers(), anonymous: { requests_per_minute: 0, characters_per_month: 10 } };
    const access = testAccess({ clock, tiers });
    clock.pass(12_345);
    assert.deepEqual(await charged(access, '', 10), { status: 200, ...noLimit });
    clock.pass(1_000);
    const retryAfter = String(monthMs / 1000 - 1);
    const refused = { status: 429, code: 'rate_limited', retryAfter, ...noLimit };
    assert.deepEqual(await charged(access, '', 1), refused);
    clock.pass(monthMs - 1_000);
    assert.equal((await charged(access, '', 1)).status, 200);
  });

  test('start at zero and count the first request in full, with a store or without one', async () => {
    const anonymous = { requests_per_minute: 6, characters_per_month: 5 };
    const tiers = { ...shippedTiers(), anonymous };
    for (const more of [{}, { usage: new MemoryUsage() }]) {
      const access = testAccess({ clock: new SetClock(), tiers, ...more });
      const statuses = [
        await charged(access, '', 4),
        await charged(access, '', 1),
        await charged(access, '', 1),
      ];
      assert.deepEqual(
        statuses.map(({ status }) => status),
        [200, 200, 429],
      );
      assert.equal(statuses[0]?.limit, '"minute";r=5;t=10');
    }
  });

  test('are charged even if the key’s record changes before the answer is sent', async () => {
    const keys = new MemoryKeys();
    const usage = new MemoryUsage();
    const access = testAccess({ keys, usage });
    const { key, hash } = keys.issue();
    const admission = await access.keyed(headFrom(peer, { 'x-api-key': key }));
    access.changed(hash);
    admission.charge(60);
    await new Promise(setImmediate);
    await access.flush();
    assert.equal(usage.months.get(`00${hash.toString('hex')}`)?.characters, 60);
  });

  test('may be limited to one, without a limit on requests a minute', async () => {
    const tiers = { ...shippedTiers(), anonymous: { requests_per_minute: 0, characters_per_month: 1 } };
    const access = testAccess({ clock: new SetClock(), tiers });
    assert.equal((await charged(access, '', 1)).status, 200);
    assert.equal((await charged(access, '', 1)).status, 429);
  });

  test('of an address without a slot are charged to nobody, and the address counts as crowded', async () => {
    const usage = new MemoryUsage();
    const clock = new SetClock();
    const limits = { requests_per_minute: 60, characters_per_month: 1000 };
    const access = testAccess({ clock, usage, tiers: { ...shippedTiers(), anonymous: limits } });
    const metric = (name: string): number =>
      access.metrics().find((each) => each.name === name)?.values[0]?.value ?? NaN;
    const crowded = (): number => metric('fusegate_limits_crowded_total');
    // More addresses within a minute than there are slots for.
    for (let count = 0; count < 150_000; count += 1) {
      access.limited('leads', headFrom([10, count >> 16, (count >> 8) & 255, count & 255]));
    }
    const before = crowded();
    assert.ok(before > 0);
    const strangers = Array.from({ length: 8 }, (_, index) => [192, 0, 2, index]);
    for (const stranger of strangers) (await access.keyed(headFrom(stranger))).charge(7);
    assert.ok(crowded() > before, 'some of them found no slot');
    assert.equal(metric('fusegate_limits_uncounted_total'), 0);
    await access.flush();
    assert.equal(usage.months.size, strangers.length - (crowded() - before));
    assert.ok([...usage.months.values()].every(({ monthStartMs }) => monthStartMs > 0));
  });

  test('of a new address get no record if its network may store no more', async () => {
    const keys = new MemoryKeys();
    const usage = new MemoryUsage();
    const clock = new SetClock();
    const tiers = {
      ...withGrowth(600, 100),
      anonymous: { requests_per_minute: 0, characters_per_month: 10 },
    };
    const parts = { clock, usage, keys, tiers, storedKbPerMinute: 2 };
    const access = testAccess(parts);
    const charge = async (from: readonly number[]): Promise<void> =>
      (await access.keyed(headFrom(from))).charge(7);
    for (let last = 0; last < 20; last += 1) await charge([192, 0, 2, last]);
    await charge([192, 0, 3, 1]);
    const { key } = keys.issue({ tier: 'growth', issuedAtMs: clock.wallMs() });
    await charged(access, key, 5);
    await access.flush();
    const made = usage.months.size - 2;
    assert.ok(made >= 4 && made <= 6, `${made} records of a network that may have 2 kB stored`);
    const unstored = access.metrics().find(({ name }) => name === 'fusegate_usage_unstored_total');
    assert.equal(unstored?.values[0]?.value, 20 - made);
    // Those that have one are counted on, and the machine counts those that have none.
    const kept = [...usage.months.keys()].flatMap((subject) => /c00002(..)$/.exec(subject)?.[1] ?? []);
    const lasts = kept.map((last) => parseInt(last, 16));
    const none = Array.from({ length: 20 }, (_, last) => last).find((last) => !lasts.includes(last)) ?? -1;
    for (const last of [lasts[0] ?? -1, none]) {
      await charge([192, 0, 2, last]);
      assert.equal((await anonymously(access, [192, 0, 2, last])).status, 429);
    }
    await access.flush();
    assert.equal(usage.months.size, made + 2);
    assert.ok([...usage.months.values()].some(({ characters }) => characters === 14));
  });

  test('survive a restart of the server, in the store', async () => {
    const keys = new MemoryKeys();
    const usage = new MemoryUsage();
    const clock = new SetClock();
    const parts = { keys, usage, clock, tiers: withGrowth(600, 100) };
    const access = testAccess(parts);
    const { key, hash } = keys.issue({ tier: 'growth', issuedAtMs: clock.wallMs() });
    await charged(access, key, 60);
    await access.flush();
    const subject = Buffer.concat([Uint8Array.of(0), hash]).toString('hex');
    const day = Math.floor(clock.wallMs() / 86_400_000);
    const days = [{ day, requests: 1, characters: 60, refused: 0 }];
    assert.deepEqual(usage.months.get(subject), { monthStartMs: clock.wallMs(), characters: 60, days });
    await charged(access, key, 39);
    await access.close();
    assert.equal(usage.months.get(subject)?.characters, 99);
    const restarted = testAccess(parts);
    assert.equal((await charged(restarted, key, 1)).status, 200);
    assert.equal((await charged(restarted, key, 1)).status, 429);
    assert.equal(usage.loads, 2, 'loaded at first sight only');
  });

  test('counted by other machines arrive with the next flush', async () => {
    const keys = new MemoryKeys();
    const usage = new MemoryUsage();
    const tiers = withGrowth(600, 100);
    const [here, there] = [testAccess({ keys, usage, tiers }), testAccess({ keys, usage, tiers })];
    const { key } = keys.issue({ tier: 'growth' });
    await charged(here, key, 50);
    await charged(there, key, 50);
    await here.flush();
    await there.flush();
    assert.equal((await withKey(there, key)).status, 429);
    assert.equal((await withKey(here, key)).status, 200, 'it learns when it flushes again');
    await charged(here, key, 1);
    await here.flush();
    assert.equal((await withKey(here, key)).status, 429);
  });

  test('that the store does not accept are kept, and later stored exactly once', async () => {
    const keys = new MemoryKeys();
    const usage = new MemoryUsage();
    const access = testAccess({ keys, usage });
    const { key, hash } = keys.issue();
    usage.available = false;
    assert.equal((await charged(access, key, 7)).status, 200, 'nobody is refused for want of the store');
    await access.flush();
    await charged(access, key, 8);
    usage.available = true;
    await Promise.all([access.flush(), access.flush()]);
    await access.flush();
    const month = usage.months.get(`00${hash.toString('hex')}`);
    const counted = month?.days.map(({ requests, characters }) => [requests, characters]);
    assert.deepEqual([month?.characters, counted], [15, [[2, 15]]]);
  });

  test('of addresses are stored only if addresses have a monthly limit', async () => {
    for (const [perMonth, records] of [
      [0, 0],
      [100, 1],
    ] as const) {
      const usage = new MemoryUsage();
      const anonymous = { requests_per_minute: 60, characters_per_month: perMonth };
      const access = testAccess({ usage, tiers: { ...shippedTiers(), anonymous } });
      await charged(access, '', 7);
      await access.flush();
      assert.equal(usage.months.size, records);
    }
  });

  test('are dropped where there is no store, and closing stops their timer', async () => {
    const keys = new MemoryKeys();
    const clock = new HandClock();
    const tiers = shippedTiers();
    const table = new native.Access(limitsFile(), keyTiers(tiers));
    const access = testAccess({ native: table, keys, clock, tiers });
    const { key } = keys.issue();
    await charged(access, key, 7);
    await access.flush();
    assert.deepEqual(table.takeCharged(), []);
    await charged(access, key, 7);
    assert.equal(clock.timers, 1);
    await access.close();
    assert.deepEqual([table.takeCharged(), clock.timers], [[], 0]);
  });

  test('are flushed to the store every five seconds', async () => {
    const periods: number[] = [];
    const flushes: (() => void)[] = [];
    const usage = new MemoryUsage();
    const every = (periodMs: number, action: () => void) => {
      periods.push(periodMs);
      flushes.push(action);
      return { stop: () => undefined };
    };
    const access = testAccess({ usage, clock: { ...systemClock, every } });
    await charged(access, '', 3);
    assert.deepEqual(periods, [5_000]);
    flushes.forEach((flush) => flush());
    await access.flush();
    assert.deepEqual(
      [...usage.months].map(([subject, { characters }]) => [subject, characters]),
      [['01c0000201', 3]],
    );
  });
});
