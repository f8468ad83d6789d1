/** `GET /graph/near` (contract, Exploration): the fragments nearest to a fragment or a text. */
import { unprocessable } from '../contract/answer.js';
import type { Answer, Handler, RouteRequest } from '../contract/exchange.js';
import type { FragmentCard, NearFragment } from '../contract/exploration.js';
import { nearDefaults, type NearResponse } from '../contract/near.js';
import { type ValidationError, valueError } from '../contract/schema/validation.js';
import type { Neighbour } from '../native/index.js';
import { findFragment } from '../store/tables/fragments.js';
import type { Store } from '../store/store.js';
import {
  eachCard,
  frame,
  longAnswer,
  numberOf,
  readAsOf,
  receiptNotFound,
  rounded,
  type ExploreParts,
} from './explore.js';
import type { HiddenFragments } from './hiddenFragments.js';
import { isReceiptId } from '../store/receiptId.js';
import { inPool } from '../system/threadPool.js';
import type { NotDone } from '../system/workQueue.js';
import { vectorText } from './vectorsFollower.js';

/** The vector of a stored fragment, or the answer that refuses the request. */
export async function vectorOfReceipt(
  { store, embedText }: Pick<ExploreParts, 'store' | 'embedText'>,
  receipt: string,
): Promise<Uint8Array | Answer> {
  if (!isReceiptId(receipt)) return receiptNotFound;
  const found = await findFragment(store, receipt);
  return found === undefined ? receiptNotFound : embedText(vectorText(found.fragment));
}

/** Neighbours with their cards, in order. To be called as {@link eachCard}. */
export async function shown(
  store: Store,
  neighbours: readonly Pick<Neighbour, 'receipt' | 'similarity'>[],
  signal: AbortSignal,
): Promise<NearFragment[]> {
  const cards = new Map<string, FragmentCard>();
  const receipts = neighbours.map(({ receipt }) => receipt);
  await eachCard(store, receipts, signal, (card) => cards.set(card.receipt, card));
  return neighbours.flatMap(({ receipt, similarity }) => {
    const card = cards.get(receipt);
    return card === undefined ? [] : [{ ...card, similarity: rounded(similarity) }];
  });
}

/** An error unless the query has either a receipt or a text. */
function questionFault({ receipt, text }: RouteRequest['query']): ValidationError | undefined {
  if ((receipt === undefined) !== (text === undefined)) return undefined;
  return valueError(['query'], 'give receipt or text, one of them', null);
}

/** A search whose answer leaves the hidden fragments out. */
interface VisibleSearch {
  readonly asOf: number;
  readonly vector: Uint8Array;
  readonly most: number;
  readonly hidden: HiddenFragments;
  /** Receipt of the fragment whose neighbours are sought: the nearest to itself. */
  readonly itself?: string;
}

/** The nearest visible fragments. The caller runs it in the thread pool. */
export async function searchVisible(
  { vectors }: Pick<ExploreParts, 'vectors'>,
  { asOf, vector, most, hidden, itself }: VisibleSearch,
): Promise<Pick<NearResponse, 'search'> & { readonly found: readonly Neighbour[] }> {
  const asked = itself === undefined ? most : most + 1;
  const { indexed, neighbours } = await vectors.nearest(asOf, vector, asked, true, hidden.places);
  // A fragment that was hidden before it got here has no place among the hidden ones yet.
  const found = neighbours.filter(({ receipt }) => receipt !== itself && !hidden.receipts.has(receipt));
  return { search: indexed ? 'index' : 'exact', found: found.slice(0, most) };
}

/** The body of the answer to a valid request. */
async function nearest(
  parts: ExploreParts,
  asked: VisibleSearch,
  signal: AbortSignal,
): Promise<NearResponse | NotDone> {
  const searched = await inPool(() => searchVisible(parts, asked), signal);
  if (searched === 'busy') return searched;
  const { asOf, hidden, itself } = asked;
  // The neighbours of a withheld fragment would reveal what it is about.
  const isHidden = itself !== undefined && hidden.receipts.has(itself);
  return {
    ...frame(parts, asOf),
    embedding: parts.embedding,
    search: searched.search,
    results: await shown(parts.store, isHidden ? [] : searched.found, signal),
  };
}

/** Finds neighbours: compares every vector, or the index's candidates if there are very many. */
export function near(parts: ExploreParts): Handler {
  return async (request) => {
    const { query } = request;
    const signal = request.signal();
    const asOf = readAsOf(parts, query);
    const faults = [questionFault(query), typeof asOf === 'number' ? undefined : asOf];
    const errors = faults.filter((fault) => fault !== undefined);
    if (errors.length > 0 || typeof asOf !== 'number') return unprocessable(errors);
    const { receipt, text } = query;
    const hidden = await parts.hidden();
    const vector =
      receipt === undefined ? parts.embedText(text ?? '') : await vectorOfReceipt(parts, receipt);
    if (!(vector instanceof Uint8Array)) return vector;
    const most = numberOf(query['k'], nearDefaults.k);
    const asked = { asOf, vector, most, hidden, ...(receipt === undefined ? {} : { itself: receipt }) };
    return longAnswer(parts.inShortTurn, () => nearest(parts, asked, signal), signal);
  };
}
