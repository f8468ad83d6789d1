/** Rules across the fields of a request, which a schema cannot say; for values that fit their schema. */
import type { FreeAuditRequest } from './audit.js';
import type { DreamConfirmRequest, DreamRequest } from './dream.js';
import type { FuseRequest } from './fuse.js';
import type { RequestBodies } from './schemas.js';
import { type Location, type ValidationError, validationError, valueError } from './validation.js';

function fuseRules({ weights, entity_map: entityMap }: FuseRequest): ValidationError[] {
  const errors: ValidationError[] = [];
  if (entityMap != null && Object.hasOwn(entityMap, '')) {
    errors.push(valueError(['body', 'entity_map'], 'an empty key matches nothing', entityMap));
  }
  if (weights?.bm25 === 0 && weights.dense === 0) {
    errors.push(valueError(['body', 'weights'], 'bm25 and dense must not both be 0', weights));
  }
  return errors;
}

function auditRules(request: FreeAuditRequest): ValidationError[] {
  if (request.text != null || request.records != null) return [];
  return [valueError(['body'], 'give records or text', request)];
}

/** What a fragment's text is nothing but, when nothing of it is left as it is accepted. */
const nothing = /^[\0-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*$/;

/**
 * The errors of a title or content of which nothing is left; `place`: where the fields came from. The schema
 * of a query declares both as optional, so that one that is absent there is reported here.
 */
export function emptyFields(
  fields: { readonly title?: string | null; readonly content?: string | null },
  place: 'body' | 'query',
): ValidationError[] {
  return (['title', 'content'] as const).flatMap((name) => {
    if (place === 'query' && fields[name] === undefined) {
      return [validationError('missing', [place, name], 'Field required', null)];
    }
    const text = fields[name] ?? '';
    if (!nothing.test(text)) return [];
    const sentence = `${name} must not be empty once controls and outer white space are removed`;
    return [valueError([place, name], sentence, text)];
  });
}

function dreamRules(request: DreamRequest): ValidationError[] {
  return emptyFields(request, 'body');
}

/** What a confirmation token is, for those who send something else. */
export const tokenSentence =
  'a token is the 64 lower-case hexadecimal characters that GET /dream_get returned (tokens of 10 ' +
  'characters are of legacy receipts and confirm nothing)';

/** What is wrong with a token of 64 characters; undefined when nothing is. */
export function tokenFault(token: string, place: 'body' | 'query'): ValidationError | undefined {
  const loc: Location = [place, 'confirm'];
  return /^[0-9a-f]{64}$/.test(token) ? undefined : valueError(loc, tokenSentence, token);
}

/** Whether a confirmation brings its preview's fields; empty ones are none. */
export function isRecovery(request: DreamConfirmRequest): boolean {
  const { title, content, mechanism, test, visitor, kind } = request;
  return [title, content, mechanism, test, visitor, kind].some((text) => (text ?? '') !== '');
}

function confirmRules(request: DreamConfirmRequest): ValidationError[] {
  const fault = tokenFault(request.confirm, 'body');
  const recovery = isRecovery(request) ? emptyFields(request, 'body') : [];
  return fault === undefined ? recovery : [fault, ...recovery];
}

/** Rules of a request body, by schema name. */
export const rules: {
  readonly [Name in keyof RequestBodies]?: (value: RequestBodies[Name]) => ValidationError[];
} = {
  FuseRequest: fuseRules,
  FreeAuditRequest: auditRules,
  DreamRequest: dreamRules,
  DreamConfirmRequest: confirmRules,
};
