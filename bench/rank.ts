/**
 * `bench rank`: nDCG@10 of requests of the 100 best docs of each query, on judged collections, by plain
 * words, by `english`, and with statistics that the same requests taught, beside the figures over the whole
 * collection. Fused with the models that ship. And the rates of requests that ask for more than the usual.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCollection, type Collection } from '../src/commands/collection.js';
import { withModel } from '../src/commands/evaluate.js';
import { openSession } from '../src/compose/models.js';
import { followCorpora } from '../src/corpora/follower.js';
import { CorpusLearner } from '../src/corpora/learner.js';
import type { InstalledModel } from '../src/models/embedder.js';
import { readModelFolder } from '../src/models/modelFolder.js';
import { native } from '../src/native/addon.js';
import type { Corpora } from '../src/native/index.js';
import { candidatesOf, rankPlaces, type EvaluationParts, type Rankings } from '../src/search/evaluate.js';
import { bootstrapped, measured, type Interval } from '../src/search/measures.js';
import { systemClock } from '../src/system/clock.js';
import { systemRandomness } from '../src/system/randomness.js';
import { projectRoot } from '../test/support/python.js';
import { storeAt } from '../test/support/openStore.js';
import { machine, writeRecord } from './machine.js';
import type { RecordOptions } from './options.js';
import { dotPlot } from './plot.js';
import { printedRates, ratesOf, type Rates } from './rankRates.js';

/** What the command line may set. */
export interface RankOptions extends RecordOptions {
  readonly model: string;
  /** The folder of the collections. */
  readonly data: string;
  /** Rounds in which the requests of different kinds take turns; 0: no rates. */
  readonly rounds: number;
}

/** Candidates of a request. */
const CANDIDATES = 100;
const NAME = 'learnt';
const LISTS = ['bm25', 'dense', 'maxnorm', 'rrf'] as const;

/** A way to make requests. */
interface Way {
  readonly name: string;
  readonly analyzer: string;
  /** True if BM25 has the statistics that the requests taught. */
  readonly learnt: boolean;
}

/** The way of a request that says nothing, with which others are compared. */
const USUAL: Way = { name: 'plain', analyzer: 'plain', learnt: false };
const WORDS: readonly Way[] = [
  USUAL,
  { name: 'english', analyzer: 'english', learnt: false },
  { name: 'english, learnt', analyzer: 'english', learnt: true },
];
/** Analyzers are for the tokenizer `ws`. */
const BIGRAMS: readonly Way[] = [USUAL, { name: 'plain, learnt', analyzer: 'plain', learnt: true }];

/** A judged collection. */
interface Source {
  readonly name: string;
  readonly qrels: string;
  readonly tokenizer: EvaluationParts['tokenizer'];
}

const COLLECTIONS: readonly Source[] = [
  { name: 'cranfield', qrels: 'qrels-binary.tsv', tokenizer: 'ws' },
  { name: 'cisi', qrels: 'qrels.tsv', tokenizer: 'ws' },
  { name: 'xquad-en', qrels: 'qrels.tsv', tokenizer: 'ws' },
  { name: 'xquad-zh', qrels: 'qrels.tsv', tokenizer: 'ngram' },
];

/** Most nDCG@10 that a way may lose to the usual one. */
const MOST_LOST = 0.003;

/** Least nDCG@10 of a way: BM25 alone, and fused with each model. */
const TARGETS: readonly {
  readonly collection: string;
  readonly way: string;
  readonly list: (typeof LISTS)[number];
  readonly model?: string;
  readonly least: number;
}[] = [
  { collection: 'cranfield', way: 'english', list: 'bm25', least: 0.455 },
  { collection: 'cisi', way: 'english', list: 'bm25', least: 0.36 },
  { collection: 'cranfield', way: 'english, learnt', list: 'bm25', least: 0.505 },
  { collection: 'cisi', way: 'english, learnt', list: 'bm25', least: 0.37 },
  { collection: 'cranfield', way: 'english, learnt', list: 'maxnorm', model: 'static-256', least: 0.52 },
  { collection: 'cisi', way: 'english, learnt', list: 'maxnorm', model: 'static-256', least: 0.4 },
  {
    collection: 'cranfield',
    way: 'english, learnt',
    list: 'maxnorm',
    model: 'all-MiniLM-L6-v2',
    least: 0.55,
  },
  { collection: 'cisi', way: 'english, learnt', list: 'maxnorm', model: 'all-MiniLM-L6-v2', least: 0.428 },
];

type Figures = Readonly<Record<(typeof LISTS)[number], Interval>>;

/** Figures of a collection under a model. */
interface Found {
  readonly collection: string;
  readonly model: string;
  readonly docs: number;
  readonly queries: number;
  /** Versions that were frozen, and docs of the newest. */
  readonly learnt: { readonly versions: number; readonly docs: number };
  readonly request: Readonly<Record<string, Figures>>;
  readonly whole: Readonly<Record<string, Figures>>;
  /** Of each way but the usual one: what requests gain by it, query by query. */
  readonly gains: Readonly<Record<string, Figures>>;
}

