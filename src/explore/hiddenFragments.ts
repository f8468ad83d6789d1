/**
 * Fragments that the operator withholds, for exploration: a match, a similarity or a count would reveal their
 * content or their visitor, so results leave them out.
 */
import type { Vectors } from '../native/index.js';
import { allNotices } from '../store/tables/notices.js';
import type { Store } from '../store/store.js';
import type { Clock } from '../system/clock.js';
import { Recent } from '../system/shared.js';

/** The withheld fragments. */
export interface HiddenFragments {
  readonly receipts: ReadonlySet<string>;
  /** Their indexes in the file of vectors, in order; the same array while they do not change. */
  readonly places: number[];
}

/** Longest time that the list is cached (ms). Content itself is withheld at once. */
const cachedMs = 1_000;

/** Indexes that were looked up, among the first `count` fragments. */
interface Placed {
  readonly lines: string;
  readonly places: number[];
  readonly count: number;
}

/** Reads the list, at most once a second. */
export function hiddenFragments(
  store: Store,
  clock: Pick<Clock, 'monotonicMs'>,
  vectors: Pick<Vectors, 'state' | 'placesOf'>,
): () => Promise<HiddenFragments> {
  const list = new Recent<HiddenFragments>(clock, cachedMs);
  let placed: Placed = { lines: '', places: [], count: 0 };
  const read = async (): Promise<HiddenFragments> => {
    const receipts = new Set<string>();
    for await (const { receipt, hidden } of allNotices(store)) if (hidden) receipts.add(receipt);
    const lines = [...receipts].join('\n');
    placed = await placesOf(vectors, lines, placed);
    return { receipts, places: placed.places };
  };
  return () => list.of(read);
}

/** Looks up the indexes of receipts; of the same ones as before only among newer fragments. */
async function placesOf(
  vectors: Pick<Vectors, 'state' | 'placesOf'>,
  lines: string,
  before: Placed,
): Promise<Placed> {
  const { count } = vectors.state();
  const isKnown = before.lines === lines && before.count <= count;
  const known = isKnown ? before : { lines, places: [], count: 0 };
  const found = lines === '' ? [] : await vectors.placesOf(lines, known.count);
  // Fragments that were added meanwhile are looked up again the next time.
  const more = found.filter((place) => place < count);
  const places = more.length === 0 ? known.places : [...known.places, ...more];
  return { lines, places, count };
}
