/**
 * The handler of POST /v1/normalize: the body's bytes to the native module. What that does not take is
 * validated here, and what turns out to be valid goes back to it written plainly, so that every text is
 * repaired by the same code.
 */
import { normalizeRequestType } from '../contract/normalize.js';
import { type CheckJson, readBody } from '../contract/schema/body.js';
import type { Answer, RouteRequest } from '../contract/exchange.js';
import { checkBody } from '../contract/schema/validate.js';
import { type ValidationError, valueError } from '../contract/schema/validation.js';
import type { NormalizeResult } from '../native/index.js';
import { BufferPool } from '../system/bufferPool.js';

/** What the native module does for this handler. */
export interface NormalizeParts {
  readonly checkJson: CheckJson;
  /** Answers `body` into `out`, sets `facts[0]` to its characters; see the native module's declaration. */
  readonly normalize: (body: Uint8Array, out: Uint8Array, facts: Float64Array) => number;
  /** The same in the thread pool, with wider bounds for glosses. */
  readonly normalizeAsync: (body: Buffer, out: Buffer) => Promise<NormalizeResult>;
}

/**
 * Longest body, in bytes, that is answered on the event loop: 0.1 ms there for most texts, a millisecond
 * where every word is damaged, 8 where every character looks broken and none can be mended. What glosses
 * make longer than 64 KiB, or many steps of the search for them, leaves the event loop however short it is.
 */
export const LOOP_BODY_LIMIT = 32 * 1024;

/** What the native module returns instead of a length. */
const DECLINED = -1;
const LONG_TEXT = -2;
const LONG_FORM = -3;

const JSON_TYPE = 'application/json';

/** Memory for answers on the event loop: most need no more, and more is given back. */
const LOOP_ROOM = 8 * LOOP_BODY_LIMIT;

/** Memory for answers from the thread pool that is kept for the next ones (bytes). */
const POOLED_BYTES = 16 << 20;

function refused(errors: readonly ValidationError[]): Answer {
  return { status: 422, body: { json: { detail: errors } }, charge: 0 };
}

/** What glosses may make of a request's text, and its longest form times the text; see the native module. */
const tooMuch: Readonly<Record<number, string>> = {
  [LONG_TEXT]: 'they make the text longer than 8388608 bytes; send shorter glosses, or the text in parts',
  [LONG_FORM]:
    'the bytes of the longest surface form times those of the text are over 268435456; ' +
    'send shorter forms, or the text in parts',
};

/** Validates what the fast path left: the 422 that names every error, or the request's bytes written anew. */
function writtenPlainly(body: Uint8Array, checkJson: CheckJson): { plain: Buffer } | { answer: Answer } {
  const read = readBody(body, checkJson);
  if (!read.ok) return { answer: refused(read.errors) };
  const checked = checkBody(normalizeRequestType, read.value);
  if (!checked.ok) return { answer: refused(checked.errors) };
  return { plain: Buffer.from(JSON.stringify(checked.value)) };
}

/** The fast path takes every valid request that is written plainly. */
function mustBeAnswered<Answered>(answer: Answered | undefined): Answered {
  if (answer === undefined) throw new Error('the fast path leaves a valid request written plainly');
  return answer;
}

/** Makes the handler. */
export function normalizeHandler(parts: NormalizeParts): (request: RouteRequest) => Answer | Promise<Answer> {
  // Reused from request to request: http has sent or copied an answer's bytes when it calls again.
  let out = new Uint8Array(LOOP_ROOM);
  const facts = new Float64Array(1);
  const pool = new BufferPool(POOLED_BYTES);

  /** 'long': its glosses are for the thread pool. */
  function onLoop(body: Uint8Array): Answer | 'long' | undefined {
    if (out.length > LOOP_ROOM) out = new Uint8Array(LOOP_ROOM);
    let length = parts.normalize(body, out, facts);
    if (length < LONG_FORM) {
      out = new Uint8Array(-length);
      length = parts.normalize(body, out, facts);
    }
    if (length < DECLINED) return 'long';
    if (length === DECLINED) return undefined;
    return { status: 200, body: { bytes: out.subarray(0, length), type: JSON_TYPE }, charge: facts[0] ?? 0 };
  }

  async function offLoop(body: Uint8Array): Promise<Answer | undefined> {
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    const room = pool.take(3 * bytes.byteLength);
    const { length, characters, beside } = await parts.normalizeAsync(bytes, room);
    const release = (): void => pool.give(room);
    if (length < 0 || beside != null) release();
    if (length === DECLINED) return undefined;
    const sentence = tooMuch[length];
    if (sentence !== undefined) {
      return refused([valueError(['body', 'chinese_glosses'], sentence, undefined)]);
    }
    const answer =
      beside == null
        ? { bytes: room.subarray(0, length), type: JSON_TYPE, release }
        : { bytes: beside, type: JSON_TYPE };
    return { status: 200, body: answer, charge: characters };
  }

  /** A body that nobody else holds. */
  async function anywhere(body: Uint8Array): Promise<Answer> {
    const answer = await offLoop(body);
    if (answer !== undefined) return answer;
    const written = writtenPlainly(body, parts.checkJson);
    return 'answer' in written ? written.answer : mustBeAnswered(await offLoop(written.plain));
  }

  return (request) => {
    if (request.body.length > LOOP_BODY_LIMIT) return anywhere(request.retain());
    const answer = onLoop(request.body);
    if (answer === 'long') return anywhere(request.retain());
    if (answer !== undefined) return answer;
    const written = writtenPlainly(request.body, parts.checkJson);
    if ('answer' in written) return written.answer;
    const again = mustBeAnswered(onLoop(written.plain));
    return again === 'long' ? anywhere(written.plain) : again;
  };
}
