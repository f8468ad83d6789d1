/**
 * Orders after a restore (docs/backup.md): the book is as old as the backup, while the world went on. No
 * address that may have been shown is given out again. A key that may have been revealed ends before its
 * successor is revealed. Payments without an order are reported.
 */
import type { Output } from '../store/tables/orderRow.js';
import { findKeyById } from '../store/tables/keys.js';
import { changeOrder, findOrder, findOrderAt, allOrders } from '../store/tables/orders.js';
import { recordsAfter } from '../store/entries.js';
import type { Account } from './onchain/account.js';
import type { BookParts } from './order/book.js';
import { replaceUnrevealedKey } from './order/reissue.js';
import type { Chain } from './onchain/chain.js';
import { searchHistory } from './onchain/freshAddresses.js';
import type { Lnd } from './lnd.js';
import type { Card } from './card/card.js';
import { dayMs, timeText } from '../system/clock.js';
import { nextAddressIndex, takeIndexes, type AddressIndex } from '../store/tables/addressIndexes.js';

/** Indexes skipped after the last one known to be given out. */
const margin = 1_000;

/** Outcome of the recovery. Sentences are for the operator. */
export interface Recovery {
  /** Number of keys, or seeds of keys, replaced because they may have been revealed after the backup. */
  readonly keys: number;
  /** The work done. */
  readonly done: readonly string[];
  /** Orders that cannot be recovered, or whose state is unknown. */
  readonly lost: readonly string[];
  /** False: a node or Stripe did not answer, and what it knows was not looked for. */
  readonly answered: boolean;
}

/** The configured nodes. */
export interface RecoverParts extends BookParts {
  readonly chain: { readonly account: Account; readonly chain: Chain } | undefined;
  readonly lnd: Lnd | undefined;
  /** When the backup was made (ms since 1970). */
  readonly madeAtMs: number;
  /** Receives the number of addresses queried so far, and an estimate of the total. */
  readonly progress: (asked: number, about: number) => void;
}

/** Brings a restored store's orders up to date; nothing else may use the store meanwhile. */
export async function recoverOrders(parts: RecoverParts): Promise<Recovery> {
  const keys = await replaceKeys(parts);
  const search = parts.chain === undefined ? undefined : await searchChain(parts, parts.chain);
  const moved = await moveIndexes(parts, search?.unpaidFrom ?? 0);
  const unowned = parts.lnd === undefined ? undefined : await unownedInvoices(parts, parts.lnd);
  const done = [
    ...(keys === 0 ? [] : [`${counted(keys, 'order')} will give out another key than before.`]),
    ...(moved === 0 ? [] : [`The address index was moved on, past ${margin} addresses.`]),
  ];
  const answered = search?.answered !== false && unowned?.answered !== false;
  return { keys, done, lost: [...(search?.lost ?? []), ...(unowned?.lost ?? [])], answered };
}

/** Time for which Stripe keeps its events (ms). */
const eventsKeptMs = 30 * dayMs;

/**
 * Time before the backup from which events are applied (ms): an hour more than that for which Stripe repeats
 * an event (https://docs.stripe.com/webhooks#retries). One that was taken after the backup is not in it.
 */
const beforeBackupMs = 3 * dayMs + 3_600_000;

/** Applies the events of card payments that the backup may lack; `card` undefined: the rail is not set up. */
export async function recoverCards(
  card: Pick<Card, 'catchUp'> | undefined,
  madeAtMs: number,
  nowMs: number,
): Promise<Omit<Recovery, 'keys'>> {
  if (card === undefined) return { done: [], lost: [], answered: true };
  const fromMs = madeAtMs - beforeBackupMs;
  const outcome = await card.catchUp(fromMs);
  const since = timeText(fromMs);
  const resend = `Send its events since ${since} again (Stripe's dashboard, Developers, Events).`;
  const keyless = outcome.mismatches.map(({ about, reason }) => `card: ${about} gave no key. ${reason}`);
  if ('wrong' in outcome) {
    const unasked = `card: Stripe cannot be asked (${outcome.wrong}). ${resend}`;
    return { done: [], lost: [...keyless, unasked], answered: false };
  }
  const old =
    nowMs - fromMs > eventsKeptMs
      ? [`card: Stripe keeps events for 30 days: compare payments since ${since} with its dashboard.`]
      : [];
  const { changed } = outcome;
  return {
    done: changed === 0 ? [] : [`card: ${counted(changed, 'event')} applied that the backup lacked.`],
    lost: [...keyless, ...old],
    answered: true,
  };
}

function counted(count: number, noun: string): string {
  return `${count} ${count === 1 ? noun : `${noun}s`}`;
}

