/**
 * `fusegate models list|add|verify|remove|evaluate`: manages the installed embedding models. Also `fusegate
 * tune` and `calibrate`, which rank by them.
 */
import { basename, join } from 'node:path';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { isImmediate, poolings, type InstalledModel } from '../models/embedder.js';
import { installModel, removeModel, type InstallOptions, type InstallParts } from '../models/install.js';
import { defaultModel, isModelId, modelNames, readModelFolder } from '../models/modelFolder.js';
import type { FoundModels } from '../models/modelFolder.js';
import type { Configuration } from '../configuration.js';
import { installedModelsFolder } from '../models/settings.js';
import { reasonOf } from '../system/reason.js';
import { addCalibrate, calibrate, type CalibrateOptions } from './calibrate.js';
import { addEvaluate, evaluate, type EvaluateParts } from './evaluate.js';
import { printable } from './printable.js';
import { progressOn } from './progress.js';
import { openProfile, type OpenedProfile } from './profiles.js';
import { addTune, tune, type TuneOptions } from './tune.js';
import { changesNothing, inHistory, withConfiguration, withStore } from './withStore.js';
import type { CommandParts, Ended } from './withStore.js';

/** Dependencies of the commands. */
export interface ModelsCommandParts extends CommandParts {
  /** Folder of the models that ship. */
  readonly shippedFolder: string;
  readonly findModels: (configuration: Configuration) => Promise<FoundModels>;
  readonly fetch: InstallParts['fetch'];
  readonly lockFile: InstallParts['lockFile'];
  readonly tryModel: InstallParts['tryModel'];
  readonly evaluation: Pick<
    EvaluateParts,
    'DenseModels' | 'Fuser' | 'FuseOutcome' | 'prepareEmbeddings' | 'openSession' | 'writeFile'
  >;
  /** The stream that shows progress. */
  readonly progressTo: NodeJS.WriteStream;
}

const usualSource = 'BAAI/bge-base-en-v1.5';
const usualHub = 'https://huggingface.co';

/** Runs a command on the folder of models. */
function withFolder(
  parts: ModelsCommandParts,
  command: (configuration: Configuration) => Ended,
): Promise<number> {
  return withConfiguration(parts, async (configuration) => {
    const run = async (): Ended => {
      try {
        return await command(configuration);
      } catch (error) {
        return { wrong: `The folder of models cannot be used (${reasonOf(error)}).` };
      }
    };
    return changesNothing(parts) ? run() : inHistory(parts, configuration, run);
  });
}

interface Json {
  readonly json?: boolean;
}

function megabytes({ bytes }: InstalledModel): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** A model as a line of the list. */
function row(model: InstalledModel, usual: InstalledModel | undefined): string {
  const { id, kind, dimension, maxTokens, license } = model;
  const mark = model === usual ? '*' : ' ';
  // An immediate model reads the whole text.
  const tokens = isImmediate(model) ? 'all' : String(maxTokens);
  const cells = [id.padEnd(26), kind.padEnd(6), String(dimension).padStart(9), tokens.padStart(6)];
  return `${mark} ${cells.join('  ')}  ${megabytes(model).padStart(10)}  ${printable(license)}\n`;
}

const heading = `  ${'model'.padEnd(26)}  kind    dimension  tokens        size  licence\n`;

async function list(parts: ModelsCommandParts, configuration: Configuration, { json }: Json): Ended {
  const { models, refused } = await parts.findModels(configuration);
  const usual = defaultModel(models, configuration.embedModel);
  if (json === true) {
    await parts.write(`${JSON.stringify({ models, refused, default: usual?.id ?? null })}\n`);
    return 0;
  }
  const rows = models.map((model) => row(model, usual));
  const broken = refused.map(({ id, wrong }) => `! ${id}: ${printable(wrong)}\n`);
  await parts.write(`${heading}${rows.join('')}${broken.join('')}* for requests that name no model\n`);
  return 0;
}

/** Options of `add`. */
interface AddOptions extends InstallOptions {
  readonly json?: boolean;
}

