/** The oracle's table against Unicode's files and JavaScript's own functions; what the oracle imports. */
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { foldText, isWordCharacter, tableFile, type UnicodeTable, version } from './unicode.js';
import { databaseTable } from './unicodeDatabase.js';

const made = databaseTable();

test(
  'the table is that of Unicode’s files',
  { skip: made === undefined && 'the database does not lie beside the project' },
  () => {
    assert.deepEqual(JSON.parse(readFileSync(tableFile, 'utf8')) as UnicodeTable, made);
  },
);

const { unicode = 'none' } = process.versions;
const other = version.startsWith(unicode) ? false : `this Node has Unicode ${unicode}`;

/** Every character but surrogates. */
function* characters(): Generator<string> {
  for (let code = 0; code < 0x11_0000; code++) {
    if (code < 0xd800 || code > 0xdfff) yield String.fromCodePoint(code);
  }
}

test('letters, numbers and marks are those of regular expressions', { skip: other }, () => {
  for (const character of characters()) {
    assert.equal(isWordCharacter(character), /^[\p{L}\p{N}\p{M}]$/u.test(character), character);
  }
});

/** Folding by JavaScript's conversions, but for three rules of CaseFolding.txt's: Cherokee folds up. */
function foldByConversion(character: string): string {
  if (character === 'ı') return character;
  if (character === 'ẞ') return 'ss';
  if (/\p{Script=Cherokee}/u.test(character)) return character.toUpperCase();
  return Array.from(character.toUpperCase(), (upper) => upper.toLowerCase()).join('');
}

test('folds are those of JavaScript’s conversions of case', { skip: other }, () => {
  for (const character of characters()) {
    assert.equal(foldText(character), foldByConversion(character), character);
  }
});

test('the oracle imports nothing of the service', () => {
  const folder = new URL('../../../test/reference/', import.meta.url);
  const parts = [
    'fuse',
    'analyzer',
    'unicode',
    'logarithm',
    'json',
    'bm25',
    'legs',
    'exponential',
    'results',
    'unknown',
  ];
  const oracle = parts.map((name) => `${name}.ts`);
  const files = readdirSync(folder);
  for (const file of oracle) {
    assert.ok(files.includes(file), file);
    const text = readFileSync(new URL(file, folder), 'utf8');
    const imports = [...text.matchAll(/from '(\.[^']+)'/g)].map(([, name = '']) => name);
    assert.deepEqual(
      imports.filter((name) => !oracle.includes(name.replace(/^\.\//, '').replace(/\.js$/, '.ts'))),
      [],
      file,
    );
  }
});
