/** Makes a route of the contract servable: checks its parameters and body before its handler runs. */
import type { Head } from '../access/address.js';
import type { Access, Admission } from '../access/admission.js';
import { unprocessable } from '../contract/answer.js';
import { checkMediaType, isForm, readForm, type AcceptedBody } from '../contract/schema/body.js';
import { checkBytes, checkBytesOffLoop, loopBytes, type BodyParts } from '../contract/schema/bytes.js';
import type { Answer, Handler } from '../contract/exchange.js';
import { recordBytes } from '../contract/route.js';
import { routeList } from '../contract/routes.js';
import type { Handlers, Route as ContractRoute, RouteId, RouteLimit } from '../contract/routes.js';
import { isServed, servedParts, type ServedPart } from '../contract/served.js';
import { fieldsOf, type FieldShape } from '../contract/schema/shape.js';
import {
  checkBody,
  checkParameters,
  type Checked,
  type ParameterPlace,
} from '../contract/schema/validate.js';
import type { ValidationError } from '../contract/schema/validation.js';
import type { WireType } from '../contract/schema/wireType.js';
import { unnamedPage, type PageMaker } from '../pages/page.js';
import { refusalPage } from '../pages/refusal.js';
import { inPoolAnyway } from '../system/threadPool.js';
import { storageReserved } from './failures.js';
import { parseQuery } from './parameters.js';
import type { CheckResult, RequestChecks, ServedRoute } from './routes.js';

/** One set of a route's parameters. */
interface DeclaredSet {
  readonly place: ParameterPlace;
  readonly type: WireType;
  readonly fields: readonly FieldShape[];
}

function declaredSets(route: ContractRoute): DeclaredSet[] {
  return (['path', 'query', 'header'] as const).flatMap((place) => {
    const type = route.parameters[place];
    return type === undefined ? [] : [{ place, type, fields: fieldsOf(type) }];
  });
}

/** True if a parameter accepts any text, so that a check would be wasted. */
function isFree({ required, shape }: FieldShape): boolean {
  return !required && shape.kind === 'string' && shape.min === 0 && shape.max === Infinity;
}

/** A check of one set's values; undefined if every value passes. */
function checkSet({ place, type, fields }: DeclaredSet): Check | undefined {
  if (fields.every(isFree)) return undefined;
  return (request) => {
    const result = checkParameters(type, place, (parameter) => {
      if (place !== 'header') return request[place][parameter];
      const value = request.header(parameter);
      return value === '' ? undefined : value;
    });
    return result.ok ? [] : result.errors;
  };
}

type Check = (request: Parameters<RequestChecks>[0]) => readonly ValidationError[];

/** The validated value of a JSON route's body; a form's is an object of strings. */
function readInput(
  route: ContractRoute,
  request: Parameters<RequestChecks>[0],
  parts: BodyParts,
): Checked<unknown> | Promise<Checked<unknown>> {
  if (route.body.kind !== 'json') return { ok: true, value: undefined };
  const { schema, other } = route.body;
  if (other === 'form' && isForm(request.header('content-type'))) {
    const read = readForm(request.body, parseQuery);
    return read.ok ? checkBody(schema, read.value) : read;
  }
  if (request.body.length <= loopBytes) return checkBytes(schema, request.body, parts);
  const body = request.retain();
  return inPoolAnyway(() => checkBytesOffLoop(schema, body, parts));
}

/** Checks by other parts that the pipeline runs before a handler. */
export interface PipelineParts extends BodyParts {
  /** Access and limits. */
  readonly access: Pick<Access, 'keyed' | 'limited' | 'store' | 'stored'>;
  /** True if the rest of the disk is reserved for paid data. */
  readonly isStorageReserved?: () => boolean;
  /** The answer to callers without a key, if only callers with a key may store something. */
  readonly refuseKeyless?: Answer;
  /** Makes the pages that browsers get for a refusal. */
  readonly page?: PageMaker;
}

/** Bytes on the disk for each byte of a body: it is stored as received and as sealed. */
const storedTimes = 2;

/** Most bytes that count for a body of unknown length: those of a long harvest. */
const unsaidBytes = 512 * 1024;

/** Length that counts for a request's body; for a chunked one it is the route's limit. */
function countedLength(head: Head, { body }: ContractRoute): number {
  const length = head.field('content-length');
  if (length !== '') return Number(length) || 0;
  return body.kind === 'none' ? 0 : Math.min(unsaidBytes, body.limit);
}

/** Counts the bytes that a request sends to be stored against the limit of its network. */
function storing(
  { access }: PipelineParts,
  limit: RouteLimit,
  admission: Admission,
  length: number,
): Admission {
  const { address = new Uint8Array(0), charge } = admission;
  const refusal = access.store(limit, address, storedTimes * length + recordBytes);
  if (refusal !== undefined) return { ...admission, refusal };
  return {
    ...admission,
    charge(count) {
      charge(count);
      if (count > 1) access.stored(limit, address, (count - 1) * recordBytes);
    },
  };
}

/**
 * The check of callers on a route for keys that stores something. Callers without a key, if admitted, pay for
 * the records by the answer's charge.
 */