/** The hub's address; undefined if HF_ENDPOINT is invalid. */
function hubOf({ environment }: ModelsCommandParts): string | undefined {
  const hub = environment['HF_ENDPOINT'] ?? '';
  if (hub === '') return usualHub;
  return /^https?:\/\/./.test(hub) && URL.canParse(hub) ? hub : undefined;
}

async function add(
  parts: ModelsCommandParts,
  configuration: Configuration,
  source: string,
  options: AddOptions,
): Ended {
  const hub = hubOf(parts);
  if (hub === undefined) return { wrong: 'HF_ENDPOINT must be a URL, such as https://huggingface.co.' };
  const display = progressOn(parts.progressTo);
  const shipped = await modelNames(parts.shippedFolder);
  const folder = installedModelsFolder(configuration);
  const showPass = display.progress;
  const outcome = await installModel(source, options, { ...parts, folder, shipped, hub, showPass });
  display.end();
  if ('wrong' in outcome) return { wrong: `${outcome.wrong}\nNothing was installed.` };
  const { model } = outcome;
  await parts.write(
    options.json === true
      ? `${JSON.stringify(model)}\n`
      : `Installed ${model.id} (${megabytes(model)}) in ${model.folder}.\n` +
          'A server that runs has it after a restart.\n',
  );
  return 0;
}

/** A model's folder, installed or shipped. */
async function folderOf(parts: ModelsCommandParts, configuration: Configuration, id: string) {
  for (const parent of [installedModelsFolder(configuration), parts.shippedFolder]) {
    if ((await modelNames(parent)).includes(id)) return join(parent, id);
  }
  return undefined;
}

/** The folder of every usable model, by name. */
async function allFolders(parts: ModelsCommandParts, configuration: Configuration): Promise<string[]> {
  const folders = new Map<string, string>();
  for (const parent of [installedModelsFolder(configuration), parts.shippedFolder]) {
    for (const id of await modelNames(parent)) if (!folders.has(id)) folders.set(id, join(parent, id));
  }
  return [...folders.values()];
}

/** Reads a model's files and tries it; returns what is wrong with it, if anything. */
async function wrongModel({ tryModel }: ModelsCommandParts, folder: string): Promise<string | undefined> {
  const read = await readModelFolder(folder);
  return 'wrong' in read ? read.wrong : tryModel(read.model);
}

async function verify(
  parts: ModelsCommandParts,
  configuration: Configuration,
  id: string | undefined,
): Ended {
  const named = id === undefined ? undefined : await folderOf(parts, configuration, id);
  if (id !== undefined && named === undefined) return { wrong: `There is no model ${id}.` };
  const folders = named === undefined ? await allFolders(parts, configuration) : [named];
  let failed = 0;
  for (const folder of folders) {
    const wrong = await wrongModel(parts, folder);
    if (wrong !== undefined) failed += 1;
    const verdict = wrong ?? 'its files are whole, and it gives what it must';
    await parts.write(`${wrong === undefined ? 'ok   ' : 'WRONG'}  ${basename(folder)}: ${verdict}\n`);
  }
  return failed === 0 ? 0 : 1;
}

async function remove(parts: ModelsCommandParts, configuration: Configuration, id: string): Ended {
  if (!isModelId(id)) return { wrong: `${id} is not the id of a model.` };
  const { lockFile } = parts;
  const removed = await removeModel({ folder: installedModelsFolder(configuration), lockFile }, id);
  if (typeof removed === 'object') return removed;
  if (removed !== 'nothing') {
    const what =
      removed === 'model'
        ? `${id}. A server that runs has it until its restart.`
        : `what was received of ${id}. It was not installed.`;
    await parts.write(`Removed ${what}\n`);
    return 0;
  }
  const ships = (await modelNames(parts.shippedFolder)).includes(id);
  return {
    wrong: ships
      ? `${id} is included in Fusegate and cannot be removed.`
      : `There is no installed model ${id}.`,
  };
}

/** A command that ranks a collection by a model. */
type Ranking<Options> = (
  parts: EvaluateParts,
  model: InstalledModel,
  folder: string,
  options: Options,
) => Ended;

