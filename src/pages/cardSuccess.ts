/**
 * `GET /card/success` (contract, card success page): where a buyer comes back to from the processor. Always
 * 200; the first look after the payment settled hands out the key, once.
 */
import { cardSuccessDefaults, type CardPickupResponse } from '../contract/card.js';
import type { Answer, Handler, RouteRequest } from '../contract/exchange.js';
import { keyShown } from './key.js';
import { page } from './page.js';

/** The page asks again every so often (s). */
const againS = 5;

function sheet(main: string): string {
  return `<section class="sheet" id="order">
${main}
</section>`;
}

const waiting = sheet(`<h1>Thank you</h1>
<p class="state" role="status" id="state">Waiting for the processor to confirm your payment.</p>
<p>This page asks again by itself, for 10 minutes. You may come back to it later: nothing is lost.</p>`);

const ended = sheet(`<h1>This payment did not go through</h1>
<p class="state bad" role="status" id="state">The session has ended without a payment. No key was made.</p>
<p><a href="/buy">Order anew</a></p>`);

const refunded = sheet(`<h1>This payment was returned</h1>
<p class="state bad" role="status" id="state">The money was refunded, or taken back. The key has ended.</p>`);

const suspended = sheet(`<h1>Your key is suspended</h1>
<p class="state bad" role="status" id="state">The payment is disputed. The key works again when that is settled.</p>`);

function handedOut(at: string | null): string {
  const when = at === null ? '' : ` on ${new Date(at).toUTCString()}`;
  return sheet(`<h1>Your key was handed out</h1>
<p class="state good" role="status" id="state">It was shown${when}, and is kept nowhere.</p>
<p>Whoever lost it asks the operator, with the claim token that the order’s maker was given.</p>`);
}

function shown({ status, tier, api_key: key, key_status }: CardPickupResponse): {
  readonly main: string;
  readonly again: boolean;
} {
  if (key !== null) {
    const words = '<p class="state good" role="status" id="state">Your payment is settled.</p>';
    return { main: sheet(`<h1>Thank you</h1>\n${words}\n${keyShown(key, tier ?? 'key')}`), again: false };
  }
  if (key_status === 'suspended') return { main: suspended, again: false };
  if (status === 'refunded') return { main: refunded, again: false };
  if (status === 'expired') return { main: ended, again: false };
  if (key_status === 'already_revealed') return { main: handedOut(null), again: false };
  return { main: waiting, again: true };
}

/** Shows what became of a session; `pickUp` is the checkout's own. */
export function cardSuccess(pickUp: Handler<undefined>): Handler {
  return async (request: RouteRequest): Promise<Answer> => {
    const session = request.query['session_id'] ?? cardSuccessDefaults.session_id;
    const answer = await pickUp({
      ...request,
      input: undefined,
      path: { session_id: session },
      header: () => '',
    });
    const found =
      answer.status === 200 && 'json' in answer.body
        ? shown(answer.body.json as CardPickupResponse)
        : { main: waiting, again: true };
    return page({
      title: 'Your payment',
      main: found.main,
      scripts: ['buy.js'],
      styles: ['buy.css'],
      ...(found.again ? { refreshSeconds: againS } : {}),
    });
  };
}
