/**
 * The handler of POST /v1/normalize. It passes the body's bytes to the native module, which answers every
 * valid one. The contract's validator explains why others are refused.
 */
import { normalizeRequestType } from '../contract/normalize.js';
import { type BodyParts, briefBytes, briefBytesOffLoop } from '../contract/schema/bytes.js';
import { callerGone } from '../contract/answer.js';
import type { Answer, RouteRequest } from '../contract/exchange.js';
import type { Checked } from '../contract/schema/validate.js';
import { type ValidationError, valueError } from '../contract/schema/validation.js';
import type { NormalizeOutcome, NormalizeResult } from '../native/index.js';
import { BufferPool } from '../system/bufferPool.js';
import { inPool, inPoolAnyway } from '../system/threadPool.js';

/** The native module's functions for this handler. */
export interface NormalizeParts extends BodyParts {
  /**
   * Writes the answer to `body` into `out`, and length and characters into `facts`; see the native module.
   */
  readonly normalize: (body: Uint8Array, out: Uint8Array, facts: Float64Array) => NormalizeOutcome;
  /** The same in the thread pool, with wider limits for glosses. */
  readonly normalizeAsync: (body: Buffer, out: Buffer) => Promise<NormalizeResult>;
  readonly NormalizeOutcome: typeof NormalizeOutcome;
}

/**
 * Longest body, in bytes, answered on the event loop: it takes 0.1 ms there for most texts, a millisecond if
 * every word is damaged, 8 if every character looks broken and none can be repaired. Bodies whose glosses
 * make more than 64 KiB, or need many search steps, leave the event loop at any length.
 */
export const LOOP_BODY_LIMIT = 32 * 1024;

/**
 * Longest body, in bytes, answered on the event loop if its text is plain: printable ASCII, line feeds and
 * tabs, in which there is nothing to repair. It takes less time than its way to the thread pool and back.
 */
export const LOOP_PLAIN_LIMIT = 4 * LOOP_BODY_LIMIT;

const JSON_TYPE = 'application/json';

/** Memory for answers on the event loop: most need no more, and a larger buffer is not retained. */
const LOOP_ROOM = 8 * LOOP_BODY_LIMIT;

/** Memory of the pool for answers from the thread pool (bytes). */
const POOLED_BYTES = 16 << 20;

function refused(errors: readonly ValidationError[]): Answer {
  return { status: 422, body: { json: { detail: errors } }, charge: 0 };
}

/** The refusal of glosses that make a text too long; the native module has the limits. */
function refusedGlosses(sentence: string): Answer {
  return refused([valueError(['body', 'chinese_glosses'], sentence, undefined)]);
}

const longText =
  'they make the text longer than 32 times its bytes and 65536 more, or than 8388608 bytes; send shorter ' +
  'glosses, or the text in parts';
const longForm =
  'many surface forms begin alike, and as the text does at many places: the search takes more than 8 steps ' +
  'a byte; send fewer or shorter forms';

/** The 422 that names every error of an invalid body. */
function explained(checked: Checked<unknown>): Answer {
  if (checked.ok) throw new Error('the native module refuses a valid NormalizeRequest');
  return refused(checked.errors);
}

/** Normalizes in the thread pool, into pooled memory. */
async function inRoom({ normalizeAsync }: NormalizeParts, pool: BufferPool, bytes: Buffer) {
  const room = pool.take(3 * bytes.byteLength);
  return { room, ...(await normalizeAsync(bytes, room)) };
}

/** Makes the handler. */
export function normalizeHandler(parts: NormalizeParts): (request: RouteRequest) => Answer | Promise<Answer> {
  const { NormalizeOutcome: outcomes } = parts;
  // Reused for every request: http has sent or copied an answer's bytes before the next call.
  let out = new Uint8Array(LOOP_ROOM);
  const facts = new Float64Array(2);
  const pool = new BufferPool(POOLED_BYTES);

  /** Answers on the event loop; undefined: the glosses need the thread pool. */
  function onLoop(body: Uint8Array): Answer | undefined {
    if (out.length > LOOP_ROOM) out = new Uint8Array(LOOP_ROOM);
    let outcome = parts.normalize(body, out, facts);
    if (outcome === outcomes.NeedsRoom) {
      out = new Uint8Array(facts[0] ?? 0);
      outcome = parts.normalize(body, out, facts);
    }
    if (outcome === outcomes.Invalid) return explained(briefBytes(normalizeRequestType, body, parts));
    if (outcome !== outcomes.Written) return undefined;
    const bytes = out.subarray(0, facts[0]);
    return { status: 200, body: { bytes, type: JSON_TYPE }, charge: facts[1] ?? 0 };
  }

  /** Answers a plain text on the event loop; undefined: it may need repair. */
  function plainOnLoop(body: Uint8Array): Answer | undefined {
    const room = pool.take(3 * body.byteLength);
    const release = (): void => pool.give(room);
    if (parts.normalize(body, room, facts) !== outcomes.Written) {
      release();
      return undefined;
    }
    const bytes = room.subarray(0, facts[0]);
    return { status: 200, body: { bytes, type: JSON_TYPE, release }, charge: facts[1] ?? 0 };
  }

  /** Answers a body that no one else holds. */
  async function offLoop(body: Uint8Array, signal: AbortSignal): Promise<Answer> {
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    const made = await inPool(() => inRoom(parts, pool, bytes), signal);
    if (made === 'busy') return callerGone;
    const { room, outcome, length, characters, beside } = made;
    const release = (): void => pool.give(room);
    if (outcome !== outcomes.Written || beside != null) release();
    if (outcome === outcomes.Invalid) {
      return explained(await inPoolAnyway(() => briefBytesOffLoop(normalizeRequestType, body, parts)));
    }
    if (outcome === outcomes.LongText) return refusedGlosses(longText);
    if (outcome === outcomes.LongForm) return refusedGlosses(longForm);
    const answer =
      beside == null
        ? { bytes: room.subarray(0, length), type: JSON_TYPE, release }
        : { bytes: beside, type: JSON_TYPE };
    return { status: 200, body: answer, charge: characters };
  }

  return (request) => {
    const { length } = request.body;
    if (length > LOOP_PLAIN_LIMIT) return offLoop(request.retain(), request.signal());
    const answer = length > LOOP_BODY_LIMIT ? plainOnLoop(request.body) : onLoop(request.body);
    return answer ?? offLoop(request.retain(), request.signal());
  };
}
