/** Checks request bodies and parameters: compiled validators decide, the interpreter explains. */
import { explain } from './explain.js';
import { fieldsOf, shapeOf, type Shape } from './shape.js';
import type { ValidationError } from './validation.js';
import type { BodyType, WireType } from './wireType.js';

/** A checked value, or what is wrong with it. */
export type Checked<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly errors: readonly ValidationError[] };

/** Adds the type's hints about a field's length to errors about that length. */
export function withHints({ lengthHints }: WireType, errors: ValidationError[]): ValidationError[] {
  return errors.map((error) => {
    const hint = lengthHints[String(error.loc[1])];
    const isLength = error.type === 'string_too_short' || error.type === 'string_too_long';
    return hint === undefined || !isLength ? error : { ...error, msg: `${error.msg}; ${hint}` };
  });
}

/** Errors of a body against its schema alone; `[]` when there is none. */
export function explainBody(type: WireType, value: unknown): ValidationError[] {
  return withHints(type, explain(shapeOf(type), value, 'body', type.closed));
}

/** Errors that depend on this server, of a value that fits its schema. */
export interface ServerFaults {
  /** Limits of the server that the value exceeds: reported alone, as errors of the schema are. */
  readonly limits: readonly ValidationError[];
  /** The others: reported together with the errors of the type's rules, before them. */
  readonly values: readonly ValidationError[];
}

/**
 * Checks a parsed JSON body; `faults` finds errors that depend on this server.
 *
 * @throws when the compiled validator refuses a value in which the interpreter finds no error: a broken
 *   invariant, as both are generated from one type
 */
export function checkBody<Value>(
  type: BodyType<Value>,
  value: unknown,
  faults?: (value: Value) => ServerFaults,
): Checked<Value> {
  if (type.is(value)) {
    const { limits, values } = faults?.(value) ?? { limits: [], values: [] };
    const errors = limits.length > 0 ? limits : [...values, ...type.rules(value)];
    return errors.length === 0 ? { ok: true, value } : { ok: false, errors };
  }
  const errors = explainBody(type, value);
  if (errors.length === 0) throw new Error(`${type.name}: the validator refuses what the schema allows`);
  return { ok: false, errors };
}

/** Where parameters come from. */
export type ParameterPlace = 'path' | 'query' | 'header';

/** A parameter's text as the JSON value that its shape requires; a text that is not one stays text. */
function decode(shape: Shape, text: string): unknown {
  const isNumber = shape.kind === 'integer' || shape.kind === 'number';
  if (isNumber && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  if (shape.kind === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

/**
 * Checks a set of parameters. `read` returns the percent-decoded text of a parameter by its declared name
 * (headers: lower case), `undefined` when it is absent.
 */
export function checkParameters(
  type: WireType,
  place: ParameterPlace,
  read: (parameter: string) => string | undefined,
): Checked<Readonly<Record<string, unknown>>> {
  const values: Record<string, unknown> = {};
  for (const { name, shape } of fieldsOf(type)) {
    const text = read(name);
    if (text !== undefined) values[name] = decode(shape, text);
  }
  const errors = withHints(type, explain(shapeOf(type), values, place));
  return errors.length === 0 ? { ok: true, value: values } : { ok: false, errors };
}
