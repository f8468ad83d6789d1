/**
 * `fusegate calibrate`: finds the `min_score` that retains nearly all relevant candidates of a judged
 * collection.
 */
import { basename, resolve } from 'node:path';
import type { Command } from 'commander';
import type { InstalledModel } from '../models/embedder.js';
import { calibrated, judgedScores, type Calibrated, type JudgedScores } from '../search/calibrate.js';
import { reasonOf } from '../system/reason.js';
import { readCollection } from './collection.js';
import { analyzerOption, count, rankingOptions, withModel } from './evaluate.js';
import type { EvaluateParts, RankingOptions } from './evaluate.js';
import type { Ended } from './withStore.js';

/** Options of the command. */
export interface CalibrateOptions extends RankingOptions {
  readonly qrels: string;
  readonly json?: boolean;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

/** The outcome for people. */
function render(name: string, about: string, { threshold, chosen, unseen, separates }: Calibrated): string {
  return [
    `${name}: ${about}`,
    '',
    `min_score ${threshold} keeps ${percent(chosen.kept)} of the relevant candidates, and cuts ` +
      `${percent(chosen.cut)} of the others.`,
    `On queries that it was not chosen by: keeps ${percent(unseen.kept)}, cuts ${percent(unseen.cut)}.`,
    '',
    separates
      ? `Add "min_score": ${threshold} to your requests.`
      : 'No clean separation: what keeps the relevant ones keeps more than half of the others, too.',
    '',
  ].join('\n');
}

/** Calibrates, prints, and returns the exit code, or a sentence about an error. */
export async function calibrate(
  parts: EvaluateParts,
  model: InstalledModel,
  folder: string,
  options: CalibrateOptions,
): Ended {
  const collection = await readCollection(folder, options.qrels);
  if ('wrong' in collection) return collection;
  const { docs, queries } = collection;
  const scores: JudgedScores[] = [];
  try {
    await withModel(parts, model, collection, options, async (ranking, progress) => {
      for (const [at, { text, judged }] of queries.entries()) {
        progress('scoring', at, queries.length, 'queries');
        scores.push(await judgedScores(ranking, text, judged, docs));
      }
      progress('scoring', queries.length, queries.length, 'queries');
    });
  } catch (error) {
    return { wrong: reasonOf(error) };
  }
  const found = calibrated(scores);
  if (found === undefined) return { wrong: 'Too few candidates are relevant: no threshold can be chosen.' };
  const { tokenizer, analyzer, candidates } = options;
  const facts = {
    model: model.id,
    tokenizer,
    analyzer,
    candidates,
    docs: docs.length,
    judged: queries.length,
  };
  const subject = `${docs.length} docs, ${queries.length} judged queries`;
  const about = `${subject}, model ${model.id}, tokenizer ${tokenizer}`;
  const analyzed = analyzer === 'plain' ? about : `${about}, analyzer ${analyzer}`;
  await parts.write(
    options.json === true
      ? `${JSON.stringify({ ...facts, ...found }, null, 2)}\n`
      : render(basename(resolve(folder)), analyzed, found),
  );
  return 0;
}

/** Adds the command to the program. `run`: finds the model by id, and runs. */
export function addCalibrate(
  program: Command,
  run: (model: string | undefined, folder: string, options: CalibrateOptions) => Promise<void>,
): void {
  const command = program
    .command('calibrate <dataset>')
    .description('find the min_score that keeps 95 % of the relevant candidates of a judged collection')
    .addHelpText('after', '\nDataset: a folder as fusegate models evaluate takes it.');
  rankingOptions(command)
    .addOption(analyzerOption())
    .option('--threads <count>', 'threads that make a text’s vector', count(1), 1)
    .option('--json', 'print JSON')
    .allowExcessArguments(false)
    .action((folder: string, { model, ...options }: CalibrateOptions & { readonly model?: string }) =>
      run(model, folder, options),
    );
}
