/**
 * `fusegate orders`: orders with their money, texts of strangers shown without their effect, and look-ups.
 */
import type { OrderRecord } from '../../src/store/tables/order.js';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { printable } from '../../src/commands/printable.js';
import { findOrder, insertOrder } from '../../src/store/tables/orders.js';
import { putCardEvent } from '../../src/store/tables/cardEvents.js';
import { here } from '../support/here.js';
import { LndServer } from '../support/lndServer.js';
import { closedPort } from '../support/ports.js';
import { run, memoryFolder } from '../support/run.js';
import { storeAt } from '../support/openStore.js';
import { account, accountKey, Shop } from '../support/shop.js';
import { nextAddressIndex, takeIndexes } from '../../src/store/tables/addressIndexes.js';
import { QuietEsplora } from '../checkout/selling.js';
import { StripeServer } from '../checkout/stripeServer.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const MASTER_SECRET = 'a-secret-of-the-tests-that-opens-nothing';

const hostile: OrderRecord = {
  id: 'hq5vbd2gkzx3yodu7rnwtc4maq',
  rail: 'card',
  tier: 'growth',
  sat: 250_000n,
  cents: 16_500n,
  rateCents: 6_000_000n,
  termDays: 30,
  createdAtMs: 0,
  expiresAtMs: 1_860_000,
  email: '\u001b]0;mine\u0007\u001b[2K\nforged@example.com',
  source: '\u009b31m',
  segment: '\u202ecod.',
  campaign: '\u007f',
  eventId: '\u2028x',
  place: 'cs_1',
  intent: null,
  status: 'open',
  late: false,
  paidCents: 0n,
  refundedCents: 0n,
  disputes: [],
  key: 'none',
  keyId: null,
  keyGeneration: 0,
  seed: new Uint8Array(32),
  revealedAtMs: null,
  secretId: 'secret',
  claimHash: new Uint8Array(32),
  claimed: false,
  open: true,
};

async function output(STORE_URL: string, ...args: string[]): Promise<string> {
  const command = run(main, ['orders', ...args], { STORE_URL, MASTER_SECRET });
  assert.equal((await command.ended()).code, 0, command.output);
  return command.output;
}

test('control characters of stored text are shown as \\u…', async () => {
  const url = `lmdb:${memoryFolder()}/store`;
  const store = await storeAt(url);
  const committed = await store.commit(insertOrder(hostile));
  assert.equal(committed.kind, 'done');
  await store.close();
  const list = await output(url, 'list');
  assert.equal(list.split('\n').length, 3, 'a heading, a row, the last line end');
  assert.ok(list.includes('\\u001b]0;mine\\u0007\\u001b[2K\\u000aforged@example.com\n'));
  const shown = await output(url, 'show', hostile.id);
  for (const text of ['\\u009b31m', '\\u202ecod.', '\\u007f', '\\u2028x'])
    assert.ok(shown.includes(text), text);
  assert.equal(printable(list.replaceAll('\n', '')), list.replaceAll('\n', ''));
  const json = JSON.parse(await output(url, 'list', '--json')) as { readonly email: string };
  assert.equal(json.email, hostile.email);
});

test('other characters stay as they are', () => {
  const text = 'Ada Lovelace <ada@example.com> – שלום, привет, 你好, 👩‍💻';
  assert.equal(printable(text), text);
});

