/** `fusegate tune`: finds the request settings that rank a judged collection best, and what they gain. */
import { basename, resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { stemmers } from '../contract/analyzer.js';
import type { ProfileSettings } from '../contract/profiles.js';
import type { InstalledModel } from '../models/embedder.js';
import type { Interval } from '../search/measures.js';
import { chosen, curvesOf, folds, gridOf, membersOf, tryGrid, type Tuned } from '../search/tune.js';
import { reasonOf } from '../system/reason.js';
import { readCollection, type Collection } from './collection.js';
import { addCollectionCommand, withModel } from './evaluate.js';
import type { CollectionRun, EvaluateParts, RankingOptions } from './evaluate.js';
import { writeOwn } from './ownFile.js';
import { keptText, type OpenedProfile } from './profiles.js';
import { tunePlot } from './tunePlot.js';
import type { Ended } from './withStore.js';

/** Options of the command. */
export interface TuneOptions extends Omit<RankingOptions, 'analyzer'> {
  readonly qrels: string;
  readonly language?: string;
  readonly json?: boolean;
  readonly plot?: string;
  /** Name of the profile that is written. */
  readonly profile?: string;
}

/** The profile to write, and how the model was chosen. */
export interface TuneTarget {
  /** The profile that is written; absent: none. */
  readonly profile?: OpenedProfile;
  /** True if an option names the model; else it is the one for requests that name none. */
  readonly isModelNamed: boolean;
}

/** Fewest judged queries from which settings can be chosen. */
const leastQueries = 2 * folds;

function shown({ mean, low, high }: Interval): string {
  return `${mean.toFixed(4)} [${low.toFixed(3)}, ${high.toFixed(3)}]`;
}

/** The outcome for people. */
function render(name: string, about: string, tuned: Tuned, members: ProfileSettings, kept: Kept): string {
  const { usual, gain, gains, settings } = tuned;
  const advice = kept === null ? 'Add these members to your requests:' : 'These members make it:';
  return [
    `${name}: ${about}`,
    '',
    `nDCG@10 of requests that say nothing     ${shown(usual)}`,
    `of ${settings} settings, by cross-validation  ${shown(tuned.tuned)}`,
    `gain                                     ${shown(gain)}`,
    '',
    ...(gains
      ? [advice, JSON.stringify(members, null, 2)]
      : ['No gain: the interval holds 0. Leave the requests as they are.']),
    ...(kept === null ? [] : ['', keptText(kept.name, kept.version).trimEnd()]),
    '',
    `In brackets: 95 % intervals (bootstrap over the queries). Each fifth of the queries was measured with`,
    'the setting that the other four fifths chose.',
    '',
  ].join('\n');
}

/** The version of a profile that was written; null: none. */
type Kept = { readonly name: string; readonly version: number } | null;

/** Writes settings that gain into a profile, with the named model and the tokenizer. */
async function keep(
  { profile, isModelNamed }: TuneTarget,
  { gains }: Tuned,
  members: ProfileSettings,
  { model, tokenizer }: { readonly model: string; readonly tokenizer: TuneOptions['tokenizer'] },
): Promise<{ readonly kept: Kept } | { readonly wrong: string }> {
  if (profile === undefined || !gains) return { kept: null };
  const stored = await profile.keep({
    ...(isModelNamed ? { embed_model: model } : {}),
    ...(tokenizer === 'ws' ? {} : { tokenizer }),
    ...members,
  });
  return 'wrong' in stored ? stored : { kept: { name: profile.name, version: stored.version } };
}

/** The measured values of every setting, or a sentence about an error. */
async function tried(
  parts: EvaluateParts,
  model: InstalledModel,
  collection: Collection,
  options: TuneOptions,
  analyzers: readonly string[],
): Promise<{ readonly values: number[][] } | { readonly wrong: string }> {
  const { docs, queries } = collection;
  const ranking = { ...options, analyzer: 'plain' };
  try {
    const values = await withModel(parts, model, collection, ranking, (ranked, progress) =>
      tryGrid(ranked, queries, docs, analyzers, (done) =>
        progress('tuning', done, queries.length, 'queries'),
      ),
    );
    return { values };
  } catch (error) {
    return { wrong: reasonOf(error) };
  }
}

/** Tunes, prints, and returns the exit code, or a sentence about an error. */
export async function tune(
  parts: EvaluateParts,
  model: InstalledModel,
  folder: string,
  options: TuneOptions,
  target: TuneTarget,
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
  const found = await tried(parts, model, collection, options, analyzers);
  if ('wrong' in found) return found;
  const grid = gridOf(analyzers);
  const tuned = chosen(grid, found.values);
  const members = membersOf(tuned.setting);
  const facts = { model: model.id, tokenizer, analyzers, candidates };
  const stored = await keep(target, tuned, members, facts);
  if ('wrong' in stored) return stored;
  const { kept } = stored;
  const profile = target.profile === undefined ? {} : { profile: kept };
  const outcome = { ...facts, docs: docs.length, judged: queries.length, ...tuned, members, ...profile };
  const name = basename(resolve(folder));
  const subject = `${docs.length} docs, ${queries.length} judged queries`;
  const about = `${subject}, model ${model.id}, tokenizer ${tokenizer}`;
  const text =
    options.json === true
      ? `${JSON.stringify(outcome, null, 2)}\n`
      : render(name, about, tuned, members, kept);
  await parts.write(text);
  const { plot } = options;
  if (plot === undefined) return 0;
  return writeOwn(parts.writeFile, plot, tunePlot(name, about, tuned, curvesOf(grid, found.values))) ?? 0;
}

/** Adds the command to the program. */
export function addTune(program: Command, run: CollectionRun<TuneOptions>): void {
  addCollectionCommand(program, {
    name: 'tune',
    description: 'choose weights, fusion, k1, b and analyzer by a judged collection, and say what they gain',
    help: 'a folder as fusegate models evaluate takes it.',
    options: [
      new Option('--language <name>', 'an analyzer to try beside plain').choices(stemmers),
      new Option('--profile <name>', 'write what gains as the next version of a profile'),
    ],
    run,
  }).option('--plot <file>', 'write a plot (SVG)');
}
