/** Text of any length through the normalizer: however it is split, the whole text comes out normalized. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { native } from '../../src/native/addon.js';
import { normalizeStream, type StreamOutcome } from '../../src/text/stream.js';

const normalizer = new native.TextNormalizer('augment', true, [{ surface: '北京', gloss: 'Beijing' }]);

interface Streamed {
  readonly outcome: StreamOutcome;
  readonly text: string;
  readonly pieces: readonly string[];
}

async function* chunksOf(bytes: Uint8Array, lengths: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (let turn = 0; at < bytes.length; turn++) {
    await Promise.resolve();
    const length = lengths[turn % lengths.length] ?? bytes.length;
    yield bytes.subarray(at, at + length);
    at += length;
  }
}

async function stream(
  bytes: Uint8Array,
  lengths: readonly number[],
  bounds = { pieceBytes: 16, lineBytes: 1 << 20 },
): Promise<Streamed> {
  const written: Uint8Array[] = [];
  const pieces: string[] = [];
  const outcome = await normalizeStream(chunksOf(bytes, lengths), {
    ...bounds,
    normalize: (piece) => {
      pieces.push(piece.toString());
      return normalizer.normalize(Buffer.from(piece), 2);
    },
    write: (text) => Promise.resolve(void written.push(text.slice())),
  });
  return { outcome, text: Buffer.concat(written).toString(), pieces };
}

const parts = fc.constantFrom(
  'plain ',
  '“é” ',
  'CafÃ© ',
  '❤️',
  '北京',
  '\u200b',
  '\r\n',
  '\n',
  '\t',
  'ﬁ',
  '漢！',
);
const texts = fc.array(parts, { maxLength: 40 }).map((each) => each.join(''));
const lengths = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });

test('the text does not depend on how it is split', async () => {
  await fc.assert(
    fc.asyncProperty(texts, lengths, async (text, cuts) => {
      const bytes = Buffer.from(text);
      const whole = await normalizer.normalize(bytes, 1);
      const { outcome, text: streamed, pieces } = await stream(bytes, cuts);
      assert.equal(streamed, whole.text.toString());
      assert.equal(pieces.join(''), text);
      assert.ok(pieces.slice(0, -1).every((piece) => piece.endsWith('\n')));
      assert.ok(outcome.kind === 'done' && outcome.bytes === bytes.length);
      assert.deepEqual(
        Object.fromEntries(outcome.changes),
        Object.fromEntries(whole.counts.map(({ kind, count }) => [kind, count])),
      );
    }),
  );
});

test('a line without end is cut, between characters or after a space', async () => {
  const spaced = await stream(Buffer.from('漢“é” '.repeat(500)), [7], { pieceBytes: 16, lineBytes: 64 });
  assert.ok(spaced.pieces.slice(0, -1).every((piece) => piece.endsWith(' ')));
  assert.equal(spaced.text, '漢"é" '.repeat(500));
  const text = '漢a“é'.repeat(500);
  const { text: streamed, pieces } = await stream(Buffer.from(text), [7], { pieceBytes: 16, lineBytes: 64 });
  assert.equal(pieces.join(''), text);
  assert.ok(pieces.length > 10);
  assert.ok(pieces.every((piece) => Buffer.byteLength(piece) <= 160 && !piece.includes('\ufffd')));
  assert.equal(streamed, (await normalizer.normalize(Buffer.from(text), 1)).text.toString());
});

test('bytes that are no UTF-8 are told by their place in the input', async () => {
  const bytes = Buffer.concat([Buffer.from('“a”\n'.repeat(20)), Buffer.from([0x62, 0xff])]);
  for (const cuts of [[1], [5], [1000]]) {
    const { outcome, text } = await stream(bytes, cuts);
    assert.deepEqual(outcome, { kind: 'not UTF-8', offset: bytes.length - 1 });
    assert.equal(text, '"a"\n'.repeat(20));
  }
  const unfinished = await stream(Buffer.from([0x61, 0xe2, 0x82]), [1]);
  assert.deepEqual(unfinished.outcome, { kind: 'not UTF-8', offset: 1 });
});

test('glosses that make too much of a piece end the stream at its place', async () => {
  const written: Uint8Array[] = [];
  const outcome = await normalizeStream(chunksOf(Buffer.from('c\naa\nc\n'), [2, 3, 2]), {
    ...{ pieceBytes: 2, lineBytes: 1 << 20 },
    normalize: (text) => Promise.resolve({ text, counts: [], tooLong: text.includes('aa') }),
    write: (text) => Promise.resolve(void written.push(text.slice())),
  });
  assert.deepEqual(outcome, { kind: 'too long', offset: 2 });
  assert.equal(Buffer.concat(written).toString(), 'c\n');
});

test('an empty input gives an empty text', async () => {
  const { outcome, text } = await stream(new Uint8Array(), [1]);
  assert.deepEqual([outcome, text], [{ kind: 'done', bytes: 0, changes: new Map() }, '']);
});
