/** The texts in which the product speaks of itself, as they are: read, answered and rendered. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { readTiers } from '../../src/access/tiers.js';
import { bitcoinOrders } from '../../src/checkout/onchain/bitcoinRoutes.js';
import { cardOrders } from '../../src/checkout/card/cardRoutes.js';
import { lightningOrders } from '../../src/checkout/lightning/lightningRoutes.js';
import type { RailOrders } from '../../src/checkout/orderRoutes.js';
import { pricesOf, pricing, quote, type PricingParts } from '../../src/checkout/pricing.js';
import { notConfigured, type RailChecks } from '../../src/checkout/rail.js';
import type { FreeAuditRequest } from '../../src/contract/audit.js';
import type { CardOrderCreated, CardPickupResponse } from '../../src/contract/card.js';
import { cardRoutes } from '../../src/contract/card.js';
import type { Answer, Handler } from '../../src/contract/exchange.js';
import { bitcoinRoutes } from '../../src/contract/bitcoin.js';
import { lightningRoutes } from '../../src/contract/lightning.js';
import type { KeyStatus, Order } from '../../src/contract/orders.js';
import { usageRoutes, type UsageResponse } from '../../src/contract/usage.js';
import { usageNeedsKey } from '../../src/access/refusals.js';
import { privacy } from '../../src/info/privacy.js';
import { native } from '../../src/native/addon.js';
import { noOperator, type Operator } from '../../src/outreach/operator.js';
import { audit } from '../../src/pages/audit.js';
import { buyPages } from '../../src/pages/buy.js';
import { homeForAll } from '../../src/pages/home.js';
import { unnamedPage } from '../../src/pages/page.js';
import { unsubscribeForAll, unsubscribePage } from '../../src/pages/unsubscribe.js';
import { usagePages } from '../../src/pages/usage.js';
import { storedData } from '../../src/store/retention.js';
import { auditOffLoop } from '../../src/text/auditOffLoop.js';
import { request } from '../support/serving.js';
import { sentencesOfJson, sentencesOfMarkdown, sentencesOfPage } from './sentences.js';

const read = readTiers(null, { anonymousRequestsPerMinute: 0, anonymousCharactersPerMonth: 0 });
if ('errors' in read) assert.fail(read.errors.join(' '));
const { tiers } = read;
const clock = { wallMs: () => Date.UTC(2026, 10, 22) };
const rate = { cents: 6_000_000n, source: 'fixed', atMs: clock.wallMs() };
const unset: RailChecks = {
  btc: () => notConfigured('On-chain payments'),
  lightning: () => notConfigured('Lightning payments'),
  card: () => notConfigured('Card payments'),
};
const set: RailChecks = {
  btc: () => ({ ready: true }),
  lightning: (tier) => (tier === 'enterprise' ? { ready: false, reason: 'Its reason.' } : { ready: true }),
  card: () => ({ ready: true }),
};
const pricingParts = (rails: RailChecks): PricingParts => {
  return { tiers, rails, clock, rates: { current: () => Promise.resolve(rate) } };
};
const prices = (rails: RailChecks): Handler => pricing(pricingParts(rails));

const nobody = (): never => assert.fail('the handler of a route that is not rendered was asked');
const ask = request({ input: undefined });

function jsonOf({ body }: Answer): unknown {
  assert.ok('json' in body);
  return body.json;
}

function pageOf({ body }: Answer): string[] {
  assert.ok('bytes' in body);
  return sentencesOfPage(body.bytes.toString());
}

async function priced(): Promise<string[]> {
  const rates = { current: () => Promise.resolve({ reason: 'Its reason.' }) };
  const quoted = quote({ tiers, rails: unset, clock, rates });
  const input = { tier: 'growth', currency: 'fiat' } as const;
  const answers = [await prices(unset)(ask), await prices(set)(ask), await quoted(request({ input }))];
  return answers.flatMap((answer) => sentencesOfJson(jsonOf(answer)));
}

const retained = { clicksRetentionDays: 90, leadsRetentionDays: 0, embedCacheStore: true };

async function audited(): Promise<string[]> {
  const parts = { ...native, clock, auditOffLoop: auditOffLoop(native, 1) };
  const handler = audit(parts);
  const numbers = { corpus_records_total: 1_000, monthly_queries: 1_000, months_running: 12 };
  const worth = { aov_usd: 50, ticket_cost_usd: 5 };
  const damaged = Array.from({ length: 40 }, (_, at) => (at % 2 === 0 ? `ﬁne print ${at}` : `clean ${at}`));
  const bodies: readonly FreeAuditRequest[] = [
    { records: damaged },
    { records: damaged.slice(1, 2) },
    { records: [] },
    { records: ['😀 smile', 'ﬁne'], ...numbers, ...worth },
    { records: damaged, stack: 'elasticsearch', ...numbers, ...worth },
    { records: damaged, stack: 'qdrant', surface: 'queries', use_case: 'rag', ...numbers, ...worth },
    { records: damaged, surface: 'queries', monthly_queries: 10 },
    { records: damaged, stack: 'meilisearch', use_case: 'ecommerce', aov_usd: 3 },
  ];
  const sentences: string[] = [];
  for (const body of bodies) {
    const bytes = Buffer.from(JSON.stringify({ include_html: false, ...body }));
    const answer = await handler({ ...ask, body: bytes, retain: () => bytes });
    const { headline, roi } = jsonOf(answer) as { headline: { sentence: string }; roi: unknown };
    const { assumptions } = jsonOf(answer) as { assumptions: readonly string[] };
    sentences.push(...sentencesOfJson(headline.sentence), ...sentencesOfJson(roi));
    sentences.push(...sentencesOfJson(assumptions));
  }
  return sentences;
}

const operator: Operator = {
  ...noOperator,
  ...{ name: 'Example', contact: 'search@example.com', terms: 'https://example.com/terms' },
};

type Statuses = readonly Order['status'][];
const keyStatuses: readonly KeyStatus[] = [
  ...(['none', 'claim_required', 'revealed_now', 'already_revealed', 'suspended', 'revoked'] as const),
];

/** The page of each order in each state, with and without the button pressed. */
async function orderPages(): Promise<string[]> {
  const rails = [
    ['btc', bitcoinRoutes.bitcoinOrder, ['pending', 'underpaid', 'seen', 'confirmed', 'expired']],
    ['lightning', lightningRoutes.lightningOrder, ['pending', 'settled', 'expired']],
  ] as const satisfies readonly (readonly [string, object, Statuses])[];
  const sentences: string[] = [];
  for (const [rail, route, statuses] of rails) {
    const example = { ...(route.example.response.body as object), missing_sat: 5 };
    for (const status of statuses) {
      for (const key_status of keyStatuses) {
        for (const received_sat of [0, 7]) {
          const json = { ...example, status, key_status, received_sat };
          const given = request({ input: undefined, path: { rail, order: 'x' } });
          for (const view of [json, { ...json, bip21: null }]) {
            const pages = pagesWith(set, () => Promise.resolve(view as never));
            sentences.push(...pageOf(await pages.buyOrder(given)), ...pageOf(await pages.buyReveal(given)));
          }
        }
      }
    }
  }
  sentences.push(...pageOf(await pagesWith(set, () => Promise.resolve(undefined)).buyOrder(ask)));
  return sentences;
}

