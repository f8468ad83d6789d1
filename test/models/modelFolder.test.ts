/** Folders of models: complete ones are found, and others are reported with what to do. */
import assert from 'node:assert/strict';
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import {
  defaultModel,
  modelNames,
  parseManifest,
  readModelFolder,
  readModels,
} from '../../src/models/modelFolder.js';
import { temporaryFolder } from '../support/run.js';
import { copiedModel, shippedFolder, shippedModel } from '../support/models.js';

const manifestText = readFileSync(join(shippedFolder, 'fusegate.json'), 'utf8');

async function wrong(folder: string): Promise<string> {
  const read = await readModelFolder(folder);
  return 'wrong' in read ? read.wrong : '';
}

describe('the folder of a model', () => {
  test('is read if it is complete', async () => {
    const model = await shippedModel();
    assert.equal(model.id, 'all-MiniLM-L6-v2');
    assert.equal(model.folder, shippedFolder);
    assert.deepEqual(
      [model.kind, model.dimension, model.pooling, model.maxTokens],
      ['onnx', 384, 'mean', 256],
    );
    assert.match(model.digest, /^[0-9a-f]{64}$/);
    assert.equal(model.license, 'Apache-2.0');
  });

  test('has another digest if its facts differ', async () => {
    const parent = temporaryFolder();
    const digests = new Set<string>();
    for (const max_tokens of [256, 128, 64]) {
      rmSync(join(parent, 'copy'), { recursive: true, force: true });
      const read = await readModelFolder(copiedModel(parent, 'copy', { max_tokens }));
      assert.ok('model' in read);
      digests.add(read.model.digest);
    }
    assert.equal(digests.size, 3);
  });

  test('is refused if it was copied in part, changed or renamed', async () => {
    const parent = temporaryFolder();
    const half = copiedModel(parent, 'half');
    truncateSync(join(half, 'model.onnx'), 9_999_999);
    assert.match(await wrong(half), /model\.onnx has 9999999 bytes, not 22946221\. .*models remove half/);
    const changed = copiedModel(parent, 'changed');
    const bytes = readFileSync(join(changed, 'model.onnx'));
    bytes[9_999] = (bytes[9_999] ?? 0) ^ 1;
    writeFileSync(join(changed, 'model.onnx'), bytes);
    assert.match(await wrong(changed), /its SHA-256 is another/);
    const longer = copiedModel(parent, 'longer');
    appendFileSync(join(longer, 'tokenizer.json'), ' ');
    assert.match(await wrong(longer), /tokenizer\.json has 466248 bytes/);
    const without = copiedModel(parent, 'without');
    rmSync(join(without, 'tokenizer.json'));
    assert.match(await wrong(without), /tokenizer\.json cannot be read \(ENOENT\)/);
    renameSync(copiedModel(parent, 'other'), join(parent, 'renamed'));
    assert.match(await wrong(join(parent, 'renamed')), /is of other: rename the folder/);
    assert.match(await wrong(join(parent, 'absent')), /fusegate\.json cannot be read \(ENOENT\)/);
  });

  test('is refused if its fusegate.json has a wrong value', () => {
    const parsed = JSON.parse(manifestText) as Record<string, unknown>;
    const refusal = (changes: Record<string, unknown>): string => {
      const read = parseManifest(JSON.stringify({ ...parsed, ...changes }));
      return 'wrong' in read ? read.wrong : '';
    };
    assert.equal(refusal({}), '');
    const file = { bytes: 1, sha256: '0'.repeat(64) };
    for (const [name, values] of Object.entries({
      id: ['', '..', '../x', 'a/b', 'scripts', '.hidden', 7, 'x'.repeat(101)],
      kind: ['tree', null],
      dimension: [0, -1, 1.5, '384', 1e9],
      pooling: ['max', undefined],
      max_tokens: [0, 1e9],
      query_prefix: [null, undefined],
      license: [7],
      files: [
        {},
        null,
        { 'model.onnx': file },
        { 'model.onnx': file, 'tokenizer.json': { bytes: 1, sha256: 'x' } },
        { 'model.onnx': file, 'tokenizer.json': file, '../../etc/passwd': file },
      ],
    })) {
      for (const value of values) {
        assert.equal(
          refusal({ [name]: value }),
          `does not say what it must of: ${name}`,
          JSON.stringify(value),
        );
      }
    }
    for (const text of ['', 'null', '[]', '{', '7']) assert.ok('wrong' in parseManifest(text));
  });
});

describe('folders of models', () => {
  test('are read in order; incomplete ones are refused, and hidden ones ignored', async () => {
    const [mine, shipped] = [temporaryFolder(), temporaryFolder()];
    copiedModel(mine, 'one');
    copiedModel(shipped, 'one', { max_tokens: 128 });
    copiedModel(shipped, 'two');
    copiedModel(shipped, 'broken');
    rmSync(join(shipped, 'broken', 'model.onnx'));
    mkdirSync(join(mine, '.adding-three'));
    mkdirSync(join(shipped, 'scripts'));
    writeFileSync(join(shipped, 'README.md'), '');
    symlinkSync(copiedModel(temporaryFolder(), 'linked'), join(mine, 'linked'));
    const { models, refused } = await readModels([mine, shipped, join(mine, 'absent')]);
    assert.deepEqual(
      models.map(({ id, folder }) => [id, folder]),
      [
        ['linked', join(mine, 'linked')],
        ['one', join(mine, 'one')],
        ['two', join(shipped, 'two')],
      ],
    );
    assert.deepEqual(
      refused.map(({ id }) => id),
      ['broken', 'one'],
    );
    assert.match(refused[1]?.wrong ?? '', /is not used: one is also in/);
    assert.deepEqual(await modelNames(mine), ['linked', 'one']);
    await assert.rejects(modelNames(join(mine, 'one', 'model.onnx')));
  });

  test('the default model is the larger installed one, or the one that is set', async () => {
    const shipped = await shippedModel();
    const larger = { ...shipped, id: 'bge-base-en-v1.5' };
    const other = { ...shipped, id: 'other' };
    assert.equal(defaultModel([shipped, other], null), shipped);
    assert.equal(defaultModel([shipped, other, larger], null), larger);
    assert.equal(defaultModel([shipped, other], 'other'), other);
    assert.equal(defaultModel([shipped], 'other'), undefined);
    assert.equal(defaultModel([], null), undefined);
  });
});
