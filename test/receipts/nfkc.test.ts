/** The verification's own NFKC and comparable form: UAX #15's test file, the runtime, the native module. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { comparable } from '../../src/receipts/comparable.js';
import { nfkc } from '../../src/receipts/nfkc.js';
import { unicodeVersion } from '../../src/receipts/unicodeTables.js';
import { verify } from '../../src/receipts/verify.js';
import { native } from '../../src/native/addon.js';

const file = `../shared/data/unicode/${unicodeVersion.replace(/\.0$/, '')}/NormalizationTest.txt.gz`;
const absent = existsSync(file) ? false : `${file} is not there`;

/** Why the runtime is not compared with: a newer version of Unicode has characters that the tables lack. */
const newer =
  Number(process.versions.unicode) > Number.parseFloat(unicodeVersion)
    ? `this Node has Unicode ${process.versions.unicode}`
    : false;

/** True if the runtime's version of Unicode has a character: no later one changes how it is normalized. */
function isKnown(character: string): boolean {
  return !/\p{Cn}/u.test(character);
}

function textOf(codes: string): string {
  return String.fromCodePoint(...codes.split(' ').map((digits) => Number.parseInt(digits, 16)));
}

test('every line of NormalizationTest.txt', { skip: absent }, () => {
  const lines = gunzipSync(readFileSync(file))
    .toString()
    .split('\n')
    .filter((line) => /^[0-9A-F]/.test(line));
  assert.ok(lines.length > 19_000);
  for (const line of lines) {
    const columns = line.split(';').slice(0, 5).map(textOf);
    for (const column of columns) assert.equal(nfkc(column), columns[3], line);
  }
});

test('every character is normalized as the runtime does it', { skip: newer }, () => {
  for (let code = 0; code < 0x11_0000; code += 1) {
    if (code >= 0xd800 && code < 0xe000) continue;
    const character = String.fromCodePoint(code);
    if (isKnown(character)) assert.equal(nfkc(character), character.normalize('NFKC'), code.toString(16));
  }
});

test('Hangul letters compose as in the runtime, the same in every version of Unicode', () => {
  const between = (first: number, last: number): string[] =>
    Array.from({ length: last - first + 1 }, (_, at) => String.fromCodePoint(first + at));
  const [leading, vowels] = [between(0x10fe, 0x1116), between(0x115f, 0x1179)];
  const [trailing, open] = [
    between(0x11a5, 0x11c5),
    ['\uabff', '가', '각', '개', '하', '히', '힣', '\ud7a4'],
  ];
  const same = (text: string): void => {
    // Behind a mark, nothing of a text is left out as one that cannot change.
    for (const all of [text, `x\u0323${text}`]) assert.equal(nfkc(all), all.normalize('NFKC'));
  };
  for (const first of leading) for (const second of vowels) same(`${first}${second}`);
  for (const first of open) for (const second of trailing) same(`${first}${second}`);
  for (const syllable of between(0xabff, 0xd7a4)) same(syllable.normalize('NFD'));
});

test('a text of any length is normalized, with any number of marks', () => {
  const long = 'ﬁ'.repeat(10_000);
  assert.equal(nfkc(long), 'fi'.repeat(10_000));
  const marked = `a${'\u0301\u0323'.repeat(5_000)}`;
  assert.equal(nfkc(marked), marked.normalize('NFKC'));
});

test('marks in the worst order cost little more than in the best', () => {
  const half = 20_000;
  const [above, below] = ['\u0301'.repeat(half), '\u0316'.repeat(half)];
  const ordered = `b${below}${above}`;
  const leastMs = (text: string): number => {
    const times = Array.from({ length: 5 }, () => {
      const begunMs = performance.now();
      assert.equal(nfkc(text), ordered);
      return performance.now() - begunMs;
    });
    return Math.min(...times);
  };
  const [best, worst] = [leastMs(ordered), leastMs(`b${above}${below}`)];
  assert.ok(worst < 40 * best, `${worst} ms, and ${best} ms in order`);
});

/** Texts in which characters that act on one another come often. */
const texts = fc
  .array(
    fc.oneof(
      fc.constantFrom('a', 'A', ' ', '\u0301', '\u0323', '\u0345', '\u1100', '\u1161', '\u11a8', '가', 'ﬁ'),
      fc.constantFrom(
        '\u09c7',
        '\u09be',
        '\u0f71',
        '\u0f72',
        '\u0344',
        'ẛ',
        'ᾳ',
        'ß',
        'Σ',
        '\u200b',
        '\u3000',
      ),
      fc
        .integer({ min: 0, max: 0x10_ffff })
        .filter((code) => code < 0xd800 || code > 0xdfff)
        .map((code) => String.fromCodePoint(code)),
      fc.integer({ min: 0xa0, max: 0x3400 }).map((code) => String.fromCodePoint(code)),
    ),
    { maxLength: 30 },
  )
  .map((parts) => parts.join(''));

test('texts are normalized as the runtime does it', { skip: newer }, () => {
  const known = texts.map((text) => Array.from(text).filter(isKnown).join(''));
  fc.assert(
    fc.property(known, (text) => assert.equal(nfkc(text), text.normalize('NFKC'))),
    { numRuns: 5_000, seed: 20261121 },
  );
});

test('texts have the same comparable form as in the native module', () => {
  fc.assert(
    fc.property(texts, (text) => {
      const receipt = 'fr_01M7YQ1WE038NKRKAYDXR834J3';
      const sealed = native.sealFragment(text, text, '', '', '', '', receipt, '');
      const { title, content, ...rest } = JSON.parse(sealed.canonical) as Record<
        'title' | 'content' | 'mechanism' | 'test' | 'kind' | 'visitor',
        string
      >;
      const { verified } = verify({
        receipt,
        fragment: { title, content, ...rest },
        envelope: JSON.parse(sealed.envelope) as Record<string, string>,
        seal: sealed.seal,
      });
      assert.ok(verified, JSON.stringify(text));
    }),
    { numRuns: 5_000, seed: 20261121 },
  );
});

test('the comparable form drops invisible characters and insignificant differences', () => {
  assert.equal(comparable(' \t Straße\u200b \u200d\u00a0ﬁ\u3000'), 'strasse fi');
  assert.equal(comparable('\u00ad'), '');
  assert.equal(comparable('ＡΣ'), 'aσ');
});