/** The answer of a pick-up to the page of a card payment; undefined: the store does not answer. */
let pickup: CardPickupResponse | undefined;

type Poll = RailOrders<never, never>['poll'];

function pagesWith(checks: RailChecks, poll: Poll, of = operator): ReturnType<typeof buyPages> {
  const card = {
    order: () => {
      const order = cardRoutes.createCardOrder.example.response.body as CardOrderCreated;
      return Promise.resolve({ ok: true, order } as const);
    },
  };
  const here: RailOrders<never, never> = { order: nobody, poll };
  // Nothing of them but their words is asked for.
  const parts = { tiers } as never;
  const orders = {
    btc: { ...bitcoinOrders(parts), ...here },
    lightning: { ...lightningOrders(parts), ...here },
    card: { ...cardOrders(parts), ...card },
  };
  return buyPages(
    { prices: () => pricesOf(pricingParts(checks)), orders },
    () => Promise.resolve(pickup === undefined ? undefined : { pickup, revealedAtMs: 0 }),
    of,
  );
}

async function shopPages(): Promise<string[]> {
  const body = Buffer.from('tier=growth&rail=card');
  const shop = pagesWith(set, nobody);
  const form = (text: string) => shop.buy(request({ input: undefined, body: Buffer.from(text) }));
  const answers = [
    await shop.buyPage(ask),
    await pagesWith(unset, nobody).buyPage(ask),
    await pagesWith(set, nobody, noOperator).buyPage(ask),
    await shop.buy(request({ input: undefined, body })),
    await form('rail=btc'),
    await form('tier=growth'),
    await form('tier=growth&rail=btc&email=none'),
  ];
  return answers.flatMap(pageOf);
}