test('an order is shown with its money, its payments and its entries of the ledger', async () => {
  const STORE_URL = `lmdb:${memoryFolder()}/store`;
  const store = await storeAt(STORE_URL);
  const shop = await Shop.open(store);
  const { order } = await shop.make('btc');
  const other = await shop.make('btc', { addressIndex: 1 });
  const output = { vout: 3, confirmations: 2, atMs: shop.time.nowMs, height: 1 };
  const [first, second] = ['ab'.repeat(32), 'cd'.repeat(32)];
  const outputs = [
    { ...output, txid: first, sat: 20_000n },
    { ...output, txid: second, sat: 30_000n },
  ];
  await shop.happened(order.id, { kind: 'outputs', outputs });
  await shop.happened(other.order.id, { kind: 'outputs', outputs: [{ ...output, txid: first, sat: 1n }] });
  await store.close();
  const environment = { STORE_URL, MASTER_SECRET };
  const { code, text } = await here(['orders', 'show', order.id], environment);
  assert.equal(code, 0);
  for (const line of [
    /^id +\w+$/m,
    /^rail +btc$/m,
    /^status +confirmed$/m,
    /^sat +50000$/m,
    /^btc +0\.0005/m,
    /^cents +-$/m,
    /^received +50000$/m,
    /^refunded +0$/m,
    /^key +active$/m,
    new RegExp(`^output +${first}:3 20000 sat, 2 confirmations$`, 'm'),
    new RegExp(`^output +${second}:3 30000 sat, 2 confirmations$`, 'm'),
    /^ledger +\S+ \+50000 sat, confirmed$/m,
  ]) {
    assert.match(text, line);
  }
  assert.equal(text.match(/^ledger/gm)?.length, 1, 'no entry of another order');
  const told = JSON.parse((await here(['orders', 'show', order.id, '--json'], environment)).text) as {
    readonly outputs: unknown;
    readonly ledger: readonly unknown[];
  };
  assert.deepEqual(told.outputs, [
    [first, 3, 20_000, 2, shop.time.nowMs],
    [second, 3, 30_000, 2, shop.time.nowMs],
  ]);
  assert.equal(told.ledger.length, 1);
  const listed = await here(['orders', 'list', '--status', 'confirmed', '--json'], environment);
  assert.equal((JSON.parse(listed.text) as { readonly id: string }).id, order.id, 'only what was asked for');
});

test('card payments that gave no key are listed with the reason', async () => {
  const STORE_URL = `lmdb:${memoryFolder()}/store`;
  const store = await storeAt(STORE_URL);
  const event = { type: 'checkout.session.completed', result: 'mismatch', atMs: 0 };
  const served: OrderRecord = { ...hostile, status: 'paid', key: 'active' };
  await store.commit([
    putCardEvent({ ...event, id: 'evt_1', about: 'cs_1', reason: null }),
    putCardEvent({ ...event, id: 'evt_2', about: 'cs_\u001b2', reason: 'It was paid in euros.' }),
    putCardEvent({ ...event, id: 'evt_3', about: served.place, reason: 'Another event of it gave a key.' }),
    ...insertOrder(served),
  ]);
  await store.close();
  const environment = { STORE_URL, MASTER_SECRET };
  const at = '1970-01-01T00:00:00.000Z';
  const { text, said } = await here(['orders', 'mismatches'], environment);
  assert.match(said, /^Mend the setting that a reason names, start [^]*; do only one/);
  assert.equal(text, `${at}  cs_\\u001b2  It was paid in euros.\n`);
  const json = await here(['orders', 'mismatches', '--json'], environment);
  assert.deepEqual(JSON.parse(json.text), {
    ...{ event: 'evt_2', type: event.type, about: 'cs_\u001b2', reason: 'It was paid in euros.', at },
  });
});

/** A store with an open Lightning order that the node has been paid for, and how the commands reach both. */
async function paidMeanwhile(): Promise<{
  lnd: LndServer;
  id: string;
  environment: Readonly<Record<string, string>>;
}> {
  const folder = memoryFolder();
  const STORE_URL = `lmdb:${folder}/store`;
  const store = await storeAt(STORE_URL);
  const shop = await Shop.open(store);
  const lnd = await LndServer.start(() => shop.time.nowMs);
  const { order } = await shop.make('lightning', { place: lnd.paid('fusegate', 50_000n) });
  await store.close();
  const environment = { STORE_URL, MASTER_SECRET, ...lnd.settings(folder) };
  return { lnd, id: order.id, environment };
}

async function statusOf(id: string, environment: Readonly<Record<string, string>>): Promise<string> {
  const { text } = await here(['orders', 'show', id, '--json'], environment);
  return (JSON.parse(text) as { readonly status: string }).status;
}

