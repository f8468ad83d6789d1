/** `fusegate models evaluate`: measures how well a model and the ways of fusing rank a test collection. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { stemmers } from '../contract/analyzer.js';
import { tokenizers } from '../contract/fuse.js';
import { isImmediate, type Embedder, type InstalledModel } from '../models/embedder.js';
import { localEmbedder, type OpenSession } from '../models/localEmbedder.js';
import type { Corpora, DenseModels, FuseOutcome, Fuser, PendingFuse } from '../native/index.js';
import { openEmbedMode, type EmbedMode } from '../search/embedMode.js';
import {
  ask,
  rankQuery,
  sampleOf,
  type EvaluationParts,
  type OwnLegs,
  type QueryRankings,
} from '../search/evaluate.js';
import type { Progress } from '../store/copy.js';
import { reasonOf } from '../system/reason.js';
import { readCollection, type Collection } from './collection.js';
import { evaluationOf, renderEvaluation } from './evaluation.js';
import { readLegs } from './evaluationLegs.js';
import { evaluationPlot } from './evaluationPlot.js';
import { writeOwn, type WriteFile } from './ownFile.js';
import { progressOn } from './progress.js';
import type { Ended } from './withStore.js';

/** Dependencies of the command. */
export interface EvaluateParts {
  readonly DenseModels: typeof DenseModels;
  readonly Fuser: typeof Fuser;
  readonly FuseOutcome: typeof FuseOutcome;
  /** Statistics that requests may name; absent: none. */
  readonly corpora?: Corpora;
  readonly prepareEmbeddings: (path: string, bytes: number, dimension: number) => void;
  readonly openSession: OpenSession;
  readonly write: (text: string) => Promise<void>;
  readonly printError: (line: string) => void;
  readonly writeFile: WriteFile;
  /** The stream that shows progress. */
  readonly progressTo: NodeJS.WriteStream;
}

/** Options of the command. */
export interface EvaluateOptions {
  readonly qrels: string;
  readonly candidates: number;
  readonly tokenizer: (typeof tokenizers)[number];
  readonly analyzer: string;
  readonly threads: number;
  readonly corpus?: number;
  /** Path of a file of legs. */
  readonly legs?: string;
  readonly json?: boolean;
  readonly plot?: string;
}

/** Texts embedded between two updates of the progress. */
const STEP = 16;

/** Size of the file that caches the vectors: twice what they need, so that none is evicted. */
function cacheBytes({ docs, queries }: Collection, { dimension }: InstalledModel): number {
  return 2 * (docs.length + queries.length) * (128 + 4 * dimension) + (1 << 20);
}

/** Computes missing vectors; throws the reason if it cannot. */
function bringer(mode: EmbedMode, reason: () => string): (pending: PendingFuse) => Promise<void> {
  const { signal } = new AbortController();
  return async (pending) => {
    const refused = await mode.bring(pending, signal);
    if (refused !== undefined) throw new Error(reason());
  };
}

/** Embeds every doc, so that ranking finds its vector. */
async function embedDocs(parts: EvaluationParts, { docs }: Collection, progress: Progress): Promise<void> {
  for (let from = 0; from < docs.length; from += STEP) {
    progress('embedding', from, docs.length);
    const texts = docs.slice(from, from + STEP).map(({ id, text }) => ({ id, text }));
    await ask(parts, { query: '', docs: texts, embed_model: parts.model, return_text: false });
  }
  progress('embedding', docs.length, docs.length);
}

async function rankAll(
  parts: EvaluationParts,
  { docs, queries }: Collection,
  progress: Progress,
): Promise<QueryRankings[]> {
  const rankings: QueryRankings[] = [];
  for (const [at, query] of queries.entries()) {
    progress('ranking', at, queries.length, 'queries');
    rankings.push(await rankQuery(parts, query, docs));
  }
  progress('ranking', queries.length, queries.length, 'queries');
  return rankings;
}

/** Options of a command that ranks a collection. */
export type RankingOptions = Pick<EvaluateOptions, 'candidates' | 'tokenizer' | 'analyzer' | 'threads'>;

