/**
 * `GET /focus` and `GET /leaderboard` (contract, Exploration): rare kinds and regions, and visitors with many
 * fragments.
 */
import { setImmediate } from 'node:timers/promises';
import { jsonAnswer, unprocessable } from '../contract/answer.js';
import type { Handler, RouteRequest } from '../contract/exchange.js';
import { kinds } from '../contract/exploration.js';
import type { FocusKind, FocusRegion, FocusResponse } from '../contract/focus.js';
import type { LeaderboardEntry, LeaderboardResponse } from '../contract/leaderboard.js';
import type { ValidationError } from '../contract/schema/validation.js';
import type { FragmentBoard, FragmentRegion, VisitorStanding } from '../native/index.js';
import { findWithheld } from '../store/notices.js';
import type { Store } from '../store/store.js';
import { cardsOf, exploringTooMuch, frame, readAsOf, type ExploreParts } from './explore.js';
import { publicFragment } from './publicFragment.js';
import { remembered } from '../system/workQueue.js';

/** Most fragments of a visitor that are read to find a name that is not withheld. */
const namesTried = 100;

/** Fragments by kind, fewest first; ties in the contract's order. `counts`: indexed by the kinds' numbers. */
function kindsOf(counts: readonly number[]): FocusKind[] {
  const all = kinds.map((kind, number) => ({ kind, fragments: counts[number] ?? 0 }));
  return all.sort((a, b) => a.fragments - b.fragments);
}

/** The position to answer from, and the counts there if it is the current one. */
function presentOr(
  parts: ExploreParts,
  query: RouteRequest['query'],
): { readonly asOf: number; readonly board: FragmentBoard | null } | ValidationError {
  const board = query['as_of'] === undefined ? parts.vectors.board() : null;
  if (board !== null) return { asOf: board.position, board };
  const asOf = readAsOf(parts, query);
  return typeof asOf === 'number' ? { asOf, board } : asOf;
}

async function named({ store }: ExploreParts, regions: readonly FragmentRegion[]): Promise<FocusRegion[]> {
  const cards = await cardsOf(
    store,
    regions.map(({ receipt }) => receipt),
  );
  return regions.map(({ receipt, fragments }) => ({
    receipt,
    title: cards.get(receipt)?.title ?? null,
    fragments,
  }));
}

/** Answers with the kinds and regions that have the fewest fragments. */
export function focus(parts: ExploreParts): Handler {
  const regionsAt = remembered((asOf, signal) => parts.inTurn(() => parts.vectors.regions(asOf), signal));
  return async (request) => {
    const signal = request.signal();
    const state = presentOr(parts, request.query);
    if ('loc' in state) return unprocessable([state]);
    const { asOf, board } = state;
    const found = await regionsAt(asOf, signal);
    if (found === 'busy') return exploringTooMuch;
    const regions = await named(parts, found);
    const counts = board?.kinds ?? (await parts.vectors.kinds(asOf));
    const { embedding } = parts;
    const body: FocusResponse = {
      ...frame(parts, asOf),
      embedding,
      kinds: kindsOf(counts),
      regions,
    };
    return jsonAnswer(200, body);
  };
}

/** Most visitors whose names are cached. */
const namesKept = 10_000;

/** Visitors' names by receipt. Content never changes; whether it is withheld is checked each time. */
type Names = Map<string, string>;

async function nameIn(store: Store, names: Names, receipt: string): Promise<string | null> {
  const known = names.get(receipt);
  if (known !== undefined) return (await findWithheld(store, receipt)) === undefined ? known : null;
  const name = (await publicFragment(store, receipt))?.visitor ?? null;
  if (name === null) return null;
  if (names.size >= namesKept) names.clear();
  names.set(receipt, name);
  return name;
}

/** A visitor's name, from a visible fragment of theirs; null if all are withheld. */
async function nameOf(
  { store, vectors }: ExploreParts,
  names: Names,
  asOf: number,
  { receipt, visitor }: VisitorStanding,
): Promise<string | null> {
  const first = await nameIn(store, names, receipt);
  if (first !== null) return first;
  const { places } = await vectors.select(asOf, { visitor }, 0, namesTried);
  const cards = await cardsOf(
    store,
    places.map((place) => place.receipt),
  );
  return [...cards.values()].find((card) => card.visitor !== null)?.visitor ?? null;
}

/** Names looked up in one turn of the event loop. */
const turnNames = 25;

/** Ranks visitors by their number of fragments with distinct content; ties share a rank. */
export function leaderboard(parts: ExploreParts): Handler {
  const names: Names = new Map();
  const standingsAt = remembered((asOf, signal) => parts.inTurn(() => parts.vectors.standings(asOf), signal));
  return async (request) => {
    const signal = request.signal();
    const state = presentOr(parts, request.query);
    if ('loc' in state) return unprocessable([state]);
    const { asOf, board } = state;
    const standings = board?.standings ?? (await standingsAt(asOf, signal));
    if (standings === 'busy') return exploringTooMuch;
    const visitors: LeaderboardEntry[] = [];
    for (const [place, standing] of standings.entries()) {
      if (place > 0 && place % turnNames === 0) await setImmediate();
      const visitor = await nameOf(parts, names, asOf, standing);
      if (visitor === null) continue;
      const rank = 1 + standings.findIndex(({ fragments }) => fragments === standing.fragments);
      visitors.push({ rank, visitor, fragments: standing.fragments });
    }
    const body: LeaderboardResponse = { ...frame(parts, asOf), visitors };
    return jsonAnswer(200, body);
  };
}
