/** A checkout with its settings: which ways to pay are open, on which terms, and what ends with it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import Stripe from 'stripe';
import { openRails } from '../../src/checkout/checkout.js';
import { readAccount } from '../../src/checkout/onchain/addresses.js';
import { Btcd } from '../../src/checkout/onchain/btcd.js';
import { Esplora } from '../../src/checkout/onchain/esplora.js';
import { LndChain } from '../../src/checkout/onchain/lndChain.js';
import { openOnChain } from '../../src/checkout/onchain/onChain.js';
import { Lnd } from '../../src/checkout/lnd.js';
import type { BitcoinOrderCreated } from '../../src/contract/bitcoin.js';
import type { CardStatusResponse, CardWebhookResponse } from '../../src/contract/card.js';
import type { RouteRequest } from '../../src/contract/exchange.js';
import type { LightningOrder, LightningOrderCreated } from '../../src/contract/lightning.js';
import type { PricingResponse } from '../../src/contract/pricing.js';
import type { Problem } from '../../src/contract/problem.js';
import { nextAddressIndex, takeIndexes } from '../../src/store/tables/addressIndexes.js';
import { ratesBetween } from '../../src/store/tables/rates.js';
import { StoreUnavailable } from '../../src/store/store.js';
import { HandClock } from '../support/handClock.js';
import { channel, LndServer } from '../support/lndServer.js';
import { account, accountKey, call, jsonOf, Shop } from '../support/shop.js';
import { until } from '../support/until.js';
import { makeCertificate } from './certificate.js';
import { nothingSet, ofLnd, onChain, QuietEsplora, start, type Configuration } from './selling.js';
import { StripeServer } from './stripeServer.js';

const input = { tier: 'developer' } as const;

async function opened() {
  const shop = await Shop.open();
  return { shop, clock: new HandClock(shop.time.nowMs) };
}

/** A store that knows the account already, up to this index. */
async function known({ aside }: Shop, next = 0): Promise<void> {
  const before = await nextAddressIndex(aside.store, account.digest);
  await aside.store.commit([takeIndexes(account.digest, before, next)]);
}

type Handlers = Awaited<ReturnType<typeof start>>['checkout']['handlers'];

async function pricesOf({ pricing }: Handlers): Promise<PricingResponse> {
  return jsonOf(await call(pricing, { input: undefined })) as PricingResponse;
}

