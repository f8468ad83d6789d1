/**
 * Loop of the embedder process: one text at a time. A model is loaded for its first text and stays loaded.
 */
import { reasonOf } from '../system/reason.js';
import { scaled, type InstalledModel } from './embedder.js';
import type { FromEmbedder, ToEmbedder } from './messages.js';
import type { SessionResult } from './session.js';

/** Dependencies of the loop. */
export interface EmbedderLoopParts {
  /** Loads a model that runs on `threads` threads. */
  readonly openSession: (model: InstalledModel, threads: number) => Promise<SessionResult>;
  readonly tell: (message: FromEmbedder) => void;
  /** Milliseconds of a monotonic clock. */
  readonly monotonicMs: () => number;
}

/** Makes the function that takes the parent's messages; they are handled in order. */
export function embedderLoop(parts: EmbedderLoopParts): (order: ToEmbedder) => void {
  const sessions = new Map<string, Promise<SessionResult>>();
  let threads = 1;
  let last: Promise<void> = Promise.resolve();

  /** A model's session. A refusal is final: the files do not change while this process lives. */
  function sessionOf(model: InstalledModel): Promise<SessionResult> {
    const known = sessions.get(model.digest);
    if (known !== undefined) return known;
    const opened = parts.openSession(model, threads);
    sessions.set(model.digest, opened);
    return opened;
  }

  async function text({ job, model, text }: ToEmbedder & { kind: 'text' }): Promise<void> {
    const opened = await sessionOf(model);
    if ('wrong' in opened) {
      parts.tell({ kind: 'failed', job, reason: opened.wrong });
      return;
    }
    const beginMs = parts.monotonicMs();
    try {
      const embedded = await opened.session.embed(text);
      const vector = scaled(embedded);
      const seconds = (parts.monotonicMs() - beginMs) / 1_000;
      parts.tell({ kind: 'vector', job, vector, truncated: embedded.truncated, seconds });
    } catch (error) {
      parts.tell({ kind: 'failed', job, reason: `The model ${model.id} failed (${reasonOf(error)}).` });
    }
  }

  async function work(order: ToEmbedder): Promise<void> {
    if (order.kind === 'start') threads = order.threads;
    else if (order.kind === 'text') await text(order);
    else {
      const opened = await sessionOf(order.model);
      const reason = 'wrong' in opened ? opened.wrong : undefined;
      parts.tell({ kind: 'loaded', model: order.model.id, reason });
    }
  }

  return (order) => {
    last = last.then(() => work(order));
  };
}