async function cardPages(): Promise<string[]> {
  const { cardSuccess } = pagesWith(set, nobody);
  const query = { session_id: 'cs_test_1' };
  const sentences = pageOf(await cardSuccess(ask));
  const example = cardRoutes.cardOrder.example.response.body as CardPickupResponse;
  const states = (['pending', 'paid', 'expired', 'refunded'] as const).flatMap((status) =>
    keyStatuses.flatMap((key_status) =>
      ([null, 'growth'] as const).map((tier) => {
        const api_key = key_status === 'revealed_now' ? 'fg_key' : null;
        return { ...example, status, key_status, tier, api_key };
      }),
    ),
  );
  for (const state of [undefined, ...states]) {
    pickup = state;
    sentences.push(...pageOf(await cardSuccess(request({ input: undefined, query }))));
  }
  return sentences;
}

async function otherPages(): Promise<string[]> {
  const states = [
    { kind: 'bad_link' },
    { kind: 'unsubscribed', email: 'ada@example.com' },
    { kind: 'subscribed', email: 'ada@example.com' },
  ] as const;
  const sentences: string[] = [];
  for (const state of states) {
    const page = unsubscribePage(() => Promise.resolve(state as never));
    sentences.push(...pageOf(await page(ask)));
  }
  const unstored = unsubscribeForAll(
    () => Promise.resolve({ kind: 'subscribed', email: 'ada@example.com' }),
    () => assert.fail('a page was asked for'),
  );
  const asked = { ...ask, header: () => 'text/html' };
  sentences.push(...pageOf(await unstored(asked)));
  const models = [{ id: 'static-256', immediate: true }];
  const banner = (): Answer => ({ status: 200, body: { json: {} }, charge: 0 });
  const browser = request({ input: undefined, header: () => 'text/html' });
  const home = await homeForAll(models, banner)(browser);
  const elsewhere = await homeForAll([], banner, unnamedPage, ['checkout'])(browser);
  return [...sentences, ...pageOf(home), ...pageOf(elsewhere)];
}

/** The page of a key's usage: without a key, with limits and an end, and without them. */
async function usageTexts(): Promise<string[]> {
  const limited = usageRoutes.usage.example.response.body as UsageResponse;
  const free = {
    ...limited,
    expires_at: null,
    requests: { ...limited.requests, remaining: null },
    characters: { ...limited.characters, remaining: null },
  };
  const asked = { ...ask, body: Buffer.from('key=fg_x') };
  const sentences: string[] = [];
  const refused = usagePages(() => Promise.resolve({ ok: false, refusal: usageNeedsKey }), unnamedPage);
  sentences.push(...pageOf(await refused.usageShown(ask)));
  for (const usage of [limited, free]) {
    const pages = usagePages(() => Promise.resolve({ ok: true, usage }), unnamedPage);
    sentences.push(...pageOf(await pages.usagePage(ask)), ...pageOf(await pages.usageShown(asked)));
  }
  return sentences;
}

/** Files that say why a way to pay cannot be used now, or why a payment counts for nothing. */
const reasonFiles = [
  ...['onchain/bitcoin', 'onchain/nodeTrust', 'lightning/lightning'],
  ...['card/card', 'card/judge', 'card/stripe', 'rail', 'rates'],
];

/** The sentences in their code; figures and names are left out. */
function reasonsToPay(): string[] {
  const code = reasonFiles.map((name) => readFileSync(`src/checkout/${name}.ts`, 'utf8')).join('\n');
  const sentences = Array.from(
    code.matchAll(/(['`])((?:(?!\1)[^\n\\])*[A-Za-z)%}]\.(?: [A-Z][^'`\n]*\.)?)\1/g),
    ([, , sentence = '']) => sentence,
  );
  return sentences
    .map((each) => each.replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, '#').replaceAll(/\d+/g, '#'))
    .filter((each) => /^[A-Z#]/.test(each));
}

/** Sentences by where they stand, each once, in their order. */
export async function texts(): Promise<ReadonlyMap<string, readonly string[]>> {
  const all: readonly (readonly [string, readonly string[]])[] = [
    ['README.md', sentencesOfMarkdown(readFileSync('README.md', 'utf8'))],
    ['/v1/pricing and /v1/quote', await priced()],
    ['reasons of the ways to pay', reasonsToPay()],
    ['/privacy', sentencesOfJson(jsonOf(await privacy(storedData(retained))(ask)))],
    ['/v1/audit', await audited()],
    ['/buy', await shopPages()],
    ['/buy/{rail}/{order}', await orderPages()],
    ['/card/success', await cardPages()],
    ['/ and /unsubscribe', await otherPages()],
    ['/usage', await usageTexts()],
  ];
  return new Map(all.map(([place, sentences]) => [place, [...new Set(sentences)]]));
}
