/**
 * Installs models: files are fetched into a hidden folder next to the others, checked and tried out. Then the
 * folder gets its name in one step, so a model is either installed or absent. Parts received before a cut
 * stay for the next run.
 */
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Clock } from '../system/clock.js';
import { codeOf } from '../system/reason.js';
import { makeFolder, syncPath } from '../system/sync.js';
import type { DownloadParts } from './download.js';
import type { InstalledModel } from './embedder.js';
import { factFiles, readFacts, type FactTexts, type GivenFacts } from './facts.js';
import { fileSha256, isModelId, manifestName, parseManifest, readModelFolder } from './modelFolder.js';
import type { ModelFile, ModelManifest } from './modelFolder.js';
import { sourceOf, type ModelSource } from './source.js';

/** Shows the progress of a pass, in a unit. */
export type ShowPass = (pass: string, count: number, about: number, unit: string) => void;

/** The operator's options for a model. */
export interface InstallOptions extends GivenFacts {
  readonly id?: string | undefined;
  readonly license?: string | undefined;
  /** Required SHA-256 (hex) of the ONNX file. */
  readonly sha256?: string | undefined;
  readonly revision?: string | undefined;
}

/** Dependencies of installing. */
export interface InstallParts {
  /** The folder of installed models; created if missing. */
  readonly folder: string;
  /** Ids of the shipped models. */
  readonly shipped: readonly string[];
  readonly hub: string;
  readonly fetch: typeof fetch;
  readonly clock: Pick<Clock, 'after' | 'sleep'>;
  /** Takes a lock until this process ends; returns the holder's text if it is held. */
  readonly lockFile: (path: string, text: string) => string | null;
  /** Loads a model and tries it; a sentence if that fails. */
  readonly tryModel: (model: InstalledModel) => Promise<string | undefined>;
  readonly showPass: ShowPass;
}

interface Wrong {
  /** One or more sentences. */
  readonly wrong: string;
  /** True if the next run continues from the part received so far. */
  readonly resumable?: boolean;
}

/** Paths of a model's ONNX file in a source; the first that exists is used. */
const onnxPaths = ['onnx/model.onnx', 'model.onnx'];

const MEGABYTE = 1e6;

function megabytes(showPass: ShowPass, pass: string): DownloadParts['onProgress'] {
  return (bytes, total) => showPass(pass, Math.round(bytes / MEGABYTE), Math.round(total / MEGABYTE), 'MB');
}

/** A model that is being installed. */
interface Arrival {
  readonly source: ModelSource;
  /** Folder of unfinished downloads. */
  readonly waiting: string;
  /** The model's future folder. */
  readonly made: string;
  readonly showPass: ShowPass;
}

/** Fetches a file to the model's folder; false if the source has none. */
async function fetchFile({ source, waiting, made, showPass }: Arrival, file: string, name: string) {
  const target = join(made, name);
  if ((await stat(target).catch(() => undefined)) !== undefined) return true;
  const path = join(waiting, name);
  const outcome = await source.fetch(file, path, megabytes(showPass, name));
  if (outcome.kind === 'failed') return { wrong: outcome.reason, resumable: true };
  if (outcome.kind === 'done') await rename(path, target);
  return outcome.kind === 'done';
}

/** A small file's text; undefined if the source has none. */
async function fetchText(
  arrival: Arrival,
  file: string,
): Promise<{ readonly text: string | undefined } | Wrong> {
  const path = join(arrival.waiting, 'facts');
  const outcome = await arrival.source.fetch(file, path, () => undefined);
  if (outcome.kind === 'failed') return { wrong: outcome.reason, resumable: true };
  return { text: outcome.kind === 'done' ? await readFile(path, 'utf8') : undefined };
}

/** Discards an earlier run's files unless they are from the same source files. */
async function keepOnlySame({ source, waiting, made }: Arrival): Promise<void> {
  const path = join(waiting, 'source');
  const earlier = await readFile(path, 'utf8').catch(() => '');
  if (earlier === source.provenance()) return;
  for (const name of await readdir(waiting)) {
    if (name !== 'lock') await rm(join(waiting, name), { recursive: true });
  }
  await mkdir(made);
  await writeFile(path, source.provenance());
}

