/** `GET /v1/limits` on the wire (contract, Limits): the limits that routes and their types state. */
import typia, { type tags } from 'typia';
import { information, type ResourceRoutes } from './route.js';
import { MAX_NESTING } from './schema/body.js';
import { get, type DescribedRoute } from './schema/route.js';
import { shapeOf, type Shape } from './schema/shape.js';
import type { Integer } from './schema/tags.js';
import { MAX_ERRORS, MAX_INPUT_BYTES } from './schema/validation.js';
import { wireTypes } from './schema/wireType.js';

/** The body limit of one route. */
export interface BodyLimit {
  route: string;
  method: string;
  path: string;
  max_body_bytes: number & Integer & tags.Minimum<0>;
}

/** A limit on one field of a request. */
export interface FieldLimit {
  /** The request's type. */
  request: string;
  /** Name of the field; `[]` stands for each item of a list. */
  field: string;
  min_chars?: number & Integer;
  max_chars?: number & Integer;
  min_items?: number & Integer;
  max_items?: number & Integer;
  minimum?: number;
  maximum?: number;
}

/** A limit by time or number. */
export interface RateLimit {
  name: string;
  /** 0: no limit. */
  limit: number & Integer & tags.Minimum<0>;
  /** Its unit, its window and its subject. */
  unit: string;
}

/** How callers without a key are treated on the routes that accept one. */
export interface AccessLimits {
  /** `open`: all are served; `metered`: each address within limits; `keys`: none. */
  mode: 'open' | 'metered' | 'keys';
  /** Why this mode is in force. */
  reason: string;
}

/** `GET /v1/limits`: every limit in force. */
export interface LimitsResponse {
  access: AccessLimits;
  bodies: BodyLimit[];
  fields: FieldLimit[];
  rates: RateLimit[];
  /** Brackets that may be open at once in a JSON body. */
  json_nesting: number & Integer;
  /** Most errors that a 422 lists. */
  validation_errors: number & Integer;
  /** A 422 echoes an input of up to this many bytes of JSON. */
  validation_input_bytes: number & Integer;
}

/** A route whose limits are listed. */
type LimitedRoute = Pick<DescribedRoute, 'method' | 'path' | 'body' | 'parameters'> & { readonly id: string };

/** The body limit of every route that takes a body. */
function bodyLimits(routes: readonly LimitedRoute[]): BodyLimit[] {
  return routes.flatMap(({ id, method, path, body }) =>
    body.kind === 'none' || body.kind === 'lines'
      ? []
      : [{ route: id, method, path, max_body_bytes: body.limit }],
  );
}

/** The limit of a line, for every route that takes lines. */
function lineLimits(routes: readonly LimitedRoute[]): RateLimit[] {
  return routes.flatMap(({ id, method, path, body }) =>
    body.kind === 'lines'
      ? [{ name: `${id}.line`, limit: body.limit, unit: `bytes of a line of ${method} ${path}` }]
      : [],
  );
}

const finite = (name: keyof FieldLimit, value: number, none: number): Partial<FieldLimit> =>
  value === none ? {} : { [name]: value };

/** The bounds that a shape itself states. */
function bounds(shape: Shape): Omit<FieldLimit, 'request' | 'field'> {
  switch (shape.kind) {
    case 'string':
      return { ...finite('min_chars', shape.min, 0), ...finite('max_chars', shape.max, Infinity) };
    case 'integer':
    case 'number':
      return { ...finite('minimum', shape.min, -Infinity), ...finite('maximum', shape.max, Infinity) };
    case 'list':
      return { ...finite('min_items', shape.min, 0), ...finite('max_items', shape.max, Infinity) };
    default:
      return {};
  }
}

function walk(request: string, field: string, shape: Shape): FieldLimit[] {
  const own = bounds(shape);
  const here = Object.keys(own).length === 0 ? [] : [{ request, field, ...own }];
  if (shape.kind === 'list') return [...here, ...walk(request, `${field}[]`, shape.items)];
  if (shape.kind !== 'object') return here;
  const prefix = field === '' ? '' : `${field}.`;
  return shape.fields.flatMap((inner) => walk(request, `${prefix}${inner.name}`, inner.shape));
}

/** Every bound on a field of a request or on a parameter, in the order of the route table. */
function fieldLimits(routes: readonly LimitedRoute[]): FieldLimit[] {
  const types = routes.flatMap(({ body, parameters }) => [
    ...('schema' in body ? [body.schema] : []),
    ...Object.values(parameters),
  ]);
  return [...new Set(types)].flatMap((type) => walk(type.name, '', shapeOf(type)));
}

/** Every limit that routes and their types state, and the `rates` that are enforced as well. */
export function limitsOf(
  routes: readonly LimitedRoute[],
  rates: readonly RateLimit[],
  access: AccessLimits,
): LimitsResponse {
  return {
    access,
    bodies: bodyLimits(routes),
    fields: fieldLimits(routes),
    rates: [...rates, ...lineLimits(routes)],
    json_nesting: MAX_NESTING,
    validation_errors: MAX_ERRORS,
    validation_input_bytes: MAX_INPUT_BYTES,
  };
}

const [limitsResponseType] = wireTypes(typia.json.schemas<[LimitsResponse]>());

/** Argument of the example: the routes of the contract. */
interface Given {
  readonly routes: readonly LimitedRoute[];
}

const access: AccessLimits = { mode: 'metered', reason: 'ACCESS is metered' };

const rates: readonly RateLimit[] = [
  { name: 'anonymous.requests', limit: 60, unit: 'requests a minute for an address without a key' },
  {
    name: 'anonymous.characters',
    limit: 1_000_000,
    unit: 'characters of 200 answers in 30 days for an address without a key',
  },
];

/** GET /v1/limits. */
export const limitsRoutes = {
  limits: {
    ...information,
    path: '/v1/limits',
    summary: 'Every limit in force',
    description: 'Limits of bodies and fields, and limits by time or number.',
    answers: { 200: { schema: limitsResponseType, description: 'The limits.' } },
    example: ({ routes }: Given) => get('/v1/limits', limitsOf(routes, rates, access)),
  },
} as const satisfies ResourceRoutes;
