/**
 * Exploration in one process: the file of vectors, its index, and its writer if this process has the lock.
 */
import type { Vectors } from '../native/index.js';
import type { Store } from '../store/store.js';
import type { Clock } from '../system/clock.js';
import type { Log } from '../system/log.js';
import { memoryBytes } from '../system/memory.js';
import { single, type Metric } from '../system/metrics.js';
import type { Randomness } from '../system/randomness.js';
import { workQueue } from '../system/workQueue.js';
import type { TextEmbedding } from './embedding.js';
import type { ExploreParts } from './explore.js';
import { hiddenFragments } from './hiddenFragments.js';
import { followFragments } from './vectorsFollower.js';

/** Number of fragments from which the index answers. */
export const indexedFrom = 50_000;

/** Most requests queued in one process: some seconds of each kind. */
const longWaiting = 32;
const shortWaiting = 256;
const listsWaiting = 64;

/** Files are read into memory at the start if they take at most this share of it. */
const warmShare = 1 / 4;

/** Dependencies of exploration on its process. */
export interface ExplorationParts {
  readonly store: Store;
  /** The file of vectors, already prepared, with its index. */
  readonly vectors: Vectors;
  /** The embedding that made the file's vectors. */
  readonly textEmbedding: TextEmbedding;
  readonly visitorId: (visitor: string) => string;
  /** Takes the writer's lock for the life of this process; false if another process has it. */
  readonly takeLock: () => boolean;
  readonly clock: Pick<Clock, 'every' | 'monotonicMs' | 'sleep'>;
  readonly randomness: Randomness;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** False: exploration is not served, and the log of fragments is not followed. */
  readonly isServed?: boolean;
}

/** Running exploration. */
export interface ExplorationProcess {
  /** Parts of the routes. */
  readonly explore: ExploreParts;
  readonly metrics: () => Metric[];
  readonly stop: () => Promise<void>;
}

/** Starts to follow the fragments of the store; answers at once with what the file has. */
export function startExploration(parts: ExplorationParts): ExplorationProcess {
  const { store, vectors, visitorId, randomness } = parts;
  const { method, embedText } = parts.textEmbedding;
  const embedding = { method, dimension: embedText('').byteLength };
  const isServed = parts.isServed !== false;
  const follower = isServed ? followFragments({ ...parts, embedText }) : undefined;
  // If it fails, first searches are slower, and a search reports what is wrong with a file.
  const warmed = isServed ? vectors.warm(memoryBytes() * warmShare).catch(() => false) : undefined;
  return {
    explore: {
      store,
      vectors,
      warmed,
      embedding,
      embedText,
      visitorId,
      hidden: hiddenFragments(store, parts.clock, vectors),
      randomness,
      inTurn: workQueue(1, longWaiting),
      inShortTurn: workQueue(2, shortWaiting),
      inListTurn: workQueue(2, listsWaiting),
    },
    metrics() {
      const { count, position } = vectors.state();
      return [
        single('gauge', 'fusegate_explored_fragments', 'Fragments in the file of vectors.', count, 'max'),
        single(
          'gauge',
          'fusegate_explored_position',
          'Last position of the log of fragments that the file of vectors has.',
          position,
          'max',
        ),
        single('gauge', 'fusegate_explored_indexed', 'Fragments in their index.', vectors.indexed(), 'max'),
      ];
    },
    async stop() {
      await follower?.stop();
    },
  };
}
