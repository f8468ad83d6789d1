/** Messages between the parent and its workers over their channel. */
import type { Tiers } from '../access/tiers.js';
import type { LeftSockets } from '../http/listening.js';
import type { InstalledModel } from '../models/embedder.js';
import type { EmbedAnswer, EmbedQuestion } from '../models/messages.js';
import type { Configuration } from '../configuration.js';
import type { Metric } from '../system/metrics.js';
import type { Addressee } from './sockets.js';

/** From the parent to a worker. */
export type ToWorker =
  | {
      readonly kind: 'start';
      readonly configuration: Configuration;
      /** Read once by the parent, so that all workers have the same tiers. */
      readonly tiers: Tiers;
      /** The installed models; the parent has read their files. */
      readonly models: readonly InstalledModel[];
      /** The port that the parent found; never 0. */
      readonly port: number;
      /** Port of the fragment door; undefined: it shares `port`. */
      readonly doorPort: number | undefined;
      /**
       * Inherited sockets, on which the worker listens after the message `listen`; undefined: it listens on
       * its own as soon as it can.
       */
      readonly left: LeftSockets | undefined;
      /** The niceness to return to before it serves; undefined: it keeps the one with which it started. */
      readonly niceness: number | undefined;
      /** True if it takes the place of a worker that has served. */
      readonly isReplacement: boolean;
    }
  | { readonly kind: 'listen' }
  | {
      /** Send the listening sockets to this inbox. */
      readonly kind: 'handOver';
      readonly to: Addressee;
    }
  | {
      /** Take no new connections, answer pending requests, end. */
      readonly kind: 'drain';
      readonly timeoutMs: number;
      /** True if idle connections are waited for, too. */
      readonly untilClosed: boolean;
    }
  | EmbedAnswer
  | { readonly kind: 'metrics'; readonly request: number };

/** From a worker to the parent. */
export type ToParent =
  | EmbedQuestion
  /** The worker can serve, and waits for `listen`. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'listening' }
  /** Its listening sockets are closed: it takes no new connections. */
  | { readonly kind: 'closed' }
  /** Its listening sockets are in the inbox, unless `failed` says why not. */
  | { readonly kind: 'handedOver'; readonly failed: string | undefined }
  | {
      /** The worker cannot serve; it ends. `reason` is a sentence. */
      readonly kind: 'refused';
      readonly reason: string;
    }
  | { readonly kind: 'metrics'; readonly request: number; readonly metrics: readonly Metric[] };
