/** Proofs of the log, made from tiles and verified without tiles, for every leaf of every small log. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { signCheckpoint } from '../../src/log/note.js';
import { isConsistent, proofText, verifyProof } from '../../src/log/proof.js';
import { edgeOf, laidOver, proofOf, rootOf, widthOf, type FindTile } from '../../src/log/tree.js';
import { native } from '../../src/native/addon.js';
import type { StoredTile } from '../../src/store/tables/receiptLog.js';
import { naiveRoot } from '../reference/tree.js';
import { keyOf, sealOf } from './world.js';

const most = 18;
const seals = Array.from({ length: 600 }, (_, at) => sealOf(at));
const none: FindTile = () => Promise.resolve(Buffer.alloc(0));

/** Finds the tiles of a log of the first `size` leaves. */
function tilesOf(size: number): StoredTile[] {
  return native.logGrow(0, [], Buffer.concat(seals.slice(0, size)));
}

const find = laidOver(tilesOf(most), none);
const key = { name: 'log.example', publicKey: keyOf(1).publicKey };
const roots = Array.from({ length: most + 1 }, (_, size) => naiveRoot(seals.slice(0, size)));
const rootOfFirst = (size: number): Buffer => roots[size] ?? Buffer.alloc(0);

function split(hashes: Buffer | undefined): Buffer[] {
  assert.ok(hashes !== undefined);
  return Array.from({ length: hashes.byteLength / 32 }, (_, at) => hashes.subarray(32 * at, 32 * at + 32));
}

function noteOf(size: number, root = rootOfFirst(size)): string {
  return signCheckpoint({ origin: key.name, size, root }, keyOf(1));
}

function sentence(proof: string, entry: Uint8Array): string {
  const proven = verifyProof(proof, entry, key);
  return 'wrong' in proven ? proven.wrong : `of ${proven.index}`;
}

/** A path with one bit, one hash or one length changed, in every place. */
function* wrongPaths(path: readonly Buffer[]): Generator<readonly Buffer[], void> {
  for (const [at, hash] of path.entries()) {
    const flipped = Buffer.from(hash);
    flipped[at % 32] = (flipped[at % 32] ?? 0) ^ 1;
    yield path.with(at, flipped);
    yield path.toSpliced(at, 1);
  }
  yield [...path, Buffer.alloc(32)];
}

describe('inclusion', () => {
  const astray = 'does not lead from this receipt to the root of its checkpoint';

  test('of every leaf in every log can be proven, and of nothing else', async () => {
    for (let size = 1; size <= most; size += 1) {
      const note = noteOf(size);
      for (let index = 0; index < size; index += 1) {
        const hashes = await proofOf(native, 'inclusion', index, size, find);
        const proof = proofText(index, hashes ?? Buffer.alloc(0), note);
        const entry = sealOf(index);
        const proven = verifyProof(proof, entry, key);
        assert.deepEqual(proven, {
          index,
          checkpoint: { origin: key.name, size, root: rootOfFirst(size) },
        });
        assert.equal(sentence(proof, sealOf(index + 1)), astray);
        for (const path of wrongPaths(split(hashes))) {
          assert.equal(sentence(proofText(index, Buffer.concat(path), note), entry), astray);
        }
        for (const other of [index - 1, index + 1, size, size + 1, 9e15]) {
          if (other < 0) continue;
          assert.equal(sentence(proofText(other, hashes ?? Buffer.alloc(0), note), entry), astray);
        }
      }
    }
  });

  test('by a path that is longer than the log is high proves nothing, wherever it leads', () => {
    const sha256 = (prefix: number, ...parts: readonly Buffer[]): Buffer => {
      return createHash('sha256')
        .update(Buffer.concat([Buffer.of(prefix), ...parts]))
        .digest();
    };
    const above = Buffer.alloc(32, 7);
    const note = noteOf(1, sha256(1, above, sha256(0, sealOf(0))));
    assert.equal(sentence(proofText(0, above, note), sealOf(0)), astray);
  });

  test('in a proof of the wrong form is refused with the reason', async () => {
    const hashes = (await proofOf(native, 'inclusion', 2, 5, find)) ?? Buffer.alloc(0);
    const proof = proofText(2, hashes, noteOf(5));
    const entry = sealOf(2);
    const of = (from: string | RegExp, to: string): string => sentence(proof.replace(from, to), entry);
    assert.equal(proof.split('\n')[0], 'c2sp.org/tlog-proof@v1');
    assert.equal(of('index 2\n', 'index 2\n'), 'of 2');
    assert.equal(of('index 2', 'extra AAAA\nindex 2'), 'of 2', 'what is extra has no meaning');
    assert.equal(of('@v1', '@v2'), 'is no c2sp.org/tlog-proof@v1');
    for (const text of ['', '\n\n', proof.replaceAll('\n\n', '\n')]) {
      assert.equal(sentence(text, entry), 'is no c2sp.org/tlog-proof@v1', text);
    }
    for (const index of ['index 02', 'index -2', 'index 2 ', 'index', 'extra A\nextra B\nindex 2', 'x']) {
      assert.equal(of('index 2', index), 'has no index', index);
    }
    assert.equal(sentence('c2sp.org/tlog-proof@v1\n\n', entry), 'has no index');
    const notHash = 'has a line that is not a hash';
    assert.equal(of(/(index 2\n)/, '$1AAAA\n'), notHash);
    assert.equal(of(/(index 2\n)/, '$1!\n'), notHash);
    assert.equal(of(/(index 2\n)/, `$1${Buffer.alloc(33).toString('base64')}\n`), notHash);
    assert.equal(of('\n\u2014 ', '\n- '), 'has a checkpoint that is not signed by the key');
    assert.equal(of('log.example\n5', 'log.example\n05'), 'has a checkpoint that is not a checkpoint');
  });
});

