/** Embed mode of a worker: the configured models, the file of vectors, the named statistics and profiles. */
import { existsSync } from 'node:fs';
import type { Configuration } from '../configuration.js';
import type { Embedder } from '../models/embedder.js';
import { defaultModel } from '../models/modelFolder.js';
import { native } from '../native/addon.js';
import type { Corpora, Profiles } from '../native/index.js';
import { ownerIn, type OwnerOf } from '../search/corpora.js';
import { openEmbedMode, type EmbedMode } from '../search/embedMode.js';
import type { Log } from '../system/log.js';
import { reasonOf } from '../system/reason.js';
import { namedStatistics, type NamedStatistics } from './corpora.js';
import { embeddingsFile } from './folder.js';
import { namedProfiles, type NamedProfiles } from './profiles.js';

/** The models for POST /v1/fuse. */
function embedModeOf(
  { embedModel, dataFolder }: Configuration,
  embedder: Embedder,
  named: { readonly corpora: Corpora; readonly profiles: Profiles },
  log: Log,
): EmbedMode {
  const fallback = defaultModel(embedder.models, embedModel)?.id;
  const file = embeddingsFile(dataFolder);
  const open = (cacheFile: string | null): EmbedMode =>
    openEmbedMode({ ...native, ...named, embedder, fallback, cacheFile });
  try {
    return open(existsSync(file) ? file : null);
  } catch (error) {
    log.error({ file, reason: reasonOf(error) }, 'a file cannot be used: computed vectors are not kept');
    return open(null);
  }
}

/** Parts of the routes that rank texts. */
export interface SearchParts {
  readonly embedMode: EmbedMode;
  readonly corpora: NamedStatistics;
  readonly profiles: NamedProfiles;
  /** Returns the owner whose statistics and profiles a request may name. */
  readonly ownerOf: OwnerOf;
}

/** Opens the models, and loads the statistics and profiles that served requests may name. */
export async function searchParts(
  configuration: Configuration,
  embedder: Embedder,
  parts: Omit<Parameters<typeof namedStatistics>[0], 'isServed' | 'isOpen'> & { readonly log: Log },
): Promise<SearchParts> {
  const { serve, access } = configuration;
  const served = { isServed: serve.includes('fuse'), isOpen: access.mode === 'open' };
  const corpora = await namedStatistics({ ...parts, ...served });
  const profiles = await namedProfiles({ ...parts, ...served });
  const tables = { corpora: corpora.table, profiles: profiles.table };
  const ownerOf = ownerIn(Object.values(tables), parts.hashKey);
  return { embedMode: embedModeOf(configuration, embedder, tables, parts.log), corpora, profiles, ownerOf };
}
