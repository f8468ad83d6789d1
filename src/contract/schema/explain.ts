/** Says what is wrong with a value: one interpreter over the generated schemas. */
import type { FieldShape, Shape } from './shape.js';
import { type ErrorType, MAX_ERRORS, type ValidationError, validationError } from './validation.js';
import { wordingOf } from './wording.js';

/** A walk through one value: its position and what it found. */
interface Walk {
  readonly loc: (string | number)[];
  readonly errors: ValidationError[];
  /** True if objects refuse fields they do not declare. */
  readonly closed: boolean;
}

type Of<Kind extends Shape['kind']> = Extract<Shape, { kind: Kind }>;

/**
 * Adds an error of `input`, which is checked against this shape. `actual`: a list's length; `more`: further
 * context.
 */
function report(
  walk: Walk,
  type: ErrorType,
  shape: Shape,
  input: unknown,
  actual?: number,
  more?: { readonly hint: string },
): void {
  const { msg, ctx } = wordingOf(type, shape, actual);
  const context = more === undefined ? ctx : { ...ctx, ...more };
  walk.errors.push(validationError(type, walk.loc, msg, input, context));
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

/** Most members of an object among which a misspelt one is searched for. */
const mostMembers = 50;

/** A name in lower case, without `_`, `-` and the s of a plural. Only ASCII letters are lowered. */
function plain(name: string): string {
  return name
    .replaceAll(/[_-]/g, '')
    .replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
    .replace(/s$/, '');
}

/** True if a value is of the JSON type of a field. */
function mayBe(value: unknown, { kind }: Shape): boolean {
  if (kind === 'list') return Array.isArray(value);
  if (kind === 'object' || kind === 'map') return isObject(value);
  if (kind === 'integer' || kind === 'number') return typeof value === 'number';
  return typeof value === (kind === 'boolean' ? 'boolean' : 'string');
}

/**
 * The member that was probably meant for a missing field: the only unknown one with a similar name, else the
 * only unknown one of its type. Undefined if the object has many members.
 */
function misnamed(
  { name, shape }: FieldShape,
  fields: readonly FieldShape[],
  owner: Readonly<Record<string, unknown>>,
): string | undefined {
  const members = Object.keys(owner);
  if (members.length > mostMembers) return undefined;
  const unknown = members.filter((member) => fields.every((field) => field.name !== member));
  const named = unknown.filter((member) => plain(member) === plain(name));
  const found = named.length > 0 ? named : unknown.filter((member) => mayBe(owner[member], shape));
  return found.length === 1 ? found[0] : undefined;
}

/** Bytes of the longest name that a hint repeats. */
const longestName = 64;

/** The hint beside a missing field, if another member was probably meant for it. */
export function missingHint(
  loc: readonly (string | number)[],
  meant: string | undefined,
): { readonly hint: string } | undefined {
  if (meant === undefined || Buffer.byteLength(meant) > longestName) return undefined;
  const missing = `${loc.slice(1).join('.')} is missing`;
  const instead = `${JSON.stringify(meant)} is not known here`;
  return { hint: `${missing}, and ${instead}: did you mean "${loc.at(-1)}"?` };
}

function explainField(
  walk: Walk,
  field: FieldShape,
  fields: readonly FieldShape[],
  owner: Readonly<Record<string, unknown>>,
): void {
  if (Object.hasOwn(owner, field.name)) {
    descend(walk, field.shape, owner[field.name], field.name);
  } else if (field.required) {
    walk.loc.push(field.name);
    const hint = missingHint(walk.loc, misnamed(field, fields, owner));
    report(walk, 'missing', field.shape, owner, undefined, hint);
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
    explainField(walk, field, fields, value);
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

/** True if a value is of a shape's JSON type: its errors are then those of that shape. */
function isOfKind({ kind }: Shape, value: unknown): boolean {
  if (kind === 'object' || kind === 'map') return isObject(value);
  return kind === 'list' ? Array.isArray(value) : kind === typeof value;
}

/** Alternatives in a fixed order, whatever the order of their types. */
export function byKind(shapes: readonly Shape[]): readonly Shape[] {
  return [...shapes].sort((one, next) => (one.kind > next.kind ? -1 : 1));
}

/**
 * Explains by the alternative of the value's JSON type; without one, by the first alternative in {@link
 * byKind}.
 */
function explainUnion(walk: Walk, { shapes }: Of<'union'>, value: unknown): void {
  const meant = shapes.find((shape) => isOfKind(shape, value)) ?? byKind(shapes)[0];
  if (meant !== undefined) visit(walk, meant, value);
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
  else if (shape.kind === 'union') explainUnion(walk, shape, value);
}

/**
 * Every error of a parsed JSON value against a shape, in declaration order, at most {@link MAX_ERRORS}; `[]`
 * when there is none. `root` is the first element of each `loc`. Recursion goes as deep as the shape, never
 * as deep as the value. `closed`: a field that is not declared is an error.
 */
export function explain(shape: Shape, value: unknown, root: string, closed = false): ValidationError[] {
  const walk: Walk = { loc: [root], errors: [], closed };
  visit(walk, shape, value);
  return walk.errors;
}
