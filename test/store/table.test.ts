/** Which values a table accepts as members of a record, and what is said about others. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  amount,
  boolean,
  bytes,
  choice,
  erasable,
  integer,
  orNull,
  rows,
  table,
  text,
  widenedTable,
  type Column,
} from '../../src/store/table.js';

/** How errors begin. */
const unreadable = 'A record of the store (thing) cannot be read:';

const recordOf = (format: number, json: string): Buffer =>
  Buffer.concat([Buffer.of(format), Buffer.from(json)]);

const pairs = rows(
  ([first, second]) => ({ first, second }),
  ({ first, second }) => [first as string, second as number],
);

/** Columns, with a value and its JSON, JSON that is not one, and what an error says was expected. */
const columns: readonly [string, Column<unknown, never>, unknown, string, readonly string[], string][] = [
  ['text', text, 'é"\n', '"é\\"\\n"', ['1', 'null', '[]'], 'text'],
  ['integer', integer, -7, '-7', ['1.5', '"1"', '9007199254740992', 'null'], 'an integer'],
  ['amount', amount, 21n, '21', ['1.5', '"1"', '9007199254740992', 'null'], 'an integer'],
  ['boolean', boolean, false, 'false', ['0', '"false"', 'null'], 'true or false'],
  ['bytes', bytes, Buffer.from('\xfb\xff', 'latin1'), '"-_8"', ['1', 'null'], 'text'],
  ['orNull', orNull(integer), null, 'null', ['""'], 'an integer'],
  ['orNull', orNull(amount), 3n, '3', ['""'], 'an integer'],
  ['choice', choice('a', 'b'), 'b', '"b"', ['"c"', '["a"]', 'null'], 'a or b'],
  ['rows', pairs, [{ first: 'x', second: 1 }], '[["x",1]]', ['{}', '[["x",1],2]', 'null'], 'a list of lists'],
];

describe('a member', () => {
  for (const [name, column, value, json, wrong, expected] of columns) {
    test(`of ${name} ${json} is read as it was written, and nothing else is`, () => {
      const { encode, decode } = table('thing', { aMember: column });
      const record = Buffer.from(encode({ aMember: value }));
      assert.deepEqual(record, recordOf(1, `{"a_member":${json}}`));
      assert.deepEqual(decode(record), { aMember: value });
      for (const other of [...wrong.map((each) => `{"a_member":${each}}`), '{}']) {
        const message = `${unreadable} it is damaged (its a_member is not ${expected}).`;
        assert.throws(() => decode(recordOf(1, other)), { message }, other);
      }
    });
  }
});

test('a value that could not be read again is not written', () => {
  const { encode } = table('thing', { a: integer });
  for (const a of [0.5, Number.NaN, Infinity, 2 ** 53, -(2 ** 53)]) {
    assert.throws(() => encode({ a }), /is not an integer that a record can hold/);
  }
  const money = table('thing', { a: amount });
  for (const a of [2n ** 53n, -(2n ** 53n)]) {
    assert.throws(() => money.encode({ a }), /is not an integer that a record can hold/);
  }
  const most = { a: BigInt(Number.MAX_SAFE_INTEGER) };
  assert.deepEqual(money.decode(money.encode(most)), most);
});

describe('a format', () => {
  const unknown = (format: number): { readonly message: string } => ({
    message: `${unreadable} this version does not know format ${format}; a later one may.`,
  });

  test('is that of its table, and any other is unknown', () => {
    const { decode } = table('thing', { a: integer }, 3);
    assert.deepEqual(decode(recordOf(3, '{"a":1}')), { a: 1 });
    for (const format of [0, 1, 2, 4]) {
      assert.throws(() => decode(recordOf(format, '{"a":1}')), unknown(format));
    }
    assert.throws(() => decode(Buffer.alloc(0)), unknown(0));
  });

  test('has its members in a fixed order, whatever the order of the values', () => {
    const { encode, decode } = table('thing', { a: integer, b: integer, c: integer });
    const record = Buffer.from(encode({ c: 3, b: 2, a: 1 }));
    assert.deepEqual(record, recordOf(1, '{"a":1,"b":2,"c":3}'));
    assert.deepEqual(decode(record), { a: 1, b: 2, c: 3 });
  });

  test('of widened records is the first that can hold the values', () => {
    const second = { members: { b: orNull(integer) }, without: { b: null } };
    const third = { members: { c: boolean }, without: { c: false } };
    const two = widenedTable('thing', { a: integer }, second);
    const three = widenedTable('thing', { a: integer }, second, third);
    const records = [
      [{ a: 1, b: null, c: false }, 1, '{"a":1}'],
      [{ a: 1, b: 2, c: false }, 2, '{"a":1,"b":2}'],
      [{ a: 1, b: null, c: true }, 3, '{"a":1,"b":null,"c":true}'],
    ] as const;
    for (const [value, format, json] of records) {
      assert.deepEqual(Buffer.from(three.encode(value)), recordOf(format, json));
      assert.deepEqual(three.decode(recordOf(format, json)), value);
    }
    assert.deepEqual(two.decode(recordOf(2, '{"a":1,"b":2}')), { a: 1, b: 2 });
    assert.throws(() => two.decode(recordOf(3, '{"a":1,"b":2,"c":true}')), unknown(3));
    for (const format of [0, 4])
      assert.throws(() => three.decode(recordOf(format, '{"a":1}')), unknown(format));
    assert.throws(() => three.decode(Buffer.alloc(0)), unknown(0));
  });

  test('of an erased entry is empty in every table', () => {
    const { encode, decode } = erasable(table('thing', { a: integer }));
    assert.deepEqual(Buffer.from(encode(undefined)), recordOf(255, '{}'));
    assert.equal(decode(recordOf(255, '{}')), undefined);
    assert.deepEqual(decode(encode({ a: 1 })), { a: 1 });
  });
});
