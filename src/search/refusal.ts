/**
 * The answer to a body of POST /v1/fuse that the native module refused: a 422, or the problem of a missing
 * model.
 */
import { problemAnswer, unprocessable } from '../contract/answer.js';
import {
  type BodyParts,
  type Brief,
  briefBytes,
  briefBytesOffLoop,
  type FindFaults,
} from '../contract/schema/bytes.js';
import type { Answer } from '../contract/exchange.js';
import {
  distanceNegative,
  fuseDefaults,
  fuseRequestType,
  scoreMissing,
  type FuseDoc,
  type FuseRequest,
} from '../contract/fuse.js';
import type { Checked, ServerFaults } from '../contract/schema/validate.js';
import { tooManyItems, valueError, type ValidationError } from '../contract/schema/validation.js';
import { inPoolAnyway } from '../system/threadPool.js';
import type { ModelChoice } from './embedMode.js';

/** A body that was refused, and what embed mode allows for it. */
export interface RefusedRequest {
  readonly body: Uint8Array;
  readonly choice: ModelChoice;
  /** Most docs that a model scores. */
  readonly mostDocs: number;
  /** Errors of names that depend on all docs, as the native module lists them. */
  readonly names: string | null;
}

const noModel: Answer = problemAnswer(
  503,
  'no_model',
  'A doc has no dense_score, and this server has no embedding model: send one with every doc.',
);

/** The contract's default model, which is not included. */
const contractsModel = /^(?:baai\/)?bge-base-en-v1\.5$/i;

function absent(name: string, { installed }: ModelChoice): string {
  const sentence = `${JSON.stringify(name)} is not installed; installed: ${installed.join(', ')}`;
  const install = 'The operator installs it with: fusegate models add BAAI/bge-base-en-v1.5';
  return contractsModel.test(name) ? `${sentence}. ${install}` : sentence;
}

/** The error of more docs than a model scores, with the first doc that needs the model, if that is known. */
function tooManyDocs(docs: readonly FuseDoc[], count: number, most: number): ValidationError {
  const error = tooManyItems(['body', 'docs'], docs, most, count);
  const at = docs.findIndex(({ dense_score: score }) => score == null);
  const subject = at < 0 ? 'A doc' : `docs.${at}`;
  const hint =
    `${subject} has no dense_score, so that a model scores all docs, of ${most} at most here. ` +
    'Send dense_score with every doc, or fewer docs.';
  return { ...error, ctx: { ...error.ctx, hint } };
}

/** A request's docs: their number, facts about their dense scores, and whether a model computes these. */
function docsOf({ value, lists }: Brief<FuseRequest>) {
  const { length: count = value.docs.length, members = [] } = lists.find(({ name }) => name === 'docs') ?? {};
  const scores = members.find(({ name }) => name === 'dense_score');
  const { on_missing_dense: missing = fuseDefaults.on_missing_dense, legs } = value;
  const isFused = legs === undefined || Object.hasOwn(legs, 'dense');
  return { count, scores, needScores: isFused && missing === 'embed' && (scores?.items ?? 0) < count };
}

/** The first errors of dense scores among the docs that a brief reading left out. */
function cutFaults(brief: Brief<FuseRequest>): ValidationError[] {
  const { docs, on_missing_dense: missing, dense_kind: kind } = brief.value;
  const { firstWithout = -1, least = 0, leastAt = -1 } = docsOf(brief).scores ?? {};
  const errors: ValidationError[] = [];
  if (missing === 'error' && firstWithout >= docs.length) errors.push(scoreMissing(firstWithout));
  if (kind === 'distance' && least < 0 && leastAt >= docs.length) {
    errors.push(distanceNegative(leastAt, least));
  }
  return errors;
}

/** Errors of a request in embed mode. */
function embedFaults(brief: Brief<FuseRequest>, { choice, mostDocs }: RefusedRequest): ServerFaults {
  const { count, needScores } = docsOf(brief);
  const { docs, embed_model: named } = brief.value;
  const model = needScores ? (named ?? choice.fallback) : undefined;
  if (model === undefined) return { limits: [], values: [] };
  return {
    limits: count > mostDocs ? [tooManyDocs(docs, count, mostDocs)] : [],
    values: choice.isInstalled(model)
      ? []
      : [valueError(['body', 'embed_model'], absent(model, choice), model)],
  };
}

/** The answer if `entity_map` cannot be applied. */
export function unusableEntities(sentence: string): Answer {
  return unprocessable([valueError(['body', 'entity_map'], sentence, undefined)]);
}

/** Errors of names of legs, boosts and docs that do not match. */
function nameFaults({ names }: RefusedRequest): ValidationError[] {
  const faults = JSON.parse(names ?? '[]') as { loc: (string | number)[]; message: string }[];
  return faults.map(({ loc, message }) => valueError(loc, message, undefined));
}

function faultsOf(request: RefusedRequest): FindFaults<FuseRequest> {
  return (brief) => {
    const { limits, values } = embedFaults(brief, request);
    return { limits, values: [...values, ...cutFaults(brief), ...nameFaults(request)] };
  };
}

/** The answer to a refused request, by what was read of it. */
function answerOf(request: RefusedRequest, read: Checked<Brief<FuseRequest>>): Answer {
  if (!read.ok) return unprocessable(read.errors);
  const needsModel = docsOf(read.value).needScores && read.value.value.embed_model === undefined;
  if (needsModel && request.choice.fallback === undefined) return noModel;
  throw new Error('the native module refuses a valid FuseRequest');
}

/**
 * The 422 that names every error, or the 503 of a server without models.
 *
 * @throws Error if no error is found: the native module answers every valid request
 */
export function refusalOf(request: RefusedRequest, parts: BodyParts): Answer {
  return answerOf(request, briefBytes(fuseRequestType, request.body, parts, faultsOf(request)));
}

/** As {@link refusalOf}, for a large body, in the thread pool. */
export async function refusalOffLoop(request: RefusedRequest, parts: BodyParts): Promise<Answer> {
  const { body } = request;
  const read = await inPoolAnyway(() => briefBytesOffLoop(fuseRequestType, body, parts, faultsOf(request)));
  return answerOf(request, read);
}
