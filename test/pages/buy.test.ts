/**
 * The pages that sell keys, on a real book of orders with a simulated chain: who gets the key, and in a real
 * Chromium that it stays on the page, whatever is clicked and however slow the line is.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { readTiers } from '../../src/access/tiers.js';
import { readAccount } from '../../src/checkout/onchain/addresses.js';
import { Bitcoin } from '../../src/checkout/onchain/bitcoin.js';
import { bitcoinHandlers, bitcoinOrders } from '../../src/checkout/onchain/bitcoinRoutes.js';
import { cardOrders } from '../../src/checkout/card/cardRoutes.js';
import { lightningOrders } from '../../src/checkout/lightning/lightningRoutes.js';
import { pricesOf } from '../../src/checkout/pricing.js';
import type { Answer } from '../../src/contract/exchange.js';
import type { BitcoinOrder } from '../../src/contract/bitcoin.js';
import { lightningRoutes, type LightningOrder } from '../../src/contract/lightning.js';
import { native } from '../../src/native/addon.js';
import { buyPages } from '../../src/pages/buy.js';
import { pageFile } from '../../src/pages/page.js';
import { checksOf, ordersOf } from '../support/shop.js';
import { Dice, SimulatedChain, Time } from '../support/world.js';
import { FailingStore, openTestStore, request, secrets } from '../support/serving.js';
import { noOperator } from '../../src/outreach/operator.js';
import { assertAccessible } from './axe.js';
import { asOptions, forms, launch, openPage, picture, skipBrowser } from './browser.js';

const [dice, time] = [new Dice(1), new Time()];
const chain = new SimulatedChain(dice, time);
const failing = new FailingStore(await openTestStore());
const { vectors } = JSON.parse(readFileSync('test/vectors/payments/bip84.json', 'utf8')) as {
  readonly vectors: readonly { readonly network: string; readonly account_public: string }[];
};
const account = readAccount(
  vectors.find(({ network }) => network === 'mainnet')?.account_public ?? '',
  'mainnet',
);
const read = readTiers(null, { anonymousRequestsPerMinute: 0, anonymousCharactersPerMonth: 0 });
if ('wrong' in account) assert.fail(account.wrong);
if ('errors' in read) assert.fail(read.errors.join(' '));
const { tiers } = read;
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined };
const book = {
  ...{ store: failing.seen, clock: time.clock, randomness: dice.bytes, secrets, keyFormat: native },
  ...{
    account: account.account,
    chain: chain.chain,
    confirmationsRequired: 1,
    maxUnpaidOrders: 0,
    log: quiet,
  },
};
const bitcoin = new Bitcoin(book);
assert.equal(await bitcoin.begin(), 0);
const routes = { ...book, tiers, bitcoin };

const notReady = () => Promise.resolve({ ready: false, reason: 'It is not set up.' } as const);
const rails = checksOf({
  ...{ btc: () => Promise.resolve({ ready: true } as const), lightning: notReady, card: notReady },
});
const rates = { current: () => Promise.resolve({ reason: 'there is none' }) };
const asked = (): never => assert.fail('another rail was asked');
const nobody = { order: asked, poll: asked };
const sold = bitcoinOrders(routes);
const none = ordersOf({
  btc: { ...sold, ...nobody },
  lightning: { ...lightningOrders({ ...routes, lightning: undefined, claimRequired: false }), ...nobody },
  card: { ...cardOrders({ ...routes, card: undefined, rates, webhookSecrets: [] }), ...nobody },
});
const handlers = buyPages(
  {
    prices: () => pricesOf({ tiers, rails, rates, clock: time.clock }),
    orders: { ...none, btc: sold },
  },
  (_, session) => pickups(session),
  {
    ...noOperator,
    ...{ name: 'Example Search Ltd', contact: 'search@example.com' },
    ...{ terms: 'https://example.com/terms', privacy: 'https://example.com/privacy' },
  },
);
const closed = buyPages(
  {
    prices: () =>
      pricesOf({
        tiers,
        rails: checksOf({ btc: notReady, lightning: notReady, card: notReady }),
        rates,
        clock: time.clock,
      }),
    orders: none,
  },
  (_, session) => pickups(session),
  { ...noOperator, contact: 'search@example.com' },
);
const api = bitcoinHandlers(routes).bitcoinOrder;
const files = pageFile();

/** What the page of a card payment is told of a session; the tests decide. */
let pickups: Parameters<typeof buyPages>[1] extends (request: never, session: string) => infer Told
  ? (session: string) => Told
  : never = () => Promise.resolve(undefined);

