/** Settings and thresholds chosen by judgements: the values of the grid are those of POST /v1/fuse. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { native } from '../../src/native/addon.js';
import type { PendingFuse } from '../../src/native/index.js';
import { calibrated, type JudgedScores } from '../../src/search/calibrate.js';
import { ask, candidatesOf, sampleOf, statisticsOf } from '../../src/search/evaluate.js';
import { measured } from '../../src/search/measures.js';
import { chosen, curvesOf, gridOf, membersOf, tryGrid, usualSetting } from '../../src/search/tune.js';
import { tokenize } from '../reference/fuse.js';
import { embedderMode, slowEmbedder, staticMode } from '../support/embedding.js';

const words = ['keystone', 'arches', 'arch', 'radio', 'radios', 'stars', 'yeast', 'bread', 'the', 'holding'];

/** Texts and queries of a few words, by a fixed rule. */
const docs = Array.from({ length: 40 }, (_, at) => ({
  id: `d${at}`,
  text: Array.from({ length: 3 + (at % 9) }, (__, place) => words[(at * 7 + place * place) % 10]).join(' '),
}));
const queries = Array.from({ length: 12 }, (_, at) => ({
  text: `${words[at % 10] ?? ''} ${words[(at * 3 + 1) % 10] ?? ''}`,
  judged: new Map([
    [(at * 5) % 40, 2],
    [(at * 11 + 3) % 40, 1],
  ]),
}));

const { fuser } = staticMode();
const ranking = {
  fuser,
  FuseOutcome: native.FuseOutcome,
  model: 'static-256',
  tokenizer: 'ws',
  analyzer: 'plain',
  candidates: 15,
  bring: () => Promise.reject(new Error('the static model needs none')),
} as const;

test('a request that waits for vectors is answered in full, however long that takes', async () => {
  const mode = embedderMode(slowEmbedder, 'slow');
  const { signal } = new AbortController();
  const bring = async (pending: PendingFuse): Promise<void> => {
    assert.equal(await mode.bring(pending, signal), undefined);
  };
  const many = Array.from({ length: 800 }, (_, at) => `w${at.toString(36)}`).join(' ');
  for (const count of [4, 15]) {
    const long = Array.from({ length: count }, (_, at) => ({ id: `${at}`, text: `${many} ${at}` }));
    const asked = { query: many, docs: long, embed_model: 'slow', explain: true, analyzer: {} };
    const { results } = await ask({ ...ranking, fuser: mode.fuser, bring }, asked);
    assert.deepEqual(new Set(results.map(({ explain }) => explain?.terms?.length)), new Set([800]));
  }
  const german = Array.from({ length: 40 }, (_, at) => ({
    ...{ id: `${at}`, text: `${'Straßen und Häuser '.repeat(150)} ${at}` },
  }));
  for (const analyzer of ['plain', 'english', 'german']) {
    const asked = { query: 'Haus 7', docs: german, embed_model: 'slow', analyzer, top_k: 40 };
    const { results } = await ask({ ...ranking, fuser: mode.fuser, bring }, asked);
    assert.equal(results.length, german.length, analyzer);
  }
});

test('each setting of the grid gets the value of the answer to a request with it', async () => {
  const analyzers = ['plain', 'english'];
  const values = await tryGrid(ranking, queries, docs, analyzers, () => undefined);
  const grid = gridOf(analyzers);
  assert.equal(grid.length, 2 * 4 * 3 * 55);
  assert.ok(values.every((row) => row.length === grid.length));
  for (const [at, { text, judged }] of queries.entries()) {
    const { places, dense } = await candidatesOf(ranking, text, docs);
    const listed = places.map((place, index) => ({
      ...{ id: String(place), text: docs[place]?.text ?? '' },
      dense_score: dense[index] ?? 0,
    }));
    for (let setting = at; setting < grid.length; setting += 31) {
      const chosenOne = grid[setting] ?? usualSetting;
      const { results } = await ask(ranking, { query: text, docs: listed, ...membersOf(chosenOne) });
      const order = results.map(({ id }) => Number(id));
      assert.equal(values[at]?.[setting], measured(order, judged).ndcg_at_10, JSON.stringify(chosenOne));
    }
  }
});

