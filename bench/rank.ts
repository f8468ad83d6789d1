/**
 * `bench rank`: nDCG@10 of requests of the 100 best docs of each query, on two judged collections, by plain
 * words, by `english`, and by `english` with statistics that the same requests taught, beside the figures
 * over the whole collection. Fused with the models that ship.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCollection, type Collection } from '../src/commands/collection.js';
import { withModel } from '../src/commands/evaluate.js';
import { openSession } from '../src/compose/models.js';
import { CorpusFollower } from '../src/corpora/follower.js';
import { CorpusLearner } from '../src/corpora/learner.js';
import type { InstalledModel } from '../src/models/embedder.js';
import { readModelFolder } from '../src/models/modelFolder.js';
import { native } from '../src/native/addon.js';
import type { Corpora } from '../src/native/index.js';
import { candidatesOf, rankQuery, type EvaluationParts, type Rankings } from '../src/search/evaluate.js';
import { bootstrapped, measured, type Interval } from '../src/search/measures.js';
import { systemClock } from '../src/system/clock.js';
import { systemRandomness } from '../src/system/randomness.js';
import { projectRoot } from '../test/peers/python.js';
import { storeAt } from '../test/store/open.js';
import { machine, writeRecord } from './machine.js';
import { dotPlot } from './plot.js';

/** What the command line may set. */
export interface RankOptions {
  readonly json: boolean;
  readonly record: boolean;
  readonly model: string;
  /** The folder of the collections. */
  readonly data: string;
}

/** Candidates of a request. */
const CANDIDATES = 100;
const NAME = 'learnt';
const LISTS = ['bm25', 'dense', 'maxnorm', 'rrf'] as const;
const WAYS = ['plain', 'english', 'english, learnt'] as const;
const COLLECTIONS = [
  { name: 'cranfield', qrels: 'qrels-binary.tsv' },
  { name: 'cisi', qrels: 'qrels.tsv' },
] as const;

/** Least nDCG@10 of a way: BM25 alone, and fused with each model. */
const TARGETS: readonly {
  readonly collection: string;
  readonly way: (typeof WAYS)[number];
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
}

function figuresOf({ queries }: Collection, rankings: readonly Rankings[]): Figures {
  const of = (list: (typeof LISTS)[number]): Interval =>
    bootstrapped(queries.map(({ judged }, at) => measured(rankings[at]?.[list] ?? [], judged).ndcg_at_10));
  return { bm25: of('bm25'), dense: of('dense'), maxnorm: of('maxnorm'), rrf: of('rrf') };
}

/** Has the requests of all queries teach a name, each stored before the next. */
async function teach(
  ranking: EvaluationParts,
  { docs, queries }: Collection,
  corpora: Corpora,
): Promise<Found['learnt']> {
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-rank-'));
  const store = await storeAt(`lmdb:${folder}/store`);
  const parts = { store, corpora, clock: systemClock, randomness: systemRandomness, log: console };
  const [learner, follower] = [new CorpusLearner(parts), new CorpusFollower(parts)];
  const [out, facts] = [Buffer.alloc(4 << 20), new Float64Array(2)];
  let used = { versions: 0, docs: 0 };
  try {
    for (const { text } of queries) {
      const { places } = await candidatesOf(ranking, text, docs);
      const listed = places.map((place) => ({ id: '', text: docs[place]?.text ?? '', dense_score: 0 }));
      const asked = { query: text, analyzer: 'english', docs: listed, corpus: { name: NAME }, learn: true };
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

async function evaluated(
  data: string,
  { name: collection, qrels }: (typeof COLLECTIONS)[number],
  model: InstalledModel,
): Promise<Found> {
  const read = await readCollection(join(data, collection), qrels);
  if ('wrong' in read) throw new Error(read.wrong);
  const corpora = new native.Corpora(Buffer.alloc(16, 7));
  const parts = {
    ...{ ...native, corpora, openSession, writeFile: () => undefined, write: () => Promise.resolve() },
    ...{ printError: console.error, progressTo: process.stderr },
  };
  const options = { candidates: CANDIDATES, tokenizer: 'ws', analyzer: 'plain', threads: 2 } as const;
  return withModel(parts, model, read, options, async (ranking, progress) => {
    const learnt = await teach(ranking, read, corpora);
    const rankings = WAYS.map(() => ({ request: [] as Rankings[], whole: [] as Rankings[] }));
    for (const [at, { text }] of read.queries.entries()) {
      progress('ranking', at, read.queries.length, 'queries');
      const english = { ...ranking, analyzer: 'english' };
      for (const [way, each] of [ranking, english, { ...english, sample: { name: NAME } }].entries()) {
        const ranked = await rankQuery(each, text, read.docs);
        rankings[way]?.request.push(ranked.request);
        rankings[way]?.whole.push(ranked.whole);
      }
    }
    // Over the whole collection its own statistics count.
    const by = (scope: 'request' | 'whole', ways: readonly string[]): Found['request'] =>
      Object.fromEntries(ways.map((way, at) => [way, figuresOf(read, rankings[at]?.[scope] ?? [])]));
    const about = { collection, model: model.id, docs: read.docs.length, queries: read.queries.length };
    return { ...about, learnt, request: by('request', WAYS), whole: by('whole', WAYS.slice(0, 2)) };
  });
}

function cell({ mean, low, high }: Interval): string {
  return `${mean.toFixed(4)} [${low.toFixed(3)}, ${high.toFixed(3)}]`.padEnd(24);
}

function printed({ collection, model, docs, queries, learnt, request, whole }: Found): string {
  const about = `${docs} docs, ${queries} queries, ${model}`;
  const head = `${collection}: ${about}; ${learnt.versions} versions learnt`;
  const rows = (scope: string, table: Found['request']): string[] =>
    Object.entries(table).map(
      ([way, figures]) =>
        `  ${`${scope}, ${way}`.padEnd(28)}${LISTS.map((list) => cell(figures[list])).join('')}`,
    );
  const heads = `  ${''.padEnd(28)}${LISTS.map((list) => list.padEnd(24)).join('')}`;
  return [head, heads, ...rows('request', request), ...rows('whole', whole)].join('\n');
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
  const targets = judged(found);
  const passed = targets.every((target) => target.passed);
  const record = { startedAt: startedAt.toISOString(), machine: machine(), found, targets, passed };
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
