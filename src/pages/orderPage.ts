/** The page of an order: its live status, how to pay it, and the button that reveals its key, once. */
import { btcText } from '../checkout/money.js';
import type { HowToPay, OrderView, Shop } from '../checkout/orderRoutes.js';
import { storeProblem } from '../contract/answer.js';
import type { Answer, RouteRequest } from '../contract/exchange.js';
import type { Rail } from '../contract/pricing.js';
import { whenUnavailable } from '../store/store.js';
import { amounts, copyButton, grouped, tierTitles } from './amounts.js';
import { keyShown } from './key.js';
import { breakable, escapeHtml, type PageMaker } from './page.js';

/** The event that the order awaits, in words; `late`: those of its rail about a late payment. */
function stateOf(order: OrderView, late: string): { readonly words: string; readonly look: string } {
  switch (order.status) {
    case 'pending':
      return { words: 'Waiting for your payment.', look: '' };
    case 'underpaid':
      return {
        words: `${grouped(order.missing_sat)} sat are missing: send them to the same address.`,
        look: 'bad',
      };
    case 'seen': {
      const { confirmations: known, confirmations_required: required } = order;
      const depth = known === undefined ? '' : `${known} of ${required}`;
      return { words: `Your payment is known. Confirmations: ${depth}.`, look: 'good' };
    }
    case 'confirmed':
    case 'settled':
      return { words: 'Your payment is settled.', look: 'good' };
    case 'expired': {
      const how =
        order.received_sat > 0 ? `with ${grouped(order.missing_sat)} sat missing` : 'without a payment';
      return { words: `This order has ended ${how}. ${late}`, look: 'bad' };
    }
  }
}

/** True if an order still awaits money: a partly paid one may be completed even after its expiry. */
function isPayable({ status, received_sat: received }: OrderView): boolean {
  return status === 'pending' || status === 'underpaid' || (status === 'expired' && received > 0);
}

/** Instructions to pay the missing part. */
function payment(order: OrderView, { target, uri, noun }: HowToPay): string {
  const btc = btcText(BigInt(order.missing_sat));
  const ends = new Date(order.expires_at);
  const until =
    order.status === 'expired'
      ? ''
      : `<p class="note">It can be paid until <time datetime="${order.expires_at}"
>${ends.toUTCString()}</time><span class="left" data-until="${order.expires_at}"></span>.</p>`;
  // With the amount in the query, a browser does not show a cached code of another amount.
  return `<p><img class="code" src="${order.qr_url}?sat=${order.missing_sat}" alt="QR code of the ${noun}"
width="264" height="264"></p>
<p><strong>${amounts(btc, order.missing_sat, null)}</strong></p>
<p class="actions"><a class="button primary" href="${escapeHtml(uri)}">Open in a wallet</a></p>
<p class="value">${breakable(target)}</p>
<p class="actions">${copyButton(target, noun)} ${copyButton(btc, 'amount')}</p>
${until}`;
}

const refused = `<p class="state bad" role="alert">The key was not handed out: the claim token in this page’s
address does not belong to this order.</p>
<p>Open the address that you were led to when you ordered. If it is this one, the operator has ended the
key.</p>`;

/** An order, and the texts of its rail about it. */
interface Told {
  readonly order: OrderView;
  /** Undefined: the order asks for no money. */
  readonly pay: HowToPay | undefined;
  readonly state: ReturnType<typeof stateOf>;
}

/** `action`: the button's target; undefined after it was pressed. */
function orderMain({ order, pay, state: { words, look } }: Told, action: string | undefined): string {
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
${pay !== undefined && isPayable(order) ? payment(order, pay) : ''}
${paid ? key : ''}
<p class="note">Order <span class="mono">${order.order_id}</span>. Keep this page’s address until you have
the key: it proves that the order is yours.</p>
</section>`;
}

/**
 * A value that is no order's claim token: a poll with it looks up the payment, but reveals and binds nothing.
 */
const noClaim = 'none';

/** Dependencies of an order's page. */
interface PageParts {
  readonly orders: Shop['orders'];
  readonly page: PageMaker;
}

const missing = `<section class="sheet"><h1>There is no such order</h1>
<p>Check the address of this page. Nothing was charged.</p>
<p><a href="/buy">Buy an API key</a></p></section>`;

function laterPage({ page }: PageParts): Answer {
  const detail = escapeHtml(storeProblem.detail);
  const main = `<section class="sheet" id="order"><h1>Your order</h1>
<p class="state bad" role="status">${detail} Nothing is lost: this page tries again.</p>
</section>`;
  return page({ ...live, title: 'Your order', main, refreshSeconds: 5 });
}

/** Members of pages that a script keeps up to date. */
const live = { headed: true, scripts: ['buy.js'], styles: ['buy.css'] } as const;

/** Shows an order. `asks`: true if its key is requested. */
export async function orderPage(parts: PageParts, request: RouteRequest, asks: boolean): Promise<Answer> {
  const { page, orders } = parts;
  const rail = request.path['rail'] ?? '';
  const place = request.path['order'] ?? '';
  const claim = request.query['claim'] ?? '';
  const none = { ...page({ title: 'There is no such order', main: missing, headed: true }), status: 404 };
  const paged = Object.hasOwn(orders, rail) ? orders[rail as Rail] : undefined;
  if (paged?.paid !== 'here') return none;
  const { mayAct } = request;
  const poll = { claim: asks ? claim : noClaim, mayAct, aborted: () => request.aborted() };
  const order = await whenUnavailable(paged.poll(place, poll), () => 'unavailable' as const);
  if (order === undefined) return none;
  if (order === 'unavailable') return laterPage(parts);
  const told = { order, pay: paged.howToPay(order), state: stateOf(order, paged.latePayment(order)) };
  const title = `Your order: ${told.state.words}`;
  const paid = order.status === 'confirmed' || order.status === 'settled';
  if (asks && paid && (order.key_status === 'none' || order.key_status === 'claim_required')) {
    // Not refreshed: a new page would show the button instead of the reason.
    return page({ title, main: orderMain(told, undefined), headed: true, styles: ['buy.css'] });
  }
  const action = `/buy/${rail}/${encodeURIComponent(place)}?claim=${encodeURIComponent(claim)}`;
  const again = order.api_key === null ? { refreshSeconds: 5 } : {};
  return page({ ...live, title, main: orderMain(told, action), ...again });
}
