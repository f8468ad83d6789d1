/** The exact path of POST /v1/fuse: validates a body and answers it from its values. */
import { type CheckJson, readBody } from '../contract/body.js';
import type { Answer } from '../contract/exchange.js';
import type { FuseDoc, FuseRequest } from '../contract/fuse.js';
import type { Problem } from '../contract/problem.js';
import { checkBody } from '../contract/validate.js';
import type { ValidationError } from '../contract/validation.js';
import { fuseExact, type ScoredRequest } from './exact.js';

/** What the native module does for the exact path. */
export interface ExactParts {
  readonly checkJson: CheckJson;
  readonly logarithm: (value: number) => number;
}

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

/** A 422 that names every error, a 503 where a doc lacks its score, or the answer. */
export function answerExactly(body: Uint8Array, parts: ExactParts): Answer {
  const read = readBody(body, parts.checkJson);
  if (!read.ok) return refused(read.errors);
  const checked = checkBody('FuseRequest', read.value);
  if (!checked.ok) return refused(checked.errors);
  const request = scored(checked.value);
  if (request === null) return noModel();
  const charge = request.docs.reduce((sum, doc) => sum + codePoints(doc.text), codePoints(request.query));
  return { status: 200, body: { json: fuseExact(request, parts.logarithm) }, charge };
}