function textOf({ body }: Answer): string {
  return 'bytes' in body ? body.bytes.toString() : JSON.stringify(body.json);
}

/** Orders by the form; the address of the order's page. */
async function ordered(): Promise<{ readonly path: string; readonly id: string; readonly claim: string }> {
  const body = Buffer.from('tier=developer&rail=btc');
  const answer = await handlers.buy(request({ input: undefined, body }));
  assert.equal(answer.status, 303, textOf(answer));
  const path = answer.headers?.['location'] ?? '';
  const [, id = '', claim = ''] = /^\/buy\/btc\/([a-z2-7]{26})\?claim=(.+)$/.exec(path) ?? [];
  assert.notEqual(claim, '', path);
  return { path, id, claim };
}

/** What the API says of an order to one who polls it. */
async function polled(id: string, claim?: string): Promise<BitcoinOrder> {
  const query = claim === undefined ? {} : { claim };
  const answer = await api(request({ input: undefined, path: { order_id: id }, query }));
  assert.equal(answer.status, 200);
  return JSON.parse(textOf(answer)) as BitcoinOrder;
}

/** Lets time pass until the node is asked again. */
function later(): void {
  time.nowMs += 60_000;
}

async function paid(id: string, sat: number = tiers.developer.price_sat): Promise<void> {
  const { address } = await polled(id);
  chain.pay(address, BigInt(sat));
  chain.mine();
  later();
}

async function shown(id: string, claim: string, method: 'GET' | 'POST' = 'GET'): Promise<string> {
  const handler = method === 'GET' ? handlers.buyOrder : handlers.buyReveal;
  const path = { rail: 'btc', order: id };
  return textOf(await handler(request({ input: undefined, path, query: { claim } })));
}

const keyOf = (html: string): string | undefined => /data-key="([^"]+)"/.exec(html)?.[1];

describe('an order made with the form', () => {
  test('shows its key to nobody without its claim token, from the beginning', async () => {
    const { id, claim } = await ordered();
    await shown(id, claim);
    await paid(id);
    for (const stranger of [undefined, '', 'ct_strangers']) {
      const { status, api_key: key, key_status } = await polled(id, stranger);
      assert.deepEqual([status, key, key_status], ['confirmed', null, 'claim_required'], stranger);
    }
    assert.equal(keyOf(await shown(id, '', 'POST')), undefined);
    assert.match(await shown(id, claim), /Show my key/);
    assert.match(keyOf(await shown(id, claim, 'POST')) ?? '', /^fg_/);
    assert.match(await shown(id, claim, 'POST'), /The key was handed out/);
  });

  test('is not shown if it cannot be bound to its claim token', async () => {
    failing.failReads = false;
    const before = failing.commits;
    const pages = buyPages(
      {
        prices: () => pricesOf({ tiers, rails, rates, clock: time.clock }),
        orders: {
          ...none,
          btc: {
            ...sold,
            async order(...given) {
              const made = await sold.order(...given);
              failing.failure = 'not written';
              return made;
            },
          },
        },
      },
      (_, session) => pickups(session),
    );
    const body = Buffer.from('tier=developer&rail=btc');
    const answer = await pages.buy(request({ input: undefined, body }));
    failing.failure = undefined;
    assert.ok(failing.commits > before + 1, 'the order was made, and binding it was tried');
    assert.equal(answer.status, 200);
    assert.match(textOf(answer), /role="alert">[^<]*Order again; nothing was charged\./);
  });

  test('says that a wrong claim token does not belong to it', async () => {
    const { id, claim } = await ordered();
    await paid(id);
    const html = await shown(id, 'ct_wrong', 'POST');
    assert.match(html, /claim token in this page’s\naddress does not belong to this order/);
    assert.doesNotMatch(html, /Show my key|buy\.js|http-equiv="refresh"/);
    assert.match(keyOf(await shown(id, claim, 'POST')) ?? '', /^fg_/);
  });
});

