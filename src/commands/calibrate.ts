/** `fusegate calibrate`: finds a `min_score` that retains nearly all relevant candidates of a collection. */
import { basename, resolve } from 'node:path';
import { Option, type Command } from 'commander';
import type { InstalledModel } from '../models/embedder.js';
import type { ProfileSettings } from '../contract/profiles.js';
import { calibrated, calibrationObstacle, judgedScores } from '../search/calibrate.js';
import type { Calibrated, JudgedScores } from '../search/calibrate.js';
import { reasonOf } from '../system/reason.js';
import { readCollection, type Collection } from './collection.js';
import { addCollectionCommand, analyzerOption, withModel } from './evaluate.js';
import type { CollectionRun, EvaluateParts, RankingOptions } from './evaluate.js';
import { keptText, type OpenedProfile } from './profiles.js';
import type { Ended } from './withStore.js';

/** Options of the command. */
export interface CalibrateOptions extends RankingOptions {
  readonly qrels: string;
  readonly json?: boolean;
  /** Name of the profile whose requests are calibrated, and that gets the threshold. */
  readonly profile?: string;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

/** The outcome for people. */
function render(
  name: string,
  about: string,
  { threshold, chosen, unseen, separates }: Calibrated,
  kept: Kept,
): string {
  const written =
    kept === null
      ? `Add "min_score": ${threshold} to your requests.`
      : keptText(kept.name, kept.version).trimEnd();
  return [
    `${name}: ${about}`,
    '',
    `min_score ${threshold} keeps ${percent(chosen.kept)} of the relevant candidates, and cuts ` +
      `${percent(chosen.cut)} of the others.`,
    `On queries that it was not chosen by: keeps ${percent(unseen.kept)}, cuts ${percent(unseen.cut)}.`,
    '',
    separates
      ? written
      : 'No clean separation: what keeps the relevant ones keeps more than half of the others, too.',
    '',
  ].join('\n');
}

/** The version of a profile that was written; null: none. */
type Kept = { readonly name: string; readonly version: number } | null;

/** The settings of the requests that are calibrated: a profile's, and what the options add to them. */
function settingsOf(
  { tokenizer, analyzer }: CalibrateOptions,
  { settings = {} }: Pick<OpenedProfile, 'settings'>,
): ProfileSettings {
  return {
    ...(tokenizer === 'ws' ? {} : { tokenizer }),
    ...(analyzer === 'plain' ? {} : { analyzer }),
    ...settings,
  };
}

/** Scores the candidates of every query. @throws Error if a model computes no vectors */
function scored(
  parts: EvaluateParts,
  model: InstalledModel,
  collection: Collection,
  options: CalibrateOptions,
  settings: ProfileSettings,
): Promise<JudgedScores[]> {
  const { docs, queries } = collection;
  return withModel(parts, model, collection, options, async (ranking, progress) => {
    const scores: JudgedScores[] = [];
    for (const [at, { text, judged }] of queries.entries()) {
      progress('scoring', at, queries.length, 'queries');
      scores.push(await judgedScores(ranking, text, judged, docs, settings));
    }
    progress('scoring', queries.length, queries.length, 'queries');
    return scores;
  });
}

/** Calibrates, prints, and returns the exit code, or a sentence about an error. */
export async function calibrate(
  parts: EvaluateParts,
  model: InstalledModel,
  folder: string,
  options: CalibrateOptions,
  profile?: OpenedProfile,
): Ended {
  const collection = await readCollection(folder, options.qrels);
  if ('wrong' in collection) return collection;
  const settings = settingsOf(options, profile ?? { settings: undefined });
  const obstacle = calibrationObstacle(settings);
  if (obstacle !== undefined) return { wrong: `The profile cannot be calibrated. ${obstacle}` };
  const { tokenizer = options.tokenizer } = settings;
  let scores: JudgedScores[];
  try {
    scores = await scored(parts, model, collection, { ...options, tokenizer }, settings);
  } catch (error) {
    return { wrong: reasonOf(error) };
  }
  const found = calibrated(scores);
  if (found === undefined) return { wrong: 'Too few candidates are relevant: no threshold can be chosen.' };
  let kept: Kept = null;
  if (profile !== undefined && found.separates) {
    const stored = await profile.keep({ ...settings, min_score: found.threshold });
    if ('wrong' in stored) return stored;
    kept = { name: profile.name, version: stored.version };
  }
  const { docs, queries } = collection;
  const { analyzer = 'plain' } = settings;
  const facts = { model: model.id, tokenizer, analyzer, candidates: options.candidates };
  const counts = { docs: docs.length, judged: queries.length };
  const written = profile === undefined ? {} : { profile: kept };
  const subject = `${docs.length} docs, ${queries.length} judged queries`;
  const about = `${subject}, model ${model.id}, tokenizer ${tokenizer}`;
  const named = typeof analyzer === 'string' ? analyzer : JSON.stringify(analyzer);
  const analyzed = analyzer === 'plain' ? about : `${about}, analyzer ${named}`;
  await parts.write(
    options.json === true
      ? `${JSON.stringify({ ...facts, ...counts, ...found, ...written }, null, 2)}\n`
      : render(basename(resolve(folder)), analyzed, found, kept),
  );
  return 0;
}

/** Adds the command to the program. */
export function addCalibrate(program: Command, run: CollectionRun<CalibrateOptions>): void {
  addCollectionCommand(program, {
    name: 'calibrate',
    description: 'find the min_score that keeps 95 % of the relevant candidates of a judged collection',
    help: 'a folder as fusegate models evaluate takes it.',
    options: [
      analyzerOption(),
      new Option('--profile <name>', 'calibrate requests with this profile, and write min_score into it'),
    ],
    run,
  });
}
