/** The exact path of POST /v1/fuse: validates a body and answers it from its values. */
import { problemAnswer, unprocessable } from '../contract/answer.js';
import { type CheckJson, readBody } from '../contract/schema/body.js';
import type { Answer } from '../contract/exchange.js';
import { fuseRequestType, type FuseDoc, type FuseRequest } from '../contract/fuse.js';
import { checkBody, type ServerFaults } from '../contract/schema/validate.js';
import { tooManyItems, valueError } from '../contract/schema/validation.js';
import type { ComputedScores, ModelChoice } from './embedMode.js';
import { fuseExact, type ScoredRequest } from './exact.js';

/** What the native module does for the exact path. */
export interface ExactParts {
  readonly checkJson: CheckJson;
  readonly logarithm: (value: number) => number;
}

/** A body, and what is known of embed mode for it. */
export interface ExactRequest {
  readonly body: Uint8Array;
  readonly choice: ModelChoice;
  /** Most docs that a model is given. */
  readonly mostDocs: number;
  /** The scores that the first answer asked for. */
  readonly computed?: ComputedScores;
}

/** The texts of a valid request of which a model must compute the scores. */
export interface UnscoredTexts {
  readonly model: string;
  readonly query: string;
  readonly texts: string[];
  /** Surface forms and their substitutes. */
  readonly entities: [string, string][];
}

/** An answer, or what is needed for one. */
export type ExactOutcome = { readonly answer: Answer } | { readonly unscored: UnscoredTexts };

/** Code points of a text. */
function codePoints(text: string): number {
  let count = text.length;
  for (let at = 0; at < text.length; at++) {
    if ((text.charCodeAt(at) & 0xfc00) === 0xd800) count--;
  }
  return count;
}

function hasScore(doc: FuseDoc): doc is FuseDoc & { dense_score: number } {
  return typeof doc.dense_score === 'number';
}

/** The request with a score for every doc; undefined where they must be computed and were not. */
function scored(request: FuseRequest, computed: ComputedScores | undefined): ScoredRequest | undefined {
  const docs = request.docs.filter(hasScore);
  if (docs.length === request.docs.length) return { ...request, docs };
  if (computed === undefined) return undefined;
  const { scores } = computed;
  if (scores.length !== request.docs.length) throw new Error('scores were computed for another request');
  return { ...request, docs: request.docs.map((doc, at) => ({ ...doc, dense_score: scores[at] ?? 0 })) };
}

const noModel: Answer = problemAnswer(
  503,
  'no_model',
  'A doc has no dense_score, and this server has no embedding model: send one with every doc.',
);

/** The model that computes the scores of a request; undefined: it has them all, or there is none. */
function neededModel({ docs, embed_model: named }: FuseRequest, choice: ModelChoice): string | undefined {
  return docs.every(hasScore) ? undefined : (named ?? choice.fallback);
}

/** What embed mode finds wrong with a request. */
function embedFaults(request: FuseRequest, { choice, mostDocs }: ExactRequest): ServerFaults {
  const { docs } = request;
  const model = neededModel(request, choice);
  if (model === undefined) return { limits: [], values: [] };
  const sentence = `${JSON.stringify(model)} is not installed; installed: ${choice.installed.join(', ')}`;
  const known = choice.installed.includes(model);
  return {
    limits: docs.length > mostDocs ? [tooManyItems(['body', 'docs'], docs, mostDocs)] : [],
    values: known ? [] : [valueError(['body', 'embed_model'], sentence, model)],
  };
}

/** What the model is given. */
function unscored(request: FuseRequest, { choice }: ExactRequest): ExactOutcome {
  const model = neededModel(request, choice);
  if (model === undefined) return { answer: noModel };
  const texts = request.docs.map(({ text }) => text);
  const entities = Object.entries(request.entity_map ?? {});
  return { unscored: { model, query: request.query, texts, entities } };
}

/** What is answered where `entity_map` cannot be applied. */
export function unusableEntities(sentence: string): Answer {
  return unprocessable([valueError(['body', 'entity_map'], sentence, undefined)]);
}

/** A 422 that names every error, the answer, or the texts that a model must compute scores of first. */
export function answerExactly(request: ExactRequest, parts: ExactParts): ExactOutcome {
  const read = readBody(request.body, parts.checkJson);
  if (!read.ok) return { answer: unprocessable(read.errors) };
  const checked = checkBody(fuseRequestType, read.value, (value) => embedFaults(value, request));
  if (!checked.ok) return { answer: unprocessable(checked.errors) };
  const ready = scored(checked.value, request.computed);
  if (ready === undefined) return unscored(checked.value, request);
  const charge = ready.docs.reduce((sum, doc) => sum + codePoints(doc.text), codePoints(ready.query));
  const json = fuseExact(ready, parts.logarithm, request.computed);
  return { answer: { status: 200, body: { json }, charge } };
}