describe('the shop', () => {
  const shop = async (pages = handlers): Promise<string> =>
    textOf(await pages.buyPage(request({ input: undefined })));

  test('names the seller, the terms and the tiers, and has the browser check the email', async () => {
    const html = await shop();
    assert.match(
      html,
      /Sold by Example Search Ltd\. You buy on these <a href="https:\/\/example\.com\/terms"/,
    );
    assert.match(
      html,
      /<footer class="site">[^]*Operated by Example Search Ltd[^]*mailto:search@example\.com/,
    );
    assert.match(html, /<footer[^]*href="https:\/\/example\.com\/privacy"/);
    assert.match(html, /<strong>Developer<\/strong>/);
    assert.match(html, /<input name="email" type="email"/);
  });

  test('has nothing to fill in if nothing can be bought, and says why and whom to ask', async () => {
    const html = await shop(closed);
    assert.doesNotMatch(html, /<form|<input|<button/);
    assert.match(html, /nothing can be bought here[^]*It is not set up\.[^]*mailto:search@example\.com/);
    assert.match(html, /What keys cost[^]*Growth/);
  });

  test('warns if no operator is named', async () => {
    const unnamed = buyPages(
      {
        prices: () => pricesOf({ tiers, rails, rates, clock: time.clock }),
        orders: none,
      },
      (_, session) => pickups(session),
    );
    const html = await shop(unnamed);
    assert.match(html, /does not name its operator/);
    assert.doesNotMatch(html, /<footer/);
  });

  test('says if a tier has no limit', async () => {
    const free = { ...tiers, growth: { ...tiers.growth, requests_per_minute: 0, characters_per_month: 0 } };
    const html = await shop(
      buyPages(
        { prices: () => pricesOf({ tiers: free, rails, rates, clock: time.clock }), orders: none },
        (_, session) => pickups(session),
      ),
    );
    assert.match(html, /requests without a limit,\ncharacters without a limit/);
    assert.doesNotMatch(html, /\b0 (requests|characters)/);
  });

  test('offers for each tier only what can be bought', async () => {
    const lightning = (tier: string | undefined) =>
      tier === 'developer' || tier === undefined
        ? ({ ready: true } as const)
        : ({ ready: false, reason: `The node cannot receive <${tier}>.` } as const);
    const pages = (btc: 'ready' | 'not ready') =>
      buyPages(
        {
          prices: () =>
            pricesOf({
              ...{ tiers, rates, clock: time.clock },
              rails: checksOf({ btc: btc === 'ready' ? rails.btc : notReady, lightning, card: notReady }),
            }),
          orders: none,
        },
        (_, session) => pickups(session),
      );
    const inputs = (html: string, name: string): string[] =>
      [...html.matchAll(/<input type="radio"[^>]*>/g)]
        .map(([each]) => each.replaceAll('\n', ' '))
        .filter((each) => each.includes(`name="${name}"`));
    const both = await shop(pages('ready'));
    const offered = inputs(both, 'rail').map((each) => each.replace('<input type="radio" name="rail" ', ''));
    assert.deepEqual(offered, [
      ...['value="btc" required data-tiers="developer growth enterprise" checked>'],
      ...[
        'value="lightning" required data-tiers="developer">',
        'value="card" required data-tiers="" disabled>',
      ],
    ]);
    assert.match(both, /Not for Growth now: The node cannot receive &lt;growth&gt;\./);
    assert.doesNotMatch(both, /Not for Developer/);
    const one = await shop(pages('not ready'));
    assert.deepEqual(
      inputs(one, 'tier').map((each) => [
        /value="(\w+)"/.exec(each)?.[1],
        / (checked|disabled)>/.exec(each)?.[1],
      ]),
      [
        ['developer', 'checked'],
        ['growth', 'disabled'],
        ['enterprise', 'disabled'],
      ],
    );
    assert.match(one, /No way to pay is ready for it now\./);
  });

  test('an invalid email is refused by the page, and nothing is ordered', async () => {
    for (const email of ['nobody', 'a b@example.com', '@']) {
      const body = Buffer.from(`tier=developer&rail=btc&email=${encodeURIComponent(email)}`);
      const answer = await handlers.buy(request({ input: undefined, body }));
      assert.equal(answer.status, 200, email);
      assert.match(textOf(answer), /role="alert">Check the email address/);
    }
    const body = Buffer.from('tier=developer&rail=btc&email=ada%40example.com');
    assert.equal((await handlers.buy(request({ input: undefined, body }))).status, 303);
  });

  test('an order page has one primary action, and shows the key with a request that works', async () => {
    const { id, claim } = await ordered();
    const html = await shown(id, claim);
    assert.equal(html.match(/class="button primary"/g)?.length, 1);
    assert.match(html, /class="button primary" href="bitcoin:[^"]+">Open in a wallet/);
    await paid(id);
    const revealed = await shown(id, claim, 'POST');
    const key = keyOf(revealed);
    assert.ok(key !== undefined && revealed.includes(`-H 'X-API-Key: ${key}'`));
    const { key_expires_at: ends } = await polled(id, claim);
    assert.ok(ends !== null && revealed.includes(`It works until <time datetime="${ends}">`));
    assert.equal(Date.parse(ends) > time.nowMs + 29 * 86_400_000, true);
  });

  test('the page of a card payment shows the order and the payment once there is an order', async () => {
    const noKey = { api_key: null, key_detail: null, key_expires_at: null } as const;
    const session = { session_id: 'cs_test_<1>', tier: 'growth' } as const;
    const page = async (): Promise<string> =>
      textOf(await handlers.cardSuccess(request({ input: undefined, query: { session_id: 'cs_test_1' } })));
    pickups = () => {
      const pickup = { ...session, ...noKey, order_id: null, status: 'pending', key_status: 'none' } as const;
      return Promise.resolve({ pickup, revealedAtMs: null });
    };
    assert.doesNotMatch(await page(), /Order <span/);
    pickups = () => {
      const of = { ...session, ...noKey, order_id: 'hq5vbd2gkzx3yodu7rnwtc4maq' } as const;
      const pickup = { ...of, status: 'paid', key_status: 'already_revealed' } as const;
      return Promise.resolve({ pickup, revealedAtMs: 0 });
    };
    const html = await page();
    assert.match(html, /Order <span class="mono">hq5vbd2gkzx3yodu7rnwtc4maq<\/span>, payment/);
    assert.ok(html.replaceAll('<wbr>', '').includes('<span class="mono">cs_test_&lt;1&gt;</span>'));
  });
});

