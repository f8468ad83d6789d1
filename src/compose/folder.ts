/** The files that Fusegate keeps in the data folder, and how they are made before the workers start. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Configuration } from '../configuration.js';
import type { InstalledModel } from '../models/embedder.js';
import { native } from '../native/addon.js';
import type { Log } from '../system/log.js';
import { systemRandomness } from '../system/randomness.js';
import { reasonOf } from '../system/reason.js';

/** The file of the data folder that holds the machine's limits. */
export const limitsFile = (dataFolder: string): string => join(dataFolder, 'limits');

/** The file of the data folder that holds the machine's previews of fragments. */
export const previewsFile = (dataFolder: string): string => join(dataFolder, 'previews');

/** The file of the data folder that holds the vectors of the fragments. */
export const vectorsFile = (dataFolder: string): string => join(dataFolder, 'vectors');

/** The file of the data folder that holds the vectors of texts that models have computed. */
export const embeddingsFile = (dataFolder: string): string => join(dataFolder, 'embeddings');

/** Sizes that the files of the data folder are made for. */
interface FolderParts {
  readonly configuration: Configuration;
  readonly models: readonly InstalledModel[];
  readonly method: string;
  readonly log: Log;
}

/** Makes what the workers need in the data folder, which is locked. @throws Error when it cannot. */
export function prepareFolder({ configuration, models, method, log }: FolderParts): void {
  const { dataFolder, embedCacheMb, serve } = configuration;
  native.createLimits(limitsFile(dataFolder), systemRandomness(16));
  native.createPreviews(previewsFile(dataFolder));
  if (!native.prepareVectors(vectorsFile(dataFolder), method)) {
    log.info({ method }, 'fragments get new vectors: those of the file were made in another way');
  }
  if (!serve.includes('fuse')) return;
  const dimensions = models.filter(({ kind }) => kind === 'onnx').map(({ dimension }) => dimension);
  prepareEmbeddings(embeddingsFile(dataFolder), embedCacheMb, Math.max(1, ...dimensions), log);
}

/** Makes the cache of embeddings, or leaves none behind: without one texts are computed each time. */
function prepareEmbeddings(file: string, megabytes: number, dimension: number, log: Log): void {
  if (megabytes === 0) {
    rmSync(file, { force: true });
    return;
  }
  try {
    native.prepareEmbeddings(file, megabytes * 2 ** 20, dimension);
  } catch (error) {
    rmSync(file, { force: true });
    const reason = reasonOf(error);
    log.warn({ file, megabytes, reason }, 'computed vectors are not kept: EMBED_CACHE_MB does not fit here');
  }
}
