/**
 * Turns the bytes of a body into a checked value. Small bodies are parsed first. Larger ones are read by the
 * native module, which keeps the members that the schema knows or lists the errors, so that the cost depends
 * on the bytes alone.
 */
import { jsonInvalid, missingBody, readBody, type CheckJson, type JsonRefusal } from './body.js';
import { byKind, missingHint } from './explain.js';
import { shapeOf, type Shape } from './shape.js';
import { checkBody, type Checked, type ServerFaults, withHints } from './validate.js';
import { type ErrorType, type ValidationError, validationError } from './validation.js';
import type { BodyType, WireType } from './wireType.js';
import { wordingOf } from './wording.js';

/** Facts about a member of the objects in a list. A member with the value null counts as absent. */
export interface MemberFacts {
  readonly name: string;
  /** Number of items that have it. */
  readonly items: number;
  /** Index of the first item without it. */
  readonly firstWithout?: number;
  /** For a number: the least one, and the index of the first item that has it. */
  readonly least?: number;
  readonly leastAt?: number;
}

/** A list of objects that is a member of a body. */
export interface ListFacts {
  readonly name: string;
  readonly length: number;
  readonly members: readonly MemberFacts[];
}

/** A body as the native module reads it; the comments there say more. */
export interface BodyReading {
  readonly refusal?: JsonRefusal;
  readonly faults?: string;
  readonly value?: string;
  readonly lists: readonly ListFacts[];
}

/** Reads bodies of one shape. */
export interface BodyReader {
  read: (body: Uint8Array, brief: boolean) => BodyReading;
  readAsync: (body: Buffer, brief: boolean) => Promise<BodyReading>;
}

/** The native module's functions for bodies. */
export interface BodyParts {
  readonly checkJson: CheckJson;
  readonly BodyReader: new (shape: string[], closed: boolean) => BodyReader;
}

/** A checked value from a brief reading, in which long members are cut, and the facts about its lists. */
export interface Brief<Value> {
  readonly value: Value;
  readonly lists: readonly ListFacts[];
}

/** Longest body that is parsed before it is checked (bytes). */
export const wholeBytes = 4_096;

/** Longest body that is read on the event loop, for at most about 4 ms whatever its content (bytes). */
export const loopBytes = 64 * 1_024;

/** A shape in the form that the native module reads. */
function wordsOf(shape: Shape): string[] {
  const nullable = shape.nullable ? 'null' : '-';
  switch (shape.kind) {
    case 'string':
    case 'integer':
    case 'number':
      return [shape.kind, nullable, String(shape.min), String(shape.max)];
    case 'boolean':
      return [shape.kind, nullable];
    case 'literal':
      return [shape.kind, nullable, String(shape.values.length), ...shape.values.map(String)];
    case 'list':
      return [shape.kind, nullable, String(shape.min), String(shape.max), ...wordsOf(shape.items)];
    case 'map':
      return mapWords(shape.values, nullable);
    case 'object': {
      const fields = shape.fields.flatMap(({ name, required, shape: inner }) => [
        name,
        required ? 'required' : '-',
        ...wordsOf(inner),
      ]);
      return [shape.kind, nullable, String(shape.fields.length), ...fields];
    }
    case 'union':
      return [shape.kind, nullable, String(shape.shapes.length), ...byKind(shape.shapes).flatMap(wordsOf)];
    default:
      throw new Error(`A body of any size has no ${shape.kind}`);
  }
}

function mapWords(values: Shape, nullable: string): string[] {
  const isPlain = values.kind === 'string' && values.min === 0 && values.max === Infinity;
  const isNumber = values.kind === 'integer' || values.kind === 'number';
  if (values.nullable || (!isPlain && !isNumber && values.kind !== 'object')) {
    throw new Error('The values of a map in a body of any size are strings, numbers or objects');
  }
  return ['map', nullable, ...wordsOf(values)];
}

const readers = new WeakMap<WireType, BodyReader>();

function readerOf(type: WireType, parts: BodyParts): BodyReader {
  let reader = readers.get(type);
  if (reader === undefined) {
    readers.set(type, (reader = new parts.BodyReader(wordsOf(shapeOf(type)), type.closed)));
  }
  return reader;
}

/** An error as the native module lists it. */
interface Fault {
  readonly type: ErrorType;
  readonly loc: readonly (string | number)[];
  readonly actual: number;
  readonly input?: unknown;
  /** The member that was probably meant for a missing one. */
  readonly meant?: string;
}

/**
 * The first alternative of one of these kinds; without one, the alternative that values of other types are
 * checked against.
 */
function alternative(shapes: readonly Shape[], kinds: readonly Shape['kind'][]): Shape {
  const found = shapes.find(({ kind }) => kinds.includes(kind)) ?? byKind(shapes)[0];
  if (found === undefined) throw new Error('A union has no alternatives');
  return found;
}

/** The shape at an error's location; for a member that its owner does not declare, the owner's. */
function shapeAt(shape: Shape, loc: Fault['loc']): Shape {
  let at = shape;
  for (const step of loc) {
    if (at.kind === 'union')
      at = alternative(at.shapes, typeof step === 'number' ? ['list'] : ['object', 'map']);
    if (at.kind === 'list') at = at.items;
    else if (at.kind === 'map') at = at.values;
    else if (at.kind === 'object') at = at.fields.find(({ name }) => name === step)?.shape ?? at;
  }
  return at;
}

