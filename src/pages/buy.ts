/**
 * The pages that sell keys: `/buy` to choose a tier and a way to pay, and a page for each order with its live
 * status. They work without script. A key is handed out by a button, once, and never by a GET.
 */
import type { PickUpCard } from '../checkout/cardRoutes.js';
import { btcText } from '../checkout/money.js';
import type { Answer, Handler, RouteRequest } from '../contract/exchange.js';
import type { BitcoinOrder, BitcoinOrderCreated } from '../contract/bitcoin.js';
import type { LightningOrder, LightningOrderCreated } from '../contract/lightning.js';
import type { CreateOrderRequest } from '../contract/orders.js';
import type { CardOrderCreated } from '../contract/card.js';
import {
  tiers as tierNames,
  type FiatPrice,
  type PaymentPath,
  type PricingResponse,
  type Rail,
  type Tier,
  type TierPrice,
} from '../contract/pricing.js';
import type { Problem } from '../contract/problem.js';
import type { Handlers } from '../contract/routes.js';
import { cardSuccess } from './cardSuccess.js';
import { answerOf, handOn } from './handedOn.js';
import { keyShown } from './key.js';
import { noOperator, type Operator } from '../outreach/operator.js';
import { breakable, contactHtml, escapeHtml, pageMaker, type PageMaker } from './page.js';

/** Parts of the pages: the checkout's own handlers. */
export interface BuyParts {
  readonly pricing: Handler<undefined>;
  readonly create: Readonly<Record<Rail, Handler<CreateOrderRequest>>>;
  /** Polls of the rails whose orders have a page here. */
  readonly poll: Readonly<Record<PageRail, Handler<undefined>>>;
  /** Who sells. */
  readonly operator: Operator;
  readonly page: PageMaker;
}

/** The rails whose orders are paid on a page of ours. */
export type PageRail = 'btc' | 'lightning';

const railNames: Readonly<Record<Rail, string>> = {
  lightning: 'Lightning',
  btc: 'Bitcoin, on chain',
  card: 'Card',
};

const railNotes: Readonly<Record<Rail, string>> = {
  lightning: 'The key comes as soon as the invoice is settled.',
  btc: 'The key comes with the confirmations.',
  card: 'Paid at Stripe, in US dollars.',
};

const tierTitles: Readonly<Record<Tier, string>> = {
  developer: 'Developer',
  growth: 'Growth',
  enterprise: 'Enterprise',
};

/** A number with its thousands parted. */
function grouped(value: number): string {
  return value.toLocaleString('en-US');
}

/** A large number in words: `20 billion`. */
function inWords(value: number): string {
  return value.toLocaleString('en-US', { notation: 'compact', compactDisplay: 'long' });
}

/** An amount in both its units, and in US dollars where there is a price. */
function amounts(btc: string, sat: number, fiat: FiatPrice | null): string {
  const dollars = fiat === null ? '' : ` · about ${dollarsOf(fiat.amount_cents)} by card`;
  return `${btc} BTC · ${grouped(sat)} sat${dollars}`;
}

function dollarsOf(cents: number): string {
  return (cents / 100).toLocaleString('en-US', { style: 'currency', currency: 'USD' });
}

/** The value of a handler's JSON answer. */
function jsonOf({ body }: Answer): unknown {
  if (!('json' in body)) throw new Error('An answer of the checkout is no JSON');
  return body.json;
}