test('the page of a card payment says that money was returned only if it was', async () => {
  const page = async (status: 'paid' | 'refunded'): Promise<string> => {
    const session = {
      session_id: 'cs_test_1',
      tier: 'growth',
      order_id: 'hq5vbd2gkzx3yodu7rnwtc4maq',
    } as const;
    const noKey = { api_key: null, key_status: 'revoked', key_detail: null, key_expires_at: null } as const;
    pickups = () => Promise.resolve({ pickup: { ...session, ...noKey, status }, revealedAtMs: 0 });
    const query = { session_id: 'cs_test_1' };
    return textOf(await handlers.cardSuccess(request({ input: undefined, query })));
  };
  assert.match(
    await page('refunded'),
    /This payment was returned[^]*The money was refunded, or taken back\./,
  );
  const ended = await page('paid');
  assert.match(ended, /Your key has ended[^]*The operator has ended it\. Ask the operator why/);
  assert.doesNotMatch(ended, /refunded|was returned|taken back|http-equiv="refresh"/);
});

describe('an order that is not fully paid', () => {
  const asksFor = (html: string): string[] => {
    const found = [/<strong>([^<]+)<\/strong>/, /data-copy="(0\.\d{8})"/, /qr\.svg\?sat=(\d+)/];
    return found.map((each) => each.exec(html)?.[1] ?? 'nothing');
  };

  test('asks for the rest, even after its end', async () => {
    const { id, claim } = await ordered();
    const whole = ['0.00050000 BTC · 50,000 sat', '0.00050000', '50000'];
    assert.deepEqual(asksFor(await shown(id, claim)), whole);
    await paid(id, 20_000);
    const html = await shown(id, claim);
    assert.match(html, /30,000 sat are missing/);
    assert.deepEqual(asksFor(html), ['0.00030000 BTC · 30,000 sat', '0.00030000', '30000']);
    time.nowMs = Date.parse((await polled(id)).expires_at) + 1_000;
    const { status, address } = await polled(id);
    assert.equal(status, 'expired');
    const ended = await shown(id, claim);
    const month = 30 * 86_400_000;
    const until = new Date(Date.parse((await polled(id)).expires_at) + month).toUTCString();
    assert.ok(ended.includes(`has ended with 30,000 sat missing. They still complete it until ${until}.`));
    assert.doesNotMatch(ended, /without a payment|It can be paid until/);
    assert.deepEqual(asksFor(ended), ['0.00030000 BTC · 30,000 sat', '0.00030000', '30000']);
    assert.ok(ended.replaceAll('<wbr>', '').includes(address));
    await paid(id, 30_000);
    assert.match(await shown(id, claim), /Show my key/);
  });

  test('has ended if nothing was paid in time', async () => {
    const { id, claim } = await ordered();
    time.nowMs = Date.parse((await polled(id)).expires_at) + 1_000;
    const html = await shown(id, claim);
    assert.match(html, /has ended without a payment\. A late payment still counts until \w+, \d/);
    assert.deepEqual(asksFor(html), ['nothing', 'nothing', 'nothing']);
  });

  test('asks for nothing once its address is no longer watched, and says whom to ask', async () => {
    for (const sat of [0, 20_000]) {
      const { id, claim } = await ordered();
      if (sat > 0) await paid(id, sat);
      const { address, expires_at: end } = await polled(id);
      time.nowMs = Date.parse(end) + 30 * 86_400_000;
      const html = await shown(id, claim);
      assert.match(html, /has ended[^<]*Its address is no longer watched: send no money to it\./);
      assert.match(html, /About money that you have sent, ask the operator\./);
      assert.deepEqual(asksFor(html), ['nothing', 'nothing', 'nothing']);
      assert.doesNotMatch(html, /Open in a wallet|still/);
      assert.ok(!html.replaceAll('<wbr>', '').includes(address));
    }
  });

  test('over Lightning has ended with its invoice, and promises nothing of a late payment', async () => {
    const example = lightningRoutes.lightningOrder.example.response.body as LightningOrder;
    const noKey = { api_key: null, key_status: 'none', received_sat: 0 } as const;
    const unpaid = { ...example, ...noKey, status: 'expired', bolt11: 'lnbc1' } as const;
    const lightning = { ...none.lightning, poll: () => Promise.resolve(unpaid) };
    const prices = () => pricesOf({ tiers, rails, rates, clock: time.clock });
    const pages = buyPages({ prices, orders: { ...none, lightning } }, (_, session) => pickups(session));
    const path = { rail: 'lightning', order: unpaid.payment_hash };
    const html = textOf(await pages.buyOrder(request({ input: undefined, path, query: {} })));
    assert.match(
      html,
      /without a payment\. Its invoice has ended and cannot be paid: make a new order\.<\/p>/,
    );
    assert.deepEqual(asksFor(html), ['nothing', 'nothing', 'nothing']);
  });
});

