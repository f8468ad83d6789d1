/** `GET /focus` and `GET /leaderboard` (contract, Exploration): where fragments are few, whose are many. */
import { jsonAnswer, unprocessable } from '../contract/answer.js';
import type { Handler } from '../contract/exchange.js';
import { kinds } from '../contract/exploration.js';
import type { FocusKind, FocusRegion, FocusResponse } from '../contract/focus.js';
import type { LeaderboardEntry, LeaderboardResponse } from '../contract/leaderboard.js';
import type { FragmentRegion, VisitorStanding } from '../native/index.js';
import { cardsOf, exploringTooMuch, frame, readAsOf, type ExploreParts } from './explore.js';
import { publicFragment } from './publicFragment.js';
import { remembered } from '../system/workQueue.js';

/** Visitors that the leaderboard lists. */
const most = 100;

/** Fragments of a visitor that are looked at for a name that is not withheld. */
const namesTried = 100;

/** Fragments by kind, fewest first; of equals in the order of the contract. */
async function kindsOf({ vectors }: ExploreParts, asOf: number): Promise<FocusKind[]> {
  const counts = await Promise.all(
    kinds.map(async (kind, number) => {
      const { matching } = await vectors.select(asOf, { kind: number }, 0, 0);
      return { kind, fragments: matching };
    }),
  );
  return counts.sort((a, b) => a.fragments - b.fragments);
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

/** Tells the kinds and regions with fewest fragments. */
export function focus(parts: ExploreParts): Handler {
  const regionsAt = remembered((asOf, signal) => parts.inTurn(() => parts.vectors.regions(asOf), signal));
  return async (request) => {
    const signal = request.signal();
    const asOf = readAsOf(parts, request.query);
    if (typeof asOf !== 'number') return unprocessable([asOf]);
    const found = await regionsAt(asOf, signal);
    if (found === 'busy') return exploringTooMuch;
    const regions = await named(parts, found);
    const { embedding } = parts;
    const body: FocusResponse = {
      ...frame(parts, asOf),
      embedding,
      kinds: await kindsOf(parts, asOf),
      regions,
    };
    return jsonAnswer(200, body);
  };
}

/** A visitor's name, by a fragment of its whose content is not withheld; null where all are. */
async function nameOf(
  { store, vectors }: ExploreParts,
  asOf: number,
  { receipt, visitor }: VisitorStanding,
): Promise<{ readonly name: string | null }> {
  const first = await publicFragment(store, receipt);
  if (first?.visitor != null) return { name: first.visitor };
  const { places } = await vectors.select(asOf, { visitor }, 0, namesTried);
  const cards = await cardsOf(
    store,
    places.map((place) => place.receipt),
  );
  return { name: [...cards.values()].find((card) => card.visitor !== null)?.visitor ?? null };
}

/** Ranks visitors by how many fragments of different content they left; equals share a rank. */
export function leaderboard(parts: ExploreParts): Handler {
  const standingsAt = remembered((asOf, signal) =>
    parts.inTurn(() => parts.vectors.standings(asOf, most), signal),
  );
  return async (request) => {
    const signal = request.signal();
    const asOf = readAsOf(parts, request.query);
    if (typeof asOf !== 'number') return unprocessable([asOf]);
    const standings = await standingsAt(asOf, signal);
    if (standings === 'busy') return exploringTooMuch;
    const visitors: LeaderboardEntry[] = [];
    for (const standing of standings) {
      const found = await nameOf(parts, asOf, standing);
      if (found.name === null) continue;
      const rank = 1 + standings.findIndex(({ fragments }) => fragments === standing.fragments);
      visitors.push({ rank, visitor: found.name, fragments: standing.fragments });
    }
    const body: LeaderboardResponse = { ...frame(parts, asOf), visitors };
    return jsonAnswer(200, body);
  };
}
