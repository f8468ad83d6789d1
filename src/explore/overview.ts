/**
 * `GET /focus` and `GET /leaderboard` (contract, Exploration): rare kinds and regions, and visitors with many
 * fragments.
 */
import { jsonAnswer, unprocessable } from '../contract/answer.js';
import type { Answer, Handler, RouteRequest } from '../contract/exchange.js';
import { kinds } from '../contract/exploration.js';
import type { FocusKind, FocusRegion, FocusResponse } from '../contract/focus.js';
import type { LeaderboardEntry, LeaderboardResponse } from '../contract/leaderboard.js';
import type { ValidationError } from '../contract/schema/validation.js';
import type { FragmentBoard, FragmentRegion } from '../native/index.js';
import { withheldAmong } from '../store/tables/notices.js';
import type { HiddenFragments } from './hiddenFragments.js';
import { answeredOr, eachCard, exploringTooMuch, frame, readAsOf, type ExploreParts } from './explore.js';
import { inPool } from '../system/threadPool.js';
import { remembered, type NotDone } from '../system/workQueue.js';

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

async function named(
  { store }: ExploreParts,
  regions: readonly FragmentRegion[],
  signal: AbortSignal,
): Promise<FocusRegion[]> {
  const titles = new Map<string, string | null>();
  const receipts = regions.map(({ receipt }) => receipt);
  await eachCard(store, receipts, signal, ({ receipt, title }) => titles.set(receipt, title));
  return regions.map(({ receipt, fragments }) => ({
    receipt,
    title: titles.get(receipt) ?? null,
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
  const count = (asOf: number, hidden: number[]) => async () => ({
    counts: await vectors.kinds(asOf, hidden),
    regions: await vectors.regions(asOf, hidden),
  });
  const countsOf = perHidden((hidden) =>
    remembered((asOf, signal) => parts.inTurn(() => inPool(count(asOf, hidden), signal), signal)),
  );
  return async (request) => {
    const signal = request.signal();
    const asOf = readAsOf(parts, request.query);
    if (typeof asOf !== 'number') return unprocessable([asOf]);
    const found = await countsOf(await parts.hidden())(asOf, signal);
    if (found === 'busy') return exploringTooMuch;
    const { embedding } = parts;
    const work = async (): Promise<Answer> => {
      const regions = await named(parts, found.regions, signal);
      const body: FocusResponse = {
        ...frame(parts, asOf),
        embedding,
        kinds: kindsOf(found.counts),
        regions,
      };
      return jsonAnswer(200, body);
    };
    return answeredOr(await parts.inShortTurn(work, signal));
  };
}

/** Most visitors whose names are cached. */
const namesKept = 10_000;

/** Visitors' names by receipt. Content never changes; whether it is withheld is read each time. */
type Names = Map<string, string>;

/** Visitors' names by the receipts of visible fragments that have one. */
async function namesIn(
  { store, inShortTurn }: Pick<ExploreParts, 'store' | 'inShortTurn'>,
  names: Names,
  receipts: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string> | NotDone> {
  const found = new Map<string, string>();
  for (const receipt of receipts) {
    const known = names.get(receipt);
    if (known !== undefined) found.set(receipt, known);
  }
  const unknown = receipts.filter((receipt) => !found.has(receipt));
  const read = () =>
    eachCard(store, unknown, signal, ({ receipt, visitor }) => {
      if (visitor !== null) found.set(receipt, visitor);
    });
  if (unknown.length > 0 && (await inShortTurn(read, signal)) === 'busy') return 'busy';
  if (names.size + unknown.length > namesKept) names.clear();
  for (const [receipt, name] of found) names.set(receipt, name);
  for (const receipt of (await withheldAmong(store, receipts)).keys()) found.delete(receipt);
  return found;
}

/** Reads the names of the present ranking, so that the first answer after a start does not wait for them. */
async function readAhead(parts: ExploreParts, names: Names): Promise<void> {
  if ((await parts.warmed) === undefined) return;
  const receipts = parts.vectors.board()?.standings.map(({ receipt }) => receipt) ?? [];
  await namesIn(parts, names, receipts, new AbortController().signal);
}

/** Ranks visitors by their number of fragments with distinct content; ties share a rank. */
export function leaderboard(parts: ExploreParts): Handler {
  const names: Names = new Map();
  // If the store does not answer, a request reads them.
  void readAhead(parts, names).catch(() => undefined);
  const standingsOf = perHidden((hidden) =>
    remembered((asOf, signal) =>
      parts.inTurn(() => inPool(() => parts.vectors.standings(asOf, hidden), signal), signal),
    ),
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
    const found = await namesIn(parts, names, receipts, signal);
    if (found === 'busy') return exploringTooMuch;
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