/** Gives each order whose key is unrevealed, by the backup, the next generation of that key. */
async function replaceKeys(parts: RecoverParts): Promise<number> {
  const ids: string[] = [];
  for await (const { id, seed } of allOrders(parts.store)) {
    if (seed !== null) ids.push(id);
  }
  for (const id of ids) {
    await changeOrder(parts.store, id, async (record) => {
      const key = await findKeyById(parts.store, record.keyId ?? '');
      return replaceUnrevealedKey(parts, record, key);
    });
  }
  return ids.length;
}

/**
 * Advances every account's index; from `unpaidFrom` on, the chain knows no address of the configured account.
 */
async function moveIndexes({ store, chain }: RecoverParts, unpaidFrom: number): Promise<number> {
  const accounts: ({ readonly key: Uint8Array } & AddressIndex)[] = [];
  for await (const { key } of recordsAfter(store, 'addressIndexes')) {
    accounts.push({ key, ...(await nextAddressIndex(store, key)) });
  }
  const operations = accounts.map(({ key, next, passedOver, bytes }) => {
    const known = chain?.account.digest.equals(key) === true ? Math.max(next, unpaidFrom) : next;
    return takeIndexes(key, { bytes, passedOver }, known + margin);
  });
  // The chain knows an account without an index in the backup: all of its orders are newer.
  const unknown = chain !== undefined && !accounts.some(({ key }) => chain.account.digest.equals(key));
  if (unknown && unpaidFrom > 0)
    operations.push(
      takeIndexes(chain.account.digest, { bytes: undefined, passedOver: 0 }, unpaidFrom + margin),
    );
  if (operations.length === 0) return 0;
  const outcome = await store.commit(operations);
  if (outcome.kind !== 'done') throw new Error('Another process uses the store that is restored');
  return operations.length;
}

/** Outcome of asking one node about lost orders. */
type Asked = Pick<Recovery, 'lost' | 'answered'>;

interface Search extends Asked {
  /** The index after the highest one whose address has a history; 0: none from the stored index on. */
  readonly unpaidFrom: number;
}

/** Queries addresses from the stored index on, until {@link maxUnusedInARow} in a row have no history. */
async function searchChain(
  { store, progress }: RecoverParts,
  { account, chain }: { readonly account: Account; readonly chain: Chain },
): Promise<Search> {
  const stored = await nextAddressIndex(store, account.digest);
  const begin = stored.next;
  const failed = (reason: string): string =>
    `Payments to addresses of lost orders could not be looked for: ${reason}.`;
  const history = await searchHistory({ account, chain }, begin, progress);
  if (history.kind === 'failed') {
    return { unpaidFrom: 0, lost: [failed(history.reason)], answered: false };
  }
  const lost: string[] = [];
  let answered = true;
  for (const index of history.value) {
    const answer = await chain.lookup(account.address(index));
    if (answer.kind === 'failed') {
      lost.push(failed(answer.reason));
      answered = false;
      break;
    }
    const sentence = await paidWithoutOrder(store, account.address(index), answer.value);
    if (sentence !== '') lost.push(sentence);
  }
  return { unpaidFrom: (history.value.at(-1) ?? -1) + 1, lost, answered };
}

/** A sentence about payments to an address without an order; empty if there are none, or if it has one. */
async function paidWithoutOrder(
  store: RecoverParts['store'],
  address: string,
  outputs: readonly Output[],
): Promise<string> {
  if (outputs.length === 0) return '';
  const order = await findOrderAt(store, 'btc', address);
  const sat = outputs.reduce((sum, output) => sum + output.sat, 0n);
  if (order !== undefined) return '';
  return `${sat} sat came to ${address}, whose order was made after the backup.`;
}

/** Memo of an order's invoice. */
const memo = /^Fusegate \w+, order ([a-z2-7]{26})$/;

/** Sentences about paid invoices whose orders are missing from the backup. */
async function unownedInvoices(parts: RecoverParts, lnd: Lnd): Promise<Asked> {
  const sentences: string[] = [];
  // An invoice made shortly before the backup may have an order written after it.
  const fromMs = parts.madeAtMs - 3_600_000;
  const answer = await lnd.settledInvoices(fromMs);
  if (answer.kind === 'failed') {
    const lost = [`Paid invoices of lost orders could not be looked for: ${answer.reason}.`];
    return { lost, answered: false };
  }
  for (const { memo: text, paymentHash, paidSat } of answer.value) {
    const [, id] = memo.exec(text) ?? [];
    if (id === undefined) continue;
    const order = await findOrder(parts.store, id);
    if (order !== undefined) continue;
    sentences.push(
      `${paidSat} sat came by Lightning (${paymentHash}) for order ${id}, made after the backup.`,
    );
  }
  return { lost: sentences, answered: true };
}