test('the members of a setting are those that differ from the usual one', () => {
  assert.deepEqual(membersOf(usualSetting), {});
  const weights = { bm25: 0.3, dense: 0.7 };
  assert.deepEqual(membersOf({ ...usualSetting, weights, k1: 0.9, b: 0.4, analyzer: 'english' }), {
    ...{ weights, k1: 0.9, b: 0.4 },
    analyzer: 'english',
  });
  assert.deepEqual(membersOf({ ...usualSetting, method: 'rrf', rrf_k: 10 }), { method: 'rrf', rrf_k: 10 });
  const legs = { bm25: { weight: 0.3, normalize: 'zscore' }, dense: { weight: 0.7, normalize: 'zscore' } };
  assert.deepEqual(membersOf({ ...usualSetting, weights, normalize: 'zscore' }), { legs });
});

test('a curve for each way of fusing has the means of its settings', () => {
  const grid = gridOf(['plain', 'english']);
  const best = grid.findIndex(
    ({ analyzer, k1, normalize }) => [analyzer, k1, normalize].join() === 'english,0.9,zscore',
  );
  const values = [0, 1].map((query) =>
    grid.map((_, at) => (at === best ? 0.9 : (at % 11) / 20) + query / 50),
  );
  const found = curvesOf(grid, values);
  assert.deepEqual(found.best, grid[best]);
  assert.deepEqual(
    found.curves.map(({ name, points }) => [name, points.length]),
    ['max', 'minmax', 'zscore', 'rrf 10', 'rrf 60'].map((name) => [name, 11]),
  );
  assert.ok(
    Math.abs(Math.max(...found.curves.flatMap(({ points }) => points.map(({ mean }) => mean))) - 0.91) <
      1e-12,
  );
});

test('a setting is chosen where it gains on queries that it was not chosen by', () => {
  const grid = gridOf(['plain']);
  const usual = grid.findIndex(
    (each) => JSON.stringify(each) === JSON.stringify({ ...each, ...usualSetting }),
  );
  const better = (usual + 5) % grid.length;
  const values = Array.from({ length: 40 }, (_, at) =>
    grid.map((__, setting) => (setting === better ? 0.6 : 0.5) + (at % 7) / 100),
  );
  const found = chosen(grid, values);
  assert.ok(found.gains);
  assert.deepEqual(found.setting, grid[better]);
  assert.ok(Math.abs(found.gain.mean - 0.1) < 1e-12);
});

test('there is no gain where each query is best with another setting', () => {
  const grid = gridOf(['plain']);
  const values = Array.from({ length: 40 }, (_, at) => grid.map((__, setting) => (setting === at ? 1 : 0.5)));
  const found = chosen(grid, values);
  assert.ok(!found.gains);
  assert.deepEqual(found.setting, usualSetting);
  assert.ok(found.tuned.mean <= found.usual.mean + 0.05);
});

test('a threshold keeps nearly all that is relevant, and says when it does not separate', () => {
  const query = (relevant: number[], others: number[]): JudgedScores => ({ relevant, others });
  const apart = Array.from({ length: 20 }, () => query([0.8, 0.9], [0.1, 0.2, 0.3]));
  const found = calibrated(apart);
  assert.deepEqual(found, {
    threshold: 0.8,
    chosen: { kept: 1, cut: 1 },
    unseen: { kept: 1, cut: 1 },
    separates: true,
  });
  const mixed = Array.from({ length: 20 }, (_, at) => query([at / 20], [0.1, 0.5, 0.9]));
  const blurred = calibrated(mixed);
  assert.ok(blurred !== undefined && !blurred.separates && blurred.chosen.kept >= 0.95);
  assert.equal(calibrated(mixed.map(({ others }) => query([], [...others]))), undefined);
});

test('a sample is the docs with the smallest digests, its statistics those of its words', async () => {
  const sample = sampleOf(docs, 10, 'ws');
  assert.equal(sample.texts.length, 10);
  assert.deepEqual(sampleOf([...docs, ...docs].reverse(), 10, 'ws'), sample);
  const tokens = sample.texts.map((text) => tokenize(text, 'ws'));
  assert.equal(sample.averageLength, tokens.flat().length / 10);
  for (const { text } of queries) {
    const { docs: count, df } = await statisticsOf(ranking, { query: text, tokenizer: 'ws' }, sample);
    assert.equal(count, 10);
    const expected = [...new Set(tokenize(text, 'ws'))]
      .map((term) => [term, tokens.filter((each) => each.includes(term)).length] as const)
      .filter(([, found]) => found > 0);
    assert.deepEqual(new Map(Object.entries(df ?? {})), new Map(expected));
  }
  const pairs = sampleOf(docs, 5, 'ngram');
  assert.equal(pairs.averageLength, pairs.texts.flatMap((text) => tokenize(text, 'ngram')).length / 5);
});
