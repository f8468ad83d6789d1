/** `GET /graph/near` (contract, Exploration): the fragments nearest to a fragment or a text. */
import { jsonAnswer, unprocessable } from '../contract/answer.js';
import type { Answer, Handler, RouteRequest } from '../contract/exchange.js';
import type { NearFragment } from '../contract/exploration.js';
import { nearDefaults, type NearResponse } from '../contract/near.js';
import { type ValidationError, valueError } from '../contract/schema/validation.js';
import type { Neighbour } from '../native/index.js';
import { findFragment } from '../store/tables/fragments.js';
import type { Store } from '../store/store.js';
import {
  cardsOf,
  exploringTooMuch,
  frame,
  numberOf,
  readAsOf,
  receiptNotFound,
  rounded,
  type ExploreParts,
} from './explore.js';
import type { HiddenFragments } from './hiddenFragments.js';
import { isReceiptId } from '../store/receiptId.js';
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

/** Neighbours with their cards, in order. */
export async function shown(
  store: Store,
  neighbours: readonly Pick<Neighbour, 'receipt' | 'similarity'>[],
): Promise<NearFragment[]> {
  const cards = await cardsOf(
    store,
    neighbours.map(({ receipt }) => receipt),
  );
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

/** The nearest visible fragments. The caller runs it through a queue. */
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
    const asked = { asOf, vector, most: numberOf(query['k'], nearDefaults.k), hidden };
    const search = () => searchVisible(parts, receipt === undefined ? asked : { ...asked, itself: receipt });
    const searched = await parts.inShortTurn(search, signal);
    if (searched === 'busy') return exploringTooMuch;
    const { search: made, found } = searched;
    // The neighbours of a withheld fragment would reveal what it is about.
    const isHidden = receipt !== undefined && hidden.receipts.has(receipt);
    const results = await shown(parts.store, isHidden ? [] : found);
    const body: NearResponse = {
      ...frame(parts, asOf),
      embedding: parts.embedding,
      search: made,
      results,
    };
    return jsonAnswer(200, body);
  };
}
