/** Settings of embedding models. */
import { join } from 'node:path';
import type { Settings, ValuesOf } from '../system/settings.js';
import { integer, parsePath, parseText, parseYes } from '../system/settingValues.js';

/** The models and their limits. */
export const modelSettings = {
  /** Absolute path of the folder of installed models; null: `models` in the data folder. */
  modelsFolder: {
    name: 'MODELS_DIR',
    type: 'path',
    fallback: '',
    fallbackShown: '`models` in the data folder',
    meaning: 'Folder of the models that `fusegate models add` installs ([models.md](models.md)).',
    parse: parsePath,
  },
  /** Id of the model for requests that name none; null: the default among the installed ones. */
  embedModel: {
    name: 'EMBED_MODEL',
    type: 'id of an installed model',
    fallback: '',
    fallbackShown: '`bge-base-en-v1.5` if installed, else `all-MiniLM-L6-v2`',
    meaning: 'Model for requests that name none.',
    parse: parseText,
  },
  /** Threads that compute one text's vector. */
  embedThreads: {
    name: 'EMBED_THREADS',
    type: 'whole number, 1 to 256',
    fallback: '1',
    meaning:
      'Threads that compute a text’s vector, at low priority, in one process for all workers. More than ' +
      'half of the cores would slow down everything else.',
    parse: integer(1, 256),
  },
  /** Most texts in the embedder's queue. */
  embedQueue: {
    name: 'EMBED_QUEUE',
    type: 'whole number, 1 to 100000',
    fallback: '4000',
    meaning: 'Texts that may wait for their vectors; a request above that gets 429.',
    parse: integer(1, 100_000),
  },
  /** Time limit for a request's texts, including the time in the queue (ms). */
  embedDeadlineMs: {
    name: 'EMBED_DEADLINE_MS',
    type: 'whole number, 100 to 600000',
    fallback: '30000',
    meaning: 'How long all vectors of a request may take, waiting included, before it gets 503 (ms).',
    parse: integer(100, 600_000),
  },
  /** True if the embedder and its model are loaded at start. */
  embedPreload: {
    name: 'EMBED_PRELOAD',
    type: 'no, yes',
    fallback: 'no',
    meaning:
      '`yes`: the model for requests that name none is loaded at start, instead of by the first request.',
    parse: parseYes,
  },
  /** Size of the cache of embeddings (MiB); 0: no cache. */
  embedCacheMb: {
    name: 'EMBED_CACHE_MB',
    type: 'whole number, 0 to 1048576',
    fallback: '256',
    meaning:
      'Size of the file in the data folder that caches computed vectors (MiB); one MiB has about 640 texts ' +
      'of a model with 384 dimensions. All of it is allocated at the first start; 0: no cache.',
    parse: integer(0, 1_048_576),
  },
  /** True if the store holds computed vectors, too. */
  embedCacheStore: {
    name: 'EMBED_CACHE_STORE',
    type: 'no, yes',
    fallback: 'no',
    meaning:
      '`yes`: computed vectors are cached in the store too, so that machines that share it compute a text ' +
      'once: about 1.6 kB a text with a model of 384 dimensions, until 30 to 60 days after its last use.',
    parse: parseYes,
  },
} as const satisfies Settings;

/** Absolute path of the folder where models are installed. */
export function installedModelsFolder({
  modelsFolder,
  dataFolder,
}: Pick<ValuesOf<typeof modelSettings>, 'modelsFolder'> & { readonly dataFolder: string }): string {
  return modelsFolder ?? join(dataFolder, 'models');
}
