/**
 * `GET /card/success` (contract, card success page): the page to which a buyer returns from the processor.
 * Always 200; the first poll after the payment settled reveals the key, once.
 */
import type { PickUpCard } from '../checkout/card/cardRoutes.js';
import type { CardPickup } from '../checkout/card/cardView.js';
import { cardSuccessDefaults } from '../contract/card.js';
import type { Answer, Handler, RouteRequest } from '../contract/exchange.js';
import { keyShown } from './key.js';
import { breakable, escapeHtml, unnamedPage, type PageMaker } from './page.js';

/** Interval of the page's polls (s). */
const againS = 5;

function sheet(main: string): string {
  return `<section class="sheet" id="order">
${main}
</section>`;
}

const waiting = `<h1>Thank you</h1>
<p class="state" role="status" id="state">Waiting for the processor to confirm your payment.</p>
<p>This page asks again by itself, for 10 minutes. You may come back to it later: nothing is lost.</p>`;

const unnamed = `<h1>This address names no payment</h1>
<p class="state bad" role="status" id="state">Nothing was charged, and there is no key to show.</p>
<p>If you have paid by card, open the address that the processor led you to. Otherwise go to
<a href="/buy">the page that sells keys</a>.</p>`;

const unknown = `<h1>This payment is not known here yet</h1>
<p class="state" role="status" id="state">Waiting for the processor to report this payment to the server.</p>
<p>If you have just paid, leave this page open: it asks again by itself, for 10 minutes. If you have not,
nothing was charged: go to <a href="/buy">the page that sells keys</a>.</p>`;

const unreadable = `<h1>Your payment</h1>
<p class="state bad" role="status" id="state">The store does not answer right now.</p>
<p>Nothing is lost. This page asks again by itself, for 10 minutes.</p>`;

const ended = `<h1>This payment did not go through</h1>
<p class="state bad" role="status" id="state">The session has ended without a payment. No key was made.</p>
<p><a href="/buy">Order again</a></p>`;

const refunded = `<h1>This payment was returned</h1>
<p class="state bad" role="status" id="state">The money was refunded, or taken back. The key has ended.</p>`;

const endedKey = `<h1>Your key has ended</h1>
<p class="state bad" role="status" id="state">The operator has ended it. Ask the operator why, and
whether the payment is returned.</p>`;

const suspended = `<h1>Your key is suspended</h1>
<p class="state bad" role="status" id="state">The payment is disputed. The key works again when that is
settled.</p>`;

function handedOut(atMs: number | null): string {
  const when = atMs === null ? '' : ` on ${new Date(atMs).toUTCString()}`;
  return `<h1>Your key was handed out</h1>
<p class="state good" role="status" id="state">It was shown${when}, and is not stored.</p>
<p>If you lost it, ask the operator, and give the order’s number and the claim token that came with it. If you
paid through a link of the operator, you have no claim token: give the number of the payment.</p>`;
}

/** The ids by which the operator finds an order, once there is one. */
function named({ order_id: order, session_id: session }: CardPickup['pickup']): string {
  if (order === null) return '';
  return `
<p class="note">Order <span class="mono">${escapeHtml(order)}</span>, payment
<span class="mono">${breakable(session)}</span>. Keep both: the operator finds your payment by them.</p>`;
}

const claimed = `<h1>Thank you</h1>
<p class="state good" role="status" id="state">Your payment is settled.</p>
<p>The key waits for the claim token of this order: ask for it where the order was made.</p>`;

interface Shown {
  readonly main: string;
  /** True if the page polls again. */
  readonly again: boolean;
}

function shown({ pickup, revealedAtMs }: CardPickup): Shown {
  const { status, tier, api_key: key, key_status } = pickup;
  if (key !== null) {
    const shownKey = keyShown(key, tier ?? 'key', pickup.key_expires_at);
    const words = '<p class="state good" role="status" id="state">Your payment is settled.</p>';
    return { main: `<h1>Thank you</h1>\n${words}\n${shownKey}`, again: false };
  }
  if (key_status === 'suspended') return { main: suspended, again: false };
  // A refund and a lost dispute set the order's status; else it was the operator who ended the key.
  if (status === 'refunded') return { main: refunded, again: false };
  if (key_status === 'revoked') return { main: endedKey, again: false };
  if (status === 'expired') return { main: ended, again: false };
  if (key_status === 'already_revealed') return { main: handedOut(revealedAtMs), again: false };
  if (status === 'paid') return { main: claimed, again: true };
  if (tier === null) return { main: unknown, again: true };
  return { main: waiting, again: true };
}

/** Shows the state of a session, and its key to the first request after the payment. */
export function cardSuccess(pickUp: PickUpCard, page: PageMaker = unnamedPage): Handler {
  return async (request: RouteRequest): Promise<Answer> => {
    const session = request.query['session_id'] ?? cardSuccessDefaults.session_id;
    if (session === '') {
      return page({ title: 'Your payment', main: sheet(unnamed), headed: true, styles: ['buy.css'] });
    }
    const { mayAct, query } = request;
    const aborted = (): boolean => request.aborted();
    const found = await pickUp({ claim: query['claim'] ?? '', mayAct, aborted }, session);
    const { main: said, again } = found === undefined ? { main: unreadable, again: true } : shown(found);
    const main = sheet(said + (found === undefined ? '' : named(found.pickup)));
    return page({
      title: 'Your payment',
      main,
      headed: true,
      scripts: ['buy.js'],
      styles: ['buy.css'],
      ...(again ? { refreshSeconds: againS } : {}),
    });
  };
}
