/**
 * Transitions of an order: a pure function of its record, an event, and the time (table in docs/checkout.md).
 * Nothing else changes an order's state.
 */
import type { Rail } from '../contract/pricing.js';
import {
  isUnpaid,
  receivedSat,
  type BtcOrder,
  type BtcStatus,
  type CardOrder,
  type LightningOrder,
  type OrderKey,
  type OrderOn,
  type OrderRecord,
  type Output,
} from '../store/order.js';

/** A payment to an address as a node reports it. */
export interface FoundOutput extends Output {
  /** Height of its block; null: unconfirmed. */
  readonly height: number | null;
}

/** An output's id: a transaction creates each of its outputs once. */
export function outpointOf({ txid, vout }: Pick<Output, 'txid' | 'vout'>): string {
  return `${txid}:${vout}`;
}

/** Events of an order. */
export type OrderEvent =
  /** Time has passed. */
  | { readonly kind: 'time' }
  /** Every output to the order's address that the node knows now; duplicates count once. */
  | { readonly kind: 'outputs'; readonly outputs: readonly FoundOutput[] }
  /** The invoice's state at LND. */
  | {
      readonly kind: 'invoice';
      readonly state: 'open' | 'accepted' | 'settled' | 'canceled';
      readonly paidSat: bigint;
      readonly settledAtMs: number | null;
    }
  /**
   * The processor reports the session as paid; the caller has checked amount, currency and mode.
   * `discounted`: the operator accepts less than the price.
   */
  | {
      readonly kind: 'card paid';
      readonly cents: bigint;
      readonly discounted?: boolean;
      /** The payment intent; null or absent: unchanged. */
      readonly intent?: string | null;
    }
  /** The buyer has finished, the money is pending (bank debits, for example). */
  | { readonly kind: 'card pending' }
  | { readonly kind: 'card failed' }
  | { readonly kind: 'card expired' }
  /** The total refunded so far. */
  | { readonly kind: 'card refunded'; readonly totalCents: bigint }
  | { readonly kind: 'card disputed' }
  | { readonly kind: 'card dispute won' }
  | { readonly kind: 'card dispute lost' }
  /** The raw key is about to be revealed. */
  | { readonly kind: 'reveal' };

/** Effect on the order's key, in the unit that writes the new state. */
export type KeyEffect =
  | { readonly kind: 'mint' }
  | { readonly kind: 'suspend'; readonly reason: string }
  | { readonly kind: 'resume' }
  | { readonly kind: 'revoke'; readonly reason: string };

/** Outcome of an event. */
export interface Transition {
  /** The same object if nothing changed. */
  readonly order: OrderRecord;
  readonly effect: KeyEffect | undefined;
}

/** Decides the transition. An event of another rail changes nothing. */
export function transition(order: OrderRecord, event: OrderEvent, nowMs: number): Transition {
  return event.kind === 'reveal' ? reveal(order, nowMs) : rulesOf(order.rail).decide(order, event, nowMs);
}

function unchanged(order: OrderRecord): Transition {
  return { order, effect: undefined };
}

/** Only an active key is revealed, and only once. */
function reveal(order: OrderRecord, nowMs: number): Transition {
  if (order.key !== 'active' || order.revealedAtMs !== null) return unchanged(order);
  if (order.rail !== 'card') return { order: { ...order, revealedAtMs: nowMs }, effect: undefined };
  return { order: { ...order, revealedAtMs: nowMs, status: 'revealed' }, effect: undefined };
}

/**
 * The amount that a payment request asks for: the missing part of the price. Once nothing is missing, it is
 * the whole price, because a payment request cannot ask for nothing.
 */
export function amountDueSat(price: bigint, received: bigint): bigint {
  return received < price ? price - received : price;
}

/** Satoshi in outputs that are deep enough to count. */
export function deepSat({ outputs, confirmationsRequired }: BtcOrder): bigint {
  return receivedSat({ outputs: outputs.filter((each) => each.confirmations >= confirmationsRequired) });
}

