/** The memory of one body: as much as it was sent, whatever it announces. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BodyBuffer } from '../../src/http/body.js';
import { MemoryBudget } from '../../src/http/memory.js';
import { BufferPool } from '../../src/system/bufferPool.js';

const KiB = 1_024;
const MiB = KiB * KiB;

/** A pool that remembers what was taken. */
class WatchedPool extends BufferPool {
  readonly taken: number[] = [];

  override take(least: number): Buffer {
    const buffer = super.take(least);
    this.taken.push(buffer.byteLength);
    return buffer;
  }
}

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
