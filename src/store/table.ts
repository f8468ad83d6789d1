/**
 * Tables: a record's members, declared once. The declaration gives the record's type and its codec. On disk a
 * record is one byte of format, then JSON (RFC 8259), with members in the declared order under snake-case
 * names. Formats are never changed, only added; every one ever written can be read.
 */
import type { Log } from '../system/log.js';
import { reasonOf } from '../system/reason.js';

/** One member of a record: how it is read from JSON and written to it. */
export interface Column<Read, Written = Read> {
  /** The expected JSON, for an error "is not …". */
  readonly expected: string;
  /** The member's value; undefined if the JSON is not as expected. */
  readonly read: (json: unknown) => Read | undefined;
  readonly write: (value: Written) => unknown;
}

/** The members of a record by name, in the order in which they are written. */
type Columns = Readonly<Record<string, Column<unknown, never>>>;

/** The type of a record with these members. */
type RecordOf<Members extends Columns> = {
  readonly [Name in keyof Members]: Members[Name] extends Column<infer Value, never> ? Value : never;
};

/** Codec of one kind of record. */
export interface Table<Value> {
  readonly encode: (value: Value) => Uint8Array;
  /**
   * @throws UnreadableRecord if the bytes are damaged, or a later version wrote them.
   */
  readonly decode: (bytes: Uint8Array) => Value;
}

/** The type of a table's records. */
export type ValueOf<Of> = Of extends Table<infer Value> ? Value : never;

export const text: Column<string> = {
  expected: 'text',
  read: (json) => (typeof json === 'string' ? json : undefined),
  write: (value) => value,
};

/** Returns the number. @throws Error if `read` would refuse it, so that no unreadable record is stored */
function whole(value: number): number {
  if (Number.isSafeInteger(value)) return value;
  throw new Error(`${value} is not an integer that a record can hold`);
}

export const integer: Column<number> = {
  expected: 'an integer',
  read: (json) => (typeof json === 'number' && Number.isSafeInteger(json) ? json : undefined),
  write: whole,
};

/** An amount of money in its smallest unit. */
export const amount: Column<bigint> = {
  expected: 'an integer',
  read: (json) => (typeof json === 'number' && Number.isSafeInteger(json) ? BigInt(json) : undefined),
  write: (value) => whole(Number(value)),
};

export const boolean: Column<boolean> = {
  expected: 'true or false',
  read: (json) => (typeof json === 'boolean' ? json : undefined),
  write: (value) => value,
};

/** Bytes, written as base64url. */
export const bytes: Column<Uint8Array> = {
  expected: 'text',
  read: (json) => (typeof json === 'string' ? Buffer.from(json, 'base64url') : undefined),
  write: (value) => Buffer.from(value).toString('base64url'),
};

/** A member that may be null. */
export function orNull<Value>({ expected, read, write }: Column<Value>): Column<Value | null> {
  return {
    expected,
    read: (json) => (json === null ? null : read(json)),
    write: (value) => (value === null ? null : write(value)),
  };
}

/** One value of a closed list. */
export function choice<const Choice extends string>(...choices: readonly Choice[]): Column<Choice> {
  return {
    expected: choices.join(' or '),
    read: (json) => choices.find((each) => each === json),
    write: (value) => value,
  };
}

/** A row of a member that is a list of rows. */
export type Row = readonly (string | number | boolean | null)[];

/** A list whose items are written as rows; `read` throws if a row is invalid. */
export function rows<Item>(
  read: (row: readonly unknown[]) => Item,
  write: (item: Item) => Row,
): Column<readonly Item[]> {
  return {
    expected: 'a list of lists',
    read: (json) => (Array.isArray(json) && json.every(Array.isArray) ? json.map(read) : undefined),
    write: (items) => items.map(write),
  };
}

/** Members as in a record's JSON. */
type Json = Readonly<Record<string, unknown>>;

/** Reads and writes the members of one format. */
interface Format {
  readonly read: (all: Json, into: Record<string, unknown>) => void;
  /** The members' JSON, without the braces. */
  readonly write: (value: Json) => string;
  /** An object with all its members, for copying. */
  readonly empty: Json;
}

function formatOf(members: Columns): Format {
  const columns = Object.entries(members).map(([name, column]) => {
    const stored = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return { name, stored, label: `"${stored}":`, column };
  });
  return {
    read(all, into) {
      for (const { name, stored, column } of columns) {
        const value = column.read(all[stored]);
        if (value === undefined) throw new Error(`its ${stored} is not ${column.expected}`);
        into[name] = value;
      }
    },
    write(value) {
      let json = '';
      for (const { name, label, column } of columns) {
        json += `${json === '' ? '' : ','}${label}${JSON.stringify(column.write(value[name] as never))}`;
      }
      return json;
    },
    // Made by JSON.parse: V8 turns an object with many computed members into a slow hash table.
    empty: JSON.parse(JSON.stringify(Object.fromEntries(columns.map(({ name }) => [name, null])))) as Json,
  };
}