/** The depth of the shallowest output needed to cover the price, deepest first; 0 while it is not covered. */
export function confirmations({ outputs, sat: price }: BtcOrder): number {
  const deepestFirst = outputs.toSorted((left, right) => right.confirmations - left.confirmations);
  let sum = 0n;
  return deepestFirst.find(({ sat }) => (sum += sat) >= price)?.confirmations ?? 0;
}

function byTxid(left: Output, right: Output): number {
  if (left.txid !== right.txid) return left.txid < right.txid ? -1 : 1;
  return left.vout - right.vout || left.confirmations - right.confirmations;
}

/** Outputs sorted by txid and vout; of duplicates the shallower one. */
function eachOnce(outputs: readonly FoundOutput[]): readonly FoundOutput[] {
  return outputs.toSorted(byTxid).filter(({ txid, vout }, at, sorted) => {
    const before = sorted[at - 1];
    return before?.txid !== txid || before.vout !== vout;
  });
}

/** A block's time may be this much earlier than the time at which its transactions were sent (ms). */
const blockTimeSlackMs = 2 * 3_600_000;

/**
 * True if an output came before the order. An output pays only if its block is above the tip at which the
 * order was made. An order of an older version has no height: there the block's time decides.
 */
function cameBefore(order: BtcOrder, { height, atMs }: FoundOutput): boolean {
  if (height === null) return false;
  if (order.createdHeight !== null) return height <= order.createdHeight;
  return atMs !== null && atMs < order.createdAtMs - blockTimeSlackMs;
}

/**
 * Separates the outputs that count from those that came before the order. Both are final: a reorganisation
 * that moves an output to a lower or a higher block does not change which it is.
 */
function sortOutputs(order: BtcOrder, found: readonly FoundOutput[]): Pick<BtcOrder, 'outputs' | 'earlier'> {
  const counted = new Set(order.outputs.map(outpointOf));
  const earlier = new Set(order.earlier);
  const outputs: Output[] = [];
  for (const { height, ...output } of eachOnce(found)) {
    const outpoint = outpointOf(output);
    if (!counted.has(outpoint) && cameBefore(order, { height, ...output })) earlier.add(outpoint);
    if (!earlier.has(outpoint)) outputs.push(output);
  }
  return { outputs, earlier: earlier.size === order.earlier.length ? order.earlier : [...earlier].sort() };
}

function btc(before: BtcOrder, event: OrderEvent, nowMs: number): Transition {
  if (event.kind !== 'outputs' && event.kind !== 'time') return unchanged(before);
  const order = event.kind === 'outputs' ? { ...before, ...sortOutputs(before, event.outputs) } : before;
  const status = btcStatus(order, nowMs);
  const late = covered(status) ? (covered(before.status) ? before.late : isLate(order, nowMs)) : before.late;
  const after: BtcOrder = { ...order, status, late };
  const effect = btcEffect(after);
  const key = effect === undefined ? after.key : keyAfter(effect);
  const same = sameOutputs(before.outputs, order.outputs) && order.earlier === before.earlier;
  if (effect === undefined && status === before.status && same) return unchanged(before);
  return { order: { ...after, key }, effect };
}

function btcStatus(order: BtcOrder, nowMs: number): BtcStatus {
  if (deepSat(order) >= order.sat) return 'confirmed';
  const received = receivedSat(order);
  if (received >= order.sat) return 'seen';
  if (nowMs >= order.expiresAtMs) return 'expired';
  return received > 0n ? 'underpaid' : 'pending';
}

/** True if the known payments cover the price. */
function covered(status: BtcStatus): boolean {
  return status === 'seen' || status === 'confirmed';
}

