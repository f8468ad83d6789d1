/** Says what is wrong with a value: one interpreter over the generated schemas. */
import type { FieldShape, Shape } from './shape.js';
import { type ErrorType, MAX_ERRORS, type ValidationError, validationError } from './validation.js';
import { wordingOf } from './wording.js';

/** A walk through one value: where it is and what it found. */
interface Walk {
  readonly loc: (string | number)[];
  readonly errors: ValidationError[];
  /** Whether objects refuse fields they do not declare. */
  readonly closed: boolean;
}

type Of<Kind extends Shape['kind']> = Extract<Shape, { kind: Kind }>;

/** Notes a fault of `input`, which has this shape. `actual`: a list's length. */
function report(walk: Walk, type: ErrorType, shape: Shape, input: unknown, actual?: number): void {
  const { msg, ctx } = wordingOf(type, shape, actual);
  walk.errors.push(validationError(type, walk.loc, msg, input, ctx));
}

/** Code points of a string without lone surrogates. */
export function codePoints(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length; i++) if ((text.charCodeAt(i) & 0xfc00) === 0xd800) count--;
  return count;
}

function explainString(walk: Walk, shape: Of<'string'>, value: unknown): void {
  const { min, max } = shape;
  if (typeof value !== 'string') {
    report(walk, 'string_type', shape, value);
    return;
  }
  if (value.length <= max && value.length >= 2 * min) return;
  const length = codePoints(value);
  if (length > max) report(walk, 'string_too_long', shape, value);
  else if (length < min) report(walk, 'string_too_short', shape, value);
}

function explainNumber(walk: Walk, shape: Of<'integer' | 'number'>, value: unknown): void {
  const { kind, min, max } = shape;
  if (typeof value !== 'number' || !(kind === 'integer' ? Number.isInteger(value) : Number.isFinite(value))) {
    report(walk, kind === 'integer' ? 'int_type' : 'float_type', shape, value);
  } else if (value < min) report(walk, 'greater_than_equal', shape, value);
  else if (value > max) report(walk, 'less_than_equal', shape, value);
}

function explainBoolean(walk: Walk, shape: Shape, value: unknown): void {
  if (typeof value !== 'boolean') report(walk, 'bool_type', shape, value);
}

function explainLiteral(walk: Walk, shape: Of<'literal'>, value: unknown): void {
  if (!shape.values.includes(value)) report(walk, 'literal_error', shape, value);
}

function explainList(walk: Walk, shape: Of<'list'>, value: unknown): void {
  if (!Array.isArray(value)) {
    report(walk, 'list_type', shape, value);
    return;
  }
  const actual = value.length;
  if (actual > shape.max) report(walk, 'too_long', shape, value, actual);
  else if (actual < shape.min) report(walk, 'too_short', shape, value, actual);
  else {
    for (let i = 0; i < actual && walk.errors.length < MAX_ERRORS; i++) {
      descend(walk, shape.items, value[i], i);
    }
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function explainMap(walk: Walk, shape: Of<'map'>, value: unknown): void {
  if (!isObject(value)) {
    report(walk, 'dict_type', shape, value);
    return;
  }
  for (const [name, member] of Object.entries(value)) {
    if (walk.errors.length >= MAX_ERRORS) return;
    descend(walk, shape.values, member, name);
  }
}

function explainField(walk: Walk, field: FieldShape, owner: Readonly<Record<string, unknown>>): void {
  if (Object.hasOwn(owner, field.name)) {
    descend(walk, field.shape, owner[field.name], field.name);
  } else if (field.required) {
    walk.loc.push(field.name);
    report(walk, 'missing', field.shape, owner);
    walk.loc.pop();
  }
}

function explainObject(walk: Walk, shape: Of<'object'>, value: unknown): void {
  if (!isObject(value)) {
    report(walk, 'model_attributes_type', shape, value);
    return;
  }
  const { fields } = shape;
  for (const field of fields) {
    if (walk.errors.length >= MAX_ERRORS) return;
    explainField(walk, field, value);
  }
  if (!walk.closed) return;
  const known = new Set(fields.map(({ name }) => name));
  for (const [name, member] of Object.entries(value)) {
    if (walk.errors.length >= MAX_ERRORS) return;
    if (known.has(name)) continue;
    walk.loc.push(name);
    report(walk, 'extra_forbidden', shape, member);
    walk.loc.pop();
  }
}

function descend(walk: Walk, shape: Shape, value: unknown, step: string | number): void {
  walk.loc.push(step);
  visit(walk, shape, value);
  walk.loc.pop();
}

function visit(walk: Walk, shape: Shape, value: unknown): void {
  if (value === null && shape.nullable) return;
  if (shape.kind === 'string') explainString(walk, shape, value);
  else if (shape.kind === 'integer' || shape.kind === 'number') explainNumber(walk, shape, value);
  else if (shape.kind === 'object') explainObject(walk, shape, value);
  else if (shape.kind === 'list') explainList(walk, shape, value);
  else if (shape.kind === 'map') explainMap(walk, shape, value);
  else if (shape.kind === 'literal') explainLiteral(walk, shape, value);
  else if (shape.kind === 'boolean') explainBoolean(walk, shape, value);
  else if (shape.kind === 'union') throw new Error('A request with alternatives has no error list');
}

/**
 * Every error of a parsed JSON value against a shape, in declaration order, at most {@link MAX_ERRORS}; `[]`
 * when there is none. `root` is the first element of each `loc`. Recursion goes as deep as the shape, never
 * as the value. `closed`: a field that is not declared is an error.
 */
export function explain(shape: Shape, value: unknown, root: string, closed = false): ValidationError[] {
  const walk: Walk = { loc: [root], errors: [], closed };
  visit(walk, shape, value);
  return walk.errors;
}
