/** The outreach tables: every format ever written can still be read; what is erased, trimmed and found. */
import { decodeOrder, encodeOrder } from '../../src/store/tables/order.js';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import {
  appendClicks,
  decodeClicks,
  encodeClicks,
  clicksAfter,
  type Click,
} from '../../src/store/tables/clicks.js';
import { eraseEntries, entriesAfter } from '../../src/store/entries.js';
import { holdEvent, putCardEvent } from '../../src/store/tables/cardEvents.js';
import { appendInterest, decodeInterest, encodeInterest } from '../../src/store/tables/interests.js';
import { insertKey, unlinked } from '../../src/store/tables/keys.js';
import { appendLead, decodeLead, encodeLead, leadsAfter, type Lead } from '../../src/store/tables/leads.js';
import {
  decodeOptout,
  encodeOptout,
  findOptout,
  forgetOptout,
  optoutKey,
  recordOptout,
  optoutsAfter,
} from '../../src/store/tables/optouts.js';
import { decodeLedger, encodeLedger } from '../../src/store/tables/orders.js';
import { removeExpired } from '../../src/store/retention.js';
import { decodeFingerprints, encodeFingerprints } from '../../src/store/tables/secrets.js';
import type { Space } from '../../src/store/spaces.js';
import { StoreUnavailable, type Store } from '../../src/store/store.js';
import { addUsage } from '../../src/store/tables/usage.js';
import { collect } from '../support/collect.js';
import { FailingStore, newUnitId, openTestStore, secrets } from '../support/serving.js';

/** A record as it was once written, and what it says. */
interface Kept {
  readonly table: 'leads' | 'interests' | 'optouts' | 'clicks' | 'secrets' | 'orders' | 'ledger';
  readonly format: number;
  /** The JSON text behind the format's byte. */
  readonly json: string;
  /** What it reads as; bytes in base64url; null is an erased entry. */
  readonly value: unknown;
}

const kept = JSON.parse(
  readFileSync(new URL('../../../test/vectors/store/outreach.json', import.meta.url), 'utf8'),
) as Kept[];

const codecs = {
  leads: [decodeLead, encodeLead],
  interests: [decodeInterest, encodeInterest],
  optouts: [decodeOptout, encodeOptout],
  clicks: [decodeClicks, encodeClicks],
  secrets: [decodeFingerprints, encodeFingerprints],
  orders: [decodeOrder, encodeOrder],
  ledger: [decodeLedger, encodeLedger],
} as const;

function plain(value: unknown): unknown {
  if (value === undefined) return null;
  return JSON.parse(
    JSON.stringify(value, (_, each: unknown) => {
      if (typeof each === 'bigint') return Number(each);
      const bytes = (each as { type?: unknown; data?: unknown } | null)?.type === 'Buffer';
      return bytes ? Buffer.from((each as { data: number[] }).data).toString('base64url') : each;
    }),
  );
}