test('open orders are looked up at their node, and a node that does not answer is reported', async () => {
  const { lnd, id, environment } = await paidMeanwhile();
  lnd.up = false;
  const away = await here(['orders', 'reconcile'], environment);
  assert.equal(away.code, 1);
  assert.match(away.said, /lightning: its node, or the store, does not answer\./);
  lnd.up = true;
  const { code, text } = await here(['orders', 'reconcile'], environment);
  assert.deepEqual([code, text], [0, 'lightning: 1 open order looked up\n']);
  assert.equal(await statusOf(id, environment), 'settled');
  const again = await here(['orders', 'reconcile'], environment);
  assert.equal(again.text, 'lightning: 0 open orders looked up\n');
  const none = await here(['orders', 'rescan'], environment);
  assert.match(none.said, /On-chain payments are not configured here\./);
});

test('an order that cannot be looked up is named, and hides neither others nor the next rail', async () => {
  const folder = memoryFolder();
  const STORE_URL = `lmdb:${folder}/store`;
  const shop = await Shop.open(await storeAt(STORE_URL));
  const lnd = await LndServer.start(() => shop.time.nowMs);
  const esplora = await QuietEsplora.start();
  const { order } = await shop.make('lightning', { place: lnd.paid('fusegate', 50_000n) });
  const lost: string[] = [];
  for (const [addressIndex, confirmations] of [6, 1, 0].entries()) {
    const { id } = (await shop.make('btc', { place: account.address(addressIndex), addressIndex })).order;
    if (confirmations === 0) continue;
    const output = { txid: 'ab'.repeat(32), vout: 0, sat: 50_000n, atMs: null, height: 150 };
    await shop.happened(id, { kind: 'outputs', outputs: [{ ...output, confirmations }] });
    lost.push(id);
  }
  const before = await nextAddressIndex(shop.aside.store, account.digest);
  await shop.aside.store.commit([takeIndexes(account.digest, before, 3)]);
  await shop.book.store.close();
  const url = esplora.chain?.kind === 'esplora' ? esplora.chain.url : assert.fail();
  const chain = { BTC_XPUB: accountKey, BTC_CHAIN: `esplora+${url}` };
  const environment = { STORE_URL, MASTER_SECRET, ...chain, ...lnd.settings(folder), BTC_NETWORK: 'mainnet' };
  const [final = '', seen = ''] = lost;
  const reconciled = await here(['orders', 'reconcile'], environment);
  const said = `btc: order ${seen} could not be looked up.\n`;
  const looked = 'btc: 1 open order looked up\nlightning: 1 open order looked up\n';
  assert.deepEqual([reconciled.code, reconciled.text, reconciled.said], [1, looked, said]);
  assert.equal(await statusOf(order.id, environment), 'settled');
  const scanned = await here(['orders', 'rescan'], environment);
  assert.equal(scanned.code, 1);
  assert.equal(scanned.text, '23 addresses looked up, 0 orders changed\n');
  const not = (id: string, index: number) => `Order ${id} (index ${index}) could not be looked up:`;
  const why = [
    `${not(final, 0)} it does not know a payment that was final.`,
    `${not(seen, 1)} it is behind, at block 100: the payment was seen at 150.`,
  ];
  assert.ok(scanned.said.endsWith(`${why.join('\n')}\n`), scanned.said);
});

test('a restore looks the open orders up, or says that the server will', async () => {
  const { lnd, id, environment } = await paidMeanwhile();
  const folder = join(memoryFolder(), 'backup');
  assert.equal((await here(['backup', folder], environment)).code, 0);
  for (const up of [true, false]) {
    lnd.up = up;
    const restored = { ...environment, STORE_URL: `lmdb:${memoryFolder()}/store` };
    const { code, text } = await here(['restore', folder], restored);
    assert.equal(code, up ? 0 : 1);
    assert.equal(text.includes(`run again: fusegate restore ${folder}.`), !up);
    if (up) assert.match(text, /^lightning: 1 open order was looked up\.$/m);
    else
      assert.match(text, /^lightning: its node does not answer\. The server looks the open orders up when/m);
    assert.equal(await statusOf(id, restored), up ? 'settled' : 'pending');
    const json = { ...environment, STORE_URL: `lmdb:${memoryFolder()}/store` };
    const { done, lost } = JSON.parse((await here(['restore', folder, '--json'], json)).text) as {
      readonly done: readonly string[];
      readonly lost: readonly string[];
    };
    const [said, not] = up ? [done, lost] : [lost, done];
    assert.ok(
      said.some((each) => each.startsWith('lightning: ')),
      said.join(),
    );
    assert.ok(!not.some((each) => each.startsWith('lightning: ')), not.join());
  }
});

