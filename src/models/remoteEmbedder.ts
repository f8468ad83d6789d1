/**
 * The worker's end of the embedder: sends questions to the parent, which holds the queue, and gets answers.
 */
import { inSlice } from '../system/slices.js';
import {
  noVectors,
  textAt,
  type Embedded,
  type Embedder,
  type InstalledModel,
  type Texts,
} from './embedder.js';
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

/** Bytes of texts in one message, unless one text has more: all at once would hold the event loop. */
const LOT_BYTES = 128 << 10;

/** The texts from an index on that one message takes, each cut to what is read of it. */
function lot(texts: Texts, from: number, mostOfEach: number): Uint8Array[] {
  const some: Uint8Array[] = [];
  for (let bytes = 0; bytes < LOT_BYTES && from + some.length < texts.length;) {
    const text = textAt(texts, from + some.length, mostOfEach);
    bytes += text.byteLength;
    some.push(text);
  }
  return some;
}

/** Makes the embedder of a worker. */
export function remoteEmbedder({ models, tell, readBytesPerToken }: RemoteEmbedderParts): RemoteEmbedder {
  const waiting = new Map<number, (outcome: Embedded) => void>();
  let lastRequest = 0;

  /** Sends the texts of a request that follow the first ones, as long as it has no answer. */
  async function sendMore(request: number, texts: Texts, sent: number, most: number): Promise<void> {
    for (let at = sent; at < texts.length && waiting.has(request);) {
      await inSlice(() => {
        const settle = waiting.get(request);
        if (settle === undefined) return;
        const some = lot(texts, at, most);
        at += some.length;
        if (!tell({ kind: 'moreTexts', request, texts: some })) settle({ kind: 'failed' });
      });
    }
  }

  function embed(model: InstalledModel, texts: Texts, signal: AbortSignal): Promise<Embedded> {
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
      const first = lot(texts, 0, most);
      const question = { request, model: model.id, count: texts.length, texts: first };
      if (!tell({ kind: 'embed', ...question })) settle({ kind: 'failed' });
      sendMore(request, texts, first.length, most).catch(() => settle({ kind: 'failed' }));
    });
  }

  return { models, embed, hear: ({ request, outcome }) => waiting.get(request)?.(outcome) };
}
