/** Files of secrets, where another process or the file system comes in between. */
import assert from 'node:assert/strict';
import fs, { mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemRandomness } from '../../src/system/randomness.js';
import { makeSecretFile, readSecretFile, type SecretFile } from '../../src/system/secretFile.js';
import { temporaryFolder } from '../support/run.js';

/** A file of digits in a folder. */
function digits(folder: string): SecretFile<number> {
  return {
    path: join(folder, 'digits'),
    name: 'The file of digits',
    parse: (text) => (/^[0-9]+$/.test(text) ? { value: Number(text) } : { wrong: 'has letters. Try again.' }),
    draw: (randomness) => String(randomness(4).readUInt32LE()),
  };
}

/** Files that this process has open. */
const openFiles = (): number => readdirSync('/dev/fd').length;

/** Calls `step` while a function of the file system fails with EPERM. */
function withFailing<Result>(name: 'linkSync' | 'writeFileSync', step: () => Result): Result {
  const own = fs[name];
  const fail = (): never => {
    throw Object.assign(new Error('EPERM: no such luck'), { code: 'EPERM' });
  };
  Object.assign(fs, { [name]: fail });
  syncBuiltinESMExports();
  try {
    return step();
  } finally {
    Object.assign(fs, { [name]: own });
    syncBuiltinESMExports();
  }
}

test('a file and its folder are for their owner alone, and no file stays open', () => {
  const folder = join(temporaryFolder(), 'new');
  const before = openFiles();
  const made = makeSecretFile(digits(folder), systemRandomness);
  assert.ok('value' in made && made.value < 2 ** 32);
  assert.deepEqual(readSecretFile(digits(folder)), made);
  assert.equal(openFiles(), before);
  assert.deepEqual([statSync(folder).mode & 0o777, readdirSync(folder)], [0o700, ['digits']]);
});

test('if another process creates the file first, all read that one', () => {
  const folder = temporaryFolder();
  const file = digits(folder);
  const late = {
    ...file,
    draw() {
      writeFileSync(file.path, '7', { mode: 0o600 });
      return '8';
    },
  };
  assert.deepEqual(makeSecretFile(late, systemRandomness), { value: 7 });
  assert.deepEqual(readdirSync(folder), ['digits']);
});

test('a file with the wrong content is refused in the words of its kind', () => {
  const file = digits(temporaryFolder());
  writeFileSync(file.path, 'x', { mode: 0o600 });
  const refused = { refused: `The file of digits ${file.path} has letters. Try again.` };
  assert.deepEqual(readSecretFile(file), refused);
  assert.deepEqual(makeSecretFile(file, systemRandomness), refused);
});

test('a name that is taken by something unreadable is reported', () => {
  const file = digits(temporaryFolder());
  symlinkSync('nowhere', file.path);
  assert.equal(readSecretFile(file), undefined);
  const gone = `The file of digits ${file.path} was there and is gone. Start again.`;
  assert.deepEqual(makeSecretFile(file, systemRandomness), { refused: gone });
});

test('a path through a file, or to a folder, is reported', () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'file'), '');
  const through = readSecretFile(digits(join(folder, 'file')));
  assert.match(JSON.stringify(through), /digits cannot be read or made \(ENOTDIR/);
  mkdirSync(join(folder, 'digits'), { mode: 0o700 });
  const before = openFiles();
  assert.match(JSON.stringify(readSecretFile(digits(folder))), /digits cannot be read or made \(EISDIR/);
  assert.equal(openFiles(), before);
});

for (const name of ['linkSync', 'writeFileSync'] as const) {
  test(`a file system that refuses ${name} gets no file, and keeps no draft`, () => {
    const file = digits(temporaryFolder());
    const made = withFailing(name, () => makeSecretFile(file, systemRandomness));
    assert.match(JSON.stringify(made), /digits cannot be read or made \(EPERM: no such luck\)/);
    assert.deepEqual(readdirSync(join(file.path, '..')), []);
  });
}
