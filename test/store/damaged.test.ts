/** Records that were damaged, or that a later version wrote: none is read, and errors name them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acquireLease } from '../../src/store/leases.js';
import { putCardEvent, findCardEvent, heldEvents, holdEvent } from '../../src/store/tables/cardEvents.js';
import { appendClicks, clicksAfter } from '../../src/store/tables/clicks.js';
import {
  findCorpus,
  findLearning,
  mostRemovedCorpora,
  putCorpus,
  removeCorpus,
  storeLearnt,
} from '../../src/store/tables/corpora.js';
import { appendEvent, removeOldEvents } from '../../src/store/tables/events.js';
import { beginEntry, historyAfter } from '../../src/store/tables/history.js';
import { appendInterest, interestsAfter } from '../../src/store/tables/interests.js';
import { appendLead, leadsAfter } from '../../src/store/tables/leads.js';
import { countFragments, encodeTotal } from '../../src/store/tables/fragments.js';
import { findKey, insertKey } from '../../src/store/tables/keys.js';
import { findOptout, recordOptout } from '../../src/store/tables/optouts.js';
import { decodeLedger, encodeLedger, findOrder, insertOrder } from '../../src/store/tables/orders.js';
import type { OrderRecord } from '../../src/store/tables/order.js';
import { findProfile, putProfile, removeProfile } from '../../src/store/tables/profiles.js';
import { registerSecrets } from '../../src/store/tables/secrets.js';
import { addUsage, findUsage } from '../../src/store/tables/usage.js';
import {
  addWebhook,
  findWebhook,
  movePlace,
  placeOf,
  waitingDeliveries,
} from '../../src/store/tables/webhooks.js';
import type { Log, Space } from '../../src/store/spaces.js';
import type { Store } from '../../src/store/store.js';
import { systemClock } from '../../src/system/clock.js';
import { collect } from '../support/collect.js';
import { newUnitId, openTestStore, secrets } from '../support/serving.js';
import { bytes, commit } from './subject.js';

/** A kind of record: where it is, how one is written, and how it is read. */
interface Kind {
  /** What errors call it. */
  readonly words: string;
  readonly at: { readonly space: Space } | { readonly log: Log };
  readonly write: (store: Store) => Promise<unknown>;
  readonly read: (store: Store) => Promise<unknown>;
  /** Members that the written record has besides, as a later format of it. */
  readonly also?: { readonly format: number; readonly members: object };
}

const hash = Buffer.alloc(32, 7);
const campaign = { source: null, segment: null, campaign: null, eventId: null };
const lead = { id: 'lead_1', email: 'a@b', tier: null, message: null, ...campaign, receivedAtMs: 1 };
const texts = { company: null, cloud: null, timeline: null, compliance: null, monthlyChars: null };
const click = { atMs: 1, token: 't', destination: '/', valid: true, bot: false };
const counted = { docs: 1, averageLength: 1.5, terms: 1 };
const statistics = { ...counted, terming: 'given', statistics: bytes('s') };
const learnt = { sample: bytes('s'), docs: 1, terming: 'given', frozen: undefined };
const webhook = { id: 'wh_1', url: 'https://a', types: ['order.paid'], secretId: 's', createdAtMs: 1 };
const delivery = { log: 'events', position: 1, object: 'o', attempts: 0, nextAtMs: 1 } as const;
const members = { id: 'key_1', tier: 'growth', hint: 'fg_', origin: 'order', issuedAtMs: 1, changedAtMs: 1 };
const links = { countedAs: null, replaces: null, replacedBy: null };
const key = { ...members, ...links, hash, expiresAtMs: null, status: 'active', reason: null } as const;
const order: OrderRecord = {
  ...{ id: 'order_1', rail: 'lightning', network: 'regtest', status: 'pending', bolt11: 'ln', paidSat: 0n },
  ...{ tier: 'growth', sat: 1n, rateCents: null, termDays: 30, createdAtMs: 1, expiresAtMs: 2, email: null },
  ...{ ...campaign, place: 'p', late: false, key: 'none', keyId: null, keyGeneration: 0, seed: hash },
  ...{ revealedAtMs: null, secretId: 's', claimHash: hash, claimed: false, open: true },
};
const onChain = {
  ...{ rail: 'btc', address_index: 1, reference: null, outputs: [['ab', 0, 1, 1, null]] },
  ...{ created_height: 1, earlier: [['ab:0']], ordered_by: 'AA' },
};

