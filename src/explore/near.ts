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
import { isReceiptId } from '../store/receiptId.js';
import { vectorText } from './vectorsFollower.js';
import type { NotDone } from '../system/workQueue.js';

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

interface Found {
  readonly search: NearResponse['search'];
  readonly found: readonly Neighbour[];
}

interface Search {
  readonly asOf: number;
  readonly vector: Uint8Array;
  readonly most: number;
}

async function search({ vectors }: ExploreParts, { asOf, vector, most }: Search): Promise<Found> {
  const { indexed, neighbours } = await vectors.nearest(asOf, vector, most, true);
  return { search: indexed ? 'index' : 'exact', found: neighbours };
}

/** A search whose answer leaves fragments out. */
interface VisibleSearch extends Search {
  readonly except: ReadonlySet<string>;
  /** Number of these known to be near: the search finds them too, in vain. */
  readonly passed: number;
}

/**
 * The nearest visible fragments. The search widens until it has enough of them, or has found all, or the
 * client has gone. The caller runs it through a queue.
 */
export async function searchVisible(
  parts: ExploreParts,
  { except, passed, ...asked }: VisibleSearch,
  signal: AbortSignal,
): Promise<Found | NotDone> {
  for (let most = asked.most + passed; !signal.aborted; most *= 2) {
    const { search: made, found } = await search(parts, { ...asked, most });
    const visible = found.filter(({ receipt }) => !except.has(receipt));
    if (visible.length >= asked.most || found.length < most) {
      return { search: made, found: visible.slice(0, asked.most) };
    }
  }
  return 'busy';
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
    const { receipts } = await parts.hidden();
    const vector =
      receipt === undefined ? parts.embedText(text ?? '') : await vectorOfReceipt(parts, receipt);
    if (!(vector instanceof Uint8Array)) return vector;
    const k = numberOf(query['k'], nearDefaults.k);
    const except = receipt === undefined ? receipts : new Set([...receipts, receipt]);
    // A fragment is the nearest to itself.
    const passed = receipt === undefined ? 0 : 1;
    const asked = { asOf, vector, most: k, except, passed };
    const searched = await parts.inShortTurn(() => searchVisible(parts, asked, signal), signal);
    if (searched === 'busy') return exploringTooMuch;
    const { search: made, found } = searched;
    // The neighbours of a withheld fragment would reveal what it is about.
    const isHidden = receipt !== undefined && receipts.has(receipt);
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
