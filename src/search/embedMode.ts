/**
 * Embed mode of POST /v1/fuse (contract, FuseDoc): the model that computes the dense scores, the most docs of
 * a request, and the answers while the model is unavailable.
 */
import { problemAnswer } from '../contract/answer.js';
import type { Answer } from '../contract/exchange.js';
import { isImmediate, type Embedded, type Embedder, type InstalledModel } from '../models/embedder.js';
import type { Corpora, DenseModel, DenseModels, Fuser, PendingFuse, Profiles } from '../native/index.js';
import { single, type Metric } from '../system/metrics.js';
import { activeSpan } from '../telemetry/tracer.js';

/** Most docs of a request that a model scores. */
export const embedDocs = { anonymous: 50, keyed: 1_000 } as const;

/** Most docs for a caller without a key. */
export function keylessEmbedDocs(mode: 'open' | 'metered' | 'keys'): number {
  return mode === 'open' ? embedDocs.keyed : embedDocs.anonymous;
}

/** The models that a request may name. */
export interface ModelChoice {
  /** Ids of the installed models. */
  readonly installed: readonly string[];
  /** True if the name is one of an installed model. */
  readonly isInstalled: (name: string) => boolean;
  /** Id of the model for requests that name none; undefined: there is none. */
  readonly fallback: string | undefined;
}

/** Source of dense scores. */
export interface EmbedMode {
  readonly choice: ModelChoice;
  /** The installed models. */
  readonly models: readonly InstalledModel[];
  readonly dense: DenseModels;
  /** Answers requests with these models. */
  readonly fuser: Fuser;
  /**
   * Computes the missing vectors and caches them. Resolves to undefined if all are there, else to the
   * refusal. Vectors computed before a refusal stay cached, so a retry gets further. A text's vector does not
   * depend on other requests.
   */
  readonly bring: (pending: PendingFuse, signal: AbortSignal) => Promise<Answer | undefined>;
  readonly metrics: () => Metric[];
}

/** Parts of embed mode. */
export interface EmbedModeParts {
  readonly embedder: Embedder;
  /** Id of the model for requests that name none; undefined: there is none. */
  readonly fallback: string | undefined;
  /** The prepared file of embeddings; null: none are cached. */
  readonly cacheFile: string | null;
  /** Statistics that requests may name; absent: none. */
  readonly corpora?: Corpora;
  /** Profiles that requests may name; absent: none. */
  readonly profiles?: Profiles;
  /** The native module's models, which answer requests. */
  readonly DenseModels: typeof DenseModels;
  readonly Fuser: typeof Fuser;
}

function later(
  status: 429 | 503,
  code: 'queue_full' | 'embed_timeout',
  detail: string,
  seconds: number,
): Answer {
  return { ...problemAnswer(status, code, detail), headers: { 'retry-after': String(seconds) } };
}

function embedFailed(model: string): Answer {
  const detail = `The model ${model} cannot compute vectors now. Send dense_score, or name another model.`;
  return problemAnswer(503, 'embed_failed', detail);
}

/** The answer if a model has not computed all vectors. */
function refusal(outcome: Exclude<Embedded, { kind: 'vectors' }>, model: string): Answer {
  switch (outcome.kind) {
    case 'queue_full':
      return later(
        429,
        'queue_full',
        `Too many texts wait for the model ${model}. Try again later, or name static-256.`,
        outcome.retryAfterSeconds,
      );
    case 'too_late':
      return later(
        503,
        'embed_timeout',
        `The model ${model} did not get to all texts in time. Send fewer docs, or try again shortly.`,
        1,
      );
    // Nobody reads this answer: the connection is closed.
    case 'cancelled':
    case 'failed':
      return embedFailed(model);
  }
}

/** An installed model as the native module opens it. */
export function denseModel(model: InstalledModel): DenseModel {
  const { id, hubName, digest, dimension, folder, queryPrefix, documentPrefix } = model;
  const named = { id, ...(hubName === null ? {} : { hubName }) };
  const common = { ...named, digest: Buffer.from(digest, 'hex'), dimension };
  return isImmediate(model)
    ? { ...common, staticFolder: folder }
    : { ...common, queryPrefix, documentPrefix };
}

/** Opens the models. @throws Error when the files of one cannot be used */
export function openEmbedMode(parts: EmbedModeParts): EmbedMode {
  const { embedder, fallback, cacheFile, corpora, profiles } = parts;
  const dense = new parts.DenseModels(embedder.models.map(denseModel), fallback, cacheFile);
  return {
    choice: {
      installed: embedder.models.map(({ id }) => id),
      isInstalled: (name) => dense.knows(name),
      fallback,
    },
    models: embedder.models,
    dense,
    fuser: new parts.Fuser(dense, corpora, profiles),
    async bring(pending, signal) {
      const { missing } = pending;
      if (missing === 0) return undefined;
      const model = embedder.models.find(({ id }) => id === pending.model);
      if (model === undefined) throw new Error(`A request waits for ${pending.model}, which is not there`);
      const span = activeSpan()?.child('embed', 'internal');
      const text = (at: number, most: number): Uint8Array | undefined =>
        at < missing ? pending.missingText(at, most) : undefined;
      const outcome = await embedder.embed(model, { length: missing, at: text }, signal);
      span?.end(
        { 'fusegate.model': model.id, 'fusegate.texts': missing, 'fusegate.outcome': outcome.kind },
        outcome.kind !== 'vectors',
      );
      if ('some' in outcome) {
        const { places, vectors, truncated } = outcome.some;
        pending.keep([...places], vectors, [...truncated]);
      }
      if (outcome.kind !== 'vectors') return refusal(outcome, model.id);
      const taken = pending.complete(outcome.vectors, [...outcome.truncated]);
      return taken ? undefined : embedFailed(model.id);
    },
    metrics() {
      const { hits, misses } = dense.lookups();
      const counter = (name: string, help: string, value: number): Metric =>
        single('counter', `fusegate_embeddings_cache_${name}_total`, help, value);
      return [
        counter('hits', 'Texts whose vectors were in the cache of embeddings.', hits),
        counter('misses', 'Texts whose vectors had to be computed.', misses),
      ];
    },
  };
}
