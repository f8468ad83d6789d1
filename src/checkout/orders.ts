/**
 * Transitions of an order: a pure function of its record, an event, and the time (docs/checkout.md
 * has the table). Nothing else changes a state.
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
  /** Height of its block; null: in no block. */
  readonly height: number | null;
}

/** The name of an output: a transaction creates each of its outputs once. */
export function outpointOf({ txid, vout }: Pick<Output, 'txid' | 'vout'>): string {
  return `${txid}:${vout}`;
}

/** Events of an order. */
export type OrderEvent =
  /** Time has passed. */
  | { readonly kind: 'time' }
  /** Every output to the order's address that the node knows now; one that is reported twice counts once. */
  | { readonly kind: 'outputs'; readonly outputs: readonly FoundOutput[] }
  /** The invoice as LND has it. */
  | {
      readonly kind: 'invoice';
      readonly state: 'open' | 'accepted' | 'settled' | 'canceled';
      readonly paidSat: bigint;
      readonly settledAtMs: number | null;
    }
  /**
   * The processor says that the session is paid; the amount, currency and mode were compared before.
   * `discounted`: less than the price is enough, as the operator allows it.
   */
  | {
      readonly kind: 'card paid';
      readonly cents: bigint;
      readonly discounted?: boolean;
      /** The payment intent; null or absent: as before. */
      readonly intent?: string | null;
    }
  /** The buyer is done, the money is pending (bank debits and the like). */
  | { readonly kind: 'card pending' }
  | { readonly kind: 'card failed' }
  | { readonly kind: 'card expired' }
  /** All that was refunded so far. */
  | { readonly kind: 'card refunded'; readonly totalCents: bigint }
  | { readonly kind: 'card disputed' }
  | { readonly kind: 'card dispute won' }
  | { readonly kind: 'card dispute lost' }
  /** The raw key is about to be handed out. */
  | { readonly kind: 'reveal' };

/** Effect on the order's key, in the unit that writes the new state. */
export type KeyEffect =
  | { readonly kind: 'mint' }
  | { readonly kind: 'suspend'; readonly reason: string }
  | { readonly kind: 'resume' }
  | { readonly kind: 'revoke'; readonly reason: string };

/** Outcome of an event. */
export interface Transition {
  /** The same object where nothing changed. */
  readonly order: OrderRecord;
  readonly effect: KeyEffect | undefined;
}

/** Decides. An event of another rail changes nothing. */
export function transition(order: OrderRecord, event: OrderEvent, nowMs: number): Transition {
  return event.kind === 'reveal' ? reveal(order, nowMs) : rulesOf(order.rail).decide(order, event, nowMs);
}

function unchanged(order: OrderRecord): Transition {
  return { order, effect: undefined };
}

/** Only a key in use is handed out, and only once. */
function reveal(order: OrderRecord, nowMs: number): Transition {
  if (order.key !== 'active' || order.revealedAtMs !== null) return unchanged(order);
  if (order.rail !== 'card') return { order: { ...order, revealedAtMs: nowMs }, effect: undefined };
  return { order: { ...order, revealedAtMs: nowMs, status: 'revealed' }, effect: undefined };
}

/**
 * The amount that a payer is asked for: the missing part of the price. Once nothing is missing, the price: a
 * payment request asks for more than nothing, and names the order's price.
 */
export function amountDueSat(price: bigint, received: bigint): bigint {
  return received < price ? price - received : price;
}

/** Satoshi at the depth at which they count. */
export function deepSat({ outputs, confirmationsRequired }: BtcOrder): bigint {
  return receivedSat({ outputs: outputs.filter((each) => each.confirmations >= confirmationsRequired) });
}

/** The depth of the shallowest output that the price needs; 0 while it is not covered. */
export function confirmations({ outputs, sat: price }: BtcOrder): number {
  const deepestFirst = outputs.toSorted((left, right) => right.confirmations - left.confirmations);
  let sum = 0n;
  return deepestFirst.find(({ sat }) => (sum += sat) >= price)?.confirmations ?? 0;
}

function byTxid(left: Output, right: Output): number {
  if (left.txid !== right.txid) return left.txid < right.txid ? -1 : 1;
  return left.vout - right.vout || left.confirmations - right.confirmations;
}

