/** Ids of receipts (ULID) and of units, and counts as bytes. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decodeCount, encodeCount } from '../../src/store/bytes.js';
import { isReceiptId, receiptId } from '../../src/store/receiptId.js';
import { firstUnitIdOf, unitIds } from '../../src/store/unitId.js';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

describe('the id of a receipt', () => {
  test('is a ULID of its bytes', () => {
    // The time is the example of the specification, https://github.com/ulid/spec.
    const timed = Buffer.alloc(16);
    timed.writeUIntBE(1469922850259, 0, 6);
    for (const [bytes, id] of [
      [Buffer.alloc(16), 'fr_00000000000000000000000000'],
      [Buffer.alloc(16, 255), 'fr_7ZZZZZZZZZZZZZZZZZZZZZZZZZ'],
      [timed, 'fr_01ARZ3NDEK0000000000000000'],
      [Buffer.from('0123456789abcdef0123456789abcdef', 'hex'), 'fr_014D2PF2DBSQQG28T5CY4TQKFF'],
    ] as const) {
      assert.equal(receiptId(bytes), id);
      assert.equal(isReceiptId(id), true);
    }
  });

  test('has every digit of Crockford’s base 32, and no letter that looks like a digit', () => {
    const last = Array.from({ length: 32 }, (_, digit) =>
      receiptId(Buffer.of(...Array<number>(15).fill(0), digit)),
    );
    assert.equal(last.map((id) => id.slice(-1)).join(''), '0123456789ABCDEFGHJKMNPQRSTVWXYZ');
    const digits = '0'.repeat(25);
    for (const other of ['I', 'L', 'O', 'U', 'a', '-', '', '00'])
      assert.equal(isReceiptId(`fr_${digits}${other}`), false);
    for (const other of ['fr_8'.padEnd(29, '0'), `xfr_0${digits}`, `0${digits}`])
      assert.equal(isReceiptId(other), false);
  });

  test('sorts as its bytes do', () => {
    const bytes = [0, 1, 31, 32, 33, 1024, 2 ** 40, 2 ** 47].map((number) => firstUnitIdOf(number));
    const ids = bytes.map((each) => receiptId(each));
    assert.deepEqual(ids.toSorted(), ids);
  });
});

describe('the id of a unit', () => {
  test('begins with the time, and continues with ten random bytes that no other id has', () => {
    let nowMs = 1_800_000_000_000.7;
    const draws: Buffer[] = [];
    const randomness = (length: number): Buffer => {
      const bytes = Buffer.alloc(length);
      for (let at = 0; at < length; at += 1) bytes[at] = (draws.length * 31 + at * 7 + (at >> 8)) & 255;
      draws.push(Buffer.from(bytes));
      return bytes;
    };
    const next = unitIds({ wallMs: () => nowMs }, randomness);
    const ids = Array.from({ length: 1_000 }, () => Buffer.from(next()));
    assert.ok(ids.every((id) => id.byteLength === 16 && id.readUIntBE(0, 6) === 1_800_000_000_000));
    const tens = draws.flatMap((draw) =>
      Array.from({ length: Math.floor(draw.byteLength / 10) }, (_, at) =>
        draw.subarray(at * 10, at * 10 + 10),
      ),
    );
    assert.deepEqual(
      ids.map((id) => hex(id.subarray(6))),
      tens.slice(0, 1_000).map(hex),
    );
    assert.equal(draws.length, 3, 'one draw is enough for some four hundred ids');
    nowMs = -1;
    assert.equal(Buffer.from(next()).readUIntBE(0, 6), 0);
  });

  test('is no smaller than the first of its time', () => {
    const zeros = unitIds({ wallMs: () => 5.9 }, (length) => Buffer.alloc(length));
    assert.equal(hex(zeros()), hex(firstUnitIdOf(5.9)));
    assert.equal(hex(firstUnitIdOf(-1)), '00'.repeat(16));
    assert.equal(hex(firstUnitIdOf(5)), `000000000005${'00'.repeat(10)}`);
  });
});

test('a count that a number cannot hold exactly is an error', () => {
  for (const count of [0, 1, Number.MAX_SAFE_INTEGER]) assert.equal(decodeCount(encodeCount(count)), count);
  const above = Buffer.alloc(8);
  above.writeBigUInt64BE(2n ** 53n);
  assert.throws(() => decodeCount(above), /^Error: A count of 9007199254740992$/);
});
