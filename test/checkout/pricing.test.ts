/** Prices as they are listed: always in bitcoin, in dollars if there is a rate, and by which ways to pay. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pricing, quote, type PricingParts } from '../../src/checkout/pricing.js';
import { notConfigured } from '../../src/checkout/rail.js';
import type { Rate } from '../../src/checkout/rates.js';
import type { Answer } from '../../src/contract/exchange.js';
import type { PricingResponse, QuoteResponse, Tier } from '../../src/contract/pricing.js';
import { call, checksOf, jsonOf, tiers } from '../support/shop.js';

const nowMs = 1_790_000_000_000;
const rate: Rate = { cents: 6_718_733n, source: 'a, b', atMs: nowMs - 1_000 };

/** Rails of which one is ready for one tier alone, and what they were asked. */
function parts(current: Rate = rate): PricingParts & { readonly asked: (Tier | undefined)[] } {
  const asked: (Tier | undefined)[] = [];
  const rails = checksOf({
    btc: () => Promise.resolve({ ready: true }),
    lightning(tier) {
      asked.push(tier);
      return tier === 'enterprise' ? { ready: false, reason: 'Too much for it.' } : { ready: true };
    },
    card: () => notConfigured('Card payments'),
  });
  const clock = { wallMs: () => nowMs };
  return { tiers, rails, clock, rates: { current: () => Promise.resolve(current) }, asked };
}

/** What an answer's JSON is for its reader: a value that is only promised is nothing there. */
const written = (answer: Answer): unknown => JSON.parse(JSON.stringify(jsonOf(answer)));

const list = async (from: PricingParts): Promise<PricingResponse> =>
  written(await call(pricing(from), { input: undefined })) as PricingResponse;

const quoted = async (
  from: PricingParts,
  tier: Tier,
  currency: 'btc' | 'fiat' = 'fiat',
): Promise<QuoteResponse> => jsonOf(await call(quote(from), { input: { tier, currency } })) as QuoteResponse;

/** A price in dollars by the rate above: 10 % more, rounded up. */
function dollars(amount_cents: number): object {
  const at = new Date(nowMs - 1_000).toISOString();
  const how = { surcharge_bps: 1_000, rate_cents: 6_718_733, rate_source: 'a, b', rate_at: at };
  return { currency: 'usd', amount_cents, ...how };
}

const card = { rail: 'card', ready: false, reason: 'Card payments are not configured on this server.' };
const ready = (rail: string): object => ({ rail, ready: true, reason: null });

test('the price list has every tier with its price and limits, and every rail', async () => {
  const from = parts();
  const { tiers: listed, ...rest } = await list(from);
  assert.deepEqual(rest, {
    ...{ base_currency: 'BTC', surcharge_bps: 1_000, term_days: 30, fiat_reason: null },
    rails: [ready('btc'), ready('lightning'), card],
  });
  assert.deepEqual(from.asked, [undefined, 'developer', 'growth', 'enterprise']);
  // 50,000 sat are 33.593665 $, with 10 % more 36.9530315 $.
  const prices = [
    ['developer', '0.00050000', 50_000, 3_696],
    ['growth', '0.00250000', 250_000, 18_477],
    ['enterprise', '0.02000000', 2_000_000, 147_813],
  ] as const;
  assert.deepEqual(
    listed,
    prices.map(([tier, btc, sat, cents]) => {
      const { requests_per_minute, characters_per_month } = tiers[tier];
      const limits = { requests_per_minute, characters_per_month };
      const tooMuch = { rail: 'lightning', ready: false, reason: 'Too much for it.' };
      const payment_paths = [ready('btc'), tier === 'enterprise' ? tooMuch : ready('lightning'), card];
      return { tier, btc, sat, fiat: dollars(cents), limits, payment_paths };
    }),
  );
});

test('a quote is for one tier, asks the rails about it, and is valid ten minutes from its rate', async () => {
  const from = parts();
  assert.deepEqual(await quoted(from, 'growth'), {
    ...{ tier: 'growth', currency: 'fiat', btc: '0.00250000', sat: 250_000, fiat: dollars(18_477) },
    ...{ fiat_reason: null, term_days: 30, payment_paths: [ready('btc'), ready('lightning'), card] },
    valid_until: new Date(nowMs - 1_000 + 600_000).toISOString(),
  });
  const enterprise = await quoted(from, 'enterprise', 'btc');
  assert.equal(enterprise.currency, 'btc');
  assert.deepEqual(enterprise.payment_paths, [
    ready('btc'),
    { rail: 'lightning', ready: false, reason: 'Too much for it.' },
    card,
  ]);
  assert.deepEqual(from.asked, ['growth', 'enterprise']);
});

test('without a rate there is no price in dollars, and the reason is given', async () => {
  const from = parts({ reason: 'The sources differ.' });
  const { fiat, fiat_reason, valid_until, sat } = await quoted(from, 'developer');
  assert.deepEqual(
    [fiat, fiat_reason, valid_until, sat],
    [null, 'The sources differ.', new Date(nowMs + 600_000).toISOString(), 50_000],
  );
  const { tiers: listed, fiat_reason: why } = await list(from);
  assert.equal(why, 'The sources differ.');
  assert.deepEqual(
    listed.map(({ fiat: price, btc }) => [price, btc]),
    [
      [null, '0.00050000'],
      [null, '0.00250000'],
      [null, '0.02000000'],
    ],
  );
});

test('a fixed rate dates from the beginning of its use, and its quote is valid for ten minutes', async () => {
  const { fiat, valid_until } = await quoted(parts({ ...rate, stays: true }), 'growth');
  assert.equal(fiat?.rate_at, new Date(nowMs - 1_000).toISOString());
  assert.equal(valid_until, new Date(nowMs + 600_000).toISOString());
});
