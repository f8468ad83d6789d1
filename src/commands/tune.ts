/** `fusegate tune`: finds the request settings that rank a judged collection best, and what they gain. */
import { basename, resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { stemmers } from '../contract/analyzer.js';
import type { FuseRequest } from '../contract/fuse.js';
import type { InstalledModel } from '../models/embedder.js';
import type { Interval } from '../search/measures.js';
import { chosen, folds, gridOf, tryGrid, usualSetting, type Setting, type Tuned } from '../search/tune.js';
import { reasonOf } from '../system/reason.js';
import { readCollection } from './collection.js';
import { count, rankingOptions, withModel, type EvaluateParts, type RankingOptions } from './evaluate.js';
import type { Ended } from './withStore.js';

/** Options of the command. */
export interface TuneOptions extends Omit<RankingOptions, 'analyzer'> {
  readonly qrels: string;
  readonly language?: string;
  readonly json?: boolean;
}

/** Fewest judged queries from which settings can be chosen. */
const leastQueries = 2 * folds;

/** The members of a request for a setting; defaults are omitted. */
function membersOf(setting: Setting): Partial<FuseRequest> {
  const named = Object.entries(setting) as [keyof Setting, unknown][];
  const changed = named.filter(([name, value]) => {
    if (name === 'rrf_k' && setting.method !== 'rrf') return false;
    return JSON.stringify(value) !== JSON.stringify(usualSetting[name]);
  });
  return Object.fromEntries(changed);
}

function shown({ mean, low, high }: Interval): string {
  return `${mean.toFixed(4)} [${low.toFixed(3)}, ${high.toFixed(3)}]`;
}

/** The outcome for people. */
function render(name: string, about: string, tuned: Tuned): string {
  const { usual, gain, gains, setting, settings } = tuned;
  return [
    `${name}: ${about}`,
    '',
    `nDCG@10 of requests that say nothing     ${shown(usual)}`,
    `of ${settings} settings, by cross-validation  ${shown(tuned.tuned)}`,
    `gain                                     ${shown(gain)}`,
    '',
    ...(gains
      ? ['Add these members to your requests:', JSON.stringify(membersOf(setting), null, 2)]
      : ['No gain: the interval holds 0. Leave the requests as they are.']),
    '',
    `In brackets: 95 % intervals (bootstrap over the queries). Each fifth of the queries was measured with`,
    'the setting that the other four fifths chose.',
    '',
  ].join('\n');
}

/** Tunes, prints, and returns the exit code, or a sentence about an error. */
export async function tune(
  parts: EvaluateParts,
  model: InstalledModel,
  folder: string,
  options: TuneOptions,
): Ended {
  const collection = await readCollection(folder, options.qrels);
  if ('wrong' in collection) return collection;
  const { docs, queries } = collection;
  if (queries.length < leastQueries) {
    return {
      wrong: `${queries.length} judged queries are too few: settings are chosen by ${leastQueries} or more.`,
    };
  }
  const { language, tokenizer, candidates } = options;
  if (language !== undefined && tokenizer !== 'ws') {
    return { wrong: 'Analyzers are for the tokenizer ws. Leave --language out, or --tokenizer.' };
  }
  const analyzers = language === undefined ? ['plain'] : ['plain', language];
  let values: number[][];
  try {
    values = await withModel(
      parts,
      model,
      collection,
      { ...options, analyzer: 'plain' },
      (ranking, progress) =>
        tryGrid(ranking, queries, docs, analyzers, (done) =>
          progress('tuning', done, queries.length, 'queries'),
        ),
    );
  } catch (error) {
    return { wrong: reasonOf(error) };
  }
  const tuned = chosen(gridOf(analyzers), values);
  const facts = {
    model: model.id,
    tokenizer,
    analyzers,
    candidates,
    docs: docs.length,
    judged: queries.length,
  };
  const outcome = { ...facts, ...tuned, members: membersOf(tuned.setting) };
  const subject = `${docs.length} docs, ${queries.length} judged queries`;
  const about = `${subject}, model ${model.id}, tokenizer ${tokenizer}`;
  await parts.write(
    options.json === true
      ? `${JSON.stringify(outcome, null, 2)}\n`
      : render(basename(resolve(folder)), about, tuned),
  );
  return 0;
}

/** Adds the command to the program. `run`: finds the model by id, and runs. */
export function addTune(
  program: Command,
  run: (model: string | undefined, folder: string, options: TuneOptions) => Promise<void>,
): void {
  const command = program
    .command('tune <dataset>')
    .description('choose weights, fusion, k1, b and analyzer by a judged collection, and say what they gain')
    .addHelpText('after', '\nDataset: a folder as fusegate models evaluate takes it.');
  rankingOptions(command)
    .addOption(new Option('--language <name>', 'an analyzer to try beside plain').choices(stemmers))
    .option('--threads <count>', 'threads that make a text’s vector', count(1), 1)
    .option('--json', 'print JSON')
    .allowExcessArguments(false)
    .action((folder: string, { model, ...options }: TuneOptions & { readonly model?: string }) =>
      run(model, folder, options),
    );
}