function errorOf(type: WireType, { type: kind, loc, actual, input, meant }: Fault): ValidationError {
  const { msg, ctx } = wordingOf(kind, shapeAt(shapeOf(type), loc.slice(1)), actual);
  const hint = missingHint(loc, meant);
  return validationError(kind, loc, msg, input, hint === undefined ? ctx : { ...ctx, ...hint });
}

/** Finds errors that depend on this server. */
export type FindFaults<Value> = (brief: Brief<Value>) => ServerFaults;

function outcomeOf<Value>(
  type: BodyType<Value>,
  body: Uint8Array,
  reading: BodyReading,
  faultsOf?: FindFaults<Value>,
): Checked<Brief<Value>> {
  const { refusal, faults, value: text, lists } = reading;
  if (refusal != null) return { ok: false, errors: [jsonInvalid(refusal, body)] };
  if (text == null) {
    const found = JSON.parse(faults ?? '[]') as Fault[];
    const errors = found.map((fault) => errorOf(type, fault));
    return { ok: false, errors: withHints(type, errors) };
  }
  const checked = checkBody(
    type,
    JSON.parse(text) as unknown,
    faultsOf === undefined ? undefined : (value) => faultsOf({ value, lists }),
  );
  return checked.ok ? { ok: true, value: { value: checked.value, lists } } : checked;
}

/** Reads a small body as a value, with the facts about its lists that a brief reading has. */
function readWhole<Value>(
  type: BodyType<Value>,
  body: Uint8Array,
  { checkJson }: BodyParts,
  faultsOf?: FindFaults<Value>,
): Checked<Brief<Value>> {
  const read = readBody(body, checkJson);
  if (!read.ok) return read;
  const brief = (value: Value): Brief<Value> => ({ value, lists: listsOf(shapeOf(type), value) });
  const checked = checkBody(
    type,
    read.value,
    faultsOf === undefined ? undefined : (value) => faultsOf(brief(value)),
  );
  return checked.ok ? { ok: true, value: brief(checked.value) } : checked;
}

function listsOf(shape: Shape, value: unknown): ListFacts[] {
  if (shape.kind !== 'object') return [];
  return shape.fields.flatMap(({ name, shape: { kind, ...list } }) => {
    const items = (value as Readonly<Record<string, unknown>>)[name];
    if (kind !== 'list' || !('items' in list) || list.items.kind !== 'object' || !Array.isArray(items)) {
      return [];
    }
    const members = list.items.fields.map((field) => factsOf(field.name, items as readonly JsonObject[]));
    return [{ name, length: items.length, members }];
  });
}

type JsonObject = Readonly<Record<string, unknown>>;

function factsOf(name: string, items: readonly JsonObject[]): MemberFacts {
  const values = items.map((item) => item[name]);
  const firstWithout = values.findIndex((value) => value == null);
  const numbers = values.filter((value) => typeof value === 'number');
  const least = numbers.reduce((one, other) => Math.min(one, other), Infinity);
  return {
    name,
    items: values.filter((value) => value != null).length,
    ...(firstWithout < 0 ? {} : { firstWithout }),
    ...(numbers.length === 0 ? {} : { least, leastAt: values.indexOf(least) }),
  };
}

function valueOf<Value>(checked: Checked<Brief<Value>>): Checked<Value> {
  return checked.ok ? { ok: true, value: checked.value.value } : checked;
}

/** Reads and checks a body on the event loop: at most {@link loopBytes}. */
export function checkBytes<Value>(type: BodyType<Value>, body: Uint8Array, parts: BodyParts): Checked<Value> {
  if (body.length <= wholeBytes) return valueOf(readWhole(type, body, parts));
  return valueOf(outcomeOf(type, body, readerOf(type, parts).read(body, false)));
}

/** Reads and checks a body in the thread pool. The body must not change meanwhile. */
export async function checkBytesOffLoop<Value>(
  type: BodyType<Value>,
  body: Uint8Array,
  parts: BodyParts,
): Promise<Checked<Value>> {
  if (body.length === 0) return missingBody();
  return valueOf(outcomeOf(type, body, await readerOf(type, parts).readAsync(bufferOf(body), false)));
}

/** As {@link checkBytes}, for callers that only explain errors: long strings, lists and maps are cut. */
export function briefBytes<Value>(
  type: BodyType<Value>,
  body: Uint8Array,
  parts: BodyParts,
  faultsOf?: FindFaults<Value>,
): Checked<Brief<Value>> {
  if (body.length <= wholeBytes) return readWhole(type, body, parts, faultsOf);
  return outcomeOf(type, body, readerOf(type, parts).read(body, true), faultsOf);
}

/** As {@link checkBytesOffLoop}, for callers that only explain errors, or read the long parts elsewhere. */
export async function briefBytesOffLoop<Value>(
  type: BodyType<Value>,
  body: Uint8Array,
  parts: BodyParts,
  faultsOf?: FindFaults<Value>,
): Promise<Checked<Brief<Value>>> {
  if (body.length === 0) return missingBody();
  return outcomeOf(type, body, await readerOf(type, parts).readAsync(bufferOf(body), true), faultsOf);
}

function bufferOf(body: Uint8Array): Buffer {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}
