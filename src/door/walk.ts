/**
 * `GET /walk` (contract, Exploration): from neighbour to neighbour. Each turn is decided by SHA-256 of the
 * seed, LF, and the turn's number: the same seed, beginning and state of the log give the same walk.
 */
import { createHash } from 'node:crypto';
import { jsonAnswer, storeUnavailable, unprocessable } from '../contract/answer.js';
import type { Answer, Handler } from '../contract/exchange.js';
import { exploreDefaults, type WalkResponse } from '../contract/explore.js';
import { exploringTooMuch, frame, numberOf, readAsOf, type ExploreParts } from './explore.js';
import { shown, vectorOfReceipt } from './near.js';

/** Neighbours among which a turn chooses. */
const ways = 5;

/** Bytes of a seed made here. */
const seedBytes = 8;

/** The number that decides a turn, below `bound`: 48 bits of the hash, which leave no bias to speak of. */
export function turn(seed: string, number: number, bound: number): number {
  return createHash('sha256').update(`${seed}\n${number}`).digest().readUIntBE(0, 6) % bound;
}

/** One fragment of a walk. */
interface Step {
  readonly receipt: string;
  readonly similarity: number;
  readonly vector: Uint8Array;
}

/** A walk on its way. */
interface Walk {
  readonly seed: string;
  readonly asOf: number;
  readonly steps: Step[];
  /** Its asker has gone. */
  readonly signal: AbortSignal;
}

/** The next fragment: one of the nearest that the walk has not seen; undefined where there is none. */
async function next(parts: ExploreParts, { seed, asOf, steps }: Walk): Promise<Step | Answer | undefined> {
  const last = steps.at(-1);
  if (last === undefined) return undefined;
  const seen = new Set(steps.map(({ receipt }) => receipt));
  const near = await parts.vectors.nearest(asOf, last.vector, ways + seen.size);
  const open = near.filter(({ receipt }) => !seen.has(receipt)).slice(0, ways);
  const chosen = open[turn(seed, steps.length, Math.max(1, open.length))];
  if (chosen === undefined) return undefined;
  const vector = await vectorOfReceipt(parts, chosen.receipt);
  return vector instanceof Uint8Array ? { ...chosen, vector } : vector;
}

/** The receipt that a walk begins at; undefined where there are no fragments. */
function beginning({ vectors }: ExploreParts, seed: string, asOf: number): string | undefined {
  const count = vectors.count(asOf);
  return count === 0 ? undefined : vectors.receipt(turn(seed, 0, count));
}

/** Walks until there are enough steps or no way on; an answer where it cannot. */
async function wander(
  parts: ExploreParts,
  walk: Walk,
  from: string | undefined,
  most: number,
): Promise<Answer | undefined> {
  const first = from ?? beginning(parts, walk.seed, walk.asOf);
  if (first === undefined) return undefined;
  const vector = await vectorOfReceipt(parts, first);
  if (!(vector instanceof Uint8Array)) return vector;
  walk.steps.push({ receipt: first, similarity: 1, vector });
  while (walk.steps.length < most && !walk.signal.aborted) {
    const step = await next(parts, walk);
    if (step === undefined) return undefined;
    if ('status' in step) return step;
    walk.steps.push(step);
  }
  return undefined;
}

/** Walks. It ends early where nothing that is near is left. */
export function walk(parts: ExploreParts): Handler {
  return async (request) => {
    const { query } = request;
    const signal = request.signal();
    const asOf = readAsOf(parts, query);
    if (typeof asOf !== 'number') return unprocessable([asOf]);
    const seed = query['seed'] ?? parts.randomness(seedBytes).toString('hex');
    const way: Walk = { seed, asOf, steps: [], signal };
    const most = numberOf(query['steps'], exploreDefaults.walk.steps);
    const refused = await parts.inTurn(() => wander(parts, way, query['from'], most), signal);
    if (refused === 'busy' || signal.aborted) return exploringTooMuch;
    if (refused !== undefined) return refused;
    const steps = await shown(parts.store, way.steps);
    if (steps === 'unavailable') return storeUnavailable();
    const body: WalkResponse = { ...frame(parts, asOf), embedding: parts.embedding, seed, steps };
    return jsonAnswer(200, body);
  };
}
