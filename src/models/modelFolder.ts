/**
 * A model's folder: `fusegate.json` describes the model, and has the size and SHA-256 of every file. An
 * incomplete folder gets an error that says what is wrong and what to do.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { codeOf, shortReasonOf } from '../system/reason.js';
import { modelKinds, poolings, type InstalledModel } from './embedder.js';

/** Name of the file that describes the folder. */
export const manifestName = 'fusegate.json';

/** A file of a model. */
export interface ModelFile {
  readonly bytes: number;
  /** In hex. */
  readonly sha256: string;
}

/** Contents of a `fusegate.json`. */
export interface ModelManifest {
  readonly id: string;
  readonly kind: InstalledModel['kind'];
  readonly dimension: number;
  readonly pooling: InstalledModel['pooling'];
  readonly max_tokens: number;
  readonly query_prefix: string;
  readonly document_prefix: string;
  readonly license: string;
  readonly provenance: string;
  /** By file name. */
  readonly files: Readonly<Record<string, ModelFile>>;
}

const MOST_DIMENSIONS = 16_384;
const MOST_TOKENS = 32_768;
const MOST_MANIFEST_BYTES = 1 << 20;

/** Names that are valid file names on every system and need no escape in a URL. */
const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/** True if a text can be a model's id. The folder of shipped models also contains `scripts`. */
export function isModelId(text: string): boolean {
  return namePattern.test(text) && text !== 'scripts';
}

function isWhole(value: unknown, most: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= most;
}

/** Names of the kinds. */
const kinds = Object.keys(modelKinds) as InstalledModel['kind'][];

function isOneOf<Value extends string>(value: unknown, list: readonly Value[]): value is Value {
  return (list as readonly unknown[]).includes(value);
}

function isFile(value: unknown): value is ModelFile {
  const { bytes, sha256 } = Object(value) as Partial<Record<keyof ModelFile, unknown>>;
  return (
    isWhole(bytes, Number.MAX_SAFE_INTEGER) && typeof sha256 === 'string' && /^[0-9a-f]{64}$/.test(sha256)
  );
}

/** Names of a manifest's invalid members. */
function wrongMembers(manifest: Partial<Record<keyof ModelManifest, unknown>>): string[] {
  const { id, kind, dimension, pooling, max_tokens, files } = manifest;
  const texts = ['query_prefix', 'document_prefix', 'license', 'provenance'] as const;
  const listed = Object.entries(Object(files) as Record<string, unknown>);
  const required: readonly string[] = isOneOf(kind, kinds) ? modelKinds[kind].files : [];
  const fits: Readonly<Record<string, boolean>> = {
    id: typeof id === 'string' && isModelId(id),
    kind: isOneOf(kind, kinds),
    dimension: isWhole(dimension, MOST_DIMENSIONS),
    pooling: isOneOf(pooling, poolings),
    max_tokens: isWhole(max_tokens, MOST_TOKENS),
    ...Object.fromEntries(texts.map((name) => [name, typeof manifest[name] === 'string'])),
    files:
      listed.every(([name, file]) => namePattern.test(name) && name !== manifestName && isFile(file)) &&
      listed.length > 0 &&
      required.every((name) => listed.some(([present]) => present === name)),
  };
  return Object.keys(fits).filter((name) => fits[name] === false);
}

/** Parses a `fusegate.json`; `wrong` follows its path in a sentence. */
export function parseManifest(
  text: string,
): { readonly manifest: ModelManifest } | { readonly wrong: string } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return { wrong: 'is not JSON' };
  }
  const wrong = wrongMembers(Object(parsed) as Partial<Record<keyof ModelManifest, unknown>>);
  if (wrong.length > 0) return { wrong: `does not say what it must of: ${wrong.join(', ')}` };
  return { manifest: parsed as ModelManifest };
}

/** The SHA-256 of a file in hex, read in pieces. `onBytes`: called with the size of each. */
export async function fileSha256(path: string, onBytes?: (bytes: number) => void): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(
    createReadStream(path, { highWaterMark: 1 << 20 }),
    async (pieces: AsyncIterable<Buffer>) => {
      for await (const piece of pieces) {
        hash.update(piece);
        onBytes?.(piece.byteLength);
      }
    },
  );
  return hash.digest('hex');
}

/** A sentence if a file is missing or damaged. */
async function wrongFile(path: string, expected: ModelFile, onBytes?: (bytes: number) => void) {
  try {
    const { size } = await stat(path);
    if (size !== expected.bytes) return `${path} has ${size} bytes, not ${expected.bytes}`;
    if ((await fileSha256(path, onBytes)) === expected.sha256) return undefined;
    return `${path} is not the file that ${manifestName} names: its SHA-256 is another`;
  } catch (error) {
    return `${path} cannot be read (${shortReasonOf(error)})`;
  }
}