/** nDCG@10 of each query by each list. */
type Values = Readonly<Record<(typeof LISTS)[number], readonly number[]>>;

function valuesOf({ queries }: Collection, rankings: readonly Rankings[]): Values {
  const of = (list: (typeof LISTS)[number]): number[] =>
    queries.map(({ judged }, at) => measured(rankings[at]?.[list] ?? [], judged).ndcg_at_10);
  return { bm25: of('bm25'), dense: of('dense'), maxnorm: of('maxnorm'), rrf: of('rrf') };
}

/** The means of values, less others where these are given. */
function figuresOf(values: Values, less?: Values): Figures {
  const of = (list: (typeof LISTS)[number]): Interval =>
    bootstrapped(values[list].map((value, at) => value - (less?.[list][at] ?? 0)));
  return { bm25: of('bm25'), dense: of('dense'), maxnorm: of('maxnorm'), rrf: of('rrf') };
}

/** Has the requests of all queries teach a name, each stored before the next. */
async function teach(
  ranking: EvaluationParts,
  { docs, queries }: Collection,
  corpora: Corpora,
  analyzer: string,
): Promise<Found['learnt']> {
  const { tokenizer } = ranking;
  const analyzed = { tokenizer, ...(analyzer === 'plain' ? {} : { analyzer }) };
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-rank-'));
  const store = await storeAt(`lmdb:${folder}/store`);
  const parts = { store, corpora, clock: systemClock, randomness: systemRandomness, log: console };
  const [learner, follower] = [new CorpusLearner(parts), followCorpora(parts)];
  const [out, facts] = [Buffer.alloc(4 << 20), new Float64Array(2)];
  let used = { versions: 0, docs: 0 };
  try {
    for (const { text } of queries) {
      const { places } = await candidatesOf(ranking, text, docs);
      const listed = places.map((place) => ({ id: '', text: docs[place]?.text ?? '', dense_score: 0 }));
      const asked = { query: text, ...analyzed, docs: listed, corpus: { name: NAME }, learn: true };
      const outcome = ranking.fuser.fuse(Buffer.from(JSON.stringify(asked)), out, facts, listed.length, '');
      if (outcome !== native.FuseOutcome.Written) throw new Error(`a request came to ${outcome}`);
      const { corpus } = JSON.parse(out.toString('utf8', 0, facts[0])) as {
        corpus?: { version: number; docs: number };
      };
      if (corpus !== undefined) used = { versions: corpus.version, docs: corpus.docs };
      await learner.storeAll();
      await follower.look();
    }
  } finally {
    follower.stop();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
  return used;
}

/** The rankings of one query: over the whole collection by each analyzer, and of its request by each way. */
async function rankWays(
  ranking: EvaluationParts,
  query: string,
  docs: Collection['docs'],
  ways: readonly Way[],
): Promise<{ readonly whole: Readonly<Record<string, Rankings>>; readonly request: Rankings[] }> {
  const all = docs.map((_, place) => place);
  const whole: Record<string, Rankings> = {};
  for (const { analyzer } of ways) {
    whole[analyzer] ??= await rankPlaces({ ...ranking, analyzer }, query, docs, all);
  }
  // The same candidates for every way, so that their figures compare.
  const best = whole.plain?.bm25.slice(0, CANDIDATES) ?? [];
  const request: Rankings[] = [];
  for (const { analyzer, learnt } of ways) {
    const sample = learnt ? { name: NAME } : undefined;
    request.push(await rankPlaces({ ...ranking, analyzer }, query, docs, best, sample));
  }
  return { whole, request };
}

async function evaluated(
  data: string,
  { name: collection, qrels, tokenizer }: Source,
  model: InstalledModel,
): Promise<Found> {
  const read = await readCollection(join(data, collection), qrels);
  if ('wrong' in read) throw new Error(read.wrong);
  const ways = tokenizer === 'ws' ? WORDS : BIGRAMS;
  const corpora = new native.Corpora(Buffer.alloc(16, 7));
  const parts = {
    ...{ ...native, corpora, openSession, writeFile: () => undefined, write: () => Promise.resolve() },
    ...{ printError: console.error, progressTo: process.stderr },
  };
  const options = { candidates: CANDIDATES, tokenizer, analyzer: 'plain', threads: 2 } as const;
  return withModel(parts, model, read, options, async (ranking, progress) => {
    const learnt = await teach(ranking, read, corpora, ways.at(-1)?.analyzer ?? 'plain');
    const ranked: Awaited<ReturnType<typeof rankWays>>[] = [];
    for (const [at, { text }] of read.queries.entries()) {
      progress('ranking', at, read.queries.length, 'queries');
      ranked.push(await rankWays(ranking, text, read.docs, ways));
    }
    const missing: Rankings = { bm25: [], dense: [], rrf: [], maxnorm: [] };
    const request = ways.map((_, way) =>
      valuesOf(
        read,
        ranked.map((query) => query.request[way] ?? missing),
      ),
    );
    const analyzers = Array.from(new Set(ways.map(({ analyzer }) => analyzer)));
    const whole = analyzers.map((analyzer) =>
      valuesOf(
        read,
        ranked.map((query) => query.whole[analyzer] ?? missing),
      ),
    );
    const named = (values: readonly Values[], names: readonly string[], less?: Values) =>
      Object.fromEntries(
        values.map((value, at): [string, Figures] => [names[at] ?? '', figuresOf(value, less)]),
      );
    const about = { collection, model: model.id, docs: read.docs.length, queries: read.queries.length };
    const names = ways.map(({ name }) => name);
    return {
      ...{ ...about, learnt, request: named(request, names), whole: named(whole, analyzers) },
      gains: named(request.slice(1), names.slice(1), request[0]),
    };
  });
}

function cell({ mean, low, high }: Interval): string {
  return `${mean.toFixed(4)} [${low.toFixed(3)}, ${high.toFixed(3)}]`.padEnd(24);
}

function printed({ collection, model, docs, queries, learnt, request, whole, gains }: Found): string {
  const about = `${docs} docs, ${queries} queries, ${model}`;
  const head = `${collection}: ${about}; ${learnt.versions} versions learnt`;
  const rows = (scope: string, table: Found['request']): string[] =>
    Object.entries(table).map(
      ([way, figures]) =>
        `  ${`${scope}, ${way}`.padEnd(28)}${LISTS.map((list) => cell(figures[list])).join('')}`,
    );
  const heads = `  ${''.padEnd(28)}${LISTS.map((list) => list.padEnd(24)).join('')}`;
  return [head, heads, ...rows('request', request), ...rows('whole', whole), ...rows('gain', gains)].join(
    '\n',
  );
}

/** The targets, and what was found for each. */
function judged(found: readonly Found[]) {
  return TARGETS.flatMap((target) => {
    const of = found.find(
      ({ collection, model }) => collection === target.collection && model === (target.model ?? model),
    );
    const mean = of?.request[target.way]?.[target.list].mean;
    return mean === undefined ? [] : [{ ...target, mean, passed: mean >= target.least }];
  });
}

/** What each way loses to the usual one, by BM25 alone and fused. */
function losses(found: readonly Found[]) {
  return found.flatMap(({ collection, model, gains }) =>
    Object.entries(gains).flatMap(([way, figures]) =>
      (['bm25', 'maxnorm'] as const).map((list) => {
        const { mean } = figures[list];
        return {
          collection,
          way: `gain of ${way}`,
          list,
          model,
          mean,
          least: -MOST_LOST,
          passed: mean >= -MOST_LOST,
        };
      }),
    ),
  );
}

function plotOf(found: readonly Found[]): string {
  const rows = found.flatMap(({ collection, model, request }) =>
    Object.entries(request).map(([way, { bm25, maxnorm }]) => ({
      label: `${collection}, ${way} (${model === 'static-256' ? 'static' : 'MiniLM'})`,
      values: [bm25, maxnorm].map(({ mean, low, high }) => ({ min: low, median: mean, max: high })),
      note: maxnorm.mean.toFixed(3),
    })),
  );
  return dotPlot({
    title: 'The ranking of a request of 100 candidates',
    subtitle: '95 % intervals (bootstrap over the queries)',
    axis: 'nDCG@10 (logarithmic)',
    series: ['BM25', 'fused'],
    rows,
  });
}

/** Runs it, prints and judges the figures, and writes the record; resolves to the exit code. */
export async function benchRank(options: RankOptions): Promise<number> {
  const startedAt = new Date();
  const missing = COLLECTIONS.map(({ name }) => join(options.data, name)).filter(
    (folder) => !existsSync(folder),
  );
  if (missing.length > 0) {
    console.error(`Skipped: the benchmark reads judged collections from ${missing.join(' and ')}.`);
    return 2;
  }
  const found: Found[] = [];
  for (const id of ['static-256', 'all-MiniLM-L6-v2'].filter((each) => each.includes(options.model))) {
    const read = await readModelFolder(join(projectRoot, 'models', id));
    if ('wrong' in read) throw new Error(read.wrong);
    for (const collection of COLLECTIONS) {
      found.push(await evaluated(options.data, collection, read.model));
      if (!options.json) console.log(`${printed(found.at(-1) as Found)}\n`);
    }
  }
  let rates: Rates | undefined;
  if (options.rounds > 0) {
    rates = await ratesOf(options.rounds);
    if (!options.json) console.log(`${printedRates(rates)}\n`);
  }
  const targets = [...judged(found), ...losses(found)];
  const passed = targets.every((target) => target.passed) && (rates?.passed ?? true);
  const record = { startedAt: startedAt.toISOString(), machine: machine(), found, targets, rates, passed };
  if (options.json) console.log(JSON.stringify(record, null, 2));
  for (const { collection, way, list, model = '', mean, least, passed: isMet } of targets) {
    const subject = [collection, way, list, model].filter((each) => each !== '').join(', ');
    console.error(`${subject}: ${mean.toFixed(4)} [target ${least}: ${isMet ? 'pass' : 'missed'}]`);
  }
  if (options.record) {
    for (const file of writeRecord('rank', startedAt, record, plotOf(found))) console.error(`Wrote ${file}`);
  }
  return passed ? 0 : 2;
}