test('a log can be proven to extend each earlier one, and no other', async () => {
  for (let size = 1; size <= most; size += 1) {
    const whole = [size, rootOfFirst(size)] as const;
    for (let old = 1; old <= size; old += 1) {
      const hashes = old === size ? Buffer.alloc(0) : await proofOf(native, 'consistency', old, size, find);
      const path = split(hashes);
      const before = [old, rootOfFirst(old)] as const;
      assert.ok(isConsistent(before, whole, path), `${old} of ${size}`);
      for (const wrong of wrongPaths(path)) assert.ok(!isConsistent(before, whole, wrong));
      assert.ok(!isConsistent([old, Buffer.alloc(32)], whole, path));
      assert.ok(!isConsistent(before, [size, Buffer.alloc(32)], path));
      for (const other of [old - 1, old + 1]) {
        assert.ok(!isConsistent([other, rootOfFirst(old)], whole, path), `${other} of ${size}`);
      }
    }
    assert.ok(!isConsistent([0, rootOfFirst(0)], whole, []), 'of nothing');
    assert.ok(!isConsistent([0, rootOfFirst(size)], whole, []), 'of nothing');
    const toFirst = split(await proofOf(native, 'inclusion', 0, size, find));
    const first = rootOfFirst(1);
    assert.ok(!isConsistent([0, first], whole, [first, ...toFirst]), 'by a path that leads there');
  }
});

describe('tiles', () => {
  test('have the hashes of a log’s leaves, 256 each, and above them those of full tiles', () => {
    assert.deepEqual(
      [0, 1, 255, 256, 257, 600].map((size) => widthOf(size, 0, 0)),
      [0, 1, 255, 256, 256, 256],
    );
    assert.deepEqual(
      [0, 256, 257, 512, 600].map((size) => widthOf(size, 0, 1)),
      [0, 0, 1, 256, 256],
    );
    assert.deepEqual(
      [255, 256, 600, 65_536, 65_792].map((size) => widthOf(size, 1, 0)),
      [0, 1, 2, 256, 256],
    );
    assert.deepEqual(
      [65_536, 65_792].map((size) => widthOf(size, 1, 1)),
      [0, 1],
    );
  });

  test('at a log’s edge are those that still grow, each as wide as the log needs', async () => {
    const stored = laidOver(tilesOf(600), none);
    for (const size of [0, 1, 255, 256, 300, 512, 600]) {
      const asked: string[] = [];
      const edge = await edgeOf(size, (level, index) => {
        asked.push(`${level}/${index}`);
        return stored(level, index);
      });
      const levels = size === 0 ? [] : size < 256 ? [0] : [0, 1];
      const widths = levels.map((level) => Math.floor(size / 256 ** level) % 256);
      assert.deepEqual(
        edge?.map(({ byteLength }) => byteLength),
        widths.map((width) => 32 * width),
      );
      const places = widths.flatMap((width, level) => {
        return width === 0 ? [] : [`${level}/${Math.floor(size / 256 ** (level + 1))}`];
      });
      assert.deepEqual(asked, places, 'a tile that is full, or not begun, is not asked for');
      const grown = native.logGrow(size, edge, Buffer.concat(seals.slice(size)));
      const root = await rootOf(native, 600, laidOver(grown, stored));
      assert.deepEqual(root, naiveRoot(seals));
    }
    const exact = laidOver(tilesOf(300), none);
    const short: FindTile = async (level, index) => (await exact(level, index)).subarray(32);
    for (const lacking of [none, short]) assert.equal(await edgeOf(300, lacking), undefined);
    const shortAbove: FindTile = (level, index) => (level === 0 ? exact(0, index) : short(level, index));
    const shortBelow: FindTile = (level, index) => (level === 0 ? short(0, index) : exact(level, index));
    assert.equal(await edgeOf(300, shortBelow), undefined);
    assert.equal(await edgeOf(300, shortAbove), undefined);
  });

  test('that are missing prove nothing, and an impossible proof is not made', async () => {
    assert.equal(await rootOf(native, 5, none), undefined);
    assert.equal(await proofOf(native, 'inclusion', 5, 5, find), undefined, 'there is no such leaf');
    assert.equal(await proofOf(native, 'consistency', 6, 5, find), undefined, 'it is not that long');
    assert.deepEqual(await rootOf(native, 0, none), rootOfFirst(0));
  });
});
