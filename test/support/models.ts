/** What the tests of models share: the included model, copies of it, and embedders that run it. */
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Embedder, InstalledModel } from '../../src/models/embedder.js';
import { readModelFolder, type ModelManifest } from '../../src/models/modelFolder.js';
import { remoteEmbedder } from '../../src/models/remoteEmbedder.js';
import { openSession, type SessionResult } from '../../src/models/session.js';
import { native } from '../../src/native/addon.js';
import { EmbedderProcess, type EmbedderParts } from '../../src/processes/embedder.js';
import { systemClock } from '../../src/system/clock.js';
import type { Log, LogFields } from '../../src/system/log.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** The folder of the model that ships. */
export const shippedFolder = join(root, 'models/all-MiniLM-L6-v2');

/** A text with what the tokenizers package and the fp32 model make of it. */
export interface EmbedVector {
  readonly text: string;
  readonly ids: readonly number[];
  readonly truncated: boolean;
  /** Base64 of little-endian float32. */
  readonly vector: string;
}

/** The lines of `test/vectors/embed.jsonl`. */
export const embedVectors = readFileSync(join(root, 'test/vectors/embed.jsonl'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as EmbedVector);

/** The vector of a line. */
export function fp32({ vector }: EmbedVector): Float32Array {
  const bytes = Uint8Array.from(Buffer.from(vector, 'base64'));
  return new Float32Array(bytes.buffer);
}

export function cosine(left: Float32Array, right: Float32Array): number {
  return left.reduce((sum, value, at) => sum + value * (right[at] ?? Number.NaN), 0);
}

/** The model that ships. */
export async function shippedModel(): Promise<InstalledModel> {
  const read = await readModelFolder(shippedFolder);
  if ('wrong' in read) throw new Error(read.wrong);
  return read.model;
}

/** Writes `fusegate.json` for the files that lie in a folder. */
export function writeManifest(folder: string, changes: Partial<ModelManifest>): void {
  const shipped = JSON.parse(readFileSync(join(shippedFolder, 'fusegate.json'), 'utf8')) as ModelManifest;
  const files = Object.fromEntries(
    ['model.onnx', 'tokenizer.json'].map((name) => {
      const bytes = readFileSync(join(folder, name));
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      return [name, { bytes: bytes.byteLength, sha256 }];
    }),
  );
  writeFileSync(join(folder, 'fusegate.json'), JSON.stringify({ ...shipped, files, ...changes }));
}

/** A copy of the shipped model under another id; `change`: what is done to its files before the manifest. */
export function copiedModel(
  parent: string,
  id: string,
  changes: Partial<ModelManifest> = {},
  change: (folder: string) => void = () => undefined,
): string {
  const folder = join(parent, id);
  mkdirSync(folder, { recursive: true });
  for (const name of ['model.onnx', 'tokenizer.json']) {
    copyFileSync(join(shippedFolder, name), join(folder, name));
  }
  change(folder);
  writeManifest(folder, { id, ...changes });
  return folder;
}

/** Loads a folder's model in this process. */
export async function openFolder(folder: string, threads = 1): Promise<SessionResult> {
  const read = await readModelFolder(folder);
  return 'wrong' in read ? read : openForTest(read.model, threads);
}

/** Loads a model in this process. */
export function openForTest(model: InstalledModel, threads: number): Promise<SessionResult> {
  return openSession(model, {
    threads,
    openTokenizer: (json, { maxTokens, queryPrefix, documentPrefix }) =>
      new native.SubwordTokenizer(json, maxTokens, [queryPrefix, documentPrefix]),
  });
}

/** A log that keeps its lines. */
export function keptLog(): Log & { readonly lines: { fields: LogFields; message: string }[] } {
  const lines: { fields: LogFields; message: string }[] = [];
  const keep = (fields: LogFields, message: string): void => void lines.push({ fields, message });
  return { lines, debugging: false, debug: keep, info: keep, warn: keep, error: keep };
}

/** An embedder process and a worker's view of it, as a server has them. */
export interface TestEmbedder extends Embedder {
  readonly process: EmbedderProcess;
  readonly log: ReturnType<typeof keptLog>;
}

/** Runs an embedder at the usual priority: at the program's own, lower one a busy machine lets it wait. */
export function startEmbedder(
  models: readonly InstalledModel[],
  changes: Partial<EmbedderParts> = {},
): TestEmbedder {
  const log = keptLog();
  const running = new EmbedderProcess({
    program: join(root, 'dist/test/models/embedderProgram.js'),
    embedderArguments: [],
    models,
    threads: 1,
    mostTexts: 4_000,
    deadlineMs: 600_000,
    clock: systemClock,
    log,
    logFormat: 'json',
    ...changes,
  });
  after(() => running.stop());
  const worker = {};
  const remote = remoteEmbedder({
    models,
    readBytesPerToken: native.readBytesPerToken(),
    tell(question) {
      running.hear(worker, structuredClone(question), (answer) => remote.hear(answer));
      return true;
    },
  });
  return { models, embed: remote.embed, process: running, log };
}