/** Fetches the files of a source with a manifest. */
async function fetchManifest(arrival: Arrival, text: string, id: string): Promise<ModelManifest | Wrong> {
  const read = parseManifest(text);
  if ('wrong' in read) return { wrong: `The ${manifestName} of ${arrival.source.name} ${read.wrong}.` };
  await keepOnlySame(arrival);
  for (const name of Object.keys(read.manifest.files)) {
    const fetched = await fetchFile(arrival, name, name);
    if (typeof fetched === 'object') return fetched;
    if (!fetched) return { wrong: `The source has no ${name}, which its ${manifestName} names.` };
  }
  return { ...read.manifest, id };
}

/** Fetches the ONNX file and the tokenizer. */
async function fetchModel(arrival: Arrival): Promise<Wrong | undefined> {
  for (const file of onnxPaths) {
    const fetched = await fetchFile(arrival, file, 'model.onnx');
    if (typeof fetched === 'object') return fetched;
    if (!fetched) continue;
    // Weights beyond the size of one protobuf message are in a separate file.
    const data = await fetchFile(arrival, `${file}_data`, 'model.onnx_data');
    if (typeof data === 'object') return data;
    const tokenizer = await fetchFile(arrival, 'tokenizer.json', 'tokenizer.json');
    if (typeof tokenizer === 'object') return tokenizer;
    return tokenizer ? undefined : { wrong: 'The source has no tokenizer.json.' };
  }
  return { wrong: `The source has no ONNX file (${onnxPaths.join(' or ')}).` };
}

async function digests(folder: string, showPass: ShowPass): Promise<Record<string, ModelFile>> {
  const files: Record<string, ModelFile> = {};
  for (const name of ['model.onnx', 'model.onnx_data', 'tokenizer.json']) {
    const path = join(folder, name);
    const found = await stat(path).catch(() => undefined);
    if (found === undefined) continue;
    const onProgress = megabytes(showPass, 'check');
    let read = 0;
    const sha256 = await fileSha256(path, (bytes) => onProgress((read += bytes), found.size));
    files[name] = { bytes: found.size, sha256 };
  }
  return files;
}

/** Fetches a model in the layout of sentence-transformers, and makes its manifest. */
async function fetchPlain(
  arrival: Arrival,
  id: string,
  options: InstallOptions,
): Promise<ModelManifest | Wrong> {
  const texts: FactTexts = {};
  for (const file of factFiles) {
    const fetched = await fetchText(arrival, file);
    if ('wrong' in fetched) return fetched;
    if (fetched.text !== undefined) texts[file] = fetched.text;
  }
  const read = readFacts(texts, id, options);
  if ('wrong' in read) return read;
  await keepOnlySame(arrival);
  const wrong = await fetchModel(arrival);
  if (wrong !== undefined) return wrong;
  return {
    id,
    kind: 'onnx',
    ...read.facts,
    license: options.license ?? arrival.source.license,
    provenance: arrival.source.provenance(),
    files: await digests(arrival.made, arrival.showPass),
  };
}

/** Options for facts that a manifest already has. */
const factOptions = {
  pooling: '--pooling',
  maxTokens: '--max-tokens',
  queryPrefix: '--query-prefix',
  documentPrefix: '--document-prefix',
  license: '--license',
} as const satisfies Partial<Record<keyof InstallOptions, string>>;

/** Why the given options contradict a source with a manifest, if so. */
function contradicted({ name }: ModelSource, options: InstallOptions): Wrong | undefined {
  const facts = Object.keys(factOptions) as (keyof typeof factOptions)[];
  const given = facts.filter((fact) => options[fact] !== undefined).map((fact) => factOptions[fact]);
  if (given.length === 0) return undefined;
  const wrong =
    `${name} has a ${manifestName}, which says this itself: ${given.join(', ')}. ` +
    `Leave it out, or change the ${manifestName} of the source.`;
  return { wrong, resumable: true };
}

