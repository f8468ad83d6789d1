/** An account's addresses one by one, by index: the payments to each, and how many in a row are unpaid. */
import { nextAddressIndex } from '../../store/tables/addressIndexes.js';
import { findOrderAt, isOn } from '../../store/tables/orders.js';
import { whenUnavailable, type Store } from '../../store/store.js';
import type { Clock } from '../../system/clock.js';
import { inSlice } from '../../system/slices.js';
import type { Account } from './account.js';
import type { BookParts } from '../order/book.js';
import type { Chain } from './chain.js';
import type { Failed } from '../nodeAnswer.js';
import { lookUpOrder, type LookedUp } from './lookUp.js';

/** Addresses after the last one given out that are looked up, too: as many as wallets look ahead. */
const ahead = 20;

/** Addresses queried at once. */
const together = 8;

/** Number of unpaid addresses in a row from which the operator is warned: wallets look 20 ahead (BIP 44). */
const gapWarning = 15;

/** Number of unpaid addresses in a row, from the last one given out backwards; counted up to `most`. */
async function unpaidInARow(store: Store, account: Account, most: number): Promise<number> {
  const { next } = await nextAddressIndex(store, account.digest);
  for (let count = 0; ; count += 1) {
    if (count === most || count === next) return count;
    const place = await inSlice(() => account.address(next - 1 - count));
    const order = await findOrderAt(store, 'btc', place);
    if (order !== undefined && order.outputs.length > 0) return count;
  }
}

/** A warning if a wallet may not see the next payment; null if it will. */
export async function gapSentence(store: Store, account: Account): Promise<string | null> {
  const unpaid = await whenUnavailable(unpaidInARow(store, account, gapWarning + 1), () => 0);
  if (unpaid <= gapWarning) return null;
  return (
    `More than ${gapWarning} on-chain addresses in a row were not paid to: a wallet that looks 20 ` +
    'addresses ahead may not show the next payment. Raise its gap limit.'
  );
}

/** Outcome of looking all addresses up. */
export interface Rescan {
  readonly addresses: number;
  /** Orders whose state changed. */
  readonly changed: number;
  /** Sentences about payments that no order explains. */
  readonly unowned: readonly string[];
  /** Sentences about orders that could not be looked up, though the node answers. */
  readonly doubted: readonly string[];
}

/** Parts of a scan. */
export interface RescanParts extends BookParts {
  readonly clock: Clock;
  readonly account: Account;
  readonly chain: Chain;
  /** Receives the number of addresses queried so far, and the total. */
  readonly progress: (asked: number, about: number) => void;
}

/**
 * Looks up every address from an index on, even those of closed orders, and applies what is found. It ends
 * early only if the node does not answer, or cannot be relied on.
 */
export async function rescan(parts: RescanParts, from: number): Promise<Rescan | Failed> {
  const { store, account, progress } = parts;
  const index = await nextAddressIndex(store, account.digest);
  const end = index.next + ahead;
  const sentences: Record<'unowned' | 'doubted', string[]> = { unowned: [], doubted: [] };
  let changed = 0;
  for (let at = from; at < end; at += together) {
    progress(at - from, end - from);
    const indexes = Array.from({ length: Math.min(together, end - at) }, (_, offset) => at + offset);
    for (const outcome of await Promise.all(indexes.map((each) => settle(parts, each)))) {
      if (outcome?.kind === 'failed') return outcome;
      if (outcome?.kind === 'changed') changed += 1;
      else if (outcome !== undefined) sentences[outcome.kind].push(outcome.sentence);
    }
  }
  const addresses = Math.max(0, end - from);
  progress(addresses, addresses);
  return { addresses, changed, ...sentences };
}

/** The result for one address; undefined if there is nothing new. */
type Settled =
  | undefined
  | { readonly kind: 'changed' }
  | { readonly kind: 'unowned' | 'doubted'; readonly sentence: string }
  | Failed;

async function settle(parts: RescanParts, index: number): Promise<Settled> {
  const place = parts.account.address(index);
  const found = await findOrderAt(parts.store, 'btc', place);
  if (found === undefined) return settleUnowned(parts, index, place);
  const asked: Promise<LookedUp> = lookUpOrder(parts, found);
  // The master secret of an order may be missing here. If the store fails, so does the next address.
  const outcome = await whenUnavailable(
    asked,
    ({ message: reason }) => ({ kind: 'doubted', reason }) as const,
  );
  if (outcome.kind === 'failed') return outcome;
  if (outcome.kind === 'doubted') {
    const sentence = `Order ${found.id} (index ${index}) could not be looked up: ${outcome.reason}.`;
    return { kind: 'doubted', sentence };
  }
  const { status, outputs } = found;
  const after = outcome.kind !== 'absent' && isOn(outcome.order, 'btc') ? outcome.order : found;
  // An order without payments that expired does not count as changed.
  if (outputs.length === 0 && after.outputs.length === 0) return undefined;
  return after.status === status ? undefined : { kind: 'changed' };
}

async function settleUnowned(parts: RescanParts, index: number, place: string): Promise<Settled> {
  const answer = await parts.chain.lookup(place);
  if (answer.kind === 'failed') return answer;
  if (answer.value.length === 0) return undefined;
  const order = await findOrderAt(parts.store, 'btc', place);
  // The order was made meanwhile.
  if (order !== undefined) return settle(parts, index);
  const sat = answer.value.reduce((sum, output) => sum + output.sat, 0n);
  return { kind: 'unowned', sentence: `${sat} sat came to ${place} (index ${index}), which no order has.` };
}
