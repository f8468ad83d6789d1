/**
 * The pages that sell keys: `/buy` to choose a tier and a way to pay, and a page for each order with its live
 * status. They work without script. A key is revealed by a button, once, and never by a GET.
 */
import type { PickUpCard } from '../checkout/card/cardRoutes.js';
import type { Buyer, PagedOrders, SentOrders, Shop } from '../checkout/orderRoutes.js';
import { storeProblem } from '../contract/answer.js';
import type { Answer, Handler, RouteRequest } from '../contract/exchange.js';
import type { CreateOrderRequest } from '../contract/orders.js';
import type { CardOrderCreated } from '../contract/card.js';
import { rails as railNames, tiers as tierNames } from '../contract/pricing.js';
import type { PaymentPath, PricingResponse, Rail, Tier, TierPrice } from '../contract/pricing.js';
import type { Problem } from '../contract/problem.js';
import type { Handlers } from '../contract/routes.js';
import { noOperator, type Operator } from '../outreach/operator.js';
import { whenUnavailable } from '../store/store.js';
import { amounts, copyButton, dollarsOf, grouped, tierTitles } from './amounts.js';
import { cardSuccess } from './cardSuccess.js';
import { orderPage } from './orderPage.js';
import { contactHtml, escapeHtml, pageMaker, type PageMaker } from './page.js';

/** Parts of the pages. */
export interface BuyParts extends Shop {
  /** The seller. */
  readonly operator: Operator;
  readonly page: PageMaker;
}

/** A large number in words: `20 billion`. */
function inWords(value: number): string {
  return value.toLocaleString('en-US', { notation: 'compact', compactDisplay: 'long' });
}

/** A tier's limits in words; 0 is no limit. */
function limitsHtml({
  requests_per_minute: requests,
  characters_per_month: characters,
}: TierPrice['limits']): string {
  const each = [
    requests === 0 ? 'requests without a limit' : `${grouped(requests)} requests a minute`,
    characters === 0 ? 'characters without a limit' : `${inWords(characters)} characters in 30 days`,
  ];
  return each.join(',\n');
}

/** A tier with its price and its limits. */
function tierHtml({ tier, btc, sat, fiat, limits }: TierPrice, days: number): string {
  const term = days === 0 ? 'without an end' : `for ${days} days`;
  return `<span><strong>${tierTitles[tier]}</strong> ${term}<br>${amounts(btc, sat, fiat)}<br>
<span class="note">${limitsHtml(limits)}</span></span>`;
}

/** True if a tier can be bought now. */
function isSold({ payment_paths: paths }: TierPrice): boolean {
  return paths.some(({ ready }) => ready);
}

function tierChoice({ tiers, term_days: days }: PricingResponse, chosen: Tier): string {
  return tiers
    .map((each) => {
      const state = !isSold(each) ? ' disabled' : each.tier === chosen ? ' checked' : '';
      const note = isSold(each) ? '' : '<br><span class="note">No way to pay is ready for it now.</span>';
      return `<label class="choice"><input type="radio" name="tier" value="${each.tier}"${state}>
<span>${tierHtml(each, days)}${note}</span></label>`;
    })
    .join('\n');
}

/** A rail's state for a tier. */
function pathOf({ payment_paths: paths }: TierPrice, rail: Rail): PaymentPath {
  return paths.find((path) => path.rail === rail) ?? { rail, ready: false, reason: null };
}

/** Why a rail refuses orders of some tiers, or of all. */
function refusedNote(tiers: readonly TierPrice[], rail: Rail, note: string): string {
  const refused = tiers.filter((each) => !pathOf(each, rail).ready);
  const reason = (each: TierPrice): string => pathOf(each, rail).reason ?? 'It is not ready.';
  const [first] = refused;
  if (first !== undefined && refused.length === tiers.length) return escapeHtml(reason(first));
  const notes = refused.map((each) => `Not for ${tierTitles[each.tier]} now: ${escapeHtml(reason(each))}`);
  return [note, ...notes].join(' ');
}

/**
 * The ways to pay. One that accepts only some tiers can still be chosen, because the tier may change. Its
 * note names those tiers, and a script disables it for the others; without script such an order is refused.
 */
function railChoice(
  { tiers, rails }: PricingResponse,
  orders: Shop['orders'],
  chosen: Rail | undefined,
): string {
  return rails
    .map(({ rail }) => {
      const takes = tiers.filter((each) => pathOf(each, rail).ready).map((each) => each.tier);
      const state = takes.length === 0 ? ' disabled' : rail === chosen ? ' checked' : '';
      const { title, note } = orders[rail];
      return `<label class="choice"><input type="radio" name="rail" value="${rail}" required
data-tiers="${takes.join(' ')}"${state}>
<span><strong>${title}</strong><br>
<span class="note">${refusedNote(tiers, rail, note)}</span></span></label>`;
    })
    .join('\n');
}

