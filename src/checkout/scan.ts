/** An account's addresses one by one, from the index: what was paid to each, and how many lie idle. */
import { findOrderAt, nextAddressIndex } from '../store/orders.js';
import type { Reading, Store, Unavailable } from '../store/store.js';
import type { Clock } from '../system/clock.js';
import type { Account } from './addresses.js';
import { happen, type BookParts } from './book.js';
import type { Chain, ChainAnswer } from './chain.js';
import type { Output } from './orders.js';

/** Addresses behind the last one given out that are looked up, too: as far as wallets look ahead. */
const ahead = 20;

/** Addresses asked about at once. */
const together = 8;

/** From so many unpaid addresses in a row on the operator is warned: wallets look 20 ahead (BIP 44). */
const gapWarning = 15;

/** How many addresses in a row, the last given out first, nothing was paid to; counted up to `most`. */
async function unpaidInARow(store: Store, account: Account, most: number): Promise<Reading<number>> {
  const index = await nextAddressIndex(store, account.digest);
  if (index.kind === 'unavailable') return index;
  const { next } = index.value;
  for (let count = 0; ; count += 1) {
    if (count === most || count === next) return { kind: 'read', value: count };
    const order = await findOrderAt(store, 'btc', account.address(next - 1 - count));
    if (order.kind === 'unavailable') return order;
    if ((order.value?.outputs.length ?? 0) > 0) return { kind: 'read', value: count };
  }
}

/** What the operator is told where a wallet may not see the next payment; null where it will. */
export async function gapSentence(store: Store, account: Account): Promise<string | null> {
  const unpaid = await unpaidInARow(store, account, gapWarning + 1);
  if (unpaid.kind === 'unavailable' || unpaid.value <= gapWarning) return null;
  return (
    `More than ${gapWarning} on-chain addresses in a row were not paid to: a wallet that looks 20 ` +
    'addresses ahead may not show the next payment. Raise its gap limit.'
  );
}

/** What looking all addresses up came to. */
export interface Rescan {
  readonly addresses: number;
  /** Orders whose state is another than before. */
  readonly changed: number;
  /** Sentences about money that no order accounts for. */
  readonly unowned: readonly string[];
}

/** What a scan is made of. */
export interface RescanParts extends BookParts {
  readonly clock: Clock;
  readonly account: Account;
  readonly chain: Chain;
  /** Told how many addresses were asked about, and of how many. */
  readonly progress: (asked: number, about: number) => void;
}

/** Looks up every address from an index on, whatever its order is, and lets what is found happen to it. */
export async function rescan(
  parts: RescanParts,
  from: number,
): Promise<Rescan | Unavailable | { readonly kind: 'failed'; readonly reason: string }> {
  const { store, account, chain, progress } = parts;
  const index = await nextAddressIndex(store, account.digest);
  if (index.kind === 'unavailable') return index;
  const end = index.value.next + ahead;
  const unowned: string[] = [];
  let changed = 0;
  for (let at = from; at < end; at += together) {
    progress(at - from, end - from);
    const indexes = Array.from({ length: Math.min(together, end - at) }, (_, offset) => at + offset);
    const asked = indexes.map((each) => chain.lookup(account.address(each)));
    const answers: readonly ChainAnswer<readonly Output[]>[] = await Promise.all(asked);
    for (const [offset, answer] of answers.entries()) {
      if (answer.kind === 'failed') return answer;
      const outcome = await settle(parts, at + offset, answer.value);
      if (outcome.kind === 'unavailable') return outcome;
      if (outcome.kind === 'changed') changed += 1;
      if (outcome.kind === 'unowned') unowned.push(outcome.sentence);
    }
  }
  const addresses = Math.max(0, end - from);
  progress(addresses, addresses);
  return { addresses, changed, unowned };
}

type Settled =
  | { readonly kind: 'same' }
  | { readonly kind: 'changed' }
  | { readonly kind: 'unowned'; readonly sentence: string }
  | Unavailable;

async function settle(parts: RescanParts, index: number, outputs: readonly Output[]): Promise<Settled> {
  const place = parts.account.address(index);
  const found = await findOrderAt(parts.store, 'btc', place);
  if (found.kind === 'unavailable') return found;
  if (found.value === undefined) {
    if (outputs.length === 0) return { kind: 'same' };
    const sat = outputs.reduce((sum, output) => sum + output.sat, 0n);
    const sentence = `${sat} sat came to ${place} (index ${index}), which no order has.`;
    return { kind: 'unowned', sentence };
  }
  const { status, outputs: before } = found.value;
  if (outputs.length === 0 && before.length === 0) return { kind: 'same' };
  const outcome = await happen(parts, found.value.id, { kind: 'outputs', outputs });
  if (outcome.kind === 'unavailable') return outcome;
  const after = outcome.kind === 'absent' ? status : outcome.order.status;
  return { kind: after === status ? 'same' : 'changed' };
}
