/**
 * The handler of POST /v1/fuse: the body's bytes to the native fast path; what it does not take, to the
 * contract's validator and the exact path.
 */
import { type CheckJson, readBody } from '../contract/body.js';
import type { Answer, RouteRequest } from '../contract/exchange.js';
import type { FuseDoc, FuseRequest } from '../contract/fuse.js';
import type { Problem } from '../contract/problem.js';
import { checkBody } from '../contract/validate.js';
import type { ValidationError } from '../contract/validation.js';
import { fuseExact, type ScoredRequest } from './exact.js';

/** What the native module does for this handler. */
export interface FuseParts {
  /** Answers `body` into `out` and sets `facts[0]` to its characters; see the native module's declaration. */
  readonly fuse: (body: Uint8Array, out: Uint8Array, facts: Float64Array) => number;
  /** The same in the thread pool. */
  readonly fuseAsync: (body: Buffer) => Promise<{ length: number; characters: number; answer: Buffer }>;
  readonly checkJson: CheckJson;
  readonly logarithm: (value: number) => number;
}

/**
 * Longest body, in bytes, that is answered on the event loop. One of this length takes about 0.2 ms there, which
 * is what handing it to another thread and back costs on a busy machine.
 */
export const LOOP_BODY_LIMIT = 256 * 1024;

const NEEDS_MODEL = -2;
const JSON_TYPE = 'application/json';

/** Code points of a text. */
function codePoints(text: string): number {
  let count = text.length;
  for (let at = 0; at < text.length; at++) {
    if ((text.charCodeAt(at) & 0xfc00) === 0xd800) count--;
  }
  return count;
}

function refused(errors: readonly ValidationError[]): Answer {
  return { status: 422, body: { json: { detail: errors } }, charge: 0 };
}

function noModel(): Answer {
  const problem: Problem = {
    detail: 'A doc has no dense_score, and this server has no embedding model: send one with every doc.',
    code: 'no_model',
  };
  return { status: 503, body: { json: problem }, charge: 0 };
}

function hasScore(doc: FuseDoc): doc is FuseDoc & { dense_score: number } {
  return typeof doc.dense_score === 'number';
}

function scored(request: FuseRequest): ScoredRequest | null {
  const docs = request.docs.filter(hasScore);
  return docs.length === request.docs.length ? { ...request, docs } : null;
}

/** The exact path: validates the body and answers it from its values. */
function answerExactly(body: Uint8Array, parts: FuseParts): Answer {
  const read = readBody(body, parts.checkJson);
  if (!read.ok) return refused(read.errors);
  const checked = checkBody('FuseRequest', read.value);
  if (!checked.ok) return refused(checked.errors);
  const request = scored(checked.value);
  if (request === null) return noModel();
  const charge = request.docs.reduce((sum, doc) => sum + codePoints(doc.text), codePoints(request.query));
  return { status: 200, body: { json: fuseExact(request, parts.logarithm) }, charge };
}

/** Makes the handler. */
export function fuseHandler(parts: FuseParts): (request: RouteRequest) => Answer | Promise<Answer> {
  // Reused from request to request: http has sent or copied an answer's bytes when it calls again.
  let out = new Uint8Array(2 * LOOP_BODY_LIMIT);
  const facts = new Float64Array(1);

  /** Every body that the loop answers leaves its answer's length within a few times its own. */
  function answerOnLoop(body: Uint8Array): Answer {
    let length = parts.fuse(body, out, facts);
    if (length < NEEDS_MODEL) {
      out = new Uint8Array(-length);
      length = parts.fuse(body, out, facts);
    }
    if (length < 0) return answerExactly(body, parts);
    return { status: 200, body: { bytes: out.subarray(0, length), type: JSON_TYPE }, charge: facts[0] ?? 0 };
  }

  async function answerOffLoop(body: Buffer): Promise<Answer> {
    const { length, characters, answer } = await parts.fuseAsync(body);
    if (length < 0) return answerExactly(body, parts);
    return { status: 200, body: { bytes: answer, type: JSON_TYPE }, charge: characters };
  }

  return (request) => {
    if (request.body.length <= LOOP_BODY_LIMIT) return answerOnLoop(request.body);
    const kept = request.retain();
    return answerOffLoop(Buffer.from(kept.buffer, kept.byteOffset, kept.byteLength));
  };
}
