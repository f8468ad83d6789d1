/**
 * Addresses without history. A payment names its address and not its order. So an order gets an address
 * without any history: an old payment must not pay for it.
 */
import { nextAddressIndex, takeIndexes, type AddressIndex } from '../../store/tables/addressIndexes.js';
import type { Store } from '../../store/store.js';
import { addressesOf, type Account } from './account.js';
import type { Clock } from '../../system/clock.js';
import type { Chain } from './chain.js';
import { answered, type Failed, type NodeAnswer } from '../nodeAnswer.js';
import { failedBy, nodeFault } from './nodeTrust.js';

/** An account and the node that knows its payments. */
export interface AccountOnChain {
  readonly account: Account;
  readonly chain: Chain;
}

/** Most addresses with a history that are skipped before one order. */
export const maxPassedOver = 1_000;

/** Unused addresses in a row that end a search: a lost store may have shown that many without a payment. */
export const maxUnusedInARow = 1_000;

/** Indexes skipped after the highest one with a history: a lost store may have shown them. */
const margin = 20;

/** Addresses in one question to the chain: deriving each blocks the event loop for a millisecond. */
const together = 16;

/** Indexes whose addresses have no history, and the number of indexes that were skipped. */
export interface FreshIndexes {
  readonly indexes: readonly number[];
  readonly passedOver: number;
}

/**
 * The next `count` indexes from `from` on whose addresses have no history; `exhausted` after
 * {@link maxPassedOver} that have one.
 */
export async function freshIndexes(
  { account, chain }: AccountOnChain,
  from: number,
  count: number,
): Promise<NodeAnswer<FreshIndexes> | { readonly kind: 'exhausted' }> {
  const indexes: number[] = [];
  let passedOver = 0;
  for (let at = from; ;) {
    const group = Array.from({ length: Math.min(together, count - indexes.length) }, (_, each) => at + each);
    // A wallet node knows only the addresses that it handed out: others show no history there.
    const prepared = await chain.prepare?.(at + group.length - 1);
    if (prepared?.kind === 'failed') return prepared;
    const used = await usedOf({ account, chain }, group);
    if (used.kind === 'failed') return used;
    const fresh = group.filter((index) => !used.value.includes(index));
    indexes.push(...fresh);
    passedOver += group.length - fresh.length;
    if (indexes.length === count) return answered({ indexes, passedOver });
    if (passedOver >= maxPassedOver) return { kind: 'exhausted' };
    at += group.length;
  }
}

/** The indexes whose addresses have a history. */
async function usedOf(
  { account, chain }: AccountOnChain,
  indexes: readonly number[],
): Promise<NodeAnswer<readonly number[]>> {
  const addresses = await addressesOf(account, indexes);
  const used = await chain.used(addresses);
  if (used.kind === 'failed') return used;
  return answered(indexes.filter((_, at) => used.value.has(addresses[at] ?? '')));
}

/** Progress of a search: addresses queried so far, and an estimate of the total. */
export type SearchProgress = (asked: number, about: number) => void;

/**
 * The indexes from `from` on whose addresses have a history, in order. The search ends after
 * {@link maxUnusedInARow} without one.
 */
export async function searchHistory(
  { account, chain }: AccountOnChain,
  from: number,
  progress: SearchProgress,
): Promise<NodeAnswer<readonly number[]>> {
  const found: number[] = [];
  const end = (): number => Math.max(from, (found.at(-1) ?? -1) + 1) + maxUnusedInARow;
  for (let at = from; at < end();) {
    progress(at - from, end() - from);
    const group = Array.from({ length: Math.min(together, end() - at) }, (_, each) => at + each);
    const used = await usedOf({ account, chain }, group);
    if (used.kind === 'failed') return used;
    found.push(...used.value);
    at += group.length;
  }
  return answered(found);
}

/** The next index of an account that the store knows. */
export interface Begun {
  readonly kind: 'begun';
  readonly index: AddressIndex;
  /** True if the account was new to the store, and its addresses were searched now. */
  readonly searched: boolean;
}

/**
 * Makes sure that the store has the account's next index. An account that is new to the store may have been
 * used before, by a lost store or by a wallet. Its first index comes after every address that has a history
 * or may have been shown.
 */
export async function beginAccount(
  parts: AccountOnChain & { readonly store: Store; readonly clock: Pick<Clock, 'wallMs'> },
): Promise<Begun | Failed> {
  const { store, account, chain } = parts;
  let searched = false;
  for (;;) {
    const index = await nextAddressIndex(store, account.digest);
    if (index.bytes !== undefined) return { kind: 'begun', index, searched };
    const fault = await nodeFault(parts);
    if (fault !== undefined) return failedBy(fault);
    const history = await searchHistory(parts, 0, () => undefined);
    if (history.kind === 'failed') return history;
    const unshown = await chain.firstUnshown?.();
    if (unshown?.kind === 'failed') return unshown;
    const highest = history.value.at(-1);
    const next = Math.max(highest === undefined ? 0 : highest + 1 + margin, unshown?.value ?? 0);
    const operations = [takeIndexes(account.digest, { bytes: undefined, passedOver: 0 }, next)];
    const outcome = await store.commit(operations);
    // After a conflict another process has stored the index: that one counts.
    searched = outcome.kind === 'done';
  }
}

/** The next order's index: a sentence for the operator. */
export async function addressSentence(store: Store, account: Account): Promise<string> {
  const { next, passedOver, bytes } = await nextAddressIndex(store, account.digest);
  if (bytes === undefined) {
    return 'No on-chain address was given out yet; the first start looks for earlier payments.';
  }
  const past =
    passedOver === 0
      ? ''
      : ` ${passedOver === 1 ? 'One address was' : `${passedOver} addresses were`} skipped ` +
        'because of earlier payments.';
  return `The next on-chain order gets the address of index ${next}.${past}`;
}
