/** On-chain orders: their part of the record, and the rules of their states. */
import { there, unchanged, type KeyEffect, type OrderKind, type Transition } from './orderKind.js';
import { none, type AnyOrder, type Network, type OrderKey, type Output } from './orderRow.js';

/** States of an on-chain order. */
type BtcStatus = 'pending' | 'seen' | 'underpaid' | 'confirmed' | 'expired';

/** Bytes of the network's hash in {@link BtcOrder.orderedBy}. */
export const networkNameBytes = 8;

/** An on-chain order. */
export interface BtcOrder extends AnyOrder {
  readonly rail: 'btc';
  readonly status: BtcStatus;
  readonly network: Network;
  /** Index of the address in its account. */
  readonly addressIndex: number;
  /** Depth at which an output counts. */
  readonly confirmationsRequired: number;
  /** Every output that counts, sorted by txid and vout. */
  readonly outputs: readonly Output[];
  /** Height of the chain's last block when the order was made; null in orders of format 1. */
  readonly createdHeight: number | null;
  /** Outpoints (txid:vout) from before the order, sorted: they never count. */
  readonly earlier: readonly string[];
  /**
   * Keyed hashes of the buyer's network, of {@link networkNameBytes}, and of its client address, until the
   * order is confirmed or expires; null: unknown, or not any more.
   */
  readonly orderedBy: Uint8Array | null;
  /**
   * Height of the chain's last block when the outputs were stored; null if none of them was in a block, and
   * in orders of formats 1 to 3.
   */
  readonly seenHeight: number | null;
}

/** Members of a new order besides the common ones. */
export type NewBtcOrder = Pick<
  BtcOrder,
  'network' | 'addressIndex' | 'confirmationsRequired' | 'createdHeight'
> &
  Partial<Pick<BtcOrder, 'orderedBy'>>;

/** A payment to an address as a node reports it. */
export interface FoundOutput extends Output {
  /** Height of its block; null: unconfirmed. */
  readonly height: number | null;
}

/** Height of the last block of the view in which a payment was found; null: it is in no block. */
export function tipOf({ height, confirmations: depth }: FoundOutput): number | null {
  return height === null ? null : height + depth - 1;
}

/** An output's id: a transaction creates each of its outputs once. */
export function outpointOf({ txid, vout }: Pick<Output, 'txid' | 'vout'>): string {
  return `${txid}:${vout}`;
}

/** Events of an on-chain order. */
export type BtcEvent =
  /** Time has passed. */
  | { readonly kind: 'time' }
  /** Every output to the order's address that the node knows now; duplicates count once. */
  | { readonly kind: 'outputs'; readonly outputs: readonly FoundOutput[] };