function storingKeyed(parts: PipelineParts): ServedRoute['admit'] & object {
  const { access, isStorageReserved, refuseKeyless } = parts;
  const decide = (admission: Admission): Admission => {
    const { refusal, address } = admission;
    if (refusal !== undefined) return admission;
    if (address !== undefined && refuseKeyless !== undefined) return { ...admission, refusal: refuseKeyless };
    if (isStorageReserved?.() === true) return { ...admission, refusal: storageReserved };
    if (address === undefined) return admission;
    const over = access.store('leads', address, recordBytes);
    const charge = (count: number): void => access.stored('leads', address, (count - 1) * recordBytes);
    return over === undefined ? { ...admission, charge } : { ...admission, refusal: over };
  };
  return (head) => {
    const admission = access.keyed(head, true);
    return admission instanceof Promise ? admission.then(decide) : decide(admission);
  };
}

/** A head that counts as that of a whole request. */
function wholeHead(head: Head): Head {
  return {
    field: (name) => head.field(name),
    allOf: (name) => head.allOf(name),
    peer: () => head.peer(),
    isHead: () => false,
  };
}

/** The check of a request's sender; undefined on a route without a limit. */
export function admission(route: ContractRoute, parts: PipelineParts): ServedRoute['admit'] {
  const { access, limit, counts, answers, storesFromStrangers = false, isHeadWhole = false } = route;
  if (access === 'key') return storesFromStrangers ? storingKeyed(parts) : parts.access.keyed;
  if (limit === undefined) return undefined;
  const admit = (head: Head): Admission => {
    const admission = parts.access.limited(limit, isHeadWhole ? wholeHead(head) : head, counts);
    if (!storesFromStrangers || admission.refusal !== undefined) return admission;
    if (parts.isStorageReserved?.() === true) return { ...admission, refusal: storageReserved };
    return storing(parts, limit, admission, countedLength(head, route));
  };
  // A route that declares this answer itself is for people, and declares a page.
  if (answers[429] === undefined) return admit;
  return (head) => {
    const admission = admit(head);
    const { refusal } = admission;
    return refusal === undefined
      ? admission
      : { ...admission, refusal: refusalPage(refusal, parts.page ?? unnamedPage) };
  };
}

/** The checks of a route's parameters and JSON body; undefined if there is nothing to check. */
function requestChecks(route: ContractRoute, parts: BodyParts): RequestChecks | undefined {
  const checks = declaredSets(route).flatMap((set) => checkSet(set) ?? []);
  if (checks.length === 0 && route.body.kind !== 'json') return undefined;
  return (request) => {
    const errors = checks.flatMap((check) => check(request));
    const body = readInput(route, request, parts);
    const result = (read: Checked<unknown>): CheckResult => {
      if (read.ok && errors.length === 0) return { input: read.value };
      return { refused: unprocessable(read.ok ? errors : [...errors, ...read.errors]) };
    };
    return body instanceof Promise ? body.then(result) : result(body);
  };
}

/** Makes one route servable. */
export function servedRoute(
  route: ContractRoute & { readonly id: string },
  handler: Handler<never>,
  parts: PipelineParts,
): ServedRoute {
  const { id, method, path, body, cors, acts } = route;
  const headers = declaredSets(route)
    .filter(({ place }) => place === 'header')
    .flatMap(({ fields }) => fields.map(({ name }) => name))
    .concat(route.reads ?? [], 'other' in body && body.other === 'form' ? ['content-type'] : []);
  const timed = route.headers.includes('server-timing');
  const bodyLimit = body.kind === 'none' ? 0 : body.kind === 'lines' ? Infinity : body.limit;
  const check = requestChecks(route, parts);
  const admit = admission(route, parts);
  return {
    route: {
      ...{ id, method, path, body: body.kind !== 'none', bodyLimit, cors, acts, timed, headers },
      keylessAnswerLimit: route.keylessAnswerLimit ?? Infinity,
      ...(route.fields === undefined ? {} : { fields: route.fields }),
      ...(body.kind === 'lines' ? { lineLimit: body.limit } : {}),
    },
    handler,
    ...('other' in body ? { refuseMediaType: mediaTypeCheck(body.other) } : {}),
    ...(body.kind === 'lines' ? { refuseMediaType: mediaTypeCheck('lines') } : {}),
    ...(check === undefined ? {} : { check }),
    ...(admit === undefined ? {} : { admit }),
    ...(route.failure === undefined ? {} : { writeFailure: route.failure.write }),
  };
}

function mediaTypeCheck(body: AcceptedBody): ServedRoute['refuseMediaType'] & object {
  return (mediaType, crossOrigin) => {
    if (mediaType === 'application/json') return undefined;
    const error = checkMediaType(mediaType, crossOrigin, body);
    return error === null ? undefined : unprocessable([error]);
  };
}

/** Every route of the given parts with its handler. A missing handler does not compile. */
export function servedRoutes(
  handlers: Handlers,
  parts: PipelineParts,
  served: readonly ContractRoute['part'][] = ['gateway', 'door'],
  serve: readonly ServedPart[] = servedParts,
): ServedRoute[] {
  return routeList
    .filter((route) => isServed(route, serve))
    .filter(({ part, everywhere }) => served.includes(part) || everywhere === true)
    .map((route) => servedRoute(route, handlerOf(handlers, route.id), parts));
}

/** A handler by id. Its input has the route's own type, which {@link requestChecks} has checked. */
function handlerOf(handlers: Handlers, id: RouteId): Handler<never> {
  return handlers[id];
}