/** True if the price was covered only after the expiry, by the network's times if they are known. */
function isLate({ outputs, sat: price, expiresAtMs }: BtcOrder, nowMs: number): boolean {
  const earliestFirst = outputs
    .map(({ sat, atMs }) => ({ sat, atMs: Math.min(atMs ?? nowMs, nowMs) }))
    .toSorted((left, right) => left.atMs - right.atMs);
  let sum = 0n;
  const coveredAtMs = earliestFirst.find(({ sat }) => (sum += sat) >= price)?.atMs ?? nowMs;
  return coveredAtMs >= expiresAtMs;
}

function btcEffect({ status, key }: BtcOrder): KeyEffect | undefined {
  if (status === 'confirmed') {
    if (key === 'none') return { kind: 'mint' };
    return key === 'suspended' ? { kind: 'resume' } : undefined;
  }
  if (key !== 'active') return undefined;
  return { kind: 'suspend', reason: 'the payment is no longer confirmed' };
}

function keyAfter({ kind }: KeyEffect): OrderKey {
  if (kind === 'mint' || kind === 'resume') return 'active';
  return kind === 'suspend' ? 'suspended' : 'revoked';
}

function sameOutputs(left: readonly Output[], right: readonly Output[]): boolean {
  const same = (one: Output, other: Output | undefined): boolean =>
    one.txid === other?.txid &&
    one.vout === other.vout &&
    one.sat === other.sat &&
    one.confirmations === other.confirmations;
  return left.length === right.length && left.every((one, index) => same(one, right[index]));
}

function lightning(order: LightningOrder, event: OrderEvent): Transition {
  if (event.kind !== 'invoice' || order.status === 'settled') return unchanged(order);
  const { state, paidSat, settledAtMs } = event;
  // LND settles an invoice only when the full amount has arrived; less would be a fault that must not mint.
  if (state === 'settled' && paidSat >= order.sat) {
    const late = order.status === 'expired' || (settledAtMs ?? 0) >= order.expiresAtMs;
    const settled = { ...order, status: 'settled', paidSat, late, key: 'active' } as const;
    return { order: settled, effect: { kind: 'mint' } };
  }
  if (state === 'canceled' && order.status === 'pending') {
    return { order: { ...order, status: 'expired' }, effect: undefined };
  }
  return unchanged(order);
}

function card(order: CardOrder, event: OrderEvent): Transition {
  switch (event.kind) {
    case 'card paid':
      return cardPaid(withIntent(order, event.intent ?? null), event.cents, event.discounted === true);
    case 'card failed':
    case 'card expired': {
      const status = event.kind === 'card failed' ? 'failed' : 'expired';
      return order.status === 'open' ? { order: { ...order, status }, effect: undefined } : unchanged(order);
    }
    case 'card refunded':
      return cardRefunded(order, event.totalCents);
    case 'card disputed':
      if (order.status !== 'paid' && order.status !== 'revealed') return unchanged(order);
      return {
        order: { ...order, status: 'disputed', key: 'suspended' },
        effect: { kind: 'suspend', reason: 'the payment is disputed' },
      };
    case 'card dispute won':
      if (order.status !== 'disputed') return unchanged(order);
      return {
        order: { ...order, status: order.revealedAtMs === null ? 'paid' : 'revealed', key: 'active' },
        effect: { kind: 'resume' },
      };
    case 'card dispute lost':
      // The event of its beginning may come later.
      if (order.status !== 'disputed' && order.status !== 'paid' && order.status !== 'revealed') {
        return unchanged(order);
      }
      return {
        order: { ...order, status: 'revoked', key: 'revoked' },
        effect: { kind: 'revoke', reason: 'the payment was taken back after a dispute' },
      };
    default:
      return unchanged(order);
  }
}

/** An order with the payment intent that the event names. */
function withIntent(order: CardOrder, intent: string | null): CardOrder {
  return intent === null || intent === order.intent ? order : { ...order, intent };
}

