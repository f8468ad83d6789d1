/** Judges paid sessions: the order or the tier that a session pays for, or why it gives no key. */
import type { Tiers } from '../../access/tiers.js';
import { tiers as tierNames, type Tier } from '../../contract/pricing.js';
import type { CardOrder } from '../../store/tables/cardOrder.js';
import { ratesBetween } from '../../store/tables/rates.js';
import type { Store } from '../../store/store.js';
import { centsOf } from '../money.js';
import { longestAgeMs, type Rates } from '../rates.js';
import type { CardSession } from './cardEvents.js';
import type { StripeClient } from './stripe.js';

/** Time in which a price may be paid after it was quoted (ms). */
const quotedMs = 600_000;

/** Most that the clock of Stripe may differ from this one (ms). */
const clockDifferenceMs = 60_000;

/** Dependencies of the judgement. */
export interface JudgeParts {
  readonly store: Store;
  readonly stripe: Pick<StripeClient, 'pricesOf'>;
  readonly tiers: Tiers;
  readonly rates: Rates;
  /** Tiers by Stripe price id. */
  readonly prices: Readonly<Record<string, Tier>>;
  readonly allowDiscounts: boolean;
}

/** A payment that gives no key: the id of its session or intent, and why, a sentence for the operator. */
export interface Mismatch {
  readonly kind: 'mismatch';
  readonly about: string;
  readonly reason: string;
}

/** Stripe does not answer a question about an event: nothing took effect, and Stripe will send it again. */
export interface Unanswered {
  readonly kind: 'unanswered';
  readonly reason: string;
}

/** The tier that a session pays for, and the cents that it must have paid. */
export interface Meant {
  readonly tier: Tier;
  readonly cents: bigint;
}

const otherServer = 'Another server that uses this account at Stripe made the session.';

function otherCurrency({ currency }: CardSession): string {
  return `It was paid in ${currency ?? 'no currency'}, not in usd.`;
}

function discounted({ discountCents }: CardSession): string {
  return `Discounts took ${discountCents} cents off, and STRIPE_ALLOW_DISCOUNTS is no.`;
}

/** Why a paid session gives no key, whatever it pays for; a sentence for the operator. */
export function unsoldReason({ single }: CardSession): string | undefined {
  return single ? undefined : 'It is not a one-time payment, and this server sells no subscriptions.';
}

/** Refunds and disputes name the intent: without it they could not end the key. */
function untraceableReason({ totalCents, intent }: CardSession): string | undefined {
  const isTraceable = intent !== null || (totalCents ?? 0n) === 0n;
  return isTraceable ? undefined : 'It was paid without a payment intent.';
}

/** Why a paid session does not pay for an order; a sentence for the operator. */
export function faultOf(order: CardOrder, session: CardSession, allowDiscounts: boolean): string | undefined {
  if (session.payment === 'unpaid') return 'The session is not paid.';
  if (session.payment === 'no_payment_required') {
    return allowDiscounts
      ? untraceableReason(session)
      : 'Nothing was paid, and STRIPE_ALLOW_DISCOUNTS is no.';
  }
  if (session.currency !== 'usd') return otherCurrency(session);
  const total = session.totalCents ?? 0n;
  if (total >= order.cents || allowDiscounts) return untraceableReason(session);
  return `It paid ${total} cents of ${order.cents}.`;
}

/**
 * The tier of a paid session that has no order here. `server`: the name of this server in its sessions;
 * `paidMs`: when it was paid (ms since 1970), which may be weeks ago if the event was sent again.
 */
export async function tierOf(
  parts: JudgeParts,
  server: string,
  session: CardSession,
  paidMs: number,
): Promise<Meant | Mismatch | Unanswered> {
  const meant = await meantBy(parts, server, session, paidMs);
  const reason = 'kind' in meant ? undefined : untraceableReason(session);
  return reason === undefined ? meant : { kind: 'mismatch', about: session.id, reason };
}

async function meantBy(
  parts: JudgeParts,
  server: string,
  session: CardSession,
  paidMs: number,
): Promise<Meant | Mismatch | Unanswered> {
  const mismatch = (reason: string): Mismatch => ({ kind: 'mismatch', about: session.id, reason });
  // It has an order there, and its buyer gets the key there.
  if (session.server !== null && session.server !== server) return mismatch(otherServer);
  if (session.currency !== 'usd') return mismatch(otherCurrency(session));
  const total = session.totalCents ?? 0n;
  const tier = tierNames.find((name) => name === session.tier);
  // This server set the amount itself, and its order was lost, for example by a restore. Only the holder of
  // the Stripe account can set a session's metadata, and the name comes from the secrets of one store.
  const isOwn = session.server === server && session.discountCents === 0n && total > 0n;
  if (isOwn && tier !== undefined) return { tier, cents: total };
  if (Object.keys(parts.prices).length > 0) {
    if (session.discountCents > 0n && !parts.allowDiscounts) return mismatch(discounted(session));
    const prices = await parts.stripe.pricesOf(session.id);
    // Not a mismatch: Stripe sends the event again.
    if (prices.kind === 'failed') return { kind: 'unanswered', reason: prices.reason };
    const [price = '', ...more] = prices.value;
    const sold = parts.prices[price];
    if (sold === undefined || more.length > 0) {
      return mismatch('It is for something other than one price of STRIPE_PRICES.');
    }
    return { tier: sold, cents: total };
  }
  if (tier === undefined)
    return mismatch('No order has this session, and it names no tier in metadata.tier.');
  const inForce = await pricesInForce(parts, tier, session.createdAtMs, paidMs);
  if (inForce.includes(total)) return { tier, cents: total };
  // Of a discounted session, what was sold must have the price: shipping and tax cannot make up for it.
  if (session.discountCents > 0n && inForce.some((cents) => cents === session.subtotalCents)) {
    return parts.allowDiscounts ? { tier, cents: total } : mismatch(discounted(session));
  }
  return mismatch(`It paid ${total} cents, which was no price of ${tier} while it could be paid.`);
}

/** Prices of a tier in cents that were in force at any time from the making of a session to its payment. */
async function pricesInForce(
  { store, rates, tiers }: JudgeParts,
  tier: Tier,
  madeMs: number,
  paidMs: number,
): Promise<readonly bigint[]> {
  const toMs = paidMs + clockDifferenceMs;
  const kept = await ratesBetween(store, madeMs - quotedMs, toMs, longestAgeMs);
  const now = await rates.current();
  const all = 'reason' in now || now.atMs > toMs ? kept : [...kept, now.cents];
  const sat = BigInt(tiers[tier].price_sat);
  return all.map((rate) => centsOf(sat, rate, BigInt(tiers.surcharge_bps)));
}
