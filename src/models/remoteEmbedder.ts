/**
 * The worker's end of the embedder: sends questions to the parent, which holds the queue, and gets answers.
 */
import { noVectors, type Embedded, type Embedder, type InstalledModel } from './embedder.js';
import type { EmbedAnswer, EmbedQuestion } from './messages.js';

/** Dependencies of the embedder. */
export interface RemoteEmbedderParts {
  readonly models: readonly InstalledModel[];
  /**
   * Sends a message to the parent; its memory may be reused when this returns. False: the parent has gone.
   */
  readonly tell: (question: EmbedQuestion) => boolean;
  /** Bytes of a text that a tokenizer examines, per token that its model reads. */
  readonly readBytesPerToken: number;
}

/** An embedder that gets its answers through {@link RemoteEmbedder.hear}. */
export interface RemoteEmbedder extends Embedder {
  /** Handles an answer of the parent. */
  readonly hear: (answer: EmbedAnswer) => void;
}

/** Makes the embedder of a worker. */
export function remoteEmbedder({ models, tell, readBytesPerToken }: RemoteEmbedderParts): RemoteEmbedder {
  const waiting = new Map<number, (outcome: Embedded) => void>();
  let lastRequest = 0;

  function embed(
    model: InstalledModel,
    texts: readonly Uint8Array[],
    signal: AbortSignal,
  ): Promise<Embedded> {
    if (signal.aborted) return Promise.resolve({ kind: 'cancelled', some: noVectors });
    // One byte more than is examined shows the tokenizer that the text is longer.
    const most = model.maxTokens * readBytesPerToken + 1;
    const request = (lastRequest += 1);
    return new Promise((resolve) => {
      const settle = (outcome: Embedded): void => {
        waiting.delete(request);
        signal.removeEventListener('abort', cancel);
        resolve(outcome);
      };
      // The parent then answers with the texts done so far.
      const cancel = (): void => {
        if (!tell({ kind: 'cancelEmbed', request })) settle({ kind: 'cancelled', some: noVectors });
      };
      waiting.set(request, settle);
      signal.addEventListener('abort', cancel);
      const read = texts.map((text) => text.subarray(0, most));
      if (!tell({ kind: 'embed', request, model: model.id, texts: read })) settle({ kind: 'failed' });
    });
  }

  return { models, embed, hear: ({ request, outcome }) => waiting.get(request)?.(outcome) };
}