/** Makes the model's folder, checks it and tries the model. */
async function make(
  arrival: Arrival,
  id: string,
  options: InstallOptions,
  parts: InstallParts,
): Promise<{ readonly model: InstalledModel; readonly files: readonly string[] } | Wrong> {
  const own = await fetchText(arrival, manifestName);
  if ('wrong' in own) return own;
  const refusedOptions = own.text === undefined ? undefined : contradicted(arrival.source, options);
  if (refusedOptions !== undefined) return refusedOptions;
  const manifest =
    own.text === undefined
      ? await fetchPlain(arrival, id, options)
      : await fetchManifest(arrival, own.text, id);
  if ('wrong' in manifest) return manifest;
  const expected = options.sha256?.toLowerCase();
  if (expected !== undefined && manifest.files['model.onnx']?.sha256 !== expected) {
    return { wrong: 'The ONNX file does not have the SHA-256 that --sha256 names.' };
  }
  await writeFile(join(arrival.made, manifestName), `${JSON.stringify(manifest, null, 2)}\n`);
  const read = await readModelFolder(arrival.made);
  if ('wrong' in read)
    return { wrong: `What was fetched is not what its ${manifestName} says: ${read.wrong}` };
  parts.showPass('try', 0, 1, 'models');
  const refused = await parts.tryModel(read.model);
  parts.showPass('try', 1, 1, 'models');
  if (refused !== undefined) return { wrong: refused };
  return { model: read.model, files: Object.keys(manifest.files) };
}

/** Makes every byte durable and gives the folder its final name, which installs the model. */
async function settle(made: string, final: string, folder: string, files: readonly string[]): Promise<void> {
  for (const name of [...files, manifestName]) syncPath(join(made, name));
  syncPath(made);
  await rename(made, final);
  syncPath(folder);
}

/** True if a file of the model, or a part of one, was received. */
async function anyReceived({ waiting, made }: Arrival): Promise<boolean> {
  const own = ['lock', 'source', 'facts', basename(made)];
  const parts = (await readdir(waiting)).filter((name) => !own.includes(name));
  return parts.length > 0 || (await readdir(made)).length > 0;
}

/** Why a model cannot be installed under an id, if so. */
async function taken(id: string, { folder, shipped }: InstallParts): Promise<string | undefined> {
  if (!isModelId(id)) return `${id} cannot be a model’s id. Name another: --id.`;
  if (shipped.includes(id)) return `${id} is included in Fusegate.`;
  const found = await stat(join(folder, id)).catch(() => undefined);
  return found === undefined
    ? undefined
    : `${id} is installed already. Remove it first, or name another --id.`;
}

/**
 * Installs the model that a text names; or returns sentences about why not, and then nothing was installed.
 */
export async function installModel(
  from: string,
  options: InstallOptions,
  parts: InstallParts,
): Promise<{ readonly model: InstalledModel } | { readonly wrong: string }> {
  const source = await sourceOf(from, { ...parts, revision: options.revision ?? 'main' });
  if ('wrong' in source) return source;
  const id = options.id ?? source.name;
  const refused = await taken(id, parts);
  if (refused !== undefined) return { wrong: refused };
  const waiting = join(parts.folder, `.adding-${id}`);
  const made = join(waiting, id);
  makeFolder(made, 0o777);
  const holder = parts.lockFile(join(waiting, 'lock'), String(process.pid));
  if (holder !== null) return { wrong: installing(holder, id) };
  const arrival = { source, waiting, made, showPass: parts.showPass };
  const outcome = await make(arrival, id, options, parts);
  const final = join(parts.folder, id);
  if (!('wrong' in outcome)) await settle(made, final, parts.folder, outcome.files);
  if (!('wrong' in outcome) || outcome.resumable !== true || !(await anyReceived(arrival))) {
    await rm(waiting, { recursive: true, force: true });
  }
  return 'wrong' in outcome ? { wrong: outcome.wrong } : { model: { ...outcome.model, folder: final } };
}

/**
 * Removes an installed model, and what was received of one for later. Returns which of them there was; a
 * sentence if the model is being installed, and then nothing was removed.
 */
export async function removeModel(
  { folder, lockFile }: Pick<InstallParts, 'folder' | 'lockFile'>,
  id: string,
): Promise<'model' | 'part' | 'nothing' | { readonly wrong: string }> {
  const waiting = join(folder, `.adding-${id}`);
  const isWaiting = (await stat(waiting).catch(() => undefined)) !== undefined;
  if (isWaiting) {
    const holder = lockFile(join(waiting, 'lock'), String(process.pid));
    if (holder !== null) return { wrong: installing(holder, id) };
    await rm(waiting, { recursive: true, force: true });
  }
  const gone = join(folder, `.removing-${id}`);
  await rm(gone, { recursive: true, force: true });
  try {
    // In one step: half a model never has a model's name.
    await rename(join(folder, id), gone);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return isWaiting ? 'part' : 'nothing';
    throw error;
  }
  await rm(gone, { recursive: true, force: true });
  return 'model';
}

function installing(holder: string, id: string): string {
  return `Process ${holder} installs ${id} at the moment.`;
}
