/** An OpenAPI 3.1.0 document, generated from routes and the types they name. */
import typia from 'typia';
import { ndjson } from './body.js';
import { componentOf, type SchemaObject } from './component.js';
import { fieldsOf } from './shape.js';
import type { AnswerHeader, DescribedRoute, Example, RouteAnswer } from './route.js';
import { explainBody, type ParameterPlace } from './validate.js';
import type { HTTPValidationError } from './validation.js';
import { wireTypes, type WireType } from './wireType.js';

/** The document, as JSON. */
export type OpenApiDocument = Readonly<Record<string, unknown>>;

/** A route in a document. */
export interface ListedRoute extends DescribedRoute {
  readonly id: string;
  readonly example: Example;
}

/** Meaning of a problem's status, whatever its code. */
const statusMeanings: Readonly<Record<number, string>> = {
  400: 'The signature does not fit.',
  401: 'The API key is not accepted.',
  404: 'It does not exist, or its existence is not revealed.',
  408: 'The body did not arrive in time.',
  409: 'It conflicts with the present state.',
  410: 'It is finished; `detail` says what to do.',
  413: 'The body is longer than its limit.',
  415: 'The body is compressed; send it as it is.',
  429: 'Too many requests, or too many characters this month; `Retry-After` says when to try again.',
  503: 'It cannot be served now.',
};

/** Meanings of the statuses of a route that reports an invalid body like any other failure. */
const invalidMeanings: Readonly<Record<number, string>> = {
  400: 'The request is not valid; `detail` says where.',
  422: 'The request is not valid; `detail` says where.',
};

/** A header's name as its specification writes it. */
function headerName(name: string): string {
  const words = name.split('-').map((word) => (word === 'api' ? 'API' : word.replace(/^./, upperCase)));
  return words.join('-');
}

function upperCase(letter: string): string {
  return letter.toUpperCase();
}

/** Header fields of answers, in lower case. */
type ShownHeader = AnswerHeader | 'x-request-id' | 'retry-after';

const answerHeaders: Readonly<Record<ShownHeader, SchemaObject>> = {
  'x-request-id': {
    description: "The request's id: the one sent if it is 1 to 64 of `A-Z a-z 0-9 . _ -`, else a new one.",
    schema: { type: 'string' },
  },
  location: {
    description: 'Where to go.',
    schema: { type: 'string', format: 'uri-reference' },
  },
  'idempotent-replayed': {
    description: '`true` on an answer that repeats an earlier one, by its idempotency key.',
    schema: { type: 'string', const: 'true' },
  },
  'server-timing': {
    description: 'Milliseconds spent (W3C Server Timing).',
    schema: { type: 'string' },
  },
  ratelimit: {
    description:
      '`"minute";r=…;t=…`: whole requests left, and seconds until all are there again ' +
      '(draft-ietf-httpapi-ratelimit-headers). Left out where there is no limit.',
    schema: { type: 'string' },
  },
  'ratelimit-policy': {
    description: '`"minute";q=…;w=60`: q requests in 60 seconds.',
    schema: { type: 'string' },
  },
  'retry-after': {
    description: 'Whole seconds until the request would pass; left out where waiting does not help.',
    schema: { type: 'integer', minimum: 1 },
  },
};

const [validationErrorType] = wireTypes(typia.json.schemas<[HTTPValidationError]>());

/** Answer to an empty object; undefined if the body is not JSON. */
function unprocessableExample({ body }: ListedRoute): HTTPValidationError | undefined {
  return 'schema' in body && body.kind !== 'lines' ? { detail: explainBody(body.schema, {}) } : undefined;
}

/** Both ways to send an API key (OpenAPI, Security Scheme Object). */
const securitySchemes: SchemaObject = {
  ApiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', 'x-extension': true },
  Bearer: {
    type: 'http',
    scheme: 'bearer',
    description:
      'The same key as a bearer token. A token that does not begin with `fg_` is not read as a key.',
    'x-extension': true,
  },
};

/** A key is optional, and may be sent either way. */
const security = [{}, { ApiKey: [] }, { Bearer: [] }];

/** The body of an answer that is a problem. */
export interface DescribedProblem {
  readonly schema: WireType;
  readonly example: (code: string, detail: string) => unknown;
}

/** The parts of one document while it is made: a component is added when it is first referred to. */
interface Draft {
  readonly components: Map<string, Component>;
  /** The body of every answer that is a problem. */
  readonly problem: DescribedProblem;
}