test('a restore whose chain does not answer is not complete', async () => {
  const { environment } = await paidMeanwhile();
  const folder = join(memoryFolder(), 'backup');
  assert.equal((await here(['backup', folder], environment)).code, 0);
  const closed = `esplora+http://127.0.0.1:${await closedPort()}`;
  const chain = { BTC_XPUB: accountKey, BTC_CHAIN: closed, BTC_NETWORK: 'mainnet' };
  const target = { MASTER_SECRET, ...chain, STORE_URL: `lmdb:${memoryFolder()}/store` };
  const { code, text } = await here(['restore', folder], target);
  assert.equal(code, 1, text);
  assert.match(text, /^Payments to addresses of lost orders could not be looked for: /m);
  assert.match(text, /^Not everything was done, .+ fusegate orders reconcile later/m);
});

test('a restore with a setting that cannot be used writes nothing', async () => {
  const { id, environment } = await paidMeanwhile();
  const folder = join(memoryFolder(), 'backup');
  assert.equal((await here(['backup', folder], environment)).code, 0);
  const chain = { BTC_XPUB: 'abc', BTC_CHAIN: `esplora+http://127.0.0.1:${await closedPort()}` };
  const wrong = [
    [{ TIERS_FILE: join(folder, 'none') }, /TIERS_FILE .+ cannot be read/],
    [chain, /BTC_XPUB must be an extended public key/],
  ] as const;
  for (const [settings, expected] of wrong) {
    const STORE_URL = `lmdb:${memoryFolder()}/store`;
    const { code, said } = await here(['restore', folder], { ...environment, ...settings, STORE_URL });
    assert.equal(code, 1);
    assert.match(said, expected);
    assert.match(said, /^Nothing was written\.$/m);
    const store = await storeAt(STORE_URL);
    assert.equal(await findOrder(store, id), undefined);
    await store.close();
  }
});

test('a restore says that what was erased since is back', async () => {
  const { environment } = await paidMeanwhile();
  const folder = join(memoryFolder(), 'backup');
  assert.equal((await here(['backup', folder], environment)).code, 0);
  const target = { ...environment, STORE_URL: `lmdb:${memoryFolder()}/store` };
  const { text } = await here(['restore', folder], target);
  assert.match(text, /^What was erased, withheld or removed later is back, .+ webhooks remove again\.$/m);
});

test('a restore applies the card events that Stripe has reported since the backup', async () => {
  const stripe = await StripeServer.start();
  const url = `lmdb:${memoryFolder()}/store`;
  const settings = { STRIPE_SECRET_KEY: stripe.secretKey, STRIPE_API_BASE: stripe.apiBase };
  const environment = { STORE_URL: url, MASTER_SECRET, RATE_SOURCE: 'fixed:60000', ...settings };
  const shop = await Shop.open(await storeAt(url));
  const { order } = await shop.make('card', { place: 'cs_test_1' });
  await shop.book.store.close();
  const folder = join(memoryFolder(), 'backup');
  assert.equal((await here(['backup', folder], environment)).code, 0);
  const created = Math.floor(Date.now() / 1_000);
  const money = { payment_status: 'paid', amount_total: Number(order.cents), currency: 'usd' };
  const object = { id: 'cs_test_1', payment_intent: 'pi_1', created, ...money };
  const event = {
    id: 'evt_1',
    type: 'checkout.session.completed',
    created,
    livemode: false,
    data: { object },
  };
  stripe.events.push(event);
  const restored = { ...environment, STORE_URL: `lmdb:${memoryFolder()}/store` };
  assert.match(
    (await here(['restore', folder], restored)).text,
    /^card: 1 event applied that the backup lacked\.$/m,
  );
  assert.equal(await statusOf(order.id, restored), 'paid');
  stripe.up = false;
  const away = { ...environment, STORE_URL: `lmdb:${memoryFolder()}/store` };
  const { code, text } = await here(['restore', folder], away);
  assert.equal(code, 1);
  assert.match(text, /^card: Stripe cannot be asked \(Invalid API Key\)\. Send its events since .* again/m);
});
