/** Rules across the fields of a request, which a schema cannot say; for values that fit their schema. */
import type { FreeAuditRequest } from './audit.js';
import type { DreamConfirmRequest } from './dream.js';
import type { FuseRequest } from './fuse.js';
import type { RequestBodies } from './schemas.js';
import { type ValidationError, valueError } from './validation.js';

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

function confirmRules({ confirm }: DreamConfirmRequest): ValidationError[] {
  if (/^[0-9a-f]*$/.test(confirm)) return [];
  return [valueError(['body', 'confirm'], 'the token is 64 lower-case hexadecimal characters', confirm)];
}

/** Rules of a request body, by schema name. */
export const rules: {
  readonly [Name in keyof RequestBodies]?: (value: RequestBodies[Name]) => ValidationError[];
} = { FuseRequest: fuseRules, FreeAuditRequest: auditRules, DreamConfirmRequest: confirmRules };
