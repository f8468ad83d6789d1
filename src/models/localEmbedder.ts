/** An embedder that runs models in this process: for commands, which have nothing else to do meanwhile. */
import { scaled, textAt, type Embedded, type Embedder, type InstalledModel, type Texts } from './embedder.js';
import type { EmbeddingSession, SessionResult } from './session.js';

/** Loads a model that runs on `threads` threads. */
export type OpenSession = (model: InstalledModel, threads: number) => Promise<SessionResult>;

/** Makes the embedder; a model is loaded for its first text. `onWrong` gets the reason if one cannot run. */
export function localEmbedder(
  models: readonly InstalledModel[],
  openSession: OpenSession,
  threads: number,
  onWrong: (reason: string) => void,
): Embedder {
  const sessions = new Map<InstalledModel, Promise<EmbeddingSession | undefined>>();

  async function open(model: InstalledModel): Promise<EmbeddingSession | undefined> {
    const opened = await openSession(model, threads);
    if ('session' in opened) return opened.session;
    onWrong(opened.wrong);
    return undefined;
  }

  async function embed(model: InstalledModel, texts: Texts, signal: AbortSignal): Promise<Embedded> {
    const opening = sessions.get(model) ?? open(model);
    sessions.set(model, opening);
    const session = await opening;
    if (session === undefined) return { kind: 'failed' };
    const vectors = new Float32Array(texts.length * model.dimension);
    const truncated: boolean[] = [];
    for (let at = 0; at < texts.length; at += 1) {
      if (signal.aborted) {
        const done = vectors.subarray(0, at * model.dimension);
        return { kind: 'cancelled', some: { places: [...truncated.keys()], vectors: done, truncated } };
      }
      const embedded = await session.embed(textAt(texts, at, Infinity));
      vectors.set(scaled(embedded), at * model.dimension);
      truncated.push(embedded.truncated);
    }
    return { kind: 'vectors', vectors, truncated };
  }

  return { models, embed };
}