/** Outputs in the order of txid and vout; of one that is reported twice the shallower report. */
function eachOnce(outputs: readonly FoundOutput[]): readonly FoundOutput[] {
  return outputs.toSorted(byTxid).filter(({ txid, vout }, at, sorted) => {
    const before = sorted[at - 1];
    return before?.txid !== txid || before.vout !== vout;
  });
}

/** A block's time may be this much earlier than the time at which its transactions were sent (ms). */
const blockTimeSlackMs = 2 * 3_600_000;

/**
 * An output pays an order only if it came after the order: in a block above the last one when the order was
 * made. An order of an older version has no height: there the block's time decides.
 */
function cameBefore(order: BtcOrder, { height, atMs }: FoundOutput): boolean {
  if (height === null) return false;
  if (order.createdHeight !== null) return height <= order.createdHeight;
  return atMs !== null && atMs < order.createdAtMs - blockTimeSlackMs;
}

/**
 * Separates what counts from what came before the order. Both last: an output that was seen unconfirmed after
 * the order still counts where a reorganisation puts it into a lower block, and an earlier one still does not
 * where one moves it to a higher block.
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

/** True if what is known covers the price. */
function covered(status: BtcStatus): boolean {
  return status === 'seen' || status === 'confirmed';
}

/** True if the price was covered only after the end; by the network's times where they are known. */
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
  // LND settles an invoice only when all of it arrived; less would be a fault that must not mint.
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
      // Its beginning may not have come yet.
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

/** An order whose payment intent is known by now. */
function withIntent(order: CardOrder, intent: string | null): CardOrder {
  return intent === null || intent === order.intent ? order : { ...order, intent };
}

/** Money that arrives after the session failed or ended is money: it is late, and it mints. */
function cardPaid(order: CardOrder, cents: bigint, discounted: boolean): Transition {
  if (order.key !== 'none' || (cents < order.cents && !discounted)) return unchanged(order);
  const late = order.status !== 'open';
  return {
    order: { ...order, status: 'paid', paidCents: cents, late, key: 'active' },
    effect: { kind: 'mint' },
  };
}

/** A part of the price returned is noted; all of it ends the key. Totals only grow. */
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

/** Time that an expired on-chain order is looked after: money may still come (ms). */
const watchAfterExpiryMs = 30 * 86_400_000;

/** Depth from which a confirmed payment is final, where the order requires no more. */
const finalDepth = 6;

/** True if something may still happen to an on-chain order that only the chain can tell. */
export function isWatched(order: BtcOrder, nowMs: number): boolean {
  if (order.status === 'expired') return nowMs < order.expiresAtMs + watchAfterExpiryMs;
  if (order.status !== 'confirmed') return true;
  return confirmations(order) < finalDepth;
}

/** The rules of a rail's orders. */
interface Rules<Order extends OrderRecord> {
  readonly decide: (order: Order, event: OrderEvent, nowMs: number) => Transition;
  /** True if the order must be looked after. */
  readonly isOpen: (order: Order, nowMs: number) => boolean;
}

const rules: { readonly [Name in Rail]: Rules<OrderOn<Name>> } = {
  btc: { decide: btc, isOpen: isWatched },
  lightning: { decide: lightning, isOpen: ({ status }) => status === 'pending' },
  // Webhooks alone tell of them.
  card: { decide: card, isOpen: () => false },
};

/** The rules of a rail, which fit its orders alone. */
function rulesOf<Name extends Rail>(rail: Name): Rules<OrderOn<Name>> {
  return rules[rail];
}

/** The order with the members that follow from its state and the time; the same object where they stay. */
export function attended(order: OrderRecord, nowMs: number): OrderRecord {
  const open = rulesOf(order.rail).isOpen(order, nowMs);
  const forgets = order.rail === 'btc' && order.orderedBy !== null && !isUnpaid(order);
  if (forgets) return { ...order, open, orderedBy: null };
  return open === order.open ? order : { ...order, open };
}

/** Time from an order's end to the first look-up after it; to each later one it is twice as long (ms). */
const firstExpiredLookUpMs = 15_000;

/** Longest time between two look-ups of an expired order (ms). */
const maxExpiredLookUpMs = 6 * 3_600_000;

/**
 * True if a round of look-ups at `nowMs` includes an order, after a round at `lastMs`. Orders that still wait
 * for something are in every round; expired ones ever more rarely, as there are thousands of them and money
 * seldom comes.
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
