/** Checks request bodies and parameters: compiled validators say yes or no, the interpreter says why not. */
import typia from 'typia';
import { explain } from './explain.js';
import { rules, tokenSentence } from './rules.js';
import type { ParameterSets, RequestBodies } from './schemas.js';
import { type Shape, shapeNamed } from './shape.js';
import type { ValidationError } from './validation.js';

/** A checked value, or what is wrong with it. */
export type Checked<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly errors: readonly ValidationError[] };

/** The compiled yes-or-no validators of the request bodies. */
export const validators: {
  readonly [Name in keyof RequestBodies]: (value: unknown) => value is RequestBodies[Name];
} = {
  CreateOrderRequest: typia.createIs<RequestBodies['CreateOrderRequest']>(),
  QuoteRequest: typia.createIs<RequestBodies['QuoteRequest']>(),
  LeadRequest: typia.createIs<RequestBodies['LeadRequest']>(),
  DeliveryInterestRequest: typia.createIs<RequestBodies['DeliveryInterestRequest']>(),
  FreeAuditRequest: typia.createEquals<RequestBodies['FreeAuditRequest']>(),
  NormalizeRequest: typia.createIs<RequestBodies['NormalizeRequest']>(),
  FuseRequest: typia.createIs<RequestBodies['FuseRequest']>(),
  DreamRequest: typia.createIs<RequestBodies['DreamRequest']>(),
  DreamConfirmRequest: typia.createIs<RequestBodies['DreamConfirmRequest']>(),
  HarvestRequest: typia.createIs<RequestBodies['HarvestRequest']>(),
};

/** Request bodies that refuse fields they do not declare. */
export const closedBodies: ReadonlySet<string> = new Set<keyof RequestBodies>(['FreeAuditRequest']);

/** A token of another length is told what a token is, besides pydantic's words. */
function withHints(errors: ValidationError[]): ValidationError[] {
  return errors.map((error) => {
    const isLength = error.type === 'string_too_short' || error.type === 'string_too_long';
    if (!isLength || error.loc[1] !== 'confirm') return error;
    return { ...error, msg: `${error.msg}; ${tokenSentence}` };
  });
}

/** What is wrong with a body against its schema alone; `[]` when nothing is. */
export function explainBody(name: keyof RequestBodies, value: unknown): ValidationError[] {
  return withHints(explain(shapeNamed(name), value, 'body', closedBodies.has(name)));
}

/** What is wrong with a value that fits its schema, where that depends on this server. */
export interface ServerFaults {
  /** Limits of the server: told as a schema's are, alone. */
  readonly limits: readonly ValidationError[];
  /** The others: told with those of the {@link rules}, before them. */
  readonly values: readonly ValidationError[];
}

/**
 * Checks a parsed JSON body; `faults` finds what only this server knows to be wrong with it.
 *
 * @throws when the compiled validator refuses what the interpreter finds no fault with: they are generated
 *   from one type, so that cannot be
 */
export function checkBody<Name extends keyof RequestBodies>(
  name: Name,
  value: unknown,
  faults?: (value: RequestBodies[Name]) => ServerFaults,
): Checked<RequestBodies[Name]> {
  const is: (value: unknown) => value is RequestBodies[Name] = validators[name];
  if (is(value)) {
    const { limits, values } = faults?.(value) ?? { limits: [], values: [] };
    const errors = limits.length > 0 ? limits : [...values, ...(rules[name]?.(value) ?? [])];
    return errors.length === 0 ? { ok: true, value } : { ok: false, errors };
  }
  const errors = explainBody(name, value);
  if (errors.length === 0) throw new Error(`${name}: the validator refuses what the schema allows`);
  return { ok: false, errors };
}

/** Where parameters come from. */
export type ParameterPlace = 'path' | 'query' | 'header';

/** A parameter's text as the JSON value its shape asks for; what does not read as one stays text. */
function decode(shape: Shape, text: string): unknown {
  const isNumber = shape.kind === 'integer' || shape.kind === 'number';
  if (isNumber && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  if (shape.kind === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

/**
 * Checks a set of parameters. `read` gives the percent-decoded text of a parameter by its declared name
 * (headers: lower case), `undefined` when it is absent.
 */
export function checkParameters<Name extends keyof ParameterSets>(
  name: Name,
  place: ParameterPlace,
  read: (parameter: string) => string | undefined,
): Checked<ParameterSets[Name]> {
  const shape = shapeNamed(name);
  if (shape.kind !== 'object') throw new Error(`${name} is not a set of parameters`);
  const values: Record<string, unknown> = {};
  for (const field of shape.fields) {
    const text = read(field.name);
    if (text !== undefined) values[field.name] = decode(field.shape, text);
  }
  const errors = withHints(explain(shape, values, place));
  return errors.length === 0
    ? { ok: true, value: values as unknown as ParameterSets[Name] }
    : { ok: false, errors };
}