describe('kept records', () => {
  for (const { table, format, json, value } of kept) {
    test(`${table}, format ${format}`, () => {
      const [decode, encode] = codecs[table];
      const bytes = Buffer.concat([Buffer.of(format), Buffer.from(json)]);
      const decoded = decode(bytes);
      assert.deepEqual(plain(decoded), value);
      const again = (encode as (value: unknown) => Uint8Array)(decoded);
      assert.deepEqual(Buffer.from(again), bytes, 'it is still written like this');
    });
  }

  test('there is one of every format', () => {
    const formats = kept.map(({ table, format }) => `${table} ${format}`);
    const expected = [
      'leads 1',
      'leads 255',
      'interests 1',
      'interests 255',
      'optouts 1',
      'clicks 1',
      'secrets 1',
      'orders 1',
      'orders 2',
      'orders 3',
      'orders 4',
      'ledger 1',
    ];
    assert.deepEqual([...new Set(formats)].sort(), expected.sort());
  });

  test('keys, usage and card events are written as ever', async () => {
    const store = await openTestStore();
    const members = { id: 'k_1', tier: 'growth', hint: 'fg_a…z', origin: 'order', issuedAtMs: 1 };
    const state = { expiresAtMs: null, status: 'revoked', reason: 'asked', changedAtMs: 2 } as const;
    const hash = Buffer.alloc(32, 255);
    const card = { id: 'evt_1', type: 't', about: 'cs_1', result: 'ignored', reason: null, atMs: 3 };
    await store.commit([
      ...insertKey({ ...state, ...members, ...unlinked, hash }),
      putCardEvent(card),
      holdEvent('pi_1', 'evt_2', '{"a":1}'),
    ]);
    await addUsage(store, hash, { monthStartMs: 4, characters: 5, days: [] });
    const written = async (space: Space): Promise<string> => {
      const [record] = await store.scan(space, { limit: 1 });
      return Buffer.from(record?.value ?? []).toString('latin1');
    };
    assert.deepEqual(
      await Promise.all((['keys', 'orderEvents', 'heldCardEvents', 'usage'] as const).map(written)),
      [
        `\u0001{"hash":"${hash.toString('base64url')}","id":"k_1","tier":"growth","hint":"fg_aâ\u0080¦z",` +
          '"origin":"order","issued_at_ms":1,"expires_at_ms":null,"status":"revoked",' +
          '"reason":"asked","changed_at_ms":2}',
        '\u0001{"id":"evt_1","type":"t","about":"cs_1","result":"ignored","reason":null,"at_ms":3}',
        '\u0001{"json":"{\\"a\\":1}"}',
        '\u0001{"month_start_ms":4,"characters":5}',
      ],
    );
  });

  test('a damaged or newer record is not misread', () => {
    for (const [decode] of Object.values(codecs)) {
      assert.throws(() => decode(Buffer.concat([Buffer.of(99), Buffer.from('{}')])), /format 99/);
      assert.throws(() =>
        decode(Buffer.concat([Buffer.of(1), Buffer.from('{"clicks":[[1]],"secrets":[[1]]}')])),
      );
      assert.throws(() => decode(new Uint8Array()), /format 0/);
    }
  });
});

function lead(email: string, receivedAtMs = 1_000): Lead {
  const none = { tier: null, message: null, source: null, segment: null, campaign: null, eventId: null };
  return { id: `lead_${email}`, receivedAtMs, email, ...none };
}

async function leadsOf(store: Store, after = 0): Promise<[number, string][]> {
  const all = await collect(leadsAfter(store, after));
  return all.map(({ position, value }) => [position, value.email]);
}

async function append(store: Store, ...leads: readonly Lead[]): Promise<void> {
  for (const each of leads) await assert.doesNotReject(appendLead(store, newUnitId(), each));
}