function bytesOf(format: number, members: string): Uint8Array {
  const json = `{${members}}`;
  const record = Buffer.allocUnsafe(1 + Buffer.byteLength(json));
  record[0] = format;
  record.write(json, 1);
  return record;
}

function jsonOf(record: Uint8Array): Json {
  const json = Buffer.from(record.buffer, record.byteOffset + 1, record.byteLength - 1).toString();
  return JSON.parse(json) as Json;
}

/** A record that this version cannot read. */
export class UnreadableRecord extends Error {
  constructor(kind: string, reason: string) {
    super(`A record of the store (${kind}) cannot be read: ${reason}`);
  }
}

/** Takes the reason why a record is left out, and its id where it is known: others must not wait for it. */
export type LeftOut = (failure: UnreadableRecord, id?: string) => undefined;

/** Logs that records are left out, once for each id and reason; `text` says what follows from it. */
export function leftOut(log: Pick<Log, 'warn'>, text: string): LeftOut {
  const told = new Set<string>();
  return ({ message: reason }, id) => {
    const which = `${id ?? ''} ${reason}`;
    if (!told.has(which)) log.warn(id === undefined ? { reason } : { id, reason }, text);
    told.add(which);
    return undefined;
  };
}

/** The answer, or what `otherwise` gives if it needs a record that this version cannot read. */
export function whenUnreadable<Value, Other>(
  answer: Promise<Value>,
  otherwise: (failure: UnreadableRecord) => Other,
): Promise<Value | Other> {
  return answer.catch((error: unknown) => {
    if (error instanceof UnreadableRecord) return otherwise(error);
    throw error;
  });
}

/** Reads a record of one of the formats 1 to `last`. @throws UnreadableRecord */
function readable<Value>(
  kind: string,
  record: Uint8Array,
  [first, last]: readonly [first: number, last: number],
  read: (all: Json, format: number) => Value,
): Value {
  const format = record[0] ?? 0;
  if (format < first || format > last) {
    throw new UnreadableRecord(kind, `this version does not know format ${format}; a later one may.`);
  }
  try {
    return read(jsonOf(record), format);
  } catch (error) {
    throw new UnreadableRecord(kind, `it is damaged (${reasonOf(error)}).`);
  }
}

/** A table with one record format, of the given number. `kind` names the records in errors. */
export function table<Members extends Columns>(
  kind: string,
  members: Members,
  number = 1,
): Table<RecordOf<Members>> {
  const format = formatOf(members);
  return {
    encode: (value) => bytesOf(number, format.write(value)),
    decode: (record) =>
      readable(kind, record, [number, number], (all) => {
        const value = { ...format.empty };
        format.read(all, value);
        return value as RecordOf<Members>;
      }),
  };
}

/** Members that a later format adds, and their values for records of earlier formats. */
export interface Widening<Added extends Columns> {
  readonly members: Added;
  readonly without: RecordOf<Added>;
}

/** The members of all widenings together. */
type AddedBy<Added extends readonly Columns[]> = Added extends readonly [
  infer First extends Columns,
  ...infer Later extends readonly Columns[],
]
  ? RecordOf<First> & AddedBy<Later>
  : unknown;

/**
 * A table whose formats from 2 on each add members. A record is written in the first format that can hold it,
 * so that the same record has the same bytes, whichever version wrote it.
 */
export function widenedTable<Members extends Columns, const Added extends readonly Columns[]>(
  kind: string,
  members: Members,
  ...widenings: { readonly [At in keyof Added]: Widening<Added[At]> }
): Table<RecordOf<Members> & AddedBy<Added>> {
  const first = formatOf(members);
  const added: readonly Widening<Columns>[] = widenings;
  const later = added.map(({ members: more, without }) => {
    const format = formatOf(more);
    return { format, absent: format.write(without) };
  });
  const empty = added.reduce<Json>((all, { without }) => ({ ...all, ...without }), first.empty);
  return {
    encode(value) {
      const written = [first.write(value)];
      let most = 1;
      for (const { format, absent } of later) {
        const more = format.write(value);
        written.push(more);
        if (more !== absent) most = written.length;
      }
      return bytesOf(most, written.slice(0, most).join(','));
    },
    decode: (record) =>
      readable(kind, record, [1, 1 + later.length], (all, format) => {
        const value = { ...empty };
        first.read(all, value);
        for (const each of later.slice(0, format - 1)) each.format.read(all, value);
        return value as RecordOf<Members> & AddedBy<Added>;
      }),
  };
}

/**
 * The format of an erased entry's record, the same in every log: it is empty. Its position stays used, so
 * that cursors stay valid.
 */
const erasedFormat = 255;

/** A table of a log whose entries may be erased: an erased one decodes to undefined. */
export function erasable<Value>({ encode, decode }: Table<Value>): Table<Value | undefined> {
  return {
    encode: (value) => (value === undefined ? bytesOf(erasedFormat, '') : encode(value)),
    decode: (record) => (record[0] === erasedFormat ? undefined : decode(record)),
  };
}
