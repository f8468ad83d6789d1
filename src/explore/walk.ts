/**
 * `GET /walk` (contract, Exploration): from neighbour to neighbour. SHA-256 of the seed, LF, and the turn's
 * number decides each turn: the same seed, start and state of the log give the same walk. The native module
 * makes the whole walk in one task.
 */
import { unprocessable } from '../contract/answer.js';
import type { Answer, Handler } from '../contract/exchange.js';
import { walkDefaults, type WalkResponse } from '../contract/walk.js';
import type { WalkRules, WalkStep } from '../native/index.js';
import { frame, longAnswer, numberOf, readAsOf, type ExploreParts } from './explore.js';
import { shown, vectorOfReceipt } from './near.js';
import { inPool } from '../system/threadPool.js';
import type { NotDone } from '../system/workQueue.js';

/** Bytes of a seed that this server makes. */
const seedBytes = 8;

/** The start of a walk for its rules; none: the seed chooses. An answer if the walk is refused. */
async function beginning(
  parts: ExploreParts,
  from: string | undefined,
): Promise<Pick<WalkRules, 'from'> | Answer> {
  if (from === undefined) return {};
  const vector = await vectorOfReceipt(parts, from);
  return vector instanceof Uint8Array ? { from: { receipt: from, vector } } : vector;
}

/** The steps of a walk; `signal`: aborted once the client has gone. */
async function wander(
  parts: ExploreParts,
  asOf: number,
  rules: WalkRules,
  signal: AbortSignal,
): Promise<readonly WalkStep[]> {
  const walking = parts.vectors.walk(asOf, rules);
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
    const { receipts, places } = await parts.hidden();
    const { from } = query;
    // Before its turn in the thread pool, as the store may take long.
    const start = await beginning(parts, from);
    if ('status' in start) return start;
    const rules = { seed, most: numberOf(query['steps'], walkDefaults.steps), hidden: places, ...start };
    const isHidden = from !== undefined && receipts.has(from);
    const make = async (): Promise<WalkResponse | NotDone> => {
      const walked = isHidden ? [] : await inPool(() => wander(parts, asOf, rules, signal), signal);
      if (walked === 'busy') return walked;
      const steps = await shown(parts.store, walked, signal);
      return { ...frame(parts, asOf), embedding: parts.embedding, seed, steps };
    };
    return longAnswer(parts.inTurn, make, signal);
  };
}