/** The seller, for the buyer. */
function sellerHtml({ name, contact, terms }: Operator): string {
  if (name === null) {
    return '<p class="state bad">This server does not name its operator: find out whom you pay.</p>';
  }
  const on =
    terms === null
      ? ''
      : ` You buy on these <a href="${escapeHtml(terms)}" rel="noreferrer">terms of sale</a>.`;
  const reach = contact === null ? '' : ` Questions go to ${contactHtml(contact)}.`;
  return `<p>Sold by ${escapeHtml(name)}.${on}${reach}</p>`;
}

/** The page if nothing can be bought now: prices and reasons, without a form. */
function closedShop(
  prices: PricingResponse,
  wrong: string | undefined,
  { orders, operator, page }: BuyParts,
): Answer {
  const { tiers, rails, term_days: days } = prices;
  const reasons = rails.map(({ rail, reason }) => {
    return `<li><strong>${orders[rail].title}</strong>: ${escapeHtml(reason ?? 'It is not ready.')}</li>`;
  });
  const { contact } = operator;
  const ask = contact === null ? '' : `<p>Ask the operator: ${contactHtml(contact)}.</p>`;
  const alert = wrong === undefined ? '' : `<p class="state bad" role="alert">${escapeHtml(wrong)}</p>\n`;
  const main = `<section class="sheet">
<h1>API keys</h1>
${alert}<p class="state bad" role="status">No way to pay is ready now, so nothing can be bought here.</p>
<ul>${reasons.join('\n')}</ul>
${ask}
<h2>What keys cost</h2>
<ul class="tiers">${tiers.map((each) => `<li>${tierHtml(each, days)}</li>`).join('\n')}</ul>
<p class="note">Without a key the server answers within the limits that
<a href="/v1/limits">/v1/limits</a> lists.</p>
</section>`;
  return page({ title: 'API keys', main, headed: true, styles: ['buy.css'] });
}

function shop(prices: PricingResponse, wished: Tier, wrong: string | undefined, parts: BuyParts): Answer {
  const sold = prices.tiers.filter(isSold);
  const offered = sold.find((each) => each.tier === wished) ?? sold[0];
  if (offered === undefined) return closedShop(prices, wrong, parts);
  const { tier } = offered;
  const first = prices.rails.find(({ rail }) => pathOf(offered, rail).ready)?.rail;
  const main = `<section class="sheet">
<h1>Buy an API key</h1>
<p>Choose what the key may use, and how to pay. You get the key once, on the page of your order, as soon as
the payment is settled. No account, no subscription.</p>
${sellerHtml(parts.operator)}
${wrong === undefined ? '' : `<p class="state bad" role="alert">${escapeHtml(wrong)}</p>`}
<form method="post" action="/buy">
<fieldset><legend>Tier</legend>
${tierChoice(prices, tier)}
</fieldset>
<fieldset><legend>Way to pay</legend>
${railChoice(prices, parts.orders, first)}
</fieldset>
<label class="field">Email <span class="note">(optional; kept with the order, nothing is sent to it)</span>
<input name="email" type="email" maxlength="320" autocomplete="email"></label>
<button>Order</button>
</form>
<p class="note">Prices are in bitcoin; the price by card follows the rate${rateNote(prices)}.</p>
</section>`;
  const title = 'Buy an API key';
  return parts.page({ title, main, headed: true, scripts: ['shop.js'], styles: ['buy.css'] });
}

function rateNote({ tiers, surcharge_bps: bps }: PricingResponse): string {
  const fiat = tiers[0]?.fiat ?? null;
  if (fiat === null) return '';
  const rate = grouped(Math.round(fiat.rate_cents / 100));
  return ` ($${rate} a bitcoin, ${escapeHtml(fiat.rate_source)}) and has ${bps / 100} % on it`;
}

function isRail(text: string | undefined | null): text is Rail {
  return railNames.some((name) => name === text);
}

function isTier(text: string | undefined | null): text is Tier {
  return tierNames.some((name) => name === text);
}

async function shopPage(parts: BuyParts, tier: Tier, wrong?: string): Promise<Answer> {
  return shop(await parts.prices(), tier, wrong, parts);
}

/** A rough form of mail addresses, like the browsers' check: the API accepts any text. */
const mailAddress = /^[^\s@]+@[^\s@]+$/;

/** Shows the tiers and the ways to pay. */
export function buyPage(parts: BuyParts): Handler {
  return (request) => {
    const tier = request.query['tier'];
    return shopPage(parts, isTier(tier) ? tier : 'growth');
  };
}