/** A component and the type that it was made from. */
interface Component {
  readonly type: WireType;
  readonly schema: SchemaObject;
}

/** Adds the component of a type, unless it is there. @throws if another type has its name */
function meet(draft: Draft, type: WireType): void {
  const known = draft.components.get(type.name);
  if (known !== undefined) {
    if (known.type.components === type.components) return;
    const schema = componentOf(type, () => undefined);
    if (JSON.stringify(schema) !== JSON.stringify(known.schema)) throw new Error(`Two types ${type.name}`);
    return;
  }
  draft.components.set(type.name, { type, schema: {} });
  const schema = componentOf(type, (other) => meet(draft, other));
  draft.components.set(type.name, { type, schema });
}

function schemaReference(draft: Draft, type: WireType): SchemaObject {
  meet(draft, type);
  return { $ref: `#/components/schemas/${type.name}` };
}

/**
 * The header fields of an answer. An unknown caller has no limits; `passes`: the problem passes with time.
 */
function headersOf({ headers }: ListedRoute, status: number, passes = false): SchemaObject {
  const own = headers.filter((name) =>
    name === 'idempotent-replayed' ? status === 200 : status !== 401 || !name.startsWith('ratelimit'),
  );
  const names: ShownHeader[] = ['x-request-id', ...own, ...(passes ? (['retry-after'] as const) : [])];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function answer(draft: Draft, route: ListedRoute, status: number, shown: RouteAnswer): SchemaObject {
  const { response } = route.example;
  const body = status === 422 ? unprocessableExample(route) : response.body;
  const example = status === response.status || status === 422 ? body : undefined;
  const [type, schema] =
    'schema' in shown
      ? ownSchema(draft, shown)
      : [shown.type, { type: shown.type === 'application/json' ? 'object' : 'string' }];
  return {
    description: shown.description,
    headers: headersOf(route, status, status === 429),
    content: {
      [type]: { schema, ...(example === undefined ? {} : { example }) },
      ...Object.fromEntries(alsoOf(shown).map((other) => [other, { schema: { type: 'string' } }])),
    },
  };
}

/** The media type and schema of an answer that has a type; for lines, those of each line. */
function ownSchema(
  draft: Draft,
  { schema, failedLine }: Extract<RouteAnswer, { readonly schema: WireType }>,
): [string, SchemaObject] {
  const reference = schemaReference(draft, schema);
  if (failedLine === undefined) return ['application/json', reference];
  return [ndjson, { anyOf: [reference, schemaReference(draft, failedLine)] }];
}

/** Further media types of an answer. */
function alsoOf(shown: RouteAnswer): readonly string[] {
  return ('also' in shown ? shown.also : undefined) ?? [];
}

function problem(draft: Draft, route: ListedRoute, status: number, codes: readonly string[]): SchemaObject {
  const { failure } = route;
  const meaning = (failure === undefined ? undefined : invalidMeanings[status]) ?? statusMeanings[status];
  if (meaning === undefined) throw new Error(`Status ${status} has no meaning in the document`);
  const value = (code: string): unknown =>
    failure?.example(status, meaning, code) ?? draft.problem.example(code, meaning);
  const shown = Object.fromEntries(codes.map((code) => [code, { value: value(code) }]));
  const schema = schemaReference(draft, failure?.schema ?? draft.problem.schema);
  return {
    description: `${meaning} Codes: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
    headers: headersOf(route, status, status === 429 || status === 503),
    content: { 'application/json': { schema, examples: shown } },
  };
}

function responses(draft: Draft, route: ListedRoute): SchemaObject {
  const answers = Object.entries(route.answers).map(
    ([status, shown]) => [status, answer(draft, route, Number(status), shown)] as const,
  );
  const problems = Object.entries(route.problems).map(
    ([status, codes]) => [status, problem(draft, route, Number(status), codes)] as const,
  );
  const schema: RouteAnswer = {
    schema: validationErrorType,
    description: 'The request is not valid; each error says where and why.',
  };
  const unprocessable = route.unprocessable ? [['422', answer(draft, route, 422, schema)] as const] : [];
  return Object.fromEntries([...answers, ...problems, ...unprocessable]);
}

/** The parameters of one set; each is a field of the set's schema. */
function parametersOf(draft: Draft, place: ParameterPlace, set: WireType): SchemaObject[] {
  const component = componentOf(set, (type) => meet(draft, type), 'default');
  const fields = component['properties'] as Readonly<Record<string, SchemaObject>>;
  return fieldsOf(set).map(({ name, required }) => {
    const { description, 'x-extension': extension, ...schema } = fields[name] ?? {};
    return {
      name: place === 'header' ? headerName(name) : name,
      in: place,
      required: place === 'path' || required,
      ...(description === undefined ? {} : { description }),
      ...(extension === undefined ? {} : { 'x-extension': extension }),
      schema,
    };
  });
}

/** The media types of a body without a schema; the example is of the first. */
function anyContent(types: readonly string[] | undefined, example: unknown): SchemaObject {
  if (types === undefined) return { '*/*': {} };
  const shown = example === undefined ? {} : { example };
  return Object.fromEntries(types.map((type, at) => [type, at === 0 ? shown : {}]));
}

function requestBody(draft: Draft, { body, example: { request } }: ListedRoute): SchemaObject {
  if (body.kind === 'none') return {};
  if (body.kind === 'any') return { requestBody: { content: anyContent(body.types, request.body) } };
  const schema = schemaReference(draft, body.kind === 'own' ? body.described : body.schema);
  const example = request.body;
  if (body.kind === 'lines')
    return { requestBody: { required: true, content: { [ndjson]: { schema, example } } } };
  // From a body with two types, generators make code that does not load.
  const description = 'The same fields may be sent as `application/x-www-form-urlencoded`.';
  const also = body.other === 'form' ? { description } : {};
  return { requestBody: { ...also, required: true, content: { 'application/json': { schema, example } } } };
}

function operation(draft: Draft, route: ListedRoute): SchemaObject {
  const places = Object.entries(route.parameters) as [ParameterPlace, WireType][];
  const parameters = places.flatMap(([place, set]) => parametersOf(draft, place, set));
  return {
    operationId: route.id,
    tags: [route.tag],
    summary: route.summary,
    description: route.description,
    ...(route.extension === true ? { 'x-extension': true } : {}),
    ...(route.access === 'key' ? { security } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...requestBody(draft, route),
    responses: responses(draft, route),
  };
}

/** Limits the codes of problems to those of the routes in the document, which a client can get. */
function limitCodes(draft: Draft, listed: readonly ListedRoute[]): void {
  const { name } = draft.problem.schema;
  const component = draft.components.get(name);
  if (component === undefined) return;
  const codes = [...new Set(listed.flatMap(({ problems }) => Object.values(problems).flat()))].sort();
  const properties = component.schema['properties'] as Readonly<Record<string, SchemaObject>>;
  const code = { ...properties['code'], enum: codes };
  const schema = { ...component.schema, properties: { ...properties, code } };
  draft.components.set(name, { ...component, schema });
}

/** Members of a document besides its routes. */
export interface Frame {
  readonly info: SchemaObject;
  readonly serverUrl: string;
  readonly tags: readonly SchemaObject[];
  /** The body of every answer that is a problem. */
  readonly problem: DescribedProblem;
  /** A document beside this one. */
  readonly externalDocs?: SchemaObject;
}

/** The document of the routes that are to be listed. */
export function documentOf(routes: readonly ListedRoute[], frame: Frame): OpenApiDocument {
  const { info, serverUrl, tags, problem, externalDocs } = frame;
  const draft: Draft = { components: new Map(), problem };
  const listed = routes.filter(({ documented }) => documented);
  const paths: Record<string, Record<string, SchemaObject>> = {};
  for (const route of listed) {
    (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(draft, route);
  }
  limitCodes(draft, listed);
  const schemas = [...draft.components].sort(([a], [b]) => (a < b ? -1 : 1));
  const used = new Set(listed.flatMap(({ headers }) => headers));
  const headers = Object.entries(answerHeaders).filter(
    ([name]) => name === 'x-request-id' || name === 'retry-after' || used.has(name as AnswerHeader),
  );
  return {
    openapi: '3.1.0',
    info: { ...info, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    ...(externalDocs === undefined ? {} : { externalDocs }),
    servers: [{ url: serverUrl }],
    tags,
    paths,
    components: {
      schemas: Object.fromEntries(schemas.map(([name, { schema }]) => [name, schema])),
      headers: Object.fromEntries(headers),
      ...(listed.some(({ access }) => access === 'key') ? { securitySchemes } : {}),
    },
  };
}
