/**
 * Records on disk: one byte of format, then JSON (RFC 8259). Formats are never changed, only added; every
 * record says which one it is in, and every one ever written can be read.
 */

/** Readers of a record's members. Each throws where the member is not what the format says. */
export interface Members {
  readonly text: (name: string) => string;
  readonly textOrNull: (name: string) => string | null;
  readonly integer: (name: string) => number;
  readonly integerOrNull: (name: string) => number | null;
  /** Bytes, written as base64url. */
  readonly bytes: (name: string) => Uint8Array;
  readonly boolean: (name: string) => boolean;
  /** A list of lists, such as the rows of a block. */
  readonly rows: (name: string) => readonly (readonly unknown[])[];
  /** One of a closed list. */
  readonly choice: <const Choice extends string>(name: string, choices: readonly Choice[]) => Choice;
}

/** Types of a record's members. Bytes are written as base64url. */
export type Member = string | number | boolean | null | Uint8Array | readonly Row[];

/** A row of a member that is a table. */
export type Row = readonly (string | number | boolean | null)[];

/** Codec of one kind of record. */
export interface RecordCodec<Value> {
  /** Bytes of a record in a format that can be read. */
  readonly encode: (format: number, members: Readonly<Record<string, Member>>) => Uint8Array;
  /** @throws Error when the bytes are of no known format: damaged, or written by a later version. */
  readonly decode: (bytes: Uint8Array) => Value;
}

function plain(value: Member): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64url') : value;
}

function membersOf(kind: string, all: Readonly<Record<string, unknown>>): Members {
  const wrong = (name: string, expected: string): never => {
    throw new Error(`A ${kind} record's ${name} is not ${expected}`);
  };
  const text = (name: string): string => {
    const value = all[name];
    return typeof value === 'string' ? value : wrong(name, 'text');
  };
  const integer = (name: string): number => {
    const value = all[name];
    return typeof value === 'number' && Number.isSafeInteger(value) ? value : wrong(name, 'an integer');
  };
  const boolean = (name: string): boolean => {
    const value = all[name];
    return typeof value === 'boolean' ? value : wrong(name, 'true or false');
  };
  const rows = (name: string): readonly (readonly unknown[])[] => {
    const value = all[name];
    return Array.isArray(value) && value.every(Array.isArray) ? value : wrong(name, 'a list of lists');
  };
  const bytes = (name: string): Uint8Array => Buffer.from(text(name), 'base64url');
  return {
    text,
    integer,
    boolean,
    rows,
    bytes,
    textOrNull: (name) => (all[name] === null ? null : text(name)),
    integerOrNull: (name) => (all[name] === null ? null : integer(name)),
    choice: (name, choices) =>
      choices.find((choice) => choice === all[name]) ?? wrong(name, choices.join(' or ')),
  };
}

/** Defines a kind of record by the readers of its formats. */
export function defineRecord<Value>(
  kind: string,
  formats: Readonly<Record<number, (members: Members) => Value>>,
): RecordCodec<Value> {
  return {
    encode(format, members) {
      if (formats[format] === undefined) throw new Error(`No format ${format} of ${kind} records`);
      const entries = Object.entries(members).map(([name, value]) => [name, plain(value)] as const);
      const json = JSON.stringify(Object.fromEntries(entries));
      const bytes = Buffer.allocUnsafe(1 + Buffer.byteLength(json));
      bytes[0] = format;
      bytes.write(json, 1);
      return bytes;
    },
    decode(bytes) {
      const read = formats[bytes[0] ?? 0];
      if (read === undefined) {
        throw new Error(`A ${kind} record of format ${bytes[0] ?? 0}, which this version does not know`);
      }
      const json = Buffer.from(bytes.buffer, bytes.byteOffset + 1, bytes.byteLength - 1).toString();
      return read(membersOf(kind, JSON.parse(json) as Record<string, unknown>));
    },
  };
}
