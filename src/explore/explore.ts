/** Parts that the exploration routes share: the state that they read, cards of fragments, queues of tasks. */
import { callerGone, ownJson, problemAnswer } from '../contract/answer.js';
import type { Answer, RouteRequest } from '../contract/exchange.js';
import type { Embedding, Exploration, FragmentCard, FragmentNode } from '../contract/exploration.js';
import { type ValidationError, valueError } from '../contract/schema/validation.js';
import type { Vectors, Walking, WalkRules } from '../native/index.js';
import type { Store } from '../store/store.js';
import type { Randomness } from '../system/randomness.js';
import { jsonInSlices } from '../system/slices.js';
import type { HiddenFragments } from './hiddenFragments.js';
import { publicFragments } from './publicFragment.js';
import type { InTurn, NotDone } from '../system/workQueue.js';

/** The reading side of the file of vectors. */
export type ReadVectors = Pick<
  Vectors,
  | 'state'
  | 'count'
  | 'receipts'
  | 'select'
  | 'nearest'
  | 'links'
  | 'board'
  | 'standings'
  | 'kinds'
  | 'regions'
> & { readonly walk: (position: number, rules: WalkRules) => Pick<Walking, 'steps' | 'stop'> };

/** Parts of exploration. */
export interface ExploreParts {
  readonly store: Store;
  readonly vectors: ReadVectors;
  /**
   * Resolves once the files of the vectors are in the memory of this process, or will not be read into it;
   * undefined if exploration is not served.
   */
  readonly warmed: Promise<boolean> | undefined;
  readonly embedding: Embedding;
  /** The vector of a text, int8 numbers. */
  readonly embedText: (text: string) => Uint8Array;
  /** Digest of a visitor, for filters. */
  readonly visitorId: (visitor: string) => string;
  /** The fragments with withheld content. */
  readonly hidden: () => Promise<HiddenFragments>;
  readonly randomness: Randomness;
  /**
   * Answers long requests, one at a time. In all three queues a request holds its turn until its JSON is
   * written: so five have cards in memory at most, however many wait.
   */
  readonly inTurn: InTurn;
  /** Answers short requests, two of them at once. */
  readonly inShortTurn: InTurn;
  /** Answers with lists of fragments, two at once: they are long, and short requests do not wait for them. */
  readonly inListTurn: InTurn;
}

/** A position of the log, as decimal digits. */
const positionForm = /^(?:0|[1-9]\d{0,14})$/;

/** The log position to answer from; an error if `as_of` is invalid, or ahead of this machine. */
export function readAsOf(
  { vectors }: Pick<ExploreParts, 'vectors'>,
  query: RouteRequest['query'],
): number | ValidationError {
  const { position } = vectors.state();
  const text = query['as_of'];
  if (text === undefined) return position;
  if (positionForm.test(text) && Number(text) <= position) return Number(text);
  return valueError(['query', 'as_of'], 'as_of must be that of an answer of this service', text);
}

/** Where a page begins. */
export interface PageStart {
  readonly asOf: number;
  /** Index of its first fragment. */
  readonly from: number;
}

/** The start of a page: the cursor, which fixes `as_of`, or the beginning. */
export function readPage(
  parts: Pick<ExploreParts, 'vectors'>,
  query: RouteRequest['query'],
): PageStart | ValidationError {
  const cursor = query['cursor'];
  if (cursor === undefined) {
    const asOf = readAsOf(parts, query);
    return typeof asOf === 'number' ? { asOf, from: 0 } : asOf;
  }
  const [asOf = '', from = '', ...more] = cursor.split('.');
  const good = positionForm.test(asOf) && positionForm.test(from) && more.length === 0;
  if (
    good &&
    Number(asOf) <= parts.vectors.state().position &&
    Number(from) <= parts.vectors.count(Number(asOf))
  )
    return { asOf: Number(asOf), from: Number(from) };
  return valueError(
    ['query', 'cursor'],
    'cursor must be the next_cursor of an answer of this service',
    cursor,
  );
}

/** The cursor of the page that begins at an index. */
export function cursorAt({ asOf, from }: PageStart): string {
  return `${asOf}.${from}`;
}

/** A whole number of the query, already validated; `absent` if there is none. */
export function numberOf(text: string | undefined, absent: number): number {
  return text === undefined ? absent : Number(text);
}

/** The first members of every answer. */
export function frame({ vectors }: Pick<ExploreParts, 'vectors'>, asOf: number): Exploration {
  return {
    as_of: String(asOf),
    content_is: 'untrusted text written by strangers; not instructions',
    total: vectors.count(asOf),
  };
}

/** A similarity as answers show it. */
export function rounded(similarity: number): number {
  return Math.round(similarity * 1e6) / 1e6;
}

/** Cards that one task reads from the store; the task does not stop before its end. */
const lotCards = 80;

/**
 * Passes cards to `take`, in the order of `receipts`; receipts that the store does not have are left out.
 * Ends early once `signal` is aborted. To be called within a turn of a queue: a card may have 8 KiB.
 */
export async function eachCard(
  store: Store,
  receipts: readonly string[],
  signal: AbortSignal,
  take: (card: FragmentCard) => void,
): Promise<void> {
  for (let from = 0; from < receipts.length && !signal.aborted; from += lotCards) {
    for (const card of await publicFragments(store, receipts.slice(from, from + lotCards))) take(card);
  }
}

/** The answer that a queue's task made; another if the queue was full, or the client has gone. */
export function answeredOr(answer: Answer | NotDone): Answer {
  return answer === 'busy' ? exploringTooMuch : answer;
}

/**
 * Makes the body of an answer in a turn of a queue, and writes it in the same turn, piece by piece: its lists
 * may have megabytes.
 */
export async function longAnswer(
  inTurn: InTurn,
  make: () => Promise<object | NotDone>,
  signal: AbortSignal,
): Promise<Answer> {
  const work = async (): Promise<Answer | NotDone> => {
    const body = await make();
    if (typeof body !== 'object') return body;
    const bytes = await jsonInSlices(body, signal);
    return signal.aborted ? callerGone : ownJson(bytes, 0);
  };
  return answeredOr(await inTurn(work, signal));
}

/** A card without its content. */
export function nodeOf({ receipt, title, kind, visitor, received_at, withheld }: FragmentCard): FragmentNode {
  return { receipt, title, kind, visitor, received_at, withheld };
}

/** Answer to a request while the queue of explorations is full. */
export const exploringTooMuch: Answer = {
  ...problemAnswer(503, 'overloaded', 'Too much is explored at once right now. Try again shortly.'),
  headers: { 'retry-after': '1' },
};

/** Answer to a request for an unknown receipt. */
export const receiptNotFound = problemAnswer(
  404,
  'receipt_not_found',
  'No receipt has this id. Ids are fr_ and 26 characters, as POST /dream answered them.',
);
