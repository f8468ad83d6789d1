/**
 * `GET /walk` (contract, Exploration): from neighbour to neighbour. SHA-256 of the seed, LF, and the turn's
 * number decides each turn: the same seed, start and state of the log give the same walk. The native module
 * makes the whole walk in one task.
 */
import { jsonAnswer, unprocessable } from '../contract/answer.js';
import type { Answer, Handler } from '../contract/exchange.js';
import { walkDefaults, type WalkResponse } from '../contract/walk.js';
import type { WalkRules, WalkStep } from '../native/index.js';
import { exploringTooMuch, frame, numberOf, readAsOf, type ExploreParts } from './explore.js';
import { shown, vectorOfReceipt } from './near.js';

/** Bytes of a seed that this server makes. */
const seedBytes = 8;

/** A request for a walk. */
interface Asked {
  readonly asOf: number;
  readonly rules: Omit<WalkRules, 'from'>;
  /** The receipt to begin with; undefined: the seed chooses. */
  readonly from: string | undefined;
  /** Withheld fragments: a walk skips them. */
  readonly hidden: ReadonlySet<string>;
  /** Aborted once the client has gone. */
  readonly signal: AbortSignal;
}

/** The start of a walk for its rules; an answer if the walk is refused. */
async function beginning(parts: ExploreParts, from: string): Promise<Pick<WalkRules, 'from'> | Answer> {
  const vector = await vectorOfReceipt(parts, from);
  return vector instanceof Uint8Array ? { from: { receipt: from, vector } } : vector;
}

/** The steps of a walk; an answer if it is refused. */
async function wander(
  parts: ExploreParts,
  { asOf, rules, from, hidden, signal }: Asked,
): Promise<readonly WalkStep[] | Answer> {
  if (from !== undefined && hidden.has(from)) return [];
  const start = from === undefined ? {} : await beginning(parts, from);
  if ('status' in start) return start;
  if (signal.aborted) return [];
  const walking = parts.vectors.walk(asOf, { ...rules, ...start });
  const stop = (): void => walking.stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await walking.steps();
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Answers with a walk. It ends early if no near fragment is left. */
export function walk(parts: ExploreParts): Handler {
  return async (request) => {
    const { query } = request;
    const signal = request.signal();
    const asOf = readAsOf(parts, query);
    if (typeof asOf !== 'number') return unprocessable([asOf]);
    const seed = query['seed'] ?? parts.randomness(seedBytes).toString('hex');
    const { receipts, lines } = await parts.hidden();
    const rules = { seed, most: numberOf(query['steps'], walkDefaults.steps), hidden: lines };
    const asked = { asOf, rules, from: query['from'], hidden: receipts, signal };
    const walked = await parts.inTurn(() => wander(parts, asked), signal);
    if (walked === 'busy' || signal.aborted) return exploringTooMuch;
    if ('status' in walked) return walked;
    const steps = await shown(parts.store, walked);
    const body: WalkResponse = { ...frame(parts, asOf), embedding: parts.embedding, seed, steps };
    return jsonAnswer(200, body);
  };
}
