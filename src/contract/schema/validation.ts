/** The 422 answer: FastAPI's shape with pydantic v2's error types, messages and contexts. */
import type { Integer } from './tags.js';

/** Most errors one answer lists. */
export const MAX_ERRORS = 100;

/** JSON bytes up to which an error echoes its input. */
export const MAX_INPUT_BYTES = 256;

/** Every error type a 422 may carry. */
export type ErrorType =
  | 'missing'
  | 'string_type'
  | 'string_too_long'
  | 'string_too_short'
  | 'string_unicode'
  | 'literal_error'
  | 'int_type'
  | 'float_type'
  | 'bool_type'
  | 'list_type'
  | 'dict_type'
  | 'too_short'
  | 'too_long'
  | 'greater_than_equal'
  | 'less_than_equal'
  | 'extra_forbidden'
  | 'model_attributes_type'
  | 'json_invalid'
  | 'value_error';

/** Location of an error: `body`, `query`, `path` or `header`, then names and indexes. */
export type Location = readonly (string | number)[];

/** One error. */
export interface ValidationError {
  /** `body`, `query`, `path` or `header`, then names and indexes. */
  loc: (string | (number & Integer))[];
  /** The fault, in words. */
  msg: string;
  /** The fault, from a closed list. */
  type: string;
  /** The input, when its JSON is short. */
  input?: unknown;
  /** The limits that were broken. */
  ctx?: { [name: string]: unknown };
}

/** The body of a 422. */
export interface HTTPValidationError {
  detail?: ValidationError[];
}

/** Bytes left of `budget` after the JSON of `value`; negative as soon as it does not fit. */
function spend(value: unknown, budget: number): number {
  if (typeof value === 'string') {
    return value.length > budget ? -1 : budget - Buffer.byteLength(JSON.stringify(value));
  }
  if (typeof value !== 'object' || value === null) return budget - JSON.stringify(value).length;
  let left = budget - 2;
  let separator = 0;
  if (Array.isArray(value)) {
    for (const item of value) {
      if (left < 0) return left;
      left = spend(item, left - separator);
      separator = 1;
    }
    return left;
  }
  for (const name in value) {
    if (left < 0) return left;
    left = spend(name, left - separator - 1);
    if (left < 0) return left;
    left = spend((value as Record<string, unknown>)[name], left);
    separator = 1;
  }
  return left;
}

/** True if the JSON of a parsed value is short enough to be echoed; reads no more of the value than that. */
function isShort(value: unknown): boolean {
  return spend(value, MAX_INPUT_BYTES) >= 0;
}

/** An error of `input`, which is echoed when short. */
export function validationError(
  type: ErrorType,
  loc: Location,
  msg: string,
  input: unknown,
  ctx?: Record<string, unknown>,
): ValidationError {
  return {
    type,
    loc: [...loc],
    msg,
    ...(input !== undefined && isShort(input) ? { input } : {}),
    ...(ctx === undefined ? {} : { ctx }),
  };
}

/**
 * A `value_error`: a rule across fields, or one that the schema does not know (an unknown model, a media
 * type).
 */
export function valueError(loc: Location, sentence: string, input: unknown): ValidationError {
  return validationError('value_error', loc, `Value error, ${sentence}`, input, { error: {} });
}

/** A list of more items than are accepted. `most`: more than one; `items` may have fewer than `actual`. */
export function tooManyItems(
  loc: Location,
  items: readonly unknown[],
  most: number,
  actual: number,
): ValidationError {
  const msg = `List should have at most ${most} items after validation, not ${actual}`;
  const ctx = { field_type: 'List', max_length: most, actual_length: actual };
  return validationError('too_long', loc, msg, items, ctx);
}
