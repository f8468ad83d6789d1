/**
 * The handler of POST /v1/fuse: the body's bytes to the native fast path; what it does not take, to the
 * contract's validator and the exact path.
 */
import type { Answer, RouteRequest } from '../contract/exchange.js';
import { BufferPool } from '../system/bufferPool.js';
import { answerExactly, type ExactParts } from './exactAnswer.js';

/** What the native module and the thread of the exact path do for this handler. */
export interface FuseParts extends ExactParts {
  /** Answers `body` into `out` and sets `facts[0]` to its characters; see the native module's declaration. */
  readonly fuse: (body: Uint8Array, out: Uint8Array, facts: Float64Array) => number;
  /** The same in the thread pool. */
  readonly fuseAsync: (body: Buffer, out: Buffer) => Promise<{ length: number; characters: number }>;
  /** {@link answerExactly} in a thread of its own. */
  readonly answerExactlyOffLoop: (body: Uint8Array) => Promise<Answer>;
}

/**
 * Longest body, in bytes, that is answered on the event loop. One of this length takes about 0.2 ms there,
 * which is what handing it to another thread and back costs on a busy machine.
 */
export const LOOP_BODY_LIMIT = 256 * 1024;

const NEEDS_MODEL = -2;
const JSON_TYPE = 'application/json';

/** Memory for answers from the thread pool that is kept for the next ones (bytes). */
const POOLED_BYTES = 32 << 20;

/** Makes the handler. */
export function fuseHandler(parts: FuseParts): (request: RouteRequest) => Answer | Promise<Answer> {
  // Reused from request to request: http has sent or copied an answer's bytes when it calls again.
  let out = new Uint8Array(2 * LOOP_BODY_LIMIT);
  const facts = new Float64Array(1);
  const pool = new BufferPool(POOLED_BYTES);

  function answerOnLoop(body: Uint8Array): Answer {
    let length = parts.fuse(body, out, facts);
    if (length < NEEDS_MODEL) {
      out = new Uint8Array(-length);
      length = parts.fuse(body, out, facts);
    }
    if (length < 0) return answerExactly(body, parts);
    return { status: 200, body: { bytes: out.subarray(0, length), type: JSON_TYPE }, charge: facts[0] ?? 0 };
  }

  /**
   * Answers into pooled memory; texts come back in any order, so that an answer is little longer than its
   * body.
   */
  async function answerOffLoop(body: Buffer): Promise<Answer> {
    let room = pool.take(body.byteLength + body.byteLength / 4);
    let { length, characters } = await parts.fuseAsync(body, room);
    if (length < NEEDS_MODEL) {
      pool.give(room);
      room = pool.take(-length);
      ({ length, characters } = await parts.fuseAsync(body, room));
    }
    const release = (): void => pool.give(room);
    if (length < 0) {
      release();
      return parts.answerExactlyOffLoop(body);
    }
    return {
      status: 200,
      body: { bytes: room.subarray(0, length), type: JSON_TYPE, release },
      charge: characters,
    };
  }

  return (request) => {
    if (request.body.length <= LOOP_BODY_LIMIT) return answerOnLoop(request.body);
    const kept = request.retain();
    return answerOffLoop(Buffer.from(kept.buffer, kept.byteOffset, kept.byteLength));
  };
}