describe('in a browser', { skip: skipBrowser }, () => {
  let browser: Browser;
  let server: Server;
  let origin: string;
  /** How long each answer takes to arrive (ms). */
  let slow: (method: string, path: string) => number = () => 0;

  async function answer(method: string, url: URL): Promise<Answer> {
    const query = Object.fromEntries(url.searchParams);
    const [, first, rail = '', order = ''] = url.pathname.split('/');
    if (first === 'pages') return files(request({ input: undefined, path: { file: rail } }));
    const given = request({ input: undefined, query, path: { rail, order } });
    if (first === 'card') return handlers.cardSuccess(given);
    if (first === 'closed') return closed.buyPage(given);
    if (rail === '') return handlers.buyPage(given);
    return method === 'POST' ? handlers.buyReveal(given) : handlers.buyOrder(given);
  }

  before(async () => {
    browser = await launch();
    server = createServer((incoming, outgoing) => {
      const url = new URL(incoming.url ?? '/', 'http://x');
      void answer(incoming.method ?? '', url).then(({ status, body, headers }) => {
        assert.ok('bytes' in body);
        setTimeout(
          () => outgoing.writeHead(status, { ...headers, 'content-type': body.type }).end(body.bytes),
          slow(incoming.method ?? '', url.pathname),
        );
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    assert.ok(typeof address === 'object' && address !== null);
    origin = `http://127.0.0.1:${address.port}`;
  });
  after(async () => {
    await browser.close();
    server.close();
  });

  async function opened(path: string): Promise<Page> {
    const page = await browser.newPage();
    await page.goto(origin + path);
    return page;
  }

  for (const form of forms) {
    test(`${form.width} px, ${form.colorScheme}: shop, order, key and payment pass axe`, async () => {
      pickups = () => Promise.resolve(undefined);
      const { page } = await openPage(browser, `${origin}/buy`, asOptions(form));
      const look = async (name: string): Promise<void> => {
        await assertAccessible(page, name);
        await picture(page, `buy-${name}-${form.width}-${form.colorScheme}`);
      };
      await look('shop');
      await page.goto(`${origin}/closed`);
      await look('closed');
      const { path, id } = await ordered();
      await page.goto(origin + path);
      await look('order');
      await paid(id);
      await page.goto(origin + path);
      await look('paid');
      await page.getByRole('button', { name: 'Show my key' }).click();
      await page.locator('#key .origin').filter({ hasText: origin }).waitFor();
      await look('key');
      page.on('dialog', (dialog) => void dialog.accept());
      await page.goto(`${origin}/card/success`);
      await look('no-payment');
      await page.goto(`${origin}/card/success?session_id=cs_test_2`);
      await look('payment');
      await page.context().close();
    });
  }

  test('a key that arrived slowly stays on the page of a card payment', async () => {
    let asked = 0;
    const order = {
      ...{ order_id: null, session_id: 'cs_test_1', key_detail: null, key_expires_at: null },
    } as const;
    const pickup = { ...order, status: 'paid', tier: 'growth' } as const;
    pickups = () => {
      asked += 1;
      const told =
        asked === 1
          ? ({ ...pickup, status: 'pending', api_key: null, key_status: 'none' } as const)
          : asked === 2
            ? ({ ...pickup, api_key: 'fg_shown_once', key_status: 'revealed_now' } as const)
            : ({ ...pickup, api_key: null, key_status: 'already_revealed' } as const);
      return Promise.resolve({ pickup: told, revealedAtMs: null });
    };
    const page = await opened('/card/success?session_id=cs_test_1');
    slow = (_, path) => (path === '/card/success' ? 2_500 : 0);
    await page.getByText('fg_shown_once', { exact: true }).waitFor();
    await page.waitForTimeout(5_000);
    assert.equal(await page.getByText('fg_shown_once', { exact: true }).isVisible(), true);
    assert.equal(asked, 2, 'nothing is asked while an answer is on its way, or after the key');
    slow = () => 0;
    await page.close();
  });

  for (const pause of [0, 200, 400]) {
    test(`a second click after ${pause} ms does not lose the key`, async () => {
      const { path, id } = await ordered();
      await paid(id);
      const page = await opened(path);
      slow = (method) => (method === 'POST' ? 800 : 0);
      const box = await page.getByRole('button', { name: 'Show my key' }).boundingBox();
      assert.ok(box !== null);
      const at = [box.x + box.width / 2, box.y + box.height / 2] as const;
      await page.mouse.click(...at);
      if (pause > 0) await page.waitForTimeout(pause);
      await page.mouse.click(...at, { clickCount: 2 });
      await page.locator('#key').waitFor();
      assert.match((await page.locator('#key .value').textContent()) ?? '', /^fg_/);
      slow = () => 0;
      await page.close();
    });
  }
});
