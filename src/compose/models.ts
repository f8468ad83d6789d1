/** The installed and the shipped models: found, checked and loaded. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Configuration } from '../configuration.js';
import { isImmediate, type InstalledModel } from '../models/embedder.js';
import { modelNames, readModels, type FoundModels } from '../models/modelFolder.js';
import type { SessionResult } from '../models/session.js';
import { installedModelsFolder } from '../models/settings.js';
import { native } from '../native/addon.js';
import { denseModel } from '../search/embedMode.js';
import { reasonOf } from '../system/reason.js';

/** The sentence about a model that EMBED_MODEL names but is not installed. */
export function notInstalled(id: string, installed: readonly string[]): string {
  const ids = installed.join(', ');
  return `EMBED_MODEL names ${id}, which is not installed (installed: ${ids}). See fusegate models add -h.`;
}

/** Error of the model that EMBED_MODEL names, by folder names alone. */
export async function wrongModelName(partial: Partial<Configuration>): Promise<string[]> {
  const { embedModel, modelsFolder, dataFolder } = partial;
  if (embedModel === undefined || embedModel === null) return [];
  if (modelsFolder === undefined || dataFolder === undefined) return [];
  const folders = [installedModelsFolder({ modelsFolder, dataFolder }), shippedModels];
  try {
    const ids = new Set((await Promise.all(folders.map(modelNames))).flat());
    return ids.has(embedModel) ? [] : [notInstalled(embedModel, [...ids])];
  } catch {
    // An unlistable folder is reported when it is read.
    return [];
  }
}

/** The folder of shipped models. */
export const shippedModels = fileURLToPath(new URL('../../../models', import.meta.url));

/** A sentence if the native module cannot use a model; undefined if it can. */
function wrongInNative(model: InstalledModel): string | undefined {
  try {
    new native.DenseModels([denseModel(model)]);
    return undefined;
  } catch (error) {
    return `${reasonOf(error)}.`;
  }
}

/** Reads every installed or shipped model. @throws Error if a folder cannot be listed */
export async function findModels(configuration: Configuration): Promise<FoundModels> {
  const { models, refused } = await readModels([installedModelsFolder(configuration), shippedModels]);
  const tried = models.map((model) => ({
    model,
    wrong: isImmediate(model) ? wrongInNative(model) : undefined,
  }));
  return {
    models: tried.flatMap(({ model, wrong }) => (wrong === undefined ? [model] : [])),
    refused: [
      ...refused,
      ...tried.flatMap(({ model: { id }, wrong }) => (wrong === undefined ? [] : [{ id, wrong }])),
    ],
  };
}

/** The sentence for a folder of models that cannot be listed. @throws any other error */
export function unlistedModels(error: unknown, { modelsFolder }: Configuration): { readonly reason: string } {
  if (!(error instanceof Error && 'code' in error && 'path' in error)) throw error;
  const setting = modelsFolder === null ? 'STORE_URL to a path in a folder' : 'MODELS_DIR to a folder';
  const reason = `${String(error.path)} cannot be listed (${String(error.code)})`;
  return { reason: `${reason}. Set ${setting} that this user may read and write.` };
}

/** Loads a model in this process; the first one also loads the runtime. */
export async function openSession(model: InstalledModel, threads: number): Promise<SessionResult> {
  let session: typeof import('../models/session.js');
  try {
    session = await import('../models/session.js');
  } catch (error) {
    const why = reasonOf(error);
    return { wrong: `ONNX Runtime cannot be loaded here (${why}), so no ONNX model can be run.` };
  }
  return session.openSession(model, {
    threads,
    openTokenizer: (json, { maxTokens, queryPrefix, documentPrefix }) =>
      new native.SubwordTokenizer(json, maxTokens, [queryPrefix, documentPrefix]),
  });
}

/** Loads a model and tries it; a sentence if that fails. */
export async function tryModel(model: InstalledModel): Promise<string | undefined> {
  if (isImmediate(model)) return wrongInNative(model);
  const opened = await openSession(model, 1);
  if ('wrong' in opened) return opened.wrong;
  await opened.session.close();
  return undefined;
}

/** Dependencies of `fusegate models` besides the store. */
export const modelsParts = {
  ...{ shippedFolder: shippedModels, findModels, fetch, lockFile: native.lockFile, tryModel },
  evaluation: {
    ...{ ...native, openSession },
    writeFile: (path: string, text: string) => writeFileSync(path, text),
  },
};