/** A tier with its price and its limits. */
function tierHtml({ tier, btc, sat, fiat, limits }: TierPrice, days: number): string {
  const term = days === 0 ? 'without an end' : `for ${days} days`;
  return `<span><strong>${tierTitles[tier]}</strong> ${term}<br>${amounts(btc, sat, fiat)}<br>
<span class="note">${grouped(limits.requests_per_minute)} requests a minute,
${inWords(limits.characters_per_month)} characters in 30 days</span></span>`;
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

/** Why a rail takes no order of some tiers, or of any. */
function refusedNote(tiers: readonly TierPrice[], rail: Rail): string {
  const refused = tiers.filter((each) => !pathOf(each, rail).ready);
  const reason = (each: TierPrice): string => pathOf(each, rail).reason ?? 'It is not ready.';
  const [first] = refused;
  if (first !== undefined && refused.length === tiers.length) return escapeHtml(reason(first));
  const notes = refused.map((each) => `Not for ${tierTitles[each.tier]} now: ${escapeHtml(reason(each))}`);
  return [railNotes[rail], ...notes].join(' ');
}

/**
 * The ways to pay. One that takes only some tiers can be chosen, as the tier may still change: it says which,
 * a script switches it off with the others, and the order is refused where there is none.
 */
function railChoice({ tiers, rails }: PricingResponse, chosen: Rail | undefined): string {
  return rails
    .map(({ rail }) => {
      const takes = tiers.filter((each) => pathOf(each, rail).ready).map((each) => each.tier);
      const state = takes.length === 0 ? ' disabled' : rail === chosen ? ' checked' : '';
      return `<label class="choice"><input type="radio" name="rail" value="${rail}" required
data-tiers="${takes.join(' ')}"${state}>
<span><strong>${railNames[rail]}</strong><br>
<span class="note">${refusedNote(tiers, rail)}</span></span></label>`;
    })
    .join('\n');
}

/** Whom a buyer pays. */
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

/** The page where nothing can be bought now: what keys would cost, and why not; nothing to fill in. */
function closedShop(
  prices: PricingResponse,
  wrong: string | undefined,
  { operator, page }: BuyParts,
): Answer {
  const { tiers, rails, term_days: days } = prices;
  const reasons = rails.map(({ rail, reason }) => {
    return `<li><strong>${railNames[rail]}</strong>: ${escapeHtml(reason ?? 'It is not ready.')}</li>`;
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
${railChoice(prices, first)}
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

function isTier(text: string | undefined | null): text is Tier {
  return tierNames.some((name) => name === text);
}

async function shopPage(parts: BuyParts, request: RouteRequest, tier: Tier, wrong?: string): Promise<Answer> {
  const prices = jsonOf(await parts.pricing(handOn(request, { input: undefined }))) as PricingResponse;
  return shop(prices, tier, wrong, parts);
}

/** A mail address as browsers check one, roughly: the API takes any text. */
const mailAddress = /^[^\s@]+@[^\s@]+$/;

/** Shows the tiers and the ways to pay. */
export function buyPage(parts: BuyParts): Handler {
  return (request) => {
    const tier = request.query['tier'];
    return shopPage(parts, request, isTier(tier) ? tier : 'growth');
  };
}

function elsewhere(location: string): Answer {
  const body = { bytes: '', type: 'text/plain; charset=utf-8' } as const;
  const headers = { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' };
  return { status: 303, body, headers, charge: 0 };
}

/** Orders what the form says, and leads to where it is paid. */
export function buy(parts: BuyParts): Handler {
  return async (request) => {
    const form = new URLSearchParams(Buffer.from(request.body).toString());
    const [tier, rail, email] = ['tier', 'rail', 'email'].map((name) => form.get(name));
    if (!isTier(tier)) return shopPage(parts, request, 'growth', 'Choose a tier. Nothing was ordered.');
    if (rail !== 'btc' && rail !== 'lightning' && rail !== 'card') {
      return shopPage(parts, request, tier, 'Choose a way to pay. Nothing was ordered.');
    }
    if (email !== '' && email !== undefined && email !== null && !mailAddress.test(email)) {
      const wrong = 'Check the email address, or leave it out. Nothing was ordered.';
      return shopPage(parts, request, tier, wrong);
    }
    const input: CreateOrderRequest = { tier, email: email === '' || email === undefined ? null : email };
    const answer = await answerOf(parts.create[rail], handOn(request, { input }));
    const made = jsonOf(answer);
    if (answer.status !== 200) return shopPage(parts, request, tier, (made as Problem).detail);
    if (rail === 'card') return cardOrderPage(made as CardOrderCreated, parts);
    const order = made as BitcoinOrderCreated | LightningOrderCreated;
    const place = 'address' in order ? order.order_id : order.payment_hash;
    const bound = await pollOf(parts, request, { rail, place, claim: order.claim_token, mayAct: true });
    if (bound.status !== 200) return shopPage(parts, request, tier, unusable(jsonOf(bound) as Problem));
    return elsewhere(`/buy/${rail}/${place}?claim=${encodeURIComponent(order.claim_token)}`);
  };
}

function unusable({ detail }: Problem): string {
  return `${detail} Order again; nothing was charged.`;
}

interface PagePoll {
  readonly rail: PageRail;
  /** The rail's id of the order. */
  readonly place: string;
  readonly claim: string;
  readonly mayAct: boolean;
}

/**
 * Polls an order of a page. The first poll that may act binds the order to its claim token: `buy` makes one
 * before the buyer, or anyone on the way of a payment, learns of the order; the page itself changes nothing.
 */
async function pollOf(
  { poll }: BuyParts,
  request: RouteRequest,
  { rail, place, claim, mayAct }: PagePoll,
): Promise<Answer> {
  const path = { order_id: place, payment_hash: place };
  return answerOf(poll[rail], handOn(request, { input: undefined, path, query: { claim }, mayAct }));
}

/**
 * A card order, with the way to the processor: a link, as a policy for forms would have to name its domain,
 * which may be the operator's own.
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

type Shown = BitcoinOrder | LightningOrder;

/** The event that an order waits for, in words. */
function stateOf(order: Shown): { readonly words: string; readonly look: string } {
  switch (order.status) {
    case 'pending':
      return { words: 'Waiting for your payment.', look: '' };
    case 'underpaid':
      return {
        words: `${grouped(order.missing_sat)} sat are missing: send them to the same address.`,
        look: 'bad',
      };
    case 'seen': {
      const depth =
        'confirmations' in order ? `${order.confirmations} of ${order.confirmations_required}` : '';
      return { words: `Your payment is known. Confirmations: ${depth}.`, look: 'good' };
    }
    case 'confirmed':
    case 'settled':
      return { words: 'Your payment is settled.', look: 'good' };
    case 'expired': {
      const words =
        order.received_sat > 0
          ? `This order has ended with ${grouped(order.missing_sat)} sat missing: they still complete it.`
          : 'This order has ended without a payment. Money that comes late still counts; or order anew.';
      return { words, look: 'bad' };
    }
  }
}

function copyButton(text: string, what: string): string {
  return `<button type="button" class="copy" data-copy="${escapeHtml(text)}" hidden>Copy ${what}</button>`;
}

/** Whether an order still asks for money: one that a part came for is completed after its end, too. */
function isPayable({ status, received_sat: received }: Shown): boolean {
  return status === 'pending' || status === 'underpaid' || (status === 'expired' && received > 0);
}

/** Payment of the missing part. */
function payment(order: Shown): string {
  const isChain = 'address' in order;
  const [target, uri, what] = isChain
    ? [order.address, order.bip21 ?? '', 'address']
    : [order.bolt11 ?? '', `lightning:${order.bolt11 ?? ''}`, 'invoice'];
  const btc = btcText(BigInt(order.missing_sat));
  const ends = new Date(order.expires_at);
  const until =
    order.status === 'expired'
      ? ''
      : `<p class="note">It can be paid until <time datetime="${order.expires_at}"
>${ends.toUTCString()}</time><span class="left" data-until="${order.expires_at}"></span>.</p>`;
  // The query makes a browser that has drawn the code of another amount ask for this one.
  return `<p><img class="code" src="${order.qr_url}?sat=${order.missing_sat}" alt="QR code of the ${what}"
width="264" height="264"></p>
<p><strong>${amounts(btc, order.missing_sat, null)}</strong></p>
<p class="actions"><a class="button primary" href="${escapeHtml(uri)}">Open in a wallet</a></p>
<p class="value">${breakable(target)}</p>
<p class="actions">${copyButton(target, what)} ${copyButton(btc, 'amount')}</p>
${until}`;
}

const refused = `<p class="state bad" role="alert">The key was not handed out: the claim token in this page’s
address does not belong to this order.</p>
<p>Open the address that you were led to when you ordered. If it is this one, the operator has ended the
key.</p>`;

/** `action`: where the button leads; undefined after it was pressed. */
function orderMain(order: Shown, action: string | undefined): string {
  const { words, look } = stateOf(order);
  const state = `<p class="state ${look}" role="status" id="state">${escapeHtml(words)}</p>`;
  const paid = order.status === 'confirmed' || order.status === 'settled';
  const button = `<form method="post" action="${escapeHtml(action ?? '')}"><button>Show my key</button></form>
<p class="note">It is shown once: have a place ready to keep it.</p>`;
  const key = {
    none: action === undefined ? refused : button,
    claim_required: action === undefined ? refused : button,
    revealed_now: keyShown(order.api_key ?? '', order.tier, order.key_expires_at),
    already_revealed: `<p>The key was handed out. If you lost it, ask the operator, and give the order’s
number and the claim token in this page’s address.</p>`,
    suspended: '<p>The key is suspended until the payment is confirmed again.</p>',
    revoked: '<p>The key has ended.</p>',
  }[order.key_status];
  return `<section class="sheet" id="order" data-paid="${paid}">
<h1>Your order: ${tierTitles[order.tier]}</h1>
${state}
${isPayable(order) ? payment(order) : ''}
${paid ? key : ''}
<p class="note">Order <span class="mono">${order.order_id}</span>. Keep this page’s address until you have
the key: it proves that the order is yours.</p>
</section>`;
}

/** No order's claim token: a poll with it looks at what was paid, hands out no key and binds nothing. */
const noClaim = 'none';

/** `asks`: for the key. */
async function orderPage(parts: BuyParts, request: RouteRequest, asks: boolean): Promise<Answer> {
  const rail = request.path['rail'] ?? '';
  const place = request.path['order'] ?? '';
  const claim = request.query['claim'] ?? '';
  const missing = `<section class="sheet"><h1>There is no such order</h1>
<p>Check the address of this page. Nothing was charged.</p>
<p><a href="/buy">Buy an API key</a></p></section>`;
  const { page } = parts;
  const none = { ...page({ title: 'There is no such order', main: missing, headed: true }), status: 404 };
  if (rail !== 'btc' && rail !== 'lightning') return none;
  const { mayAct } = request;
  const answer = await pollOf(parts, request, { rail, place, claim: asks ? claim : noClaim, mayAct });
  if (answer.status === 404) return none;
  if (answer.status !== 200) {
    const { detail } = jsonOf(answer) as Problem;
    const main = `<section class="sheet" id="order"><h1>Your order</h1>
<p class="state bad" role="status">${escapeHtml(detail)} Nothing is lost: this page tries again.</p>
</section>`;
    return page({
      title: 'Your order',
      main,
      headed: true,
      scripts: ['buy.js'],
      styles: ['buy.css'],
      refreshSeconds: 5,
    });
  }
  const order = jsonOf(answer) as Shown;
  const title = `Your order: ${stateOf(order).words}`;
  const paid = order.status === 'confirmed' || order.status === 'settled';
  if (asks && paid && (order.key_status === 'none' || order.key_status === 'claim_required')) {
    // It stays as it is: what asks again shows the button in place of the reason.
    return page({ title, main: orderMain(order, undefined), headed: true, styles: ['buy.css'] });
  }
  const action = `/buy/${rail}/${encodeURIComponent(place)}?claim=${encodeURIComponent(claim)}`;
  return page({
    title,
    main: orderMain(order, action),
    headed: true,
    scripts: ['buy.js'],
    styles: ['buy.css'],
    ...(order.api_key === null ? { refreshSeconds: 5 } : {}),
  });
}

/** The pages' handlers, made of the checkout's. */
export function buyPages(
  checkout: Pick<
    Handlers,
    | 'pricing'
    | 'createBitcoinOrder'
    | 'createLightningOrder'
    | 'createCardOrder'
    | 'bitcoinOrder'
    | 'lightningOrder'
  >,
  pickUpCard: PickUpCard,
  operator: Operator = noOperator,
  page: PageMaker = pageMaker(operator),
): Pick<Handlers, 'buyPage' | 'buy' | 'buyOrder' | 'buyReveal' | 'cardSuccess'> {
  const parts: BuyParts = {
    pricing: checkout.pricing,
    create: {
      btc: checkout.createBitcoinOrder,
      lightning: checkout.createLightningOrder,
      card: checkout.createCardOrder,
    },
    poll: { btc: checkout.bitcoinOrder, lightning: checkout.lightningOrder },
    operator,
    page,
  };
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

/** Shows an order with its key, to the first who asks for it. */
export function buyReveal(parts: BuyParts): Handler {
  return (request) => orderPage(parts, request, !request.aborted());
}
