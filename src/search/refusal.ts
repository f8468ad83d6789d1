/** The answer to a body of POST /v1/fuse that the native module refused: a 422, or that there is no model. */
import { problemAnswer, unprocessable } from '../contract/answer.js';
import { type CheckJson, readBody } from '../contract/schema/body.js';
import type { Answer } from '../contract/exchange.js';
import { fuseRequestType, type FuseDoc, type FuseRequest } from '../contract/fuse.js';
import { checkBody, type ServerFaults } from '../contract/schema/validate.js';
import { tooManyItems, valueError, type ValidationError } from '../contract/schema/validation.js';
import type { ModelChoice } from './embedMode.js';

/** A body that was not answered, and what is known of embed mode for it. */
export interface RefusedRequest {
  readonly body: Uint8Array;
  readonly choice: ModelChoice;
  /** Most docs that a model is given. */
  readonly mostDocs: number;
}

function hasScore(doc: FuseDoc): doc is FuseDoc & { dense_score: number } {
  return typeof doc.dense_score === 'number';
}

const noModel: Answer = problemAnswer(
  503,
  'no_model',
  'A doc has no dense_score, and this server has no embedding model: send one with every doc.',
);

/** The contract's default model, which does not ship. */
const contractsModel = /^(?:baai\/)?bge-base-en-v1\.5$/i;

function isInstalled(name: string, { installed }: ModelChoice): boolean {
  const equal = (other: string | null): boolean => asciiLower(other ?? '') === asciiLower(name);
  return installed.some(({ id, hubName }) => equal(id) || equal(hubName));
}

/** Names are ASCII; other letters are equal to themselves alone, as in the native module. */
function asciiLower(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

function absent(name: string, { installed }: ModelChoice): string {
  const ids = installed.map(({ id }) => id).join(', ');
  const sentence = `${JSON.stringify(name)} is not installed; installed: ${ids}`;
  const install = 'The operator installs it with: fusegate models add BAAI/bge-base-en-v1.5';
  return contractsModel.test(name) ? `${sentence}. ${install}` : sentence;
}

/** More docs than a model scores, with the doc that made it a model's work. */
function tooManyDocs(docs: readonly FuseDoc[], most: number): ValidationError {
  const error = tooManyItems(['body', 'docs'], docs, most);
  const at = docs.findIndex((doc) => !hasScore(doc));
  const hint =
    `docs.${at} has no dense_score, so that a model scores all docs, of ${most} at most here. ` +
    'Send dense_score with every doc, or fewer docs.';
  return { ...error, ctx: { ...error.ctx, hint } };
}

/** What embed mode finds wrong with a request. */
function embedFaults(request: FuseRequest, { choice, mostDocs }: RefusedRequest): ServerFaults {
  const { docs, embed_model: named } = request;
  const model = docs.every(hasScore) ? undefined : (named ?? choice.fallback);
  if (model === undefined) return { limits: [], values: [] };
  return {
    limits: docs.length > mostDocs ? [tooManyDocs(docs, mostDocs)] : [],
    values: isInstalled(model, choice)
      ? []
      : [valueError(['body', 'embed_model'], absent(model, choice), model)],
  };
}

/** What is answered where `entity_map` cannot be applied. */
export function unusableEntities(sentence: string): Answer {
  return unprocessable([valueError(['body', 'entity_map'], sentence, undefined)]);
}

/**
 * The 422 that names every error, or the 503 of a server without models.
 * @throws Error where nothing is wrong: the native module answers every valid request
 */
export function refusalOf(request: RefusedRequest, checkJson: CheckJson): Answer {
  const read = readBody(request.body, checkJson);
  if (!read.ok) return unprocessable(read.errors);
  const checked = checkBody(fuseRequestType, read.value, (value) => embedFaults(value, request));
  if (!checked.ok) return unprocessable(checked.errors);
  const { docs, embed_model: named } = checked.value;
  const needsModel = !docs.every(hasScore) && named === undefined;
  if (needsModel && request.choice.fallback === undefined) return noModel;
  throw new Error('the native module refuses a valid FuseRequest');
}
