/** `fusegate fuse`: the answer of POST /v1/fuse without a server, and errors in words. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { FuseResponse } from '../../src/contract/fuse.js';
import { assertAgrees } from '../reference/agreement.js';
import { projectRoot } from '../support/python.js';
import { run, temporaryFolder } from '../support/run.js';
import { fuseVectors } from '../vectors/fuse.js';
import { here, type EndedHere } from '../support/here.js';

const folder = temporaryFolder();
const main = join(projectRoot, 'dist/src/main.js');

function fuse(input: string | Uint8Array, ...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['dist/src/main.js', 'fuse', ...args], {
    cwd: projectRoot,
    env: { ...process.env, STORE_URL: `lmdb:${folder}/store` },
    input,
  });
  return { code: status, text: stdout.toString(), said: stderr.toString() };
}

/** The same where the program is loaded already, of a request in a file. */
function fuseHere(input: string, ...args: readonly string[]): Promise<EndedHere> {
  const file = join(folder, 'asked.json');
  writeFileSync(file, input);
  return here(['fuse', file, ...args], { STORE_URL: `lmdb:${folder}/store` });
}

const docs = [
  { id: 'sku-1', text: 'Leather hiking boots', dense_score: 0.5 },
  { id: 'sku-2', text: `Trail shoes \u001b[31m${'and more '.repeat(20)}`, dense_score: 0.25 },
];

test('a recorded request gets the answer of the oracle', () => {
  const [vector] = fuseVectors();
  assert.ok(vector !== undefined);
  const file = join(folder, 'request.json');
  writeFileSync(file, JSON.stringify(vector.request));
  const { code, text } = fuse('', file, '--json');
  assert.equal(code, 0);
  assertAgrees(vector.request, JSON.parse(text));
});

test('a table has one shortened line for each result, without characters that a terminal would obey', () => {
  const { code, text } = fuse(JSON.stringify({ query: 'shoes', docs, on_missing_dense: 'zero' }), '-');
  assert.equal(code, 0);
  const [head, first, second, last, end] = text.split('\n');
  assert.equal(head, ' rank      fused       bm25      dense  id     text');
  assert.match(
    first ?? '',
    /^ {4}1 +0\.\d{4} +0\.\d{4} +0\.2500 {2}sku-2 {2}Trail shoes \\u001b\[31mand more .*…$/,
  );
  assert.match(second ?? '', /^ {4}2 +0\.5000 +0\.0000 +0\.5000 {2}sku-1 {2}Leather hiking boots$/);
  assert.equal(last, 'Method maxnorm, tokenizer ws, dense scores: caller.');
  assert.equal(end, '');
});

test('missing scores are computed by the included models, ONNX ones too', () => {
  const texts = docs.map(({ id, text }) => ({ id, text }));
  for (const model of ['static-256', 'all-MiniLM-L6-v2']) {
    const { code, text } = fuse(
      JSON.stringify({ query: 'boots', docs: texts, embed_model: model }),
      '-',
      '--json',
    );
    assert.equal(code, 0, model);
    const { dense_source: source, results } = JSON.parse(text) as FuseResponse;
    assert.equal(source, `model:${model}`);
    assert.equal(results[0]?.id, 'sku-1');
  }
});

test('a request may name statistics of the store', async () => {
  const program = (...args: readonly string[]) =>
    spawnSync(process.execPath, ['dist/src/main.js', ...args], {
      cwd: projectRoot,
      env: { ...process.env, STORE_URL: `lmdb:${folder}/store` },
      input: '"leather shoes"\n"trail"\n"trail shoes"\n',
    });
  const request = { query: 'shoes boots', docs, corpus: { name: 'shop' } };
  const none = await fuseHere(JSON.stringify(request));
  assert.deepEqual([none.code, none.text], [1, '']);
  // The server makes the store.
  const server = run(main, ['serve'], { STORE_URL: `lmdb:${folder}/store`, PORT: '0', WORKERS: '1' });
  await server.prints(/listens on http/);
  const absent = await fuseHere(JSON.stringify(request));
  assert.deepEqual([absent.code, absent.text], [1, '']);
  assert.match(absent.said, /^corpus\.name: /m);
  assert.equal(program('corpora', 'put', 'shop', '-').status, 0);
  const { code, text, said } = await fuseHere(JSON.stringify(request), '--json');
  assert.equal(code, 0, said);
  const { corpus, ...answer } = JSON.parse(text) as FuseResponse;
  assert.deepEqual(corpus, { name: 'shop', version: 1, docs: 3 });
  const inline = { docs: 3, average_length: 5 / 3, df: { shoes: 2 } };
  const same = await fuseHere(JSON.stringify({ ...request, corpus: inline }), '--json');
  assert.deepEqual(answer, JSON.parse(same.text));
  const learning = { ...request, corpus: { name: 'new' }, learn: true };
  assert.equal((await fuseHere(JSON.stringify(learning), '--json')).code, 0);
  assert.match(program('corpora', 'list').stdout.toString(), /^shop /m);
  assert.doesNotMatch(program('corpora', 'list').stdout.toString(), /^new /m);
});

test('warnings are printed below the table', async () => {
  const { text } = await fuseHere(JSON.stringify({ query: 'nothing', docs }));
  assert.match(text, /^Warning lexical_leg_empty: /m);
});

test('an error names its place, with exit code 1', async () => {
  const missing = fuse('', join(folder, 'none.json'));
  assert.equal(missing.code, 1);
  assert.match(missing.said, /none\.json cannot be read/);
  const wrong = await fuseHere('{"query":"a","docs":[{"id":"1"}],"k1":-1}');
  assert.deepEqual([wrong.code, wrong.text], [1, '']);
  assert.match(wrong.said, /^docs\.0\.text: Field required$/m);
  assert.match(wrong.said, /^k1: .+$/m);
  const model = await fuseHere(
    JSON.stringify({ query: 'a', docs: [{ id: '1', text: 'a' }], embed_model: 'x' }),
  );
  assert.match(model.said, /^embed_model: .+"x" is not installed/);
  assert.match((await fuseHere('{')).said, /^1: JSON decode error$/m);
});
