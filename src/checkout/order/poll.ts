/** Polls of orders: what they show, and which poll gets the key. */
import type { KeyStatus } from '../../contract/orders.js';
import type { KeyRecord } from '../../store/tables/keys.js';
import type { OrderRecord } from '../../store/tables/order.js';
import type { Commit } from '../../store/store.js';
import { commitSurely } from '../../store/surely.js';
import { changeOrder, type OrderChange } from '../../store/tables/orders.js';
import { isClaim, type BookParts } from './book.js';
import { keyOf, rawKeyOf } from './orderKeys.js';
import { attended, transition } from './orders.js';

/** A new order as the answer to its maker shows it. */
export function unpolled<Order extends OrderRecord>(order: Order): Polled<Order> {
  return { order, apiKey: null, keyStatus: 'none', keyExpiresAtMs: null };
}

/** An order as a poll finds it. */
export interface Polled<Order extends OrderRecord = OrderRecord> {
  readonly order: Order;
  /** The raw key, for the one poll that reveals it. */
  readonly apiKey: string | null;
  readonly keyStatus: KeyStatus;
  /** When the key expires (ms since 1970); null: there is no key, or it never expires. */
  readonly keyExpiresAtMs: number | null;
}

/** A poll as a request makes it. */
export interface PollRequest {
  /** The claim token; `''`: none. */
  readonly claim: string;
  /** True if the request may change something. */
  readonly mayAct: boolean;
  /** True once the client has gone. */
  readonly aborted: () => boolean;
}

/** A poll, and what its rail demands of it. */
export interface PollWish extends PollRequest {
  /** True if every order demands its claim token. */
  readonly claimRequired: boolean;
  /** Time after the key is made in which a poll without a claim token reveals it (ms); absent: no limit. */
  readonly bareMs?: number;
}

/** True if a poll may get the raw key. */
function reveals(order: OrderRecord, { claim, claimRequired, mayAct }: PollWish): boolean {
  if (!mayAct || order.key !== 'active' || order.revealedAtMs !== null) return false;
  return claim === '' ? !order.claimed && !claimRequired : isClaim(order, claim);
}

/** True if a poll without a claim token comes too late for the key. */
function isLate(
  { clock }: Pick<BookParts, 'clock'>,
  key: KeyRecord,
  { claim, bareMs = Infinity }: PollWish,
): boolean {
  // A key that was made long after now was made before the clock was set back.
  return claim === '' && Math.abs(clock.wallMs() - key.issuedAtMs) > bareMs;
}

/** The key's status as a poll shows it: the order's, unless the operator ended the key. */
function keyStatusOf(
  parts: Pick<BookParts, 'clock'>,
  order: OrderRecord,
  key: KeyRecord | undefined,
  wish: PollWish,
): KeyStatus {
  if (key?.status === 'revoked' || key?.status === 'suspended') return key.status;
  if (order.revealedAtMs !== null) return 'already_revealed';
  const isOpen =
    reveals(order, { ...wish, mayAct: true }) && !(key !== undefined && isLate(parts, key, wish));
  return order.key === 'active' && !isOpen ? 'claim_required' : 'none';
}

async function shown<Order extends OrderRecord>(
  parts: BookParts,
  order: Order,
  wish: PollWish,
): Promise<Polled<Order>> {
  const key = await keyOf(parts, order);
  const keyStatus = keyStatusOf(parts, order, key, wish);
  return { order, apiKey: null, keyStatus, keyExpiresAtMs: key?.expiresAtMs ?? null };
}

/**
 * Shows an order to a poll. Only one poll gets the key: the seed is erased on disk before this resolves, so
 * nobody can derive the key again.
 */
export async function poll<Order extends OrderRecord>(
  parts: BookParts,
  order: Order,
  wish: PollWish,
): Promise<Polled<Order>> {
  const claims = wish.mayAct && wish.claim !== '' && !order.claimed && isClaim(order, wish.claim);
  if (!claims && !reveals(order, wish)) return shown(parts, order, wish);
  let handedOut = undefined as Pick<Polled, 'apiKey' | 'keyExpiresAtMs'> | undefined;
  const change = async (record: OrderRecord): Promise<OrderChange | undefined> => {
    handedOut = undefined;
    const claimed = record.claimed || claims;
    if (reveals(record, wish)) {
      const key = await keyOf(parts, record);
      // A key that the operator ended is not revealed, nor one to a client that has gone during these reads.
      if (key?.status === 'active' && !isLate(parts, key, wish) && !wish.aborted()) {
        handedOut = { apiKey: rawKeyOf(parts, record), keyExpiresAtMs: key.expiresAtMs };
        return { to: { ...revealed(parts, record), claimed } };
      }
    }
    if (claimed === record.claimed) return undefined;
    return { to: { ...record, claimed } };
  };
  // Otherwise the seed of a key could be erased that nobody was handed.
  const surely = commitSurely(parts.store, parts.clock, wish.aborted);
  const commit: Commit = (operations) =>
    handedOut === undefined ? parts.store.commit(operations) : surely(operations);
  const outcome = await changeOrder(parts.store, order.id, change, undefined, commit);
  if (outcome.kind === 'absent') throw new Error(`Order ${order.id} is gone`);
  // No change moves an order to another rail.
  const now = outcome.order as Order;
  if (handedOut === undefined) return shown(parts, now, wish);
  return { order: now, keyStatus: 'revealed_now', ...handedOut };
}

/** The record of an order whose key was revealed: its seed is erased. */
export function revealed({ clock }: BookParts, record: OrderRecord): OrderRecord {
  const nowMs = clock.wallMs();
  const { order } = transition(record, { kind: 'reveal' }, nowMs);
  return { ...attended(order, nowMs), seed: null };
}
