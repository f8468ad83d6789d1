/** The message of each error of a value, in pydantic v2's words. */
import type { Shape } from './shape.js';
import type { ErrorType } from './validation.js';

/** An error's message, with the limits that were broken. */
export interface Wording {
  readonly msg: string;
  readonly ctx?: Record<string, unknown>;
}

function plural(count: number, noun: string): string {
  return count === 1 ? `${count} ${noun}` : `${count} ${noun}s`;
}

/** `'a', 'b' or 'c'`. */
function listed(values: readonly unknown[]): string {
  const quoted = values.map((value) => (typeof value === 'string' ? `'${value}'` : String(value)));
  const last = quoted.pop() ?? '';
  return quoted.length === 0 ? last : `${quoted.join(', ')} or ${last}`;
}

/** Messages that depend on nothing but the type of the error. */
const plainWords: Partial<Readonly<Record<ErrorType, string>>> = {
  missing: 'Field required',
  extra_forbidden: 'Extra inputs are not permitted',
  string_type: 'Input should be a valid string',
  int_type: 'Input should be a valid integer',
  float_type: 'Input should be a valid number',
  bool_type: 'Input should be a valid boolean',
  list_type: 'Input should be a valid list',
  dict_type: 'Input should be a valid dictionary',
  model_attributes_type: 'Input should be a valid dictionary or object to extract fields from',
};

function boundWords(type: ErrorType, min: number, max: number): Wording | undefined {
  switch (type) {
    case 'string_too_long': {
      const msg = `String should have at most ${plural(max, 'character')}`;
      return { msg, ctx: { max_length: max } };
    }
    case 'string_too_short': {
      const msg = `String should have at least ${plural(min, 'character')}`;
      return { msg, ctx: { min_length: min } };
    }
    case 'greater_than_equal':
      return { msg: `Input should be greater than or equal to ${min}`, ctx: { ge: min } };
    case 'less_than_equal':
      return { msg: `Input should be less than or equal to ${max}`, ctx: { le: max } };
    default:
      return undefined;
  }
}

function listWords(type: ErrorType, min: number, max: number, actual: number): Wording | undefined {
  const list = { field_type: 'List' };
  if (type === 'too_long') {
    const msg = `List should have at most ${plural(max, 'item')} after validation, not ${actual}`;
    return { msg, ctx: { ...list, max_length: max, actual_length: actual } };
  }
  if (type === 'too_short') {
    const msg = `List should have at least ${plural(min, 'item')} after validation, not ${actual}`;
    return { msg, ctx: { ...list, min_length: min, actual_length: actual } };
  }
  return undefined;
}

/**
 * The message of an error of a value against its shape. `actual`: a list's length.
 *
 * @throws for an error that values of the shape cannot have
 */
export function wordingOf(type: ErrorType, shape: Shape, actual = 0): Wording {
  const msg = plainWords[type];
  if (msg !== undefined) return { msg };
  if (type === 'literal_error' && shape.kind === 'literal') {
    const expected = listed(shape.values);
    return { msg: `Input should be ${expected}`, ctx: { expected } };
  }
  const words =
    'min' in shape
      ? (boundWords(type, shape.min, shape.max) ?? listWords(type, shape.min, shape.max, actual))
      : undefined;
  if (words === undefined) throw new Error(`A ${shape.kind} has no ${type}`);
  return words;
}