/** A complete model, or sentences about what is wrong and what to do. */
export type ModelFolderResult = { readonly model: InstalledModel } | { readonly wrong: string };

/** The hub's name of a model, at the end of the URL with which its provenance begins. */
const hubNamed = /^(?:\S*\/)?([\w.-]+\/[\w.-]+) (?:at \S+$|\()/;

function installed(manifest: ModelManifest, text: string, folder: string): InstalledModel {
  return {
    id: manifest.id,
    kind: manifest.kind,
    digest: createHash('sha256').update(text).digest('hex'),
    dimension: manifest.dimension,
    pooling: manifest.pooling,
    maxTokens: manifest.max_tokens,
    queryPrefix: manifest.query_prefix,
    documentPrefix: manifest.document_prefix,
    license: manifest.license,
    provenance: manifest.provenance,
    hubName: hubNamed.exec(manifest.provenance)?.[1] ?? null,
    folder: resolve(folder),
    bytes: Object.values(manifest.files).reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/** Reads a model's folder and every byte of its files. `onBytes`: called with the number of bytes read. */
export async function readModelFolder(
  folder: string,
  onBytes?: (bytes: number) => void,
): Promise<ModelFolderResult> {
  const again = `Fetch the model again: fusegate models remove ${basename(folder)}, then models add.`;
  const path = join(folder, manifestName);
  let text: string;
  try {
    if ((await stat(path)).size > MOST_MANIFEST_BYTES) return { wrong: `${path} is too long. ${again}` };
    text = await readFile(path, 'utf8');
  } catch (error) {
    return { wrong: `${path} cannot be read (${shortReasonOf(error)}). ${again}` };
  }
  const read = parseManifest(text);
  if ('wrong' in read) return { wrong: `${path} ${read.wrong}. ${again}` };
  const { manifest } = read;
  if (manifest.id !== basename(resolve(folder))) {
    return { wrong: `${path} is of ${manifest.id}: rename the folder to that.` };
  }
  for (const [name, file] of Object.entries(manifest.files)) {
    const wrong = await wrongFile(join(folder, name), file, onBytes);
    if (wrong !== undefined) return { wrong: `${wrong}. ${again}` };
  }
  return { model: installed(manifest, text, folder) };
}

/** Default models by id: the first that is installed is used. */
const usualModels = ['bge-base-en-v1.5', 'all-MiniLM-L6-v2'] as const;

/** The model for requests that name none; undefined if none is installed. `wanted`: the configured id. */
export function defaultModel(
  models: readonly InstalledModel[],
  wanted: string | null,
): InstalledModel | undefined {
  const ids = wanted === null ? usualModels : [wanted];
  return ids.map((id) => models.find((model) => model.id === id)).find((model) => model !== undefined);
}

/** A folder without a complete model. */
export interface RefusedModel {
  /** The folder's name. */
  readonly id: string;
  /** Sentences about what is wrong and what to do. */
  readonly wrong: string;
}

/** Models found in folders. */
export interface FoundModels {
  readonly models: readonly InstalledModel[];
  readonly refused: readonly RefusedModel[];
}

/** Names of the model folders in a folder, sorted; empty if it does not exist. Hidden folders are ignored. */
export async function modelNames(parent: string): Promise<string[]> {
  try {
    const entries = await readdir(parent, { withFileTypes: true });
    const folders = entries.filter((entry) => entry.isDirectory() || entry.isSymbolicLink());
    return folders
      .map(({ name }) => name)
      .filter(isModelId)
      .sort();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

/**
 * Reads every model of the folders, with all of their bytes. Of two models with the same id, the one in the
 * earlier folder counts, and the other is refused.
 * @throws Error if an existing folder cannot be listed
 */
export async function readModels(parents: readonly string[]): Promise<FoundModels> {
  const models = new Map<string, InstalledModel>();
  const refused: RefusedModel[] = [];
  for (const parent of parents) {
    for (const id of await modelNames(parent)) {
      const earlier = models.get(id);
      if (earlier !== undefined) {
        refused.push({ id, wrong: `${join(parent, id)} is not used: ${id} is also in ${earlier.folder}.` });
        continue;
      }
      const read = await readModelFolder(join(parent, id));
      if ('model' in read) models.set(id, read.model);
      else refused.push({ id, wrong: read.wrong });
    }
  }
  return { models: [...models.values()], refused };
}