/** Satoshi that arrived on chain, including unconfirmed ones. */
export function receivedSat({ outputs }: Pick<BtcOrder, 'outputs'>): bigint {
  return outputs.reduce((sum, { sat }) => sum + sat, 0n);
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
function sortOutputs(
  order: BtcOrder,
  found: readonly FoundOutput[],
): Pick<BtcOrder, 'outputs' | 'earlier' | 'seenHeight'> {
  const counted = new Set(order.outputs.map(outpointOf));
  const earlier = new Set(order.earlier);
  const outputs: Output[] = [];
  let seenHeight: number | null = null;
  for (const { height, ...output } of eachOnce(found)) {
    const outpoint = outpointOf(output);
    if (!counted.has(outpoint) && cameBefore(order, { height, ...output })) earlier.add(outpoint);
    if (earlier.has(outpoint)) continue;
    outputs.push(output);
    seenHeight ??= tipOf({ height, ...output });
  }
  const sorted = earlier.size === order.earlier.length ? order.earlier : [...earlier].sort();
  return { outputs, earlier: sorted, seenHeight };
}

/** The next state of `order`, which is `before` with the outputs that are known now. */
function next(before: BtcOrder, order: BtcOrder, nowMs: number): Transition<BtcOrder> {
  const status = statusOf(order, nowMs);
  const late = covered(status) ? (covered(before.status) ? before.late : isLate(order, nowMs)) : before.late;
  const after: BtcOrder = { ...order, status, late };
  const effect = effectOf(after);
  const key = effect === undefined ? after.key : keyAfter(effect);
  const same = sameOutputs(before.outputs, order.outputs) && order.earlier === before.earlier;
  if (effect === undefined && status === before.status && same) return unchanged(before);
  return { order: { ...after, key }, effect };
}

function statusOf(order: BtcOrder, nowMs: number): BtcStatus {
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

/** Effects of on-chain orders: no payment is taken back for good. */
type BtcEffect = Exclude<KeyEffect, { readonly kind: 'revoke' }>;

function effectOf({ status, key }: BtcOrder): BtcEffect | undefined {
  if (status === 'confirmed') {
    if (key === 'none') return { kind: 'mint' };
    return key === 'suspended' ? { kind: 'resume' } : undefined;
  }
  if (key !== 'active') return undefined;
  return { kind: 'suspend', reason: 'the payment is no longer confirmed' };
}

function keyAfter({ kind }: BtcEffect): OrderKey {
  return kind === 'suspend' ? 'suspended' : 'active';
}

function sameOutputs(left: readonly Output[], right: readonly Output[]): boolean {
  const same = (one: Output, other: Output | undefined): boolean =>
    one.txid === other?.txid &&
    one.vout === other.vout &&
    one.sat === other.sat &&
    one.confirmations === other.confirmations;
  return left.length === right.length && left.every((one, index) => same(one, right[index]));
}

/** Time for which an expired on-chain order is still watched: money may arrive late (ms). */
const watchAfterExpiryMs = 30 * 86_400_000;

/** End of the watch over an order that expired (ms since 1970): nobody looks for a later payment. */
export function watchedUntilMs({ expiresAtMs }: Pick<BtcOrder, 'expiresAtMs'>): number {
  return expiresAtMs + watchAfterExpiryMs;
}

/** Depth from which an order's payment is final. */
export function finalDepth({ confirmationsRequired }: BtcOrder): number {
  return Math.max(6, confirmationsRequired);
}

/** True if an on-chain order may still change through a payment or a block. */
export function isWatched(order: BtcOrder, nowMs: number): boolean {
  if (order.status === 'expired') return nowMs < watchedUntilMs(order);
  if (order.status !== 'confirmed') return true;
  return confirmations(order) < finalDepth(order);
}

/** On-chain orders. */
export const btcKind: OrderKind<BtcOrder, BtcEvent> = {
  statuses: ['pending', 'underpaid', 'seen', 'confirmed', 'expired'],
  columns: [
    ...(['network', 'addressIndex', 'confirmationsRequired', 'outputs'] as const),
    ...(['createdHeight', 'earlier', 'orderedBy', 'seenHeight'] as const),
  ],
  read: (row) => ({
    network: there(row, 'network', row.network),
    addressIndex: there(row, 'address index', row.addressIndex),
    confirmationsRequired: row.confirmationsRequired,
    outputs: row.outputs,
    createdHeight: row.createdHeight,
    earlier: row.earlier,
    orderedBy: row.orderedBy,
    seenHeight: row.seenHeight,
  }),
  write: (order) => ({ ...none, ...order }),
  beginning: { status: 'pending', open: true, outputs: [], earlier: [], orderedBy: null, seenHeight: null },
  unit: 'sat',
  held: receivedSat,
  wasPaid: ({ outputs }) => outputs.length > 0,
  events: {
    time: (order, _event, nowMs) => next(order, order, nowMs),
    outputs: (order, { outputs }, nowMs) => next(order, { ...order, ...sortOutputs(order, outputs) }, nowMs),
  },
  isOpen: isWatched,
};