function elsewhere(location: string): Answer {
  const body = { bytes: '', type: 'text/plain; charset=utf-8' } as const;
  const headers = { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' };
  return { status: 303, body, headers, charge: 0 };
}

/** Makes the order of the form, and leads to its payment. */
export function buy(parts: BuyParts): Handler {
  return async (request) => {
    const form = new URLSearchParams(Buffer.from(request.body).toString());
    const [tier, rail, email] = ['tier', 'rail', 'email'].map((name) => form.get(name));
    if (!isTier(tier)) return shopPage(parts, 'growth', 'Choose a tier. Nothing was ordered.');
    if (!isRail(rail)) {
      return shopPage(parts, tier, 'Choose a way to pay. Nothing was ordered.');
    }
    if (email !== '' && email !== undefined && email !== null && !mailAddress.test(email)) {
      const wrong = 'Check the email address, or leave it out. Nothing was ordered.';
      return shopPage(parts, tier, wrong);
    }
    const input: CreateOrderRequest = { tier, email: email === '' || email === undefined ? null : email };
    // A browser's form has no header fields for the API, so only the client address counts.
    const buyer = { caller: () => request.caller(), header: () => '' };
    const orders = parts.orders[rail];
    const ordering: Promise<Outcome> =
      orders.paid === 'here'
        ? orderHere(rail, orders, input, { request, buyer })
        : orderElsewhere(parts, orders, input, buyer);
    const outcome = await whenUnavailable(ordering, () => refused(storeProblem));
    return outcome.ok ? outcome.answer : shopPage(parts, tier, outcome.detail);
  };
}

/** The answer to an order, or the reason for its refusal. */
type Outcome =
  { readonly ok: true; readonly answer: Answer } | { readonly ok: false; readonly detail: string };

function refused({ detail }: Problem): Outcome {
  return { ok: false, detail };
}

async function orderElsewhere(
  parts: BuyParts,
  orders: SentOrders,
  input: CreateOrderRequest,
  buyer: Buyer,
): Promise<Outcome> {
  const ordered = await orders.order(input, buyer);
  return ordered.ok ? { ok: true, answer: cardOrderPage(ordered.order, parts) } : refused(ordered.problem);
}

/**
 * Orders on a rail that has pages here. The first poll with the right to act binds the order to its claim
 * token, before the buyer or any node on a payment's route learns of it. The order's page itself changes
 * nothing.
 */
async function orderHere(
  rail: Rail,
  orders: PagedOrders,
  input: CreateOrderRequest,
  { request, buyer }: { readonly request: RouteRequest; readonly buyer: Buyer },
): Promise<Outcome> {
  const ordered = await orders.order(input, buyer);
  if (!ordered.ok) return refused(ordered.problem);
  const { order } = ordered;
  const { claim_token: claim } = order;
  const place = orders.placeOf(order);
  const poll = { claim, mayAct: true, aborted: () => request.aborted() };
  const bound = await whenUnavailable(orders.poll(place, poll), () => undefined);
  if (bound === undefined) return { ok: false, detail: unusable };
  return { ok: true, answer: elsewhere(`/buy/${rail}/${place}?claim=${encodeURIComponent(claim)}`) };
}

/** The order exists, but the buyer is not led to it, as it is not bound to their claim token. */
const unusable = `${storeProblem.detail} Order again; nothing was charged.`;

/**
 * A card order, with a link to the processor. A form would need the processor's domain in the content policy,
 * and that domain may be the operator's own.
 */
function cardOrderPage(order: CardOrderCreated, { page }: BuyParts): Answer {
  const { tier, checkout_url: url, claim_token: claim, expires_at: ends } = order;
  const main = `<section class="sheet">
<h1>Your order: ${tierTitles[tier]}</h1>
<p><strong>${dollarsOf(order.amount_cents)}</strong></p>
<p>The payment is made at Stripe. It leads you back here, to the page that shows your key.</p>
<p class="actions"><a class="button primary" href="${escapeHtml(url)}" rel="noreferrer">Pay by card</a></p>
<p class="note">It can be paid until <time datetime="${ends}">${new Date(ends).toUTCString()}</time>.</p>
<h2>Claim token</h2>
<p>Keep it until you have the key: with it and the order’s number, the operator can replace a key that never
reached you.</p>
<p class="note">Order <span class="mono">${order.order_id}</span></p>
<p class="value">${escapeHtml(claim)}</p>
<p class="actions">${copyButton(claim, 'claim token')}</p>
</section>`;
  return page({
    title: `Your order: ${tierTitles[tier]}`,
    main,
    headed: true,
    scripts: ['buy.js'],
    styles: ['buy.css'],
  });
}

/** The pages' handlers. */
export function buyPages(
  shop: Shop,
  pickUpCard: PickUpCard,
  operator: Operator = noOperator,
  page: PageMaker = pageMaker(operator),
): Pick<Handlers, 'buyPage' | 'buy' | 'buyOrder' | 'buyReveal' | 'cardSuccess'> {
  const parts: BuyParts = { ...shop, operator, page };
  return {
    buyPage: buyPage(parts),
    buy: buy(parts),
    buyOrder: buyOrder(parts),
    buyReveal: buyReveal(parts),
    cardSuccess: cardSuccess(pickUpCard, parts.page),
  };
}

/** Shows an order; changes nothing. */
export function buyOrder(parts: BuyParts): Handler {
  return (request) => orderPage(parts, request, false);
}

/** Shows an order with its key, to the first request for it. */
export function buyReveal(parts: BuyParts): Handler {
  return (request) => orderPage(parts, request, !request.aborted());
}
