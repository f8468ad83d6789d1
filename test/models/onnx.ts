/** Writes ONNX files (protobuf, onnx.proto3) of one table that token ids are looked up in. */

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(Math.floor(value / 0x80))];
}

/** A field with a whole number. */
function whole(field: number, value: number): Buffer {
  return Buffer.from([...varint(field * 8), ...varint(value)]);
}

/** A field with bytes, a text or a message. */
function bytes(field: number, ...parts: readonly (Buffer | string)[]): Buffer {
  const inside = Buffer.concat(parts.map((part) => Buffer.from(part)));
  return Buffer.concat([Buffer.from([...varint(field * 8 + 2), ...varint(inside.byteLength)]), inside]);
}

const FLOAT = 1;
const INT64 = 7;

/** ValueInfoProto: a tensor's name, type and shape; a text is a dimension that is not fixed. */
function tensor(field: number, name: string, type: number, shape: readonly (number | string)[]): Buffer {
  const dims = shape.map((size) => bytes(1, typeof size === 'string' ? bytes(2, size) : whole(1, size)));
  return bytes(field, bytes(1, name), bytes(2, bytes(1, whole(1, type), bytes(2, ...dims))));
}

/** What a model of one table is like. */
export interface TableModel {
  /** Rows one after the other. */
  readonly table: Float32Array;
  readonly dimension: number;
  /** Name of its input. */
  readonly input?: string;
}

/** A model whose vector of a token is its row of the table. */
export function tableModel({ table, dimension, input = 'input_ids' }: TableModel): Buffer {
  const rows = Buffer.from(table.buffer, table.byteOffset, table.byteLength);
  const graph = bytes(
    7,
    bytes(1, bytes(1, 'table'), bytes(1, input), bytes(2, 'last_hidden_state'), bytes(4, 'Gather')),
    bytes(2, 'table'),
    bytes(
      5,
      whole(1, table.length / dimension),
      whole(1, dimension),
      whole(2, FLOAT),
      bytes(8, 'table'),
      bytes(9, rows),
    ),
    tensor(11, input, INT64, ['batch', 'sequence']),
    tensor(12, 'last_hidden_state', FLOAT, ['batch', 'sequence', dimension]),
  );
  return Buffer.concat([whole(1, 8), graph, bytes(8, bytes(1, ''), whole(2, 17))]);
}
