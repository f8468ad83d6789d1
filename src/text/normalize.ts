/**
 * The handler of POST /v1/normalize: the body's bytes to the native module. What that does not take is
 * validated here, and what turns out to be valid goes back to it written plainly, so that every text is
 * repaired by the same code.
 */
import { type CheckJson, readBody } from '../contract/body.js';
import type { Answer, RouteRequest } from '../contract/exchange.js';
import { checkBody } from '../contract/validate.js';
import type { ValidationError } from '../contract/validation.js';
import { BufferPool } from '../system/bufferPool.js';

/** What the native module does for this handler. */
export interface NormalizeParts {
  readonly checkJson: CheckJson;
  /** Answers `body` into `out`, sets `facts[0]` to its characters; see the native module's declaration. */
  readonly normalize: (body: Uint8Array, out: Uint8Array, facts: Float64Array) => number;
  /** The same in the thread pool. */
  readonly normalizeAsync: (body: Buffer, out: Buffer) => Promise<{ length: number; characters: number }>;
}

/**
 * Longest body, in bytes, that is answered on the event loop: 0.1 ms there for most texts, a millisecond
 * where every word is damaged, 8 where every character looks broken and none can be mended.
 */
export const LOOP_BODY_LIMIT = 32 * 1024;

const DECLINED = -1;
const JSON_TYPE = 'application/json';

/** Memory for answers from the thread pool that is kept for the next ones (bytes). */
const POOLED_BYTES = 16 << 20;

function refused(errors: readonly ValidationError[]): Answer {
  return { status: 422, body: { json: { detail: errors } }, charge: 0 };
}

/** Validates what the fast path left: the 422 that names every error, or the request's bytes written anew. */
function writtenPlainly(body: Uint8Array, checkJson: CheckJson): { plain: Buffer } | { answer: Answer } {
  const read = readBody(body, checkJson);
  if (!read.ok) return { answer: refused(read.errors) };
  const checked = checkBody('NormalizeRequest', read.value);
  if (!checked.ok) return { answer: refused(checked.errors) };
  return { plain: Buffer.from(JSON.stringify(checked.value)) };
}

/** The fast path takes every valid request that is written plainly. */
function mustBeAnswered(answer: Answer | undefined): Answer {
  if (answer === undefined) throw new Error('the fast path leaves a valid request written plainly');
  return answer;
}

/** Makes the handler. */
export function normalizeHandler(parts: NormalizeParts): (request: RouteRequest) => Answer | Promise<Answer> {
  // Reused from request to request: http has sent or copied an answer's bytes when it calls again.
  let out = new Uint8Array(8 * LOOP_BODY_LIMIT);
  const facts = new Float64Array(1);
  const pool = new BufferPool(POOLED_BYTES);

  function onLoop(body: Uint8Array): Answer | undefined {
    let length = parts.normalize(body, out, facts);
    if (length < DECLINED) {
      out = new Uint8Array(-length);
      length = parts.normalize(body, out, facts);
    }
    if (length < 0) return undefined;
    return { status: 200, body: { bytes: out.subarray(0, length), type: JSON_TYPE }, charge: facts[0] ?? 0 };
  }

  async function offLoop(body: Uint8Array): Promise<Answer | undefined> {
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    let room = pool.take(3 * bytes.byteLength);
    let { length, characters } = await parts.normalizeAsync(bytes, room);
    if (length < DECLINED) {
      pool.give(room);
      room = pool.take(-length);
      ({ length, characters } = await parts.normalizeAsync(bytes, room));
    }
    const release = (): void => pool.give(room);
    if (length < 0) {
      release();
      return undefined;
    }
    return {
      status: 200,
      body: { bytes: room.subarray(0, length), type: JSON_TYPE, release },
      charge: characters,
    };
  }

  return (request) => {
    if (request.body.length <= LOOP_BODY_LIMIT) {
      const answer = onLoop(request.body);
      if (answer !== undefined) return answer;
      const written = writtenPlainly(request.body, parts.checkJson);
      return 'answer' in written ? written.answer : mustBeAnswered(onLoop(written.plain));
    }
    const kept = request.retain();
    return offLoop(kept).then((answer) => {
      if (answer !== undefined) return answer;
      const written = writtenPlainly(kept, parts.checkJson);
      return 'answer' in written ? written.answer : offLoop(written.plain).then(mustBeAnswered);
    });
  };
}
