/**
 * `GET /walk` (contract, Exploration): from neighbour to neighbour. SHA-256 of the seed, LF, and the turn's
 * number decides each turn: the same seed, start and state of the log give the same walk.
 */
import { createHash } from 'node:crypto';
import { jsonAnswer, unprocessable } from '../contract/answer.js';
import type { Answer, Handler } from '../contract/exchange.js';
import { walkDefaults, type WalkResponse } from '../contract/walk.js';
import { exploringTooMuch, frame, numberOf, readAsOf, type ExploreParts } from './explore.js';
import { searchVisible, shown, vectorOfReceipt } from './near.js';

/** Neighbours that a turn chooses from. */
const ways = 5;

/** Bytes of a seed that this server makes. */
const seedBytes = 8;

/** The number that decides a turn, below `bound`: 48 bits of the hash, with negligible bias. */
export function turn(seed: string, number: number, bound: number): number {
  return createHash('sha256').update(`${seed}\n${number}`).digest().readUIntBE(0, 6) % bound;
}

/** One fragment of a walk. */
interface Step {
  readonly receipt: string;
  readonly similarity: number;
  readonly vector: Uint8Array;
}

/** A walk in progress. */
interface Walk {
  readonly seed: string;
  readonly asOf: number;
  /** Withheld fragments: a walk skips them. */
  readonly hidden: ReadonlySet<string>;
  readonly steps: Step[];
  /** Aborted once the client has gone. */
  readonly signal: AbortSignal;
}

/** The next fragment: one of the nearest that the walk has not visited; undefined if there is none. */
async function next(
  parts: ExploreParts,
  { seed, asOf, hidden, steps, signal }: Walk,
): Promise<Step | undefined> {
  const last = steps.at(-1);
  if (last === undefined) return undefined;
  const seen = new Set(steps.map(({ receipt }) => receipt));
  const except = new Set([...seen, ...hidden]);
  const passed = steps.length;
  const asked = { asOf, vector: last.vector, most: ways, thorough: false, except, passed };
  const searched = await searchVisible(parts, asked, signal);
  if (searched === 'busy') return undefined;
  const { found: open } = searched;
  const chosen = open[turn(seed, steps.length, Math.max(1, open.length))];
  if (chosen === undefined) return undefined;
  return { ...chosen, vector: parts.vectors.vector(chosen.index) };
}

/**
 * The receipt where a walk begins: chosen by the seed, or the next visible one after it. Undefined if there
 * is none.
 */
function beginning({ vectors }: ExploreParts, { seed, asOf, hidden }: Walk): string | undefined {
  const count = vectors.count(asOf);
  const first = turn(seed, 0, Math.max(1, count));
  for (let step = 0; step < count; step += 1) {
    const receipt = vectors.receipt((first + step) % count);
    if (!hidden.has(receipt)) return receipt;
  }
  return undefined;
}

/** Walks until it has enough steps or cannot go on; an answer if it is refused. */
async function wander(
  parts: ExploreParts,
  walk: Walk,
  from: string | undefined,
  most: number,
): Promise<Answer | undefined> {
  const first = from ?? beginning(parts, walk);
  if (first === undefined || walk.hidden.has(first)) return undefined;
  const vector = await vectorOfReceipt(parts, first);
  if (!(vector instanceof Uint8Array)) return vector;
  walk.steps.push({ receipt: first, similarity: 1, vector });
  while (walk.steps.length < most && !walk.signal.aborted) {
    const step = await next(parts, walk);
    if (step === undefined) return undefined;
    walk.steps.push(step);
  }
  return undefined;
}

/** Answers with a walk. It ends early if no near fragment is left. */
export function walk(parts: ExploreParts): Handler {
  return async (request) => {
    const { query } = request;
    const signal = request.signal();
    const asOf = readAsOf(parts, query);
    if (typeof asOf !== 'number') return unprocessable([asOf]);
    const seed = query['seed'] ?? parts.randomness(seedBytes).toString('hex');
    const hidden = await parts.hidden();
    const way: Walk = { seed, asOf, hidden: hidden.receipts, steps: [], signal };
    const most = numberOf(query['steps'], walkDefaults.steps);
    const refused = await parts.inTurn(() => wander(parts, way, query['from'], most), signal);
    if (refused === 'busy' || signal.aborted) return exploringTooMuch;
    if (refused !== undefined) return refused;
    const steps = await shown(parts.store, way.steps);
    const body: WalkResponse = { ...frame(parts, asOf), embedding: parts.embedding, seed, steps };
    return jsonAnswer(200, body);
  };
}