describe('logs', () => {
  test('a retry of the same unit appends once', async () => {
    const failing = new FailingStore(await openTestStore());
    const unitId = newUnitId();
    failing.failure = 'written';
    await assert.rejects(appendLead(failing.seen, unitId, lead('a')), StoreUnavailable);
    failing.failure = undefined;
    await assert.doesNotReject(appendLead(failing.seen, unitId, lead('a')));
    assert.deepEqual(await leadsOf(failing.seen), [[1, 'a']]);
  });

  test('more entries than a page are visited once each, from any position', async () => {
    const store = await openTestStore();
    const emails = Array.from({ length: 1_203 }, (_, index) => `${index}`);
    await Promise.all(emails.map((email) => appendLead(store, newUnitId(), lead(email))));
    const all = await leadsOf(store);
    assert.equal(new Set(all.map(([, email]) => email)).size, 1_203);
    assert.deepEqual(
      all.map(([position]) => position),
      emails.map((_, index) => index + 1),
    );
    assert.equal((await leadsOf(store, 1_000)).length, 203);
    assert.deepEqual(await leadsOf(store, 1_203), []);
  });

  test('an erased entry is empty, keeps its position, and is erased once', async () => {
    const store = await openTestStore();
    await append(store, lead('a'), lead('b'), lead('a'), lead('c'));
    const isA = (value: Uint8Array): boolean => decodeLead(value)?.email === 'a';
    const erase = () => eraseEntries(store, 'leads', isA, encodeLead(undefined));
    assert.deepEqual(await erase(), 2);
    assert.deepEqual(await erase(), 0);
    assert.deepEqual(await leadsOf(store), [
      [2, 'b'],
      [4, 'c'],
    ]);
    const sizes = (await collect(entriesAfter(store, 'leads', 0))).map(({ value }) => value.byteLength);
    assert.deepEqual([sizes[0], sizes[2]], [3, 3]);
    await append(store, lead('d'));
    assert.deepEqual(await leadsOf(store, 4), [[5, 'd']]);
  });

  test('a failure of the store is reported by every step', async () => {
    const failing = new FailingStore(await openTestStore());
    await append(failing.seen, lead('a'));
    failing.failure = 'not written';
    const { seen } = failing;
    const retention = { clicksRetentionDays: 1, leadsRetentionDays: 1 };
    for (const outcome of [
      () => appendLead(seen, newUnitId(), lead('b')),
      () => collect(leadsAfter(seen, 0)),
      () => collect(clicksAfter(seen, 0)),
      () => collect(optoutsAfter(seen, Buffer.alloc(0))),
      () => eraseEntries(seen, 'leads', () => true, encodeLead(undefined)),
      () => removeExpired(seen, retention, 1e15),
      () => findOptout(seen, secrets, 'a'),
      () => forgetOptout(seen, secrets, 'a'),
      () => recordOptout(seen, secrets, 'a', 1),
    ]) {
      await assert.rejects(outcome, { name: 'StoreUnavailable', message: 'told to fail' });
    }
    failing.failure = undefined;
    assert.deepEqual(await leadsOf(failing.seen), [[1, 'a']]);
  });
});

describe('retention', () => {
  const day = 86_400_000;
  const click = (atMs: number): Click => ({ atMs, token: 't', destination: '/', valid: false, bot: false });

  test('what is older is removed, to the millisecond, and erased entries with their neighbours', async () => {
    const store = await openTestStore();
    await append(store, lead('erased', 1), lead('old', 2), lead('young', 3), lead('younger', 9));
    const first = (value: Uint8Array): boolean => decodeLead(value)?.email === 'erased';
    await eraseEntries(store, 'leads', first, encodeLead(undefined));
    for (const atMs of [1, 2, 3]) await appendClicks(store, newUnitId(), [click(0), click(atMs)]);
    const days = { clicksRetentionDays: 90, leadsRetentionDays: 30 };
    assert.deepEqual(await removeExpired(store, days, 30 * day + 3), 2);
    assert.deepEqual(await leadsOf(store), [
      [3, 'young'],
      [4, 'younger'],
    ]);
    assert.deepEqual(await removeExpired(store, days, 90 * day + 2), 3);
    const positions = (await collect(clicksAfter(store, 0))).map(({ position }) => position);
    assert.deepEqual(positions, [2, 2, 3, 3], 'a block goes when its last click is old');
  });

  test('an erased entry after the last old one stays until the next one is old', async () => {
    const store = await openTestStore();
    await append(store, lead('old', 1), lead('erased', 2), lead('young', 9));
    const second = (value: Uint8Array): boolean => decodeLead(value)?.email === 'erased';
    await eraseEntries(store, 'leads', second, encodeLead(undefined));
    const days = { clicksRetentionDays: 0, leadsRetentionDays: 30 };
    const positions = async (): Promise<number[]> => {
      return (await collect(entriesAfter(store, 'leads', 0))).map(({ position }) => position);
    };
    assert.deepEqual(await removeExpired(store, days, 30 * day + 3), 1);
    assert.deepEqual(await positions(), [2, 3]);
    assert.deepEqual(await removeExpired(store, days, 30 * day + 3), 0);
    assert.deepEqual(await removeExpired(store, days, 30 * day + 10), 2);
    assert.deepEqual(await positions(), []);
  });

  test('0 days is for ever', async () => {
    const store = await openTestStore();
    await append(store, lead('old', 1));
    await appendClicks(store, newUnitId(), [click(1)]);
    const days = { clicksRetentionDays: 0, leadsRetentionDays: 0 };
    assert.deepEqual(await removeExpired(store, days, 1e15), 0);
  });

  test('interests are kept as long as leads', async () => {
    const store = await openTestStore();
    const none = { company: null, cloud: null, monthlyChars: null, timeline: null, compliance: null };
    const interest = { ...lead('i', 1), ...none, deliveryModel: 'oem_embedded' };
    await assert.doesNotReject(appendInterest(store, newUnitId(), interest));
    const days = { clicksRetentionDays: 0, leadsRetentionDays: 1 };
    assert.deepEqual(await removeExpired(store, days, day + 2), 1);
  });
});

