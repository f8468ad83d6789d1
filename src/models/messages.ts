/**
 * Messages between processes about texts and vectors: workers ask their parent, which holds the queue, and
 * the parent sends the embedder process one text at a time.
 */
import type { Metric } from '../system/metrics.js';
import type { Embedded, InstalledModel } from './embedder.js';

/** From a worker to the parent. */
export type EmbedQuestion =
  | {
      readonly kind: 'embed';
      /** Id of the request, assigned by the worker. */
      readonly request: number;
      /** Id of an installed model. */
      readonly model: string;
      /** Number of texts in all. */
      readonly count: number;
      /** The first of them. */
      readonly texts: readonly Uint8Array[];
    }
  /** More of the request's texts; none is computed before the last has come. */
  | { readonly kind: 'moreTexts'; readonly request: number; readonly texts: readonly Uint8Array[] }
  /** No caller awaits the request's texts any more; its answer has those done so far. */
  | { readonly kind: 'cancelEmbed'; readonly request: number };

/** True if a worker's message is for the embedder. */
export function isEmbedQuestion(message: { readonly kind: string }): message is EmbedQuestion {
  return ['embed', 'moreTexts', 'cancelEmbed'].includes(message.kind);
}

/** From the parent to a worker. */
export interface EmbedAnswer {
  readonly kind: 'embedded';
  readonly request: number;
  readonly outcome: Embedded;
}

/** From the parent to the embedder process. */
export type ToEmbedder =
  | { readonly kind: 'start'; readonly threads: number }
  | { readonly kind: 'load'; readonly model: InstalledModel }
  | {
      readonly kind: 'text';
      readonly job: number;
      readonly model: InstalledModel;
      readonly text: Uint8Array;
    };

/** From the embedder process to the parent. */
export type FromEmbedder =
  | {
      readonly kind: 'vector';
      readonly job: number;
      readonly vector: Float32Array;
      readonly truncated: boolean;
      /** Time that the text took. */
      readonly seconds: number;
    }
  /** The model cannot be run; `reason`: sentences for the log. */
  | { readonly kind: 'failed'; readonly job: number; readonly reason: string }
  /** Outcome of loading a model; `reason`: why it cannot be run, if so. */
  | { readonly kind: 'loaded'; readonly model: string; readonly reason: string | undefined }
  | { readonly kind: 'vitals'; readonly metrics: readonly Metric[] };
