/** Messages between the parent and its workers over their channel. */
import type { Tiers } from '../access/tiers.js';
import type { InstalledModel } from '../models/embedder.js';
import type { EmbedAnswer, EmbedQuestion } from '../models/messages.js';
import type { Configuration } from '../configuration.js';
import type { Metric } from '../system/metrics.js';

/** From the parent to a worker. */
export type ToWorker =
  | {
      readonly kind: 'start';
      readonly configuration: Configuration;
      /** Read once by the parent, so that all workers have the same. */
      readonly tiers: Tiers;
      /** The installed models, whose files the parent has read. */
      readonly models: readonly InstalledModel[];
      /** The port that the parent found free; never 0. */
      readonly port: number;
      /** That of the fragment door; undefined: it shares the other. */
      readonly doorPort: number | undefined;
    }
  | {
      /** Take no new connections, answer what is in flight, end. */
      readonly kind: 'drain';
      readonly timeoutMs: number;
    }
  | EmbedAnswer
  | { readonly kind: 'metrics'; readonly request: number };

/** From a worker to the parent. */
export type ToParent =
  | EmbedQuestion
  | { readonly kind: 'listening' }
  | {
      /** The worker cannot serve; it ends. `reason` is a sentence. */
      readonly kind: 'refused';
      readonly reason: string;
    }
  | { readonly kind: 'metrics'; readonly request: number; readonly metrics: readonly Metric[] };