describe('opt-outs', () => {
  const [newest, oldest] = secrets;

  async function optout(store: Store, email: string): Promise<unknown> {
    return await findOptout(store, secrets, email);
  }

  test('are recorded once, by the lower-cased address', async () => {
    const store = await openTestStore();
    const times = Array.from({ length: 8 }, (_, index) => 10 + index);
    await Promise.all(times.map((atMs) => recordOptout(store, secrets, 'Ada@Example.com', atMs)));
    const recorded = await optout(store, 'ADA@EXAMPLE.COM');
    assert.deepEqual(recorded, { email: 'ada@example.com', optedOutAtMs: 10 });
    await recordOptout(store, secrets, 'ada@example.com', 99);
    assert.deepEqual(await optout(store, 'ada@example.com'), recorded);
    assert.equal(await optout(store, 'ada@example.org'), undefined);
  });

  test('outlive a rotation of the secret', async () => {
    const store = await openTestStore();
    await recordOptout(store, [oldest], 'a@b', 1);
    assert.deepEqual(await optout(store, 'a@b'), { email: 'a@b', optedOutAtMs: 1 });
    await recordOptout(store, secrets, 'a@b', 2);
    const all = (await collect(optoutsAfter(store, Buffer.alloc(0)))).map((each) => each.optedOutAtMs);
    assert.deepEqual(all, [1], 'not doubled under the new secret');
  });

  test('are forgotten but for the keyed hash, and stay forgotten', async () => {
    const store = await openTestStore();
    await recordOptout(store, secrets, 'a@b', 1);
    assert.deepEqual(await forgetOptout(store, secrets, 'A@B'), true);
    assert.deepEqual(await forgetOptout(store, secrets, 'a@b'), false);
    await recordOptout(store, secrets, 'a@b', 2);
    assert.deepEqual(await optout(store, 'a@b'), { email: null, optedOutAtMs: 1 });
    const reading = await store.get('optouts', optoutKey(newest, 'a@b'));
    assert.ok(reading !== undefined);
    assert.ok(!Buffer.from(reading).toString('latin1').includes('a@b'));
  });

  test('have the same key as in every version', () => {
    assert.equal(
      optoutKey('a secret', 'Ada@B').toString('hex'),
      '086bcde55f64c663c96326e7e621fc9c2db62410702a34abc345e64ad8c8d600',
    );
  });

  test('are visited in pages, from any key', async () => {
    const store = await openTestStore();
    const emails = Array.from({ length: 1_001 }, (_, index) => `${index}@example.com`);
    await Promise.all(emails.map((email) => recordOptout(store, secrets, email, 1)));
    const keys: string[] = [];
    const visit = async (after: Uint8Array): Promise<void> => {
      for await (const { key } of optoutsAfter(store, after)) keys.push(Buffer.from(key).toString('hex'));
    };
    await visit(Buffer.alloc(0));
    assert.equal(new Set(keys).size, 1_001);
    const [middle] = keys.splice(0).slice(600);
    await visit(Buffer.from(middle ?? '', 'hex'));
    assert.equal(keys.length, 400);
  });
});
