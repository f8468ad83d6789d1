/**
 * `GET /focus` and `GET /leaderboard` (contract, Exploration): rare kinds and regions, and visitors with many
 * fragments.
 */
import { jsonAnswer, unprocessable } from '../contract/answer.js';
import type { Handler, RouteRequest } from '../contract/exchange.js';
import { kinds } from '../contract/exploration.js';
import type { FocusKind, FocusRegion, FocusResponse } from '../contract/focus.js';
import type { LeaderboardEntry, LeaderboardResponse } from '../contract/leaderboard.js';
import type { ValidationError } from '../contract/schema/validation.js';
import type { FragmentBoard, FragmentRegion } from '../native/index.js';
import { withheldAmong } from '../store/tables/notices.js';
import type { Store } from '../store/store.js';
import type { HiddenFragments } from './hiddenFragments.js';
import { cardsOf, exploringTooMuch, frame, readAsOf, type ExploreParts } from './explore.js';
import { remembered } from '../system/workQueue.js';

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

/** Makes what depends on the withheld fragments anew when others are withheld. */
function perHidden<Made>(make: (hidden: number[]) => Made): (hidden: HiddenFragments) => Made {
  let last: { readonly places: number[]; readonly made: Made } | undefined;
  return ({ places }) => {
    if (last?.places !== places) last = { places, made: make(places) };
    return last.made;
  };
}

/** Answers with the kinds and regions that have the fewest fragments. */
export function focus(parts: ExploreParts): Handler {
  const { vectors } = parts;
  const countsOf = perHidden((hidden) =>
    remembered((asOf, signal) =>
      parts.inTurn(
        async () => ({
          counts: await vectors.kinds(asOf, hidden),
          regions: await vectors.regions(asOf, hidden),
        }),
        signal,
      ),
    ),
  );
  return async (request) => {
    const signal = request.signal();
    const asOf = readAsOf(parts, request.query);
    if (typeof asOf !== 'number') return unprocessable([asOf]);
    const found = await countsOf(await parts.hidden())(asOf, signal);
    if (found === 'busy') return exploringTooMuch;
    const { embedding } = parts;
    const body: FocusResponse = {
      ...frame(parts, asOf),
      embedding,
      kinds: kindsOf(found.counts),
      regions: await named(parts, found.regions),
    };
    return jsonAnswer(200, body);
  };
}

/** Most visitors whose names are cached. */
const namesKept = 10_000;

/** Visitors' names by receipt. Content never changes; whether it is withheld is read each time. */
type Names = Map<string, string>;

/** Visitors' names by the receipts of visible fragments that have one. */
async function namesIn(
  store: Store,
  names: Names,
  receipts: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const receipt of receipts) {
    const known = names.get(receipt);
    if (known !== undefined) found.set(receipt, known);
  }
  const unknown = receipts.filter((receipt) => !found.has(receipt));
  for (const { receipt, visitor } of (await cardsOf(store, unknown)).values()) {
    if (visitor !== null) found.set(receipt, visitor);
  }
  if (names.size + unknown.length > namesKept) names.clear();
  for (const [receipt, name] of found) names.set(receipt, name);
  for (const receipt of (await withheldAmong(store, receipts)).keys()) found.delete(receipt);
  return found;
}

/** Reads the names of the present ranking, so that the first answer after a start does not wait for them. */
async function readAhead({ store, vectors, warmed }: ExploreParts, names: Names): Promise<void> {
  if ((await warmed) === undefined) return;
  const receipts = vectors.board()?.standings.map(({ receipt }) => receipt) ?? [];
  await namesIn(store, names, receipts);
}

/** Ranks visitors by their number of fragments with distinct content; ties share a rank. */
export function leaderboard(parts: ExploreParts): Handler {
  const names: Names = new Map();
  // If the store does not answer, a request reads them.
  void readAhead(parts, names).catch(() => undefined);
  const standingsOf = perHidden((hidden) =>
    remembered((asOf, signal) => parts.inTurn(() => parts.vectors.standings(asOf, hidden), signal)),
  );
  return async (request) => {
    const signal = request.signal();
    const state = presentOr(parts, request.query);
    if ('loc' in state) return unprocessable([state]);
    const { asOf, board } = state;
    const hidden = await parts.hidden();
    const present = hidden.places.length === 0 ? board?.standings : undefined;
    const standings = present ?? (await standingsOf(hidden)(asOf, signal));
    if (standings === 'busy') return exploringTooMuch;
    const visitors: LeaderboardEntry[] = [];
    const receipts = standings.map(({ receipt }) => receipt);
    const found = await namesIn(parts.store, names, receipts);
    for (const { receipt, fragments } of standings) {
      const visitor = found.get(receipt);
      // Withheld since the list of withheld fragments was read.
      if (visitor === undefined) continue;
      const rank = 1 + standings.findIndex((other) => other.fragments === fragments);
      visitors.push({ rank, visitor, fragments });
    }
    const body: LeaderboardResponse = { ...frame(parts, asOf), visitors };
    return jsonAnswer(200, body);
  };
}