/** Why each way to pay is not ready, or that it is. */
const reasonsOf = ({ rails }: Pick<PricingResponse, 'rails'>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(rails.map(({ rail, ready, reason }) => [rail, reason ?? ready]));

const closed = {
  btc: 'On-chain payments are not configured on this server.',
  lightning: 'Lightning payments are not configured on this server.',
  card: 'Card payments are not configured on this server.',
};

describe('a checkout', () => {
  test('without settings has no way to pay, and makes no requests', async () => {
    const { shop, clock } = await opened();
    const { checkout, said } = await start(shop, clock, {});
    assert.deepEqual(reasonsOf(await pricesOf(checkout.handlers)), closed);
    assert.deepEqual(reasonsOf(await checkout.shop.prices()), closed);
    assert.deepEqual([clock.timers, said, await checkout.warnings()], [0, [], []]);
    const titles = Object.entries(checkout.shop.orders).map(([rail, { title }]) => [rail, title]);
    assert.deepEqual(Object.fromEntries(titles), {
      ...{ btc: 'Bitcoin, on chain', lightning: 'Lightning', card: 'Card' },
    });
    for (const each of ['createBitcoinOrder', 'createLightningOrder', 'createCardOrder'] as const) {
      assert.equal((await call(checkout.handlers[each], { input })).status, 503);
    }
    const quoted = await call(checkout.handlers.quote, { input: { ...input, currency: 'btc' } });
    assert.equal(quoted.status, 200);
  });

  test('opens no way to pay if one of its settings is missing', async () => {
    const { shop, clock } = await opened();
    const node = await LndServer.start(() => shop.time.nowMs);
    const esplora = await QuietEsplora.start();
    const missing: readonly Partial<Configuration>[] = [
      { lndRestUrl: null },
      { lndTlsCert: null },
      { lndMacaroonHex: null },
    ];
    const settings = [
      ...missing.map((each) => ({ ...ofLnd(node), ...each })),
      { btcXpub: accountKey },
      { btcChain: esplora.chain },
    ];
    for (const each of settings) {
      const { checkout } = await start(shop, clock, each);
      assert.deepEqual(reasonsOf(await pricesOf(checkout.handlers)), closed);
    }
    assert.deepEqual([node.asked, esplora.asked], [[], []]);
  });

  test('has the nodes of open ways to pay, for commands that only ask the nodes', async () => {
    const { shop, clock } = await opened();
    const node = await LndServer.start(() => shop.time.nowMs);
    const own = { btcNetwork: 'mainnet' as const };
    const chain = onChain({ kind: 'esplora', url: 'https://chain.example' });
    for (const [settings, nodes, rails] of [
      [{}, [], []],
      [ofLnd(node), ['lnd'], ['lightning']],
      [chain, ['chain'], ['btc']],
      [{ ...ofLnd(node), ...chain, ...own }, ['lnd', 'chain'], ['btc', 'lightning']],
    ] as const) {
      const configuration = { ...nothingSet, ...settings };
      const found = await openRails({ ...shop.book, clock, log: shop.log, configuration });
      if ('wrong' in found) assert.fail(found.wrong);
      found.close();
      assert.deepEqual([Object.keys(found.nodes), Object.keys(found.rails)], [nodes, rails]);
    }
  });

  test('has no way to pay that is ready while orders are refused for lack of disk space', async () => {
    const { shop, clock } = await opened();
    await known(shop);
    const esplora = await QuietEsplora.start();
    let isReserved = true;
    const more = { isStorageReserved: () => isReserved };
    const { checkout } = await start(shop, clock, onChain(esplora.chain), more);
    const reasons = async () => reasonsOf(await pricesOf(checkout.handlers));
    assert.deepEqual(await reasons(), { ...closed, btc: 'The server has almost no disk space left.' });
    isReserved = false;
    assert.deepEqual(await reasons(), { ...closed, btc: true });
  });

  test('does not start with an invalid account, and names its setting', async () => {
    const { shop, clock } = await opened();
    const settings = { ...onChain({ kind: 'esplora', url: 'https://chain.example' }), btcXpub: 'nothing' };
    await assert.rejects(start(shop, clock, settings), /^Error: BTC_XPUB [^.]+\.$/);
  });

  test('ends its connections to its nodes when it stops', async () => {
    const { shop, clock } = await opened();
    await known(shop);
    const node = await LndServer.start(() => shop.time.nowMs);
    const esplora = await QuietEsplora.start();
    for (const settings of [
      ofLnd(node),
      { ...ofLnd(node), ...onChain(esplora.chain), btcNetwork: 'mainnet' as const },
    ]) {
      const { checkout } = await start(shop, clock, settings);
      const { lightning } = reasonsOf(await pricesOf(checkout.handlers));
      assert.notEqual(lightning, closed.lightning);
      await checkout.stop();
      const sockets = [...node.sockets, ...esplora.sockets];
      await until(() => sockets.every(({ destroyed }) => destroyed));
    }
    assert.ok(node.sockets.size > 0 && esplora.sockets.size > 0);
  });
});

describe('Lightning payments', () => {
  test('are ready if the node can receive the price of the cheapest tier', async () => {
    const { shop, clock } = await opened();
    const node = await LndServer.start(() => shop.time.nowMs);
    node.channels = [channel(51_000)];
    // The macaroon may be in a file.
    const settings = { ...ofLnd(node), lndMacaroonHex: null, lndMacaroonPath: node.macaroon };
    const { checkout } = await start(shop, clock, settings);
    const prices = await pricesOf(checkout.handlers);
    assert.deepEqual(reasonsOf(prices), { ...closed, lightning: true });
    const ready = prices.tiers.map(({ tier, payment_paths: paths }) => [
      tier,
      paths.filter((each) => each.ready).map(({ rail }) => rail),
    ]);
    assert.deepEqual(ready, [
      ['developer', ['lightning']],
      ['growth', []],
      ['enterprise', []],
    ]);
  });

  test('hand out a key without its claim token only if that is allowed', async () => {
    const { shop, clock } = await opened();
    const node = await LndServer.start(() => shop.time.nowMs);
    for (const lightningClaim of [true, false]) {
      const { checkout } = await start(shop, clock, { ...ofLnd(node), lightningClaim });
      const { createLightningOrder: create, lightningOrder: poll } = checkout.handlers;
      const { payment_hash } = jsonOf(await call(create, { input })) as LightningOrderCreated;
      node.settle(payment_hash);
      const polled = jsonOf(await call(poll, { input: undefined, path: { payment_hash } })) as LightningOrder;
      assert.deepEqual([polled.status, polled.api_key === null], ['settled', lightningClaim]);
    }
  });

  test('are of the network that the settings name', async () => {
    const { shop, clock } = await opened();
    const node = await LndServer.start(() => shop.time.nowMs);
    const { checkout } = await start(shop, clock, { ...ofLnd(node), btcNetwork: 'signet' });
    const lightning = 'The Lightning node is on regtest, not on signet.';
    assert.deepEqual(reasonsOf(await pricesOf(checkout.handlers)), { ...closed, lightning });
  });
});

describe('payments on chain', () => {
  const from = (address: number): Pick<RouteRequest, 'caller'> => ({
    caller: () => Uint8Array.of(192, 0, address, 2),
  });

  test('count from the configured depth on, within both limits of unpaid orders', async () => {
    const { shop, clock } = await opened();
    await known(shop);
    const esplora = await QuietEsplora.start();
    const limits = { btcConfirmations: 3, maxUnpaidOrders: 2, unpaidOrdersPerAddress: 1 };
    const { checkout } = await start(shop, clock, { ...onChain(esplora.chain), ...limits });
    assert.deepEqual(reasonsOf(await pricesOf(checkout.handlers)), { ...closed, btc: true });
    const create = (address: number) =>
      call(checkout.handlers.createBitcoinOrder, { input, ...from(address) });
    const made = jsonOf(await create(1)) as BitcoinOrderCreated;
    assert.deepEqual(
      [made.address, made.confirmations, made.confirmations_required],
      [account.address(0), 0, 3],
    );
    assert.equal((jsonOf(await create(1), 429) as Problem).code, 'rate_limited');
    await create(2);
    assert.equal((jsonOf(await create(3), 503) as Problem).code, 'rail_busy');
  });

  test('warn of a wallet that may not see the next payment, where they are served', async () => {
    const { shop, clock } = await opened();
    await known(shop, 20);
    const esplora = await QuietEsplora.start();
    for (const isServed of [true, false]) {
      const { checkout } = await start(shop, clock, onChain(esplora.chain), { isServed });
      const warnings = await checkout.warnings();
      assert.equal(warnings.length, isServed ? 1 : 0);
      assert.match(warnings.join() || 'Raise its gap limit.', /Raise its gap limit\.$/);
    }
  });

  test('are observed through the kind of node that the settings name', async () => {
    const { clock } = await opened();
    const place = { url: 'https://node.example', certificate: makeCertificate().cert, macaroon: 'ab' };
    const lnd = new Lnd(place, clock);
    const read = (btcChain: NonNullable<Configuration['btcChain']>, node: Lnd | undefined) => {
      const found = openOnChain({ btcXpub: accountKey, btcNetwork: 'mainnet', btcChain }, node, clock);
      if ('wrong' in found) assert.fail(found.wrong);
      return found;
    };
    const btcd = { kind: 'btcd', url: place.url, user: 'a', password: 'b', certificate: null } as const;
    const found = read(btcd, undefined);
    assert.ok(found.chain instanceof Btcd);
    assert.deepEqual(found.account.digest, account.digest);
    assert.ok(read({ kind: 'esplora', url: place.url }, undefined).chain instanceof Esplora);
    assert.ok(read({ kind: 'lnd', account: null }, lnd).chain instanceof LndChain);
    assert.throws(() => read({ kind: 'lnd', account: null }, undefined), /names an account of no LND$/);
    const foreign = readAccount(accountKey, 'regtest');
    const wrong = openOnChain({ btcXpub: accountKey, btcNetwork: 'regtest', btcChain: btcd }, lnd, clock);
    assert.deepEqual(wrong, 'wrong' in foreign && { wrong: `BTC_XPUB ${foreign.wrong}.` });
  });
});

describe('card payments', () => {
  async function withStripe() {
    const { shop, clock } = await opened();
    const stripe = await StripeServer.start();
    const settings = {
      ...{ stripeSecretKey: stripe.secretKey, stripeApiBase: stripe.apiBase },
      ...{ stripeWebhookSecrets: ['whsec_of_the_tests'], publicUrl: 'https://keys.example' },
      stripePrices: { price_1: 'growth' } as const,
    };
    return { shop, clock, stripe, settings };
  }

  test('are ready with a webhook secret and a public address', async () => {
    const { shop, clock, settings } = await withStripe();
    const cardOf = async (more: Partial<Configuration>): Promise<unknown> => {
      const { checkout } = await start(shop, clock, { ...settings, ...more });
      const { rails } = await pricesOf(checkout.handlers);
      return rails.filter(({ rail }) => rail === 'card').map(({ ready, reason }) => reason ?? ready);
    };
    assert.deepEqual(await cardOf({}), [true]);
    assert.match(String(await cardOf({ stripeWebhookSecrets: [] })), /the webhook has no secret\.$/);
    assert.match(String(await cardOf({ publicUrl: null })), /public address \(PUBLIC_URL\)\.$/);
  });

  test('cost the same as bitcoin payments', async () => {
    const { shop, clock, settings } = await withStripe();
    const { checkout } = await start(shop, clock, settings);
    const asked = { input: undefined, query: { tier: 'developer' } };
    const status = jsonOf(await call(checkout.handlers.cardStatus, asked)) as CardStatusResponse;
    assert.deepEqual([status.ready, status.amount_cents], [true, 3_300]);
  });

  test('store each rate that they were priced by, for later payments to be compared with', async () => {
    const { shop, settings } = await withStripe();
    const page = (name: string) => ({ name, url: `https://${name}.example`, pointer: '/usd' });
    const rateSource = { kind: 'urls', urls: [page('one'), page('two')] } as const;
    const getPage = (): Promise<string> => Promise.resolve('{"usd":"61000.00"}');
    const clock = new HandClock(shop.time.nowMs);
    for (const more of [{}, settings]) {
      const { checkout } = await start(shop, clock, { ...more, rateSource }, { getPage });
      const { tiers } = await pricesOf(checkout.handlers);
      assert.deepEqual(
        tiers.map(({ fiat }) => fiat?.rate_cents),
        Array(3).fill(6_100_000),
      );
    }
    const stored = (fromMs: number) => ratesBetween(shop.aside.store, fromMs, Infinity, 0);
    await until(async () => (await stored(shop.time.nowMs)).length === 1);
    assert.deepEqual(await stored(shop.time.nowMs), [6_100_000n]);
    assert.deepEqual(await stored(shop.time.nowMs + 1), []);
  });

  test('report a rate that could not be stored to the operator', async () => {
    const { shop, clock, settings } = await withStripe();
    const { store } = shop.book;
    const commit: typeof store.commit = (operations, id) =>
      operations.some((each) => 'space' in each && each.space === 'rates')
        ? Promise.reject(new StoreUnavailable('told to fail'))
        : store.commit(operations, id);
    const { said } = await start(shop, clock, settings, { store: { ...store, commit } });
    await until(() => said.length > 0);
    assert.deepEqual(said, ['a rate was not stored: {"reason":"told to fail"}']);
  });

  test('for prices of the operator’s own make keys, discounted ones where that is allowed', async () => {
    const { shop, clock, stripe, settings } = await withStripe();
    for (const stripeAllowDiscounts of [false, true]) {
      const { checkout } = await start(shop, clock, { ...settings, stripeAllowDiscounts });
      const id = `cs_test_${stripeAllowDiscounts}`;
      stripe.sold.set(id, [['price_1', 1]]);
      const createdS = Math.floor(clock.wallMs() / 1_000);
      const session = {
        ...{ id, object: 'checkout.session', created: createdS, metadata: {}, currency: 'usd' },
        ...{ payment_status: 'no_payment_required', amount_total: 0, payment_intent: null },
      };
      const payload = JSON.stringify({
        ...{ id: `evt_${id}`, object: 'event', type: 'checkout.session.completed', created: createdS },
        ...{ livemode: false, data: { object: session } },
      });
      const [secret = ''] = settings.stripeWebhookSecrets;
      const header = Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp: createdS });
      const answer = await call(checkout.handlers.cardWebhook, {
        ...{ input: undefined, body: Buffer.from(payload) },
        header: (name) => (name === 'stripe-signature' ? header : ''),
      });
      const { result } = jsonOf(answer) as CardWebhookResponse;
      assert.equal(result, stripeAllowDiscounts ? 'minted' : 'mismatch');
    }
  });

  test('that no session exists for are shown as pending on the page that a buyer returns to', async () => {
    const { shop, clock, settings } = await withStripe();
    const { checkout } = await start(shop, clock, settings);
    const request = { claim: '', mayAct: true, aborted: () => false };
    const picked = await checkout.pickUpCard(request, 'cs_test_1');
    assert.deepEqual(picked, {
      pickup: {
        ...{ session_id: 'cs_test_1', status: 'pending', order_id: null, tier: null },
        ...{ api_key: null, key_status: 'none', key_detail: null, key_expires_at: null },
      },
      revealedAtMs: null,
    });
  });
});
