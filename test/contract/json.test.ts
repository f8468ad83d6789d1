/** The strict-JSON check: the native one against the oracle, and both against JSONTestSuite (RFC 8259). */
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { native } from '../../src/native/addon.js';
import { checkJson } from '../reference/json.js';

interface SuiteCase {
  name: string;
  dir: string;
  expect: 'y' | 'n' | 'i' | null;
  b64: string;
}

const suiteFile = '../shared/data/json-test-suite/cases.jsonl.gz';

/** JSONTestSuite leaves these to the parser; here they pass, every other one is refused. */
const acceptedByChoice = [
  'i_number_double_huge_neg_exp.json',
  'i_number_real_underflow.json',
  'i_number_too_big_neg_int.json',
  'i_number_too_big_pos_int.json',
  'i_number_very_big_negative_int.json',
];

const checks = { oracle: checkJson, native: (bytes: Uint8Array) => native.checkJson(bytes) };

function suite(): SuiteCase[] {
  const lines = gunzipSync(readFileSync(suiteFile)).toString('utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as SuiteCase);
}

const skip = existsSync(suiteFile) ? false : `${suiteFile} is not here`;

for (const [name, check] of Object.entries(checks)) {
  test(`${name}: JSONTestSuite is accepted and refused as its names say`, { skip }, () => {
    for (const { name: file, expect, b64 } of suite()) {
      const accepted = check(Buffer.from(b64, 'base64')) === null;
      if (expect === 'y') assert.ok(accepted, file);
      if (expect === 'n') assert.ok(!accepted, file);
      if (expect === 'i') assert.equal(accepted, acceptedByChoice.includes(file), file);
    }
  });

  test(`${name}: what it accepts, JSON.parse accepts`, { skip }, () => {
    for (const { name: file, b64 } of suite()) {
      const bytes = Buffer.from(b64, 'base64');
      if (check(bytes) === null) assert.doesNotThrow(() => void JSON.parse(bytes.toString('utf8')), file);
    }
  });
}

test(
  'the native check and the oracle give the same reason at the same byte on JSONTestSuite',
  { skip },
  () => {
    for (const { name, b64 } of suite()) {
      const bytes = Buffer.from(b64, 'base64');
      assert.deepEqual(native.checkJson(bytes), checkJson(bytes), name);
    }
  },
);

const fragments = fc.constantFrom(
  ...['{', '}', '[', ']', ',', ':', '"', '\\', '\\u', 'd83d', '\\ud83d\\ude00', '\\ud83d', '\\udc00', '\\n'],
  ...['true', 'false', 'null', 'nul', 'NaN', 'Infinity', '-Infinity', '-', '0', '1', '.', 'e', 'E+', '1e999'],
  ...[
    ' ',
    '\t',
    '\n',
    '\u0000',
    '\u001f',
    '\u007f',
    'a',
    'é',
    '漢',
    '😀',
    '\ufeff',
    '"a":',
    '[[[[',
    '{"a":{',
  ],
);

const rawBytes = fc.constantFrom<number[]>(
  ...[[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xed, 0xb0], [0xe0, 0x80, 0x80], [0xf4, 0x90, 0x80, 0x80]],
  ...[[0x80], [0xf0, 0x9f], [0xef, 0xbb, 0xbf], [0xe2, 0x82]],
);

const soup = fc
  .array(fc.oneof({ weight: 12, arbitrary: fragments }, { weight: 1, arbitrary: rawBytes }), {
    maxLength: 40,
  })
  .map((parts) => Buffer.concat(parts.map((part) => Buffer.from(part as string))));

const damaged = fc
  .tuple(fc.json(), fc.nat(), fc.oneof(fragments, rawBytes), fc.nat(3))
  .map(([text, seed, part, cut]) => {
    const bytes = Buffer.from(text);
    const at = seed % (bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, at), Buffer.from(part as string), bytes.subarray(at + cut)]);
  });

test('the native check and the oracle agree on damaged JSON', () => {
  fc.assert(
    fc.property(fc.oneof(soup, damaged), (bytes) => {
      assert.deepEqual(native.checkJson(bytes), checkJson(bytes));
    }),
    { numRuns: 20000, seed: 20261121 },
  );
});

test('nesting: 128 brackets pass, the 129th is refused where it stands', () => {
  const nested = (depth: number) => Buffer.from('['.repeat(depth) + ']'.repeat(depth));
  for (const check of Object.values(checks)) {
    assert.equal(check(nested(128)), null);
    const refused = { offset: 128, line: 1, column: 129, reason: 'nesting over 128' };
    assert.deepEqual(check(nested(129)), refused);
    assert.deepEqual(check(Buffer.from('['.repeat(1_000_000))), refused);
  }
});