function addPlace(store: Store): Promise<void> {
  return addWebhook(store, { ...webhook, status: 'active', reason: null });
}

let names = 0;

/** A name that nothing has yet: only then the numbers of removed ones are read. */
function newName(): string {
  return `new${(names += 1)}`;
}

async function putAndRemove(store: Store, name: string): Promise<void> {
  await putCorpus(store, name, statistics, 1);
  await removeCorpus(store, name);
}

const kinds: readonly Kind[] = [
  {
    words: 'lead',
    at: { log: 'leads' },
    write: (store) => appendLead(store, newUnitId(), lead),
    read: (store) => collect(leadsAfter(store, 0)),
  },
  {
    words: 'interest',
    at: { log: 'interests' },
    write: (store) => appendInterest(store, newUnitId(), { ...lead, ...texts, deliveryModel: 'm' }),
    read: (store) => collect(interestsAfter(store, 0)),
  },
  {
    words: 'click',
    at: { log: 'clicks' },
    write: (store) => appendClicks(store, newUnitId(), [click, click]),
    read: (store) => collect(clicksAfter(store, 0)),
  },
  {
    words: 'opt-out',
    at: { space: 'optouts' },
    write: (store) => recordOptout(store, secrets, 'a@b', 1),
    read: (store) => findOptout(store, secrets, 'a@b'),
  },
  {
    words: 'secrets',
    at: { space: 'secrets' },
    write: (store) => registerSecrets(store, secrets, 'X'),
    read: (store) => registerSecrets(store, secrets, 'X'),
  },
  {
    words: 'usage',
    at: { space: 'usage' },
    write: (store) => {
      const days = [{ day: 1, requests: 2, characters: 3, refused: 4 }];
      return addUsage(store, hash, { monthStartMs: 1, characters: 1, days });
    },
    read: (store) => findUsage(store, hash),
  },
  {
    words: 'key',
    at: { space: 'keys' },
    write: (store) => commit(store, ...insertKey({ ...key, countedAs: hash })),
    read: (store) => findKey(store, hash),
  },
  {
    words: 'order',
    at: { space: 'orders' },
    write: (store) => commit(store, ...insertOrder(order)),
    read: (store) => findOrder(store, order.id),
    also: { format: 3, members: onChain },
  },
  {
    words: 'ledger',
    at: { log: 'ledger' },
    write: (store) => {
      const entry = { orderId: 'o', unit: 'sat', change: 1, status: 'settled', atMs: 1 } as const;
      return commit(store, { kind: 'append', log: 'ledger', value: encodeLedger(entry) });
    },
    read: async (store) =>
      (await store.read('ledger', { after: 0, limit: 1 })).map(({ value }) => decodeLedger(value)),
  },
  {
    words: 'corpus',
    at: { space: 'corpora' },
    write: (store) => putCorpus(store, 'shop', statistics, 1),
    read: (store) => findCorpus(store, 'shop'),
  },
  {
    words: 'corpus learning',
    at: { space: 'corpusLearning' },
    write: (store) => storeLearnt(store, 'shop', () => Promise.resolve(learnt), 1),
    read: (store) => findLearning(store, 'shop'),
  },
  {
    words: 'numbers of removed corpora',
    at: { space: 'state' },
    write: async (store) => {
      for (let at = 0; at < mostRemovedCorpora; at += 1) await putAndRemove(store, `n${at}`);
      await putAndRemove(store, 'one more');
    },
    read: (store) => putCorpus(store, newName(), statistics, 1),
  },
  {
    words: 'profile',
    at: { space: 'profiles' },
    write: (store) => putProfile(store, 'shop', '{}', 1),
    read: (store) => findProfile(store, 'shop'),
  },
  {
    words: 'numbers of removed profiles',
    at: { space: 'state' },
    write: async (store) => {
      await putProfile(store, 'shop', '{}', 1);
      await removeProfile(store, 'shop');
    },
    read: (store) => putProfile(store, newName(), '{}', 1),
  },
  {
    words: 'total of the fragments',
    at: { space: 'state' },
    write: (store) =>
      commit(store, {
        ...{ kind: 'put', space: 'state', key: bytes('bytes of fragments') },
        value: encodeTotal({ position: 1, bytes: 1 }),
      }),
    read: (store) => countFragments(store),
  },
  {
    words: 'card event',
    at: { space: 'orderEvents' },
    write: (store) => {
      const event = { id: 'evt_1', type: 't', about: 'cs_1', result: 'ignored', reason: null, atMs: 3 };
      return commit(store, putCardEvent(event));
    },
    read: (store) => findCardEvent(store, 'evt_1'),
  },
  {
    words: 'held card event',
    at: { space: 'heldCardEvents' },
    write: (store) => commit(store, holdEvent('pi_1', 'evt_1', '{}')),
    read: (store) => heldEvents(store, 'pi_1'),
  },
  {
    words: 'webhook',
    at: { space: 'webhooks' },
    write: addPlace,
    read: (store) => findWebhook(store, webhook.id),
  },
  {
    words: 'webhook place',
    at: { space: 'webhookPlaces' },
    write: addPlace,
    read: (store) => placeOf(store, webhook.id),
  },
  {
    words: 'webhook delivery',
    at: { space: 'webhookDeliveries' },
    write: async (store) => {
      await addPlace(store);
      const held = await acquireLease({ store, clock: systemClock }, 'webhooks', 'test', 60_000);
      assert.ok(held.kind === 'held');
      const fence = { lease: 'webhooks', token: held.lease.record.token };
      const from = { events: 0, leads: 0, interests: 0 };
      assert.ok(await movePlace(store, fence, webhook.id, { from, to: from, untaken: [delivery] }));
    },
    read: (store) => waitingDeliveries(store, webhook.id),
  },
  {
    words: 'event',
    at: { log: 'events' },
    write: (store) => commit(store, appendEvent({ type: 'order.paid', object: 'o', atMs: 1 })),
    read: (store) => removeOldEvents(store, 0, 0),
  },
  {
    words: 'history entry',
    at: { log: 'history' },
    write: (store) =>
      beginEntry(store, { command: 'keys revoke', object: null, user: 'u', host: 'h', atMs: 1 }),
    read: (store) => collect(historyAfter(store, 0)),
  },
];

