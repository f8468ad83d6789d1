/** The prose that people read (README, docs, help, answers, pages): short sentences, no riddles. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { commandsUnder } from '../src/commands/guide.js';
import { buildProgram } from '../src/commands/program.js';
import { commands } from '../src/compose/commands.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Words that had to be read twice. What stands behind one says it in the words of the field. */
const banned: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\bkeeps? what it keeps\b/, 'name what is stored'],
  [/\bcosts once\b/, 'is computed only once'],
  [/\btells every change\b|\bchange told by\b/, 'lists every change'],
  [/\bplain words do not find today\b/, 'a search with plain words misses'],
  [/\bverything a field can be\b/, 'every field with its type and limits'],
  [/\bdraws what was left\b|\bwhat was left \(/, 'shows all fragments'],
  [/, times the echo/, 'as a multiple of'],
  [/\bhas a change after\b/, 'restart the server after a change'],
  [/\bwhich get which\b|\bget which name none\b/, 'the default'],
  [/\bis not looked at\b/, 'is ignored'],
  [/\bwaits for nobody\b/, 'without a queue'],
  [/\bstops no other\b|\bhides none\b/, 'does not affect the others'],
  [/\bwhich are near which\b/, 'near ones are joined'],
  [/\bhas \d+ % on it\b/, 'costs 10 % more'],
  [/\bWhoever lost\b/, 'if you lost it'],
  [/\bwithout what opens\b/, 'not shown'],
];

/** Longest sentence, in words; a code or a link counts as one. */
const mostWords = 35;

/** Sentences that may be longer, by their first words, each with its reason. */
const longSentences: ReadonlySet<string> = new Set([
  // Figures, each with what it is compared with: apart they would be read as others.
  'Text is normalized at 5.3 GB/s where',
  // A list of languages.
  'code, or a language for its stemmer',
]);

function filesUnder(folder: string, ending: RegExp): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return filesUnder(path, ending);
    return ending.test(path) ? [path] : [];
  });
}

const pages = ['README.md', ...filesUnder('docs', /\.md$/)];

/** A page's paragraphs, items and cells as plain sentences, blocks of code left out. */
function sentencesOf(page: string): string[] {
  const prose = page.replaceAll(/^```.*?^```/gms, '');
  const blocks = prose.split(/\n\s*\n|\n(?=(?:[-#>|]|\d+\.)\s?)/);
  const cells = blocks.flatMap((block) => (block.trimStart().startsWith('|') ? block.split('|') : [block]));
  return cells.flatMap((cell) => {
    const plain = cell
      .replace(/^\s*(?:[-#>]+|\d+\.)\s/, '')
      .replaceAll(/\s+/g, ' ')
      .replaceAll(/`[^`]*`/g, 'code')
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');
    return plain.split(/(?<=[.!?:;])\s+/);
  });
}

/** The descriptions and summaries of an OpenAPI document, which the reference shows. */
function descriptionsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inside]: [string, unknown]) => {
    if (name === 'example' || name === 'examples') return [];
    const isProse = (name === 'description' || name === 'summary') && typeof inside === 'string';
    return isProse ? [inside] : descriptionsIn(inside);
  });
}

const bound = await commands();

/** What `fusegate help` says of each command and its options. */
function helpTexts(): string[] {
  const made = buildProgram(bound);
  const all = [made, ...made.commands, ...commandsUnder(made).map(({ command }) => command)];
  return all.flatMap((command) => [
    command.description(),
    ...command.options.map(({ description }) => description),
    ...command.registeredArguments.map(({ description }) => description),
  ]);
}

/** Tags between which sentences end. */
const blockTags = /<\/?(?:p|h\d|li|ul|ol|label|section|div|button|td|th|tr|article|nav)\b[^>]*>/g;

/** Texts of pages, answers and log lines in a source file: strings with a space, joined as the code does. */
function textsIn(code: string): string[] {
  const joined = code.replaceAll(/^\s*(?:\/\/|\*|\/\*\*).*$/gm, '').replaceAll(/(['`])\s*\+\s*(['`])/g, '');
  return Array.from(joined.matchAll(/(['`])((?:\\[^]|(?!\1)[^\\])*)\1/g), ([, , text = '']) =>
    text
      .replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, 'value')
      .replaceAll(blockTags, '. ')
      .replaceAll(/<[^>]*>/g, ''),
  ).filter((text) => text.includes(' '));
}

/** Sentences over the limit, each with where it stands. */
function tooLong(place: string, text: string): string[] {
  return sentencesOf(text).flatMap((sentence) => {
    const first = sentence.split(' ').slice(0, 7).join(' ');
    return wordsIn(sentence) > mostWords && !longSentences.has(first) ? [`${place}: ${sentence}`] : [];
  });
}

const wordsIn = (sentence: string): number => sentence.split(' ').filter((word) => word !== '').length;

describe('prose', () => {
  test('has no words that must be read twice', () => {
    const shown = [...pages, ...filesUnder('src', /\.(ts|js)$/), ...filesUnder('test/scripts', /\.script$/)];
    const found = shown.flatMap((path) => {
      const text = readFileSync(join(root, path), 'utf8').replaceAll(/\s*\n[\s*/]*/g, ' ');
      return banned.flatMap(([pattern, instead]) => (pattern.test(text) ? [`${path}: ${instead}`] : []));
    });
    assert.deepEqual(found, []);
  });

  test('has sentences of at most 35 words', () => {
    const long = pages.flatMap((path) => tooLong(path, readFileSync(join(root, path), 'utf8')));
    assert.deepEqual(long, []);
  });

  test('of the reference and of the help has sentences of at most 35 words', () => {
    const documents = ['docs/openapi.json', 'docs/door-openapi.json'].flatMap((path) => {
      const texts = descriptionsIn(JSON.parse(readFileSync(join(root, path), 'utf8')));
      assert.ok(texts.length > 100, path);
      return texts.flatMap((text) => tooLong(path, text));
    });
    const help = helpTexts();
    assert.ok(help.length > 100);
    assert.deepEqual([...new Set(documents), ...help.flatMap((text) => tooLong('help', text))], []);
  });

  test('of pages, answers and log lines has sentences of at most 35 words', () => {
    const files = filesUnder('src', /(?<!unicodeTables)\.(ts|js)$/);
    const texts = files.flatMap((path) =>
      textsIn(readFileSync(join(root, path), 'utf8')).map((text) => [path, text] as const),
    );
    assert.ok(texts.length > 2_000, String(texts.length));
    for (const part of ['fewer connections than set', 'does not answer right now', 'Use something else when'])
      assert.ok(
        texts.some(([, text]) => text.includes(part)),
        part,
      );
    assert.deepEqual(
      texts.flatMap(([path, text]) => tooLong(path, text)),
      [],
    );
    const long = `'${'word '.repeat(20)}' +\n  '${'word '.repeat(20)}'`;
    assert.equal(textsIn(long).flatMap((text) => tooLong('x', text)).length, 1);
  });

  test('is measured as it is read', () => {
    const page =
      'One two `a b c` [three four](x).\nFive!\n\n```\ncode code\n```\n- six\n| seven | eight nine |\n';
    assert.deepEqual(
      sentencesOf(page)
        .map(wordsIn)
        .filter((count) => count > 0),
      [5, 1, 1, 1, 2],
    );
  });
});
