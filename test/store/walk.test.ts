/** The walk over all records that copies and backups share: its pages, its frames and its digest. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import type { KeyRange } from '../../src/store/engine.js';
import { unfinishedCopyKey } from '../../src/store/open.js';
import { walkOver, type Page } from '../../src/store/records.js';
import type { Entry } from '../../src/store/store.js';

const mebibyte = 1024 * 1024;

/** A record with a key that orders as `at` does. */
function record(at: number, valueBytes: number): Entry {
  const key = Buffer.alloc(4, 1);
  key.writeUInt16BE(at, 2);
  return { key, value: Buffer.alloc(valueBytes, at) };
}

const many = (count: number, valueBytes: number): Entry[] =>
  Array.from({ length: count }, (_, at) => record(at, valueBytes));

/** The form of records in a backup's file, made the obvious way. */
function framed(entries: readonly Entry[]): Buffer {
  const parts = entries.flatMap(({ key, value }) => {
    const lengths = Buffer.alloc(8);
    lengths.writeUInt32BE(key.byteLength, 0);
    lengths.writeUInt32BE(value.byteLength, 4);
    return [lengths, key, value];
  });
  return Buffer.concat(parts);
}

/** Walks over records in the order of their keys; the pages as copies, and the ranges that were read. */
async function walked(entries: readonly Entry[]) {
  const ranges: KeyRange[] = [];
  const pages: Page[] = [];
  const frames: Buffer[] = [];
  const scan = (range: KeyRange): Promise<readonly Entry[]> => {
    ranges.push(range);
    const { from, to, limit } = range;
    const inRange = entries.filter(
      ({ key }) => Buffer.compare(key, from) >= 0 && Buffer.compare(key, to) < 0,
    );
    return Promise.resolve(inRange.slice(0, limit));
  };
  const summary = await walkOver(scan)(({ bytes, ...page }) => {
    pages.push(page);
    frames.push(Buffer.from(bytes));
  });
  const found = pages.flatMap((page) => page.entries);
  return { summary, ranges, pages, found, frames };
}

/** Checks what every walk over `entries` says of them. */
async function assertWalk(entries: readonly Entry[]) {
  const walk = await walked(entries);
  assert.deepEqual(walk.found, entries);
  const bytes = framed(entries);
  const digest = createHash('sha256').update(bytes).digest('hex');
  assert.deepEqual(walk.summary, { records: entries.length, bytes: bytes.byteLength, digest });
  for (const [at, { entries: own }] of walk.pages.entries()) assert.deepEqual(walk.frames[at], framed(own));
  let seen = 0;
  for (const page of walk.pages) assert.equal(page.records, (seen += page.entries.length));
  return walk;
}

describe('a walk over all records', () => {
  test('has each record once, framed and digested, whatever their number', async () => {
    for (const count of [0, 1, 63, 64, 65, 64 + 128, 500]) await assertWalk(many(count, 3));
  });

  test('reads nothing after a page that is not full', async () => {
    assert.equal((await assertWalk(many(63, 3))).ranges.length, 1);
    assert.equal((await assertWalk(many(64, 3))).ranges.length, 2);
  });

  test('begins small; a page is at most twice the last, and has at most 1,024 records', async () => {
    const { ranges } = await assertWalk(many(4_000, 0));
    assert.deepEqual(
      ranges.map(({ limit }) => limit),
      [64, 128, 256, 512, 1_024, 1_024, 1_024],
    );
  });

  test('reads pages of as many records as fit two MiB, and at least one', async () => {
    const quarter = mebibyte / 4 - 4;
    const limits = async (valueBytes: number): Promise<number[]> => {
      const { ranges } = await assertWalk(many(64 + 9, valueBytes));
      return ranges.map(({ limit }) => limit);
    };
    assert.deepEqual(await limits(quarter), [64, 8, 8]);
    assert.deepEqual(await limits(quarter + 1), [64, 7, 7]);
    const sizes = [...Array<number>(64).fill(quarter), ...Array<number>(8).fill(4 * quarter + 12)];
    const large = [...sizes, 3 * mebibyte, 3 * mebibyte, 1, 1].map((bytes, at) => record(at, bytes));
    assert.deepEqual(
      (await assertWalk(large)).ranges.map(({ limit }) => limit),
      [64, 8, 2, 1, 2],
    );
  });

  test('continues right after the last key, even if the next key is only one zero byte longer', async () => {
    const entries = many(64, 1);
    const last = entries.at(-1)?.key ?? Buffer.alloc(0);
    const longer = [Buffer.of(0), Buffer.of(0, 0), Buffer.of(1)].map((end) => Buffer.concat([last, end]));
    await assertWalk([...entries, ...longer.map((key) => ({ key, value: Buffer.of(7) }))]);
  });

  test('leaves out the engine’s own keys and the marker of an unfinished copy', async () => {
    const value = Buffer.of(1);
    const own = { key: Buffer.of(0, 9), value };
    const others = [
      { key: Buffer.of(1), value },
      { key: Buffer.of(255, 254), value },
    ];
    const marker = { key: unfinishedCopyKey, value };
    const beyond = { key: Buffer.of(255, 255), value };
    const sorted = [own, ...others, marker, beyond].sort((a, b) => Buffer.compare(a.key, b.key));
    const { found, summary } = await walked(sorted);
    assert.deepEqual(found, others);
    assert.equal(summary.records, others.length);
  });
});