type Json = Readonly<Record<string, unknown>>;

/** The one record of a kind, and how another is put in its place. */
async function written({ at, write }: Kind, store: Store) {
  await write(store);
  if ('space' in at) {
    const [entry] = await store.scan(at.space, { limit: 1 });
    assert.ok(entry !== undefined, 'it was written');
    const put = (value: Uint8Array) => commit(store, { kind: 'put', ...at, key: entry.key, value });
    return { record: entry.value, put };
  }
  const [entry] = await store.read(at.log, { after: 0, limit: 1 });
  assert.ok(entry !== undefined, 'it was written');
  let from = entry.value;
  const put = async (to: Uint8Array): Promise<void> => {
    assert.equal((await commit(store, { kind: 'amend', ...at, position: 1, from, to })).kind, 'done');
    from = to;
  };
  return { record: entry.value, put };
}

/** Values that no member of a record has, nor a place of a row. */
const others = [{}, [1]];

/** A record with one member of another type, or one place of a row: once for each. */
function damaged(json: Json): Json[] {
  return Object.entries(json).flatMap(([name, value]) => {
    const rows = Array.isArray(value) ? (value as readonly unknown[]).filter(Array.isArray) : [];
    const inRows = rows.flatMap((row: readonly unknown[]) =>
      row.flatMap((_, at) => others.map((other) => ({ ...json, [name]: [row.with(at, other)] }))),
    );
    return [...others.map((other) => ({ ...json, [name]: other })), ...inRows];
  });
}

for (const kind of kinds) {
  const { words, read, also } = kind;

  test(`a ${words} record of another type anywhere, or of a later format, is not read`, async () => {
    const store = await openTestStore();
    const { record, put } = await written(kind, store);
    const json = JSON.parse(Buffer.from(record).subarray(1).toString()) as Json;
    const format = also?.format ?? record[0] ?? 0;
    const whole: Json = { ...json, ...also?.members };
    const bytesOf = (members: Json) => Buffer.concat([Buffer.of(format), bytes(JSON.stringify(members))]);
    await put(bytesOf(whole));
    await assert.doesNotReject(read(store));
    for (const each of damaged(whole)) {
      await put(bytesOf(each));
      await assert.rejects(read(store), Error, JSON.stringify(each));
    }
    await put(bytesOf({}));
    await assert.rejects(
      read(store),
      new RegExp(
        `^Error: A record of the store \\(${words}\\) cannot be read: it is damaged \\(its \\w+ is not `,
      ),
    );
    await put(Buffer.concat([Buffer.of(99), bytes('{}')]));
    await assert.rejects(
      read(store),
      new RegExp(`^Error: A record .+ \\(${words}\\) .+: this version does not know format 99; `),
    );
  });
}
