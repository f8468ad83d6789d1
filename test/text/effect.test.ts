/**
 * What normalization is worth to a search: Cranfield with accents and typographic quotes planted, then every
 * fifth word of the documents damaged, then normalized. The collection is not part of the project: it is read
 * from a folder next to it.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { native } from '../../src/native/addon.js';
import { tokenize } from '../reference/fuse.js';
import { projectRoot } from '../support/python.js';

const folder = join(projectRoot, '../shared/data/cranfield');

interface Text {
  readonly id: string;
  readonly text: string;
}

function texts(name: string): Text[] {
  const lines = readFileSync(join(folder, name), 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as Text);
}

/** Relevant documents by query. */
function judgements(): Map<string, Set<string>> {
  const relevant = new Map<string, Set<string>>();
  const rows = readFileSync(join(folder, 'qrels-binary.tsv'), 'utf8').trimEnd().split('\n').slice(1);
  for (const row of rows) {
    const [query = '', doc = '', score] = row.split('\t');
    if (Number(score) > 0) relevant.set(query, (relevant.get(query) ?? new Set()).add(doc));
  }
  return relevant;
}

/** A seeded source of shares: Park and Miller's minimal standard generator. */
function sharesOf(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48271) % 0x7fffffff) / 0x7fffffff;
}

const accents: Readonly<Record<string, string>> = { a: 'à', e: 'é', i: 'í', o: 'ö', u: 'ü', c: 'ç', n: 'ñ' };

/** Gives a third of the words an accent, always the same, and some of them typographic quotes. */
function planted(text: string): string {
  return text.replaceAll(/[a-z]{4,}/g, (word) => {
    const sum = Array.from(word).reduce((total, c) => (total * 31 + c.charCodeAt(0)) % 9973, 7);
    if (sum % 3 !== 0) return sum % 41 === 1 ? `“${word}”` : word;
    return word.replace(/(?<=.)[aeioucn]/, (c) => accents[c] ?? c);
  });
}

const lookAlikes: Readonly<Record<string, string>> = {
  a: 'а',
  c: 'с',
  e: 'е',
  o: 'о',
  p: 'р',
  x: 'х',
  y: 'у',
};

/** The ways in which a word is damaged; one that does not fit leaves the word. */
const damages: readonly ((word: string) => string)[] = [
  (word) => Buffer.from(word, 'utf8').toString('latin1'),
  (word) => `${word.slice(0, 2)}\u200b${word.slice(2)}`,
  (word) => word.replace(/(?<=[a-z])[aceopxy](?=[a-z])/, (c) => lookAlikes[c] ?? c),
  (word) => word.replaceAll(/[a-z]/g, (c) => String.fromCharCode(c.charCodeAt(0) + 0xfee0)),
];

/** Damages a fifth of the words. */
function damaged(text: string, share: () => number): string {
  return text.replaceAll(/[\p{L}\p{M}]{3,}/gu, (word) => {
    if (share() >= 0.2) return word;
    const first = Math.floor(share() * damages.length);
    const tried = damages.map((_, turn) => damages[(first + turn) % damages.length]?.(word) ?? word);
    return tried.find((each) => each !== word) ?? word;
  });
}

const normalizer = new native.TextNormalizer('repair', true, []);

async function normalized(all: readonly Text[]): Promise<Text[]> {
  const piece = await normalizer.normalize(Buffer.from(all.map(({ text }) => text).join('\n')), 2);
  const lines = piece.text.toString().split('\n');
  assert.equal(lines.length, all.length);
  return all.map(({ id }, at) => ({ id, text: lines[at] ?? '' }));
}

/** Mean nDCG@10 of BM25 over the whole collection (k1 1.5, b 0.75). */
function ndcg(
  docs: readonly Text[],
  queries: readonly Text[],
  relevant: ReadonlyMap<string, Set<string>>,
): number {
  const postings = new Map<string, Map<number, number>>();
  const lengths = docs.map(({ text }, place) => {
    const tokens = tokenize(text, 'ws');
    for (const token of tokens) {
      const counts = postings.get(token) ?? new Map<number, number>();
      postings.set(token, counts.set(place, (counts.get(place) ?? 0) + 1));
    }
    return tokens.length;
  });
  const average = lengths.reduce((sum, length) => sum + length, 0) / docs.length;
  const gains = queries.map(({ id, text }) => {
    const scores = new Map<number, number>();
    for (const token of tokenize(text, 'ws')) {
      const counts = postings.get(token) ?? new Map<number, number>();
      const weight = Math.log(1 + (docs.length - counts.size + 0.5) / (counts.size + 0.5));
      for (const [place, count] of counts) {
        const norm = 1.5 * (0.25 + (0.75 * (lengths[place] ?? 0)) / average);
        scores.set(place, (scores.get(place) ?? 0) + (weight * count) / (count + norm));
      }
    }
    const best = [...scores].sort((left, right) => right[1] - left[1] || left[0] - right[0]).slice(0, 10);
    const wanted = relevant.get(id) ?? new Set<string>();
    const discount = (rank: number): number => 1 / Math.log2(rank + 2);
    const gain = best.map(([place], rank) => (wanted.has(docs[place]?.id ?? '') ? discount(rank) : 0));
    const ideal = Array.from({ length: Math.min(10, wanted.size) }, (_, rank) => discount(rank));
    const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
    return wanted.size === 0 ? 0 : sum(gain) / sum(ideal);
  });
  return gains.reduce((sum, gain) => sum + gain, 0) / gains.length;
}

const skip = existsSync(folder) ? false : 'no ../shared/data/cranfield beside the project';

test('clean text is not changed', { skip }, async () => {
  const docs = texts('docs.jsonl');
  assert.deepEqual(await normalized(docs), docs);
});

test('normalization gives back what damage took from a search', { skip }, async (context) => {
  const relevant = judgements();
  const plant = (all: readonly Text[]) => all.map(({ id, text }) => ({ id, text: planted(text) }));
  const [docs, queries] = [plant(texts('docs.jsonl')), plant(texts('queries.jsonl'))];
  const share = sharesOf(20260101);
  const broken = docs.map(({ id, text }) => ({ id, text: damaged(text, share) }));
  const words = (all: readonly Text[]) => all.map(({ text }) => tokenize(text, 'ws').join(' '));
  const [before, after] = [words(docs), words(await normalized(docs))];
  assert.deepEqual(after, before, 'what is not damaged keeps its words');
  const repaired = await normalized(broken);
  const figures = [docs, broken, repaired].map((all) => ndcg(all, queries, relevant));
  const [clean = 0, lost = 0, restored = 0] = figures;
  const given = (restored - lost) / (clean - lost);
  context.diagnostic(
    `nDCG@10 ${figures.map((each) => each.toFixed(4)).join(', ')}: ${(100 * given).toFixed(1)} %`,
  );
  assert.ok(clean - lost > 0.02, `the damage takes ${clean - lost}`);
  assert.ok(given >= 0.95, `${given} of the loss is given back`);
});
