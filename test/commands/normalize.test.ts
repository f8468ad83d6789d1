/** `fusegate normalize` as a program: a pipe in, a pipe out, and its error messages. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../support/run.js';
import { projectRoot } from '../support/python.js';
import { normalizeVectors } from '../vectors/normalize.js';

const folder = temporaryFolder();

function normalize(input: string | Uint8Array, ...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['dist/src/main.js', 'normalize', ...args], {
    cwd: projectRoot,
    input,
    maxBuffer: 64 << 20,
  });
  return { code: status, text: stdout.toString(), said: stderr.toString() };
}

test('the vectors, a line each', () => {
  const vectors = normalizeVectors().filter(({ request }) => {
    const { text, mode, contextual, chinese_glosses: glosses } = request;
    return mode === 'repair' && contextual === undefined && glosses === undefined && !/[\n\r]/.test(text);
  });
  assert.ok(vectors.length > 40);
  const { code, text } = normalize(
    vectors.map(({ request }) => `${request.text}\n`).join(''),
    '--mode',
    'repair',
  );
  assert.deepEqual([code, text.split('\n')], [0, [...vectors.map(({ normalized }) => normalized), '']]);
});

test('glosses of a file, letters each by itself, and counts', () => {
  const glosses = join(folder, 'glosses.json');
  writeFileSync(glosses, '{"北京":"Beijing"}');
  const args = ['--mode', 'replace', '--glosses', glosses, '--no-contextual', '--stats'];
  const { code, text, said } = normalize('北京 сор 👍', ...args);
  assert.deepEqual([code, text], [0, 'Beijing cop thumbs up']);
  assert.deepEqual(JSON.parse(said), { bytes: 18, changes: { emoji: 1, gloss: 1, confusable: 1 } });
});

test('more than one piece', () => {
  const line = `${'“x” '.repeat(10)}Ж\n`;
  const { code, text } = normalize(line.repeat(200_000));
  assert.equal(code, 0);
  assert.equal(text, `${'"x" '.repeat(10)}Ж\n`.repeat(200_000));
});

test('what is wrong is said in a sentence, with exit code 1', () => {
  const missing = normalize('', '--glosses', join(folder, 'none.json'));
  assert.deepEqual([missing.code, missing.text], [1, '']);
  assert.match(missing.said, /none\.json cannot be read/);
  const list = join(folder, 'list.json');
  writeFileSync(list, '[]');
  assert.match(normalize('', '--glosses', list).said, /must hold a JSON object of strings/);
  const csv = join(folder, 'bad.csv');
  writeFileSync(csv, 'surface,gloss\nСбер,Sber\n');
  assert.match(normalize('', '--glosses', csv).said, /^\S+bad\.csv is not JSON\. .+\n$/);
  const broken = normalize(Buffer.from([0x61, 0x0a, 0xc3]));
  assert.deepEqual(
    [broken.code, broken.said],
    [1, 'The input is not UTF-8 at byte 2; lines before it were written.\n'],
  );
  const lines = normalize(Buffer.concat([Buffer.from('good line\n'.repeat(100_000)), Buffer.of(0xff)]));
  assert.match(lines.said, /^The input is not UTF-8 at byte 1000000; /);
  assert.equal(lines.text, 'good line\n'.repeat(100_000));
  if (process.platform === 'linux') {
    // It can be opened, but its first byte cannot be read.
    const memory = normalize('', '/proc/self/mem');
    assert.deepEqual([memory.code, memory.text], [1, '']);
    assert.match(memory.said, /^\/proc\/self\/mem cannot be read \(EIO.+\)\.\n$/);
  }
  assert.notEqual(normalize('', '--mode', 'translate').code, 0);
});
