/** The memory of one body: as much as was sent, whatever it announces. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BodyBuffer } from '../../src/http/body.js';
import { MemoryBudget } from '../../src/http/memory.js';
import { BufferPool } from '../../src/system/bufferPool.js';
import { WatchedPool } from '../support/watchedPool.js';

const KiB = 1_024;
const MiB = KiB * KiB;

/** What a body of a declared length takes while this much of it comes in pieces, and its bytes. */
function gathered(declared: number, bytes: number): { readonly taken: number[]; readonly body: Uint8Array } {
  const pool = new WatchedPool(0);
  const body = new BodyBuffer({ memory: new MemoryBudget(256 * MiB), pool }, 128 * MiB, declared, undefined);
  const piece = 64 * KiB;
  for (let at = 0; at < bytes; at += piece) {
    const part = Buffer.alloc(Math.min(piece, bytes - at), at / piece);
    assert.equal(body.append(part), 'taken');
  }
  return { taken: pool.taken, body: body.bytes() };
}

test('a body takes memory for what was sent, not for what it announces', () => {
  for (const declared of [100 * MiB, -1]) {
    assert.deepEqual(gathered(declared, 200 * KiB).taken, [256 * KiB]);
    assert.deepEqual(gathered(declared, 300 * KiB).taken, [256 * KiB, 2 * MiB]);
    for (const bytes of [2 * MiB, 3 * MiB, 9 * MiB, 40 * MiB]) {
      const { taken, body } = gathered(declared, bytes);
      assert.equal(body.byteLength, bytes);
      assert.ok((taken.at(-1) ?? 0) <= 4 * (bytes + 64 * KiB), `${bytes}: ${taken.join()}`);
      const sum = taken.reduce((total, each) => total + each, 0);
      assert.ok(sum <= 6 * bytes, `${bytes}: ${taken.join()}`);
    }
  }
});

test('a body never takes more than it announces, and keeps its bytes as it grows', () => {
  const { taken, body } = gathered(9 * MiB, 9 * MiB);
  assert.equal(taken.at(-1), 9 * MiB);
  assert.equal(body.byteLength, 9 * MiB);
  for (let at = 0; at < body.byteLength; at += 64 * KiB) assert.equal(body[at], (at / (64 * KiB)) % 256);
});

/** A pool that hands out exactly what is asked for, and remembers what it was given. */
class ExactPool extends BufferPool {
  readonly taken: Buffer[] = [];
  readonly given: Buffer[] = [];

  override take(least: number): Buffer {
    const buffer = Buffer.alloc(least);
    this.taken.push(buffer);
    return buffer;
  }

  override give(buffer: Buffer): void {
    if (buffer.byteLength === 0) return;
    this.given.push(Buffer.from(buffer));
    // Whoever takes it next writes to it.
    buffer.fill(255);
  }
}

/** A body of a limit and a declared length, on memory that nobody else holds. */
function alone(declared: number, limit = 16 * MiB, bytes = 64 * MiB) {
  const pool = new ExactPool(0);
  const memory = new MemoryBudget(bytes);
  return { pool, memory, body: new BodyBuffer({ memory, pool }, limit, declared, undefined) };
}

test('a body grows at exact sizes: 256 KiB, 2 MiB, fourfold, at most to what is announced or allowed', () => {
  const sizes = (declared: number, ...pieces: number[]): number[] => {
    const { pool, body } = alone(declared);
    for (const piece of pieces) assert.equal(body.append(Buffer.alloc(piece)), 'taken');
    return pool.taken.map(({ byteLength }) => byteLength);
  };
  assert.deepEqual(sizes(-1, 256 * KiB), [256 * KiB]);
  assert.deepEqual(sizes(-1, 256 * KiB, 1), [256 * KiB, 2 * MiB]);
  assert.deepEqual(sizes(-1, 512 * KiB), [2 * MiB]);
  assert.deepEqual(sizes(-1, 512 * KiB + 1), [2 * MiB + 4]);
  assert.deepEqual(sizes(-1, 15 * MiB), [16 * MiB], 'as large as the path takes');
  assert.deepEqual(sizes(1_000, 10), [1_000]);
  // One that announces nothing, and sends something all the same, takes no more than that.
  assert.deepEqual(sizes(0, 10), [10]);
});

test('a body returns its memory once, when it has grown and when it is released', () => {
  const { pool, memory, body } = alone(-1);
  const first = Buffer.alloc(256 * KiB, 1);
  assert.equal(body.append(first), 'taken');
  assert.equal(body.append(Buffer.of(2)), 'taken');
  assert.deepEqual(pool.given, [first], 'the first allocation');
  assert.deepEqual(Buffer.from(body.bytes()), Buffer.concat([first, Buffer.of(2)]));
  assert.equal(memory.held, 256 * KiB + 1);
  body.release();
  assert.deepEqual([pool.given.length, memory.held, body.received, body.bytes().byteLength], [2, 0, 0, 0]);
  body.release();
  assert.deepEqual([pool.given.length, memory.held], [2, 0]);
});

test('a body over its limit is too large, and one without memory left is refused at once', () => {
  const { memory, body } = alone(-1, 10, 8);
  assert.equal(body.append(Buffer.alloc(11)), 'too_large');
  assert.equal(body.append(Buffer.alloc(9)), 'overloaded');
  assert.equal(body.append(Buffer.alloc(8)), 'taken');
  assert.equal(body.append(Buffer.alloc(3)), 'too_large');
  assert.equal(body.append(Buffer.alloc(2)), 'overloaded');
  assert.deepEqual([memory.held, body.received], [8, 8]);
});
