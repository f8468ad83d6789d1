/** The prose that people read (README, docs, help, answers, pages): short sentences, no riddles. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

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
    const long = pages.flatMap((path) => {
      const sentences = sentencesOf(readFileSync(join(root, path), 'utf8'));
      return sentences.flatMap((sentence) => {
        const first = sentence.split(' ').slice(0, 7).join(' ');
        return wordsIn(sentence) > mostWords && !longSentences.has(first) ? [`${path}: ${sentence}`] : [];
      });
    });
    assert.deepEqual(long, []);
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