/** Runs a command with a profile of the store, or without one if none is named. */
async function byProfile(
  parts: ModelsCommandParts,
  name: string | undefined,
  command: (configuration: Configuration, profile?: OpenedProfile) => Ended,
): Promise<void> {
  process.exitCode =
    name === undefined
      ? await withFolder(parts, command)
      : await withStore(parts, async ({ store, configuration }) => {
          const profile = await openProfile({ ...parts, store }, name);
          return 'wrong' in profile ? profile : command(configuration, profile);
        });
}

/** Runs a command that ranks a collection by a model, found by its id. */
async function rankBy<Options>(
  parts: ModelsCommandParts,
  configuration: Configuration,
  id: string | undefined,
  run: Ranking<Options>,
  folder: string,
  options: Options,
): Ended {
  const { models } = await parts.findModels(configuration);
  const model = defaultModel(models, id ?? configuration.embedModel);
  if (model === undefined) return { wrong: `There is no model ${id ?? 'for requests that name none'}.` };
  return run({ ...parts, ...parts.evaluation }, model, folder, options);
}

function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}

function hexDigest(text: string): string {
  if (/^[0-9a-f]{64}$/i.test(text)) return text;
  throw new InvalidArgumentError('It must be 64 hexadecimal digits.');
}

const sourceHelp = 'owner/name of a model on the hub, the URL of a folder, or a folder (./folder, /folder)';

/** Adds the commands to the program. */
export function addModels(program: Command, parts: ModelsCommandParts): void {
  const models = program
    .command('models')
    .description('list, add, verify, remove and evaluate embedding models');
  const act = async (command: (configuration: Configuration) => Ended): Promise<void> => {
    process.exitCode = await withFolder(parts, command);
  };
  const named = (name: string, description: string): Command =>
    models.command(name).description(description).allowExcessArguments(false);
  named('list', 'list the models that are installed and those that ship')
    .option('--json', 'print JSON')
    .action((options: Json) => act((configuration) => list(parts, configuration, options)));
  named('add [source]', `install a model, ${usualSource} unless another is named`)
    .addHelpText('after', `\nSource: ${sourceHelp}.\nHF_ENDPOINT: the hub, ${usualHub} where not set.`)
    .option('--id <id>', 'its id in requests; without it the source’s last name')
    .option('--revision <name>', 'commit, tag or branch on the hub')
    .option('--sha256 <hex>', 'SHA-256 that the ONNX file must have', hexDigest)
    .addOption(new Option('--pooling <how>', 'how tokens’ vectors become one').choices(poolings))
    .option('--max-tokens <count>', 'tokens that it reads', wholeNumber)
    .option('--query-prefix <text>', 'text before each query')
    .option('--document-prefix <text>', 'text before each document')
    .option('--license <text>', 'its licence, as the list shows it')
    .option('--json', 'print JSON')
    .action((source: string | undefined, options: AddOptions) =>
      act((configuration) => add(parts, configuration, source ?? usualSource, options)),
    );
  named('verify [id]', 'read every byte of one model, or of all, and try it out').action(
    (id: string | undefined) => act((configuration) => verify(parts, configuration, id)),
  );
  named('remove <id>', 'remove an installed model').action((id: string) =>
    act((configuration) => remove(parts, configuration, id)),
  );
  addEvaluate(models, (id, folder, options) =>
    act((configuration) => rankBy(parts, configuration, id, evaluate, folder, options)),
  );
  addTune(program, (id, folder, options) =>
    byProfile(parts, options.profile, (configuration, profile) => {
      const target = { ...(profile && { profile }), isModelNamed: id !== undefined };
      const run: Ranking<TuneOptions> = (...of) => tune(...of, target);
      return rankBy(parts, configuration, id, run, folder, options);
    }),
  );
  addCalibrate(program, (id, folder, options) =>
    byProfile(parts, options.profile, (configuration, profile) => {
      const run: Ranking<CalibrateOptions> = (...of) => calibrate(...of, profile);
      return rankBy(parts, configuration, id ?? profile?.settings?.embed_model, run, folder, options);
    }),
  );
}