/** Ranks a collection by a model, with a temporary cache. */
export async function withModel<Result>(
  parts: EvaluateParts,
  model: InstalledModel,
  collection: Collection,
  { candidates, tokenizer, analyzer, threads }: RankingOptions,
  work: (ranking: EvaluationParts, progress: Progress) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-evaluate-'));
  const display = progressOn(parts.progressTo, 'docs');
  let wrong = `The model ${model.id} computed no vectors.`;
  const onWrong = (reason: string): string => (wrong = reason);
  const embedder: Embedder = localEmbedder([model], parts.openSession, threads, onWrong);
  try {
    const cacheFile = join(folder, 'embeddings');
    parts.prepareEmbeddings(cacheFile, cacheBytes(collection, model), model.dimension);
    const mode = openEmbedMode({ ...parts, embedder, fallback: model.id, cacheFile });
    const bring = bringer(mode, () => wrong);
    const { fuser } = mode;
    const { FuseOutcome } = parts;
    const ranking = { fuser, FuseOutcome, model: model.id, tokenizer, analyzer, candidates, bring };
    if (!isImmediate(model)) await embedDocs(ranking, collection, display.progress);
    return await work(ranking, display.progress);
  } finally {
    display.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Evaluates, prints, and returns the exit code, or a sentence about an error. */
export async function evaluate(
  parts: EvaluateParts,
  model: InstalledModel,
  folder: string,
  options: EvaluateOptions,
): Ended {
  const collection = await readCollection(folder, options.qrels);
  if ('wrong' in collection) return collection;
  const read: { readonly own?: OwnLegs; readonly wrong?: string } =
    options.legs === undefined ? {} : await readLegs(options.legs, folder, collection.docs);
  const { own, wrong } = read;
  if (wrong !== undefined) return { wrong };
  let rankings: QueryRankings[];
  try {
    rankings = await withModel(parts, model, collection, options, (ranking, progress) => {
      const { corpus, tokenizer } = options;
      const sample = corpus === undefined ? {} : { sample: sampleOf(collection.docs, corpus, tokenizer) };
      return rankAll({ ...ranking, ...sample, ...(own && { own }) }, collection, progress);
    });
  } catch (error) {
    return { wrong: reasonOf(error) };
  }
  const { tokenizer, analyzer, candidates, corpus } = options;
  const sampled = corpus === undefined ? {} : { corpus: Math.min(corpus, collection.docs.length) };
  const fused = own === undefined ? {} : { legs: own.legs };
  const about = { model: model.id, digest: model.digest, tokenizer, analyzer };
  const facts = { ...about, ...sampled, ...fused, candidates };
  const evaluation = evaluationOf(collection, rankings, facts);
  const name = basename(resolve(folder));
  const printed =
    options.json === true ? `${JSON.stringify(evaluation, null, 2)}\n` : renderEvaluation(name, evaluation);
  await parts.write(printed);
  const { plot } = options;
  if (plot === undefined) return 0;
  return writeOwn(parts.writeFile, plot, evaluationPlot(name, evaluation)) ?? 0;
}

/** A parser of whole numbers for an option. */
export function count(least: number): (text: string) => number {
  return (text) => {
    if (/^\d{1,6}$/.test(text) && Number(text) >= least) return Number(text);
    throw new InvalidArgumentError(`It must be a whole number from ${least} on.`);
  };
}

/** Runs a command on a folder. `model`: the model's id; undefined: that of requests that name none. */
export type CollectionRun<Options> = (
  model: string | undefined,
  folder: string,
  options: Options,
) => Promise<void>;

/** A command that ranks the queries of a judged collection. */
interface CollectionCommand<Options> {
  readonly name: string;
  readonly description: string;
  readonly help: string;
  /** Its own options; those of all such commands come before and after them. */
  readonly options: readonly Option[];
  readonly run: CollectionRun<Options>;
}

/** Adds a command that ranks the queries of a judged collection, with the options of all such commands. */
export function addCollectionCommand<Options extends object>(
  group: Command,
  { name, description, help, options: own, run }: CollectionCommand<Options>,
): Command {
  const command = group
    .command(`${name} <dataset>`)
    .description(description)
    .addHelpText('after', `\nDataset: ${help}`)
    .option('--model <id>', 'an installed model; without it the one of requests that name none')
    .option('--qrels <file>', 'file of the judgements in the folder', 'qrels.tsv')
    .option('--candidates <count>', 'docs of a request: the best by BM25', count(1), 100)
    .addOption(new Option('--tokenizer <name>', 'of BM25').choices(tokenizers).default('ws'));
  for (const option of own) command.addOption(option);
  return command
    .option('--threads <count>', 'threads that compute a text’s vector', count(1), 1)
    .option('--json', 'print JSON')
    .allowExcessArguments(false)
    .action((folder: string, { model, ...options }: Options & { readonly model?: string }) =>
      run(model, folder, options as unknown as Options),
    );
}

/** The option that names BM25's analyzer. */
export function analyzerOption(): Option {
  return new Option('--analyzer <name>', 'of BM25: plain, or a language')
    .choices(['plain', ...stemmers])
    .default('plain');
}

/** Adds the command to those of `fusegate models`. */
export function addEvaluate(models: Command, run: CollectionRun<EvaluateOptions>): void {
  addCollectionCommand(models, {
    name: 'evaluate',
    description: 'rank a test collection: nDCG@10, MRR@10 and recall@100 of BM25, the model, and both fused',
    help:
      'a folder with docs.jsonl (or docs.jsonl.gz) and queries.jsonl, an object with id and text' +
      '\na line, and qrels.tsv: query, doc and grade a line. For each of --legs but bm25 and dense' +
      '\nNAME.run: query, Q0, doc, rank, score and name a line, as TREC has it.',
    options: [
      analyzerOption(),
      new Option('--corpus <docs>', 'statistics for BM25: those of a sample of this many docs').argParser(
        count(1),
      ),
      new Option('--legs <file>', 'legs that are fused once more: JSON, as legs of POST /v1/fuse'),
    ],
    run,
  }).option('--plot <file>', 'write a plot (SVG)');
}
