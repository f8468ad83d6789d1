/** The handlers of ranking, bound to their parts. */
import type { OpenedStore } from '../commands/withStore.js';
import type { Configuration } from '../configuration.js';
import { corporaHandlers } from '../corpora/handlers.js';
import { SERVICE_VERSION } from '../info/version.js';
import { native } from '../native/addon.js';
import { profileHandlers } from '../profiles/handlers.js';
import { keylessEmbedDocs } from '../search/embedMode.js';
import { fuseHandler } from '../search/fuse.js';
import { rerankHandlers, rerankInfo } from '../search/rerank.js';
import { systemClock } from '../system/clock.js';
import type { SearchParts } from './embedMode.js';

/** Handlers of fuse and rerank requests, and of the statistics and profiles that they may name. */
export function rankingHandlers(
  configuration: Configuration,
  opened: OpenedStore,
  { embedMode, corpora, profiles, ownerOf }: SearchParts,
) {
  const keylessDocs = keylessEmbedDocs(configuration.access.mode);
  const isOpen = configuration.access.mode === 'open';
  const named = { ...opened, ...corpora, clock: systemClock, isOpen };
  const fuse = fuseHandler({ ...native, ...corpora, ownerOf, embedMode, keylessDocs });
  return {
    fuse,
    fuseBatch: fuse,
    ...corporaHandlers({ ...native, ...named }),
    ...profileHandlers({ ...named, look: profiles.look }),
    ...rerankHandlers({ ...native, embedMode, keylessDocs }),
    ...rerankInfo({ ...configuration, embedMode, version: SERVICE_VERSION }),
  };
}
