/** The included model in this process: near its original, the same from any thread; and models to refuse. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { EmbeddingSession } from '../../src/models/session.js';
import { native } from '../../src/native/addon.js';
import { temporaryFolder } from '../support/run.js';
import { forLength } from '../support/length.js';
import { copiedModel, cosine, embedVectors, fp32, openFolder, shippedFolder } from '../support/models.js';
import { tableModel } from './onnx.js';

async function opened(folder: string, threads: number): Promise<EmbeddingSession> {
  const result = await openFolder(folder, threads);
  if ('wrong' in result) throw new Error(result.wrong);
  return result.session;
}

describe('the model that ships', () => {
  let session: EmbeddingSession;

  before(async () => {
    session = await opened(shippedFolder, 1);
  });
  after(() => session.close());

  test('is near its fp32 original', async () => {
    const cosines: number[] = [];
    for (const line of embedVectors) {
      const { vector, truncated } = await session.embed(Buffer.from(line.text));
      assert.equal(vector.length, 384);
      assert.equal(truncated, line.truncated);
      assert.ok(Math.abs(cosine(vector, vector) - 1) < 1e-5);
      cosines.push(cosine(vector, fp32(line)));
    }
    const mean = cosines.reduce((sum, value) => sum + value, 0) / cosines.length;
    assert.ok(mean > 0.98, `mean cosine ${mean}`);
    assert.ok(Math.min(...cosines) > 0.95, `cosines ${cosines.map((value) => value.toFixed(4)).join(' ')}`);
  });

  test('gives a text the same vector whatever came before, and by two threads', async () => {
    const alone = new Map<string, Float32Array>();
    for (const { text } of embedVectors) alone.set(text, (await session.embed(Buffer.from(text))).vector);
    const two = await opened(shippedFolder, 2);
    for (const { text } of [...embedVectors].reverse()) {
      assert.deepEqual((await session.embed(Buffer.from(text))).vector, alone.get(text));
      assert.deepEqual((await two.embed(Buffer.from(text))).vector, alone.get(text));
    }
    await two.close();
  });

  test('accepts bytes that are not text, and texts of megabytes', async () => {
    const broken = await session.embed(Buffer.from([0xff, 0xc3, 0x28, 0xed, 0xa0, 0x80]));
    assert.ok(broken.vector.every(Number.isFinite));
    const long = Buffer.alloc(2 << 20, 'the pump leaks. ');
    const cut = long.subarray(0, 256 * native.readBytesPerToken());
    const { vector, truncated } = await session.embed(long);
    assert.equal(truncated, true);
    assert.deepEqual(vector, (await session.embed(cut)).vector);
  });

  test('takes no more memory for each new length', async () => {
    const texts = forLength({ short: 100, long: 300 });
    const words = Array.from({ length: 300 }, (_, at) => `word${at}`);
    const embedAll = async (): Promise<number> => {
      for (let at = 0; at < texts; at += 1) {
        const length = 1 + ((at * 7_919) % 300);
        await session.embed(Buffer.from(words.slice(0, length).join(' ')));
      }
      return process.memoryUsage.rss();
    };
    const first = await embedAll();
    const second = await embedAll();
    assert.ok(second - first < texts * 1e5, `${first} then ${second} bytes`);
  });
});

describe('models that are refused', () => {
  const parent = temporaryFolder();
  const vocabulary = 30_522;
  const dimension = 8;

  /** A model of one table with the shipped tokenizer. */
  async function tried(id: string, table: Float32Array, input?: string): Promise<string> {
    const bytes = tableModel({ table, dimension, ...(input === undefined ? {} : { input }) });
    const folder = copiedModel(parent, id, { dimension }, (copy) =>
      writeFileSync(join(copy, 'model.onnx'), bytes),
    );
    const result = await openFolder(folder);
    if ('wrong' in result) return result.wrong;
    await result.session.close();
    return '';
  }

  /** Rows that differ. */
  function rows(count: number): Float32Array {
    return Float32Array.from({ length: count * dimension }, (_, at) => Math.sin(at * at));
  }

  test('but a plain table of vectors is accepted', async () => {
    assert.equal(await tried('fine', rows(vocabulary)), '');
  });

  test('one that gives NaN, nothing, or the same for all', async () => {
    assert.match(
      await tried('nan', rows(vocabulary).fill(Number.NaN)),
      /nan cannot be run \(its vector is not of numbers\)/,
    );
    assert.match(await tried('infinite', rows(vocabulary).fill(Infinity)), /its vector is not of numbers/);
    assert.match(await tried('zero', rows(vocabulary).fill(0)), /its vector is not of numbers/);
    const same = Float32Array.from({ length: vocabulary * dimension }, (_, at) => at % dimension);
    assert.match(await tried('same', same), /gives two texts the same vector.*fusegate models remove same/);
  });

  test('one whose tokenizer has more tokens than the model', async () => {
    assert.match(await tried('small', rows(vocabulary - 1)), /no token 30521.*do not belong together/);
  });

  test('one that wants other inputs or has other outputs', async () => {
    assert.match(await tried('inputs', rows(vocabulary), 'pixel_values'), /wants the input pixel_values/);
    const other = copiedModel(parent, 'outputs', { dimension: 512 });
    const result = await openFolder(other);
    assert.ok('wrong' in result && result.wrong.includes('no output of 512 float32 numbers'));
  });

  test('one that reads fewer tokens than it says', async () => {
    const result = await openFolder(copiedModel(parent, 'length', { max_tokens: 600 }));
    assert.ok('wrong' in result && result.wrong.includes('cannot read 600 tokens'));
  });

  test('one that is not ONNX, and one with a broken tokenizer', async () => {
    const write = (name: string, text: string) => (folder: string) => writeFileSync(join(folder, name), text);
    const model = await openFolder(copiedModel(parent, 'no-onnx', {}, write('model.onnx', 'not a model')));
    assert.ok('wrong' in model && model.wrong.includes('cannot be loaded'));
    const tokenizer = await openFolder(copiedModel(parent, 'no-json', {}, write('tokenizer.json', '{}')));
    assert.ok('wrong' in tokenizer && tokenizer.wrong.includes('tokenizer.json cannot be read'));
    const length = await openFolder(copiedModel(parent, 'too-short', { max_tokens: 2 }));
    assert.ok('wrong' in length && length.wrong.includes('2 special tokens'));
  });
});
