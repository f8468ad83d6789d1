/**
 * The handlers of other services' rerank interfaces: pass the body's bytes to the native module, which reads
 * them as those services do, scores as POST /v1/fuse does and writes the answer of each interface.
 */
import { jsonAnswer, problemAnswer } from '../contract/answer.js';
import { retainedBody, type Answer, type Handler, type RouteRequest } from '../contract/exchange.js';
import type { ModelList, RerankerInfo } from '../contract/rerank.js';
import type { FuseOutcome, RerankPath, RerankRefusal } from '../native/index.js';
import { embedDocs, type EmbedMode } from './embedMode.js';
import { LOOP_BODY_LIMIT } from './fuse.js';
import { type Attempted, JSON_TYPE, PooledAnswers } from './pooledAnswers.js';

/** Parts of the handlers. */
export interface RerankParts {
  readonly embedMode: EmbedMode;
  /** Most documents for a caller without a key; default: 50. */
  readonly keylessDocs?: number;
  readonly FuseOutcome: typeof FuseOutcome;
  readonly RerankPath: typeof RerankPath;
}

/** The answer to an invalid body; text-embeddings-inference answers 422 where the others answer 400. */
function refusal({ detail, empty, noModel, tei }: RerankRefusal): Answer {
  if (noModel) return problemAnswer(503, 'no_model', detail);
  if (empty) return problemAnswer(400, 'no_documents', detail);
  return problemAnswer(tei ? 422 : 400, 'invalid_request', detail);
}

class RerankHandlers {
  // Reused by all requests: http has sent or copied an answer's bytes before the next call.
  private readonly out = new Uint8Array(2 * LOOP_BODY_LIMIT);
  private readonly facts = new Float64Array(2);
  private readonly pooled: PooledAnswers;

  constructor(private readonly parts: RerankParts) {
    this.pooled = new PooledAnswers(parts.embedMode, parts.FuseOutcome);
  }

  /** The handler of a path. */
  of(path: RerankPath): Handler {
    const { keylessDocs = embedDocs.anonymous } = this.parts;
    return (request) => {
      const mostDocs = request.keyed ? embedDocs.keyed : keylessDocs;
      if (request.body.length <= LOOP_BODY_LIMIT) return this.answerOnLoop(request, path, mostDocs);
      return this.answerOffLoop(request, path, mostDocs);
    };
  }

  private answerOnLoop(request: RouteRequest, path: RerankPath, mostDocs: number): Answer | Promise<Answer> {
    const { embedMode, FuseOutcome: outcomes } = this.parts;
    const { fuser } = embedMode;
    const outcome = fuser.rerank(request.body, this.out, this.facts, mostDocs, path, request.id);
    if (outcome === outcomes.Written) {
      const bytes = this.out.subarray(0, this.facts[0]);
      return { status: 200, body: { bytes, type: JSON_TYPE }, charge: this.facts[1] ?? 0 };
    }
    if (outcome === outcomes.Deferred) {
      return this.pooled.answerDeferred(request, (attempt) => refusal(attempt.takeRefusal()));
    }
    if (outcome === outcomes.Pending) return this.pooled.answerPending(request);
    return refusal(fuser.takeRefusal());
  }

  /**
   * Answers into pooled memory. At most the documents are returned, so an answer is little longer than its
   * body.
   */
  private answerOffLoop(request: RouteRequest, path: RerankPath, mostDocs: number): Promise<Answer> {
    const { fuser } = this.parts.embedMode;
    const body = retainedBody(request);
    const work = async (): Promise<Attempted> => {
      const room = this.pooled.take(body.length + body.length / 4);
      return { room, attempt: await fuser.rerankAsync(body, room, mostDocs, path, request.id) };
    };
    return this.pooled.inTurn(request, work, (attempt) => refusal(attempt.takeRefusal()));
  }
}

/** The handlers of the four paths. */
export function rerankHandlers(
  parts: RerankParts,
): Record<'rerankV2' | 'rerankV1' | 'rerank' | 'rerankVoyage', Handler> {
  const handlers = new RerankHandlers(parts);
  const { V2, V1, Bare, Voyage } = parts.RerankPath;
  return {
    rerankV2: handlers.of(V2),
    rerankV1: handlers.of(V1),
    rerank: handlers.of(Bare),
    rerankVoyage: handlers.of(Voyage),
  };
}

/** Parts of `GET /info` and `GET /v1/models`. */
export interface ServedModels {
  readonly embedMode: Pick<EmbedMode, 'models' | 'choice'>;
  readonly maxConnections: number;
  readonly version: string;
}

/** The handlers that describe the models. */
export function rerankInfo(served: ServedModels): Record<'rerankerInfo' | 'models', Handler> {
  const { embedMode, maxConnections, version } = served;
  const { models, choice } = embedMode;
  const fallback = models.find((model) => model.id === choice.fallback);
  const id = fallback?.id ?? '';
  const maxTokens = fallback?.maxTokens ?? 0;
  const info: RerankerInfo = {
    model_id: id,
    model_sha: fallback?.digest ?? null,
    model_dtype: 'float32',
    served_model_name: id,
    model_type: { reranker: { id2label: { '0': 'LABEL_0' }, label2id: { LABEL_0: 0 } } },
    max_concurrent_requests: maxConnections,
    max_input_length: maxTokens,
    max_batch_tokens: maxTokens * embedDocs.keyed,
    max_batch_requests: null,
    max_client_batch_size: embedDocs.keyed,
    auto_truncate: true,
    tokenization_workers: 1,
    version,
    sha: null,
    docker_label: null,
  };
  const list: ModelList = {
    object: 'list',
    data: models.map((model) => ({ id: model.id, object: 'model', owned_by: 'fusegate' })),
  };
  const [infoAnswer, modelsAnswer] = [jsonAnswer(200, info), jsonAnswer(200, list)];
  return { rerankerInfo: () => infoAnswer, models: () => modelsAnswer };
}