/** A payment that arrives after the session failed or expired still counts: it is late, and it mints. */
function cardPaid(order: CardOrder, cents: bigint, discounted: boolean): Transition {
  if (order.key !== 'none' || (cents < order.cents && !discounted)) return unchanged(order);
  const late = order.status !== 'open';
  return {
    order: { ...order, status: 'paid', paidCents: cents, late, key: 'active' },
    effect: { kind: 'mint' },
  };
}

/** A partial refund is recorded; a full one ends the key. Totals only grow. */
function cardRefunded(order: CardOrder, totalCents: bigint): Transition {
  const paid = order.key === 'active' || order.key === 'suspended';
  if (!paid || totalCents <= order.refundedCents) return unchanged(order);
  const refundedCents = totalCents < order.paidCents ? totalCents : order.paidCents;
  const refunded = { ...order, refundedCents };
  if (refundedCents < order.paidCents) return { order: refunded, effect: undefined };
  return {
    order: { ...refunded, status: 'refunded', key: 'revoked' },
    effect: { kind: 'revoke', reason: 'the payment was refunded' },
  };
}

/** Time for which an expired on-chain order is still watched: money may arrive late (ms). */
const watchAfterExpiryMs = 30 * 86_400_000;

/** Depth from which a confirmed payment is final, unless the order requires more. */
const finalDepth = 6;

/** True if an on-chain order may still change through a payment or a block. */
export function isWatched(order: BtcOrder, nowMs: number): boolean {
  if (order.status === 'expired') return nowMs < order.expiresAtMs + watchAfterExpiryMs;
  if (order.status !== 'confirmed') return true;
  return confirmations(order) < finalDepth;
}

/** The rules of a rail's orders. */
interface Rules<Order extends OrderRecord> {
  readonly decide: (order: Order, event: OrderEvent, nowMs: number) => Transition;
  /** True if the order must still be looked up. */
  readonly isOpen: (order: Order, nowMs: number) => boolean;
}

const rules: { readonly [Name in Rail]: Rules<OrderOn<Name>> } = {
  btc: { decide: btc, isOpen: isWatched },
  lightning: { decide: lightning, isOpen: ({ status }) => status === 'pending' },
  // Only webhooks change card orders.
  card: { decide: card, isOpen: () => false },
};

/** The rules of a rail, typed for its orders. */
function rulesOf<Name extends Rail>(rail: Name): Rules<OrderOn<Name>> {
  return rules[rail];
}

/**
 * The order with the members that follow from its state and the time; the same object if they do not change.
 */
export function attended(order: OrderRecord, nowMs: number): OrderRecord {
  const open = rulesOf(order.rail).isOpen(order, nowMs);
  const forgets = order.rail === 'btc' && order.orderedBy !== null && !isUnpaid(order);
  if (forgets) return { ...order, open, orderedBy: null };
  return open === order.open ? order : { ...order, open };
}

/** Time from an order's expiry to the first look-up after it (ms); each later interval is twice as long. */
const firstExpiredLookUpMs = 15_000;

/** Longest interval between look-ups of an expired order (ms). */
const maxExpiredLookUpMs = 6 * 3_600_000;

/**
 * True if a round of look-ups at `nowMs` includes an order, after a round at `lastMs`. Every round includes
 * orders that still await something. Expired ones become rarer, as there are thousands and money seldom
 * comes.
 */
export function isDue(
  { status, expiresAtMs }: { readonly status: string; readonly expiresAtMs: number },
  lastMs: number,
  nowMs: number,
): boolean {
  if (status !== 'expired') return true;
  let intervalMs = firstExpiredLookUpMs;
  let dueMs = expiresAtMs + intervalMs;
  while (dueMs <= lastMs && intervalMs < maxExpiredLookUpMs) {
    intervalMs = Math.min(2 * intervalMs, maxExpiredLookUpMs);
    dueMs += intervalMs;
  }
  if (dueMs > lastMs) return dueMs <= nowMs;
  const steps = Math.floor((nowMs - dueMs) / maxExpiredLookUpMs);
  return dueMs + steps * maxExpiredLookUpMs > lastMs;
}
