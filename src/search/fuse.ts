/**
 * The handler of POST /v1/fuse: the body's bytes to the native fast path; what it does not take, to the
 * contract's validator and the exact path. Vectors that are missing are brought in between.
 */
import type { Answer, RouteRequest } from '../contract/exchange.js';
import type { FuseResult, GatheredTexts } from '../native/index.js';
import { BufferPool } from '../system/bufferPool.js';
import { type ComputedScores, embedDocs, type EmbedMode } from './embedMode.js';
import {
  answerExactly,
  type ExactOutcome,
  type ExactParts,
  type ExactRequest,
  type UnscoredTexts,
  unusableEntities,
} from './exactAnswer.js';

/** What the native module and the thread of the exact path do for this handler. */
export interface FuseParts extends ExactParts {
  /** Answers `body` into `out` and sets `facts[0]` to its characters; see the native module's declaration. */
  readonly fuse: (body: Uint8Array, out: Uint8Array, facts: Float64Array) => number;
  /** The same in the thread pool. */
  readonly fuseAsync: (body: Buffer, out: Buffer) => Promise<FuseResult>;
  /** {@link answerExactly} in a thread of its own. */
  readonly answerExactlyOffLoop: (request: ExactRequest) => Promise<ExactOutcome>;
  readonly embedMode: EmbedMode;
}

/**
 * Longest body, in bytes, that is answered on the event loop. One of this length takes about 0.2 ms there,
 * which is what handing it to another thread and back costs on a busy machine; up to 1.5 ms where dense
 * scores are computed, too.
 */
export const LOOP_BODY_LIMIT = 256 * 1024;

const NEEDS_MODEL = -2;
const NEEDS_VECTORS = -3;
const JSON_TYPE = 'application/json';

/** Memory for answers from the thread pool that is kept for the next ones (bytes). */
const POOLED_BYTES = 32 << 20;

/** What the native module came to: the answer's length and characters, or a number below 0. */
type Written = Pick<FuseResult, 'length' | 'characters'>;

/** A body that is answered later, in memory of its own, and its sender. */
interface Kept {
  readonly body: Buffer;
  readonly mostDocs: number;
  readonly request: RouteRequest;
}

class FuseHandler {
  // Reused from request to request: http has sent or copied an answer's bytes when it calls again.
  private out = new Uint8Array(2 * LOOP_BODY_LIMIT);
  private readonly facts = new Float64Array(1);
  private readonly pool = new BufferPool(POOLED_BYTES);

  constructor(private readonly parts: FuseParts) {}

  readonly answer = (request: RouteRequest): Answer | Promise<Answer> => {
    const mostDocs = request.header('x-api-key') === '' ? embedDocs.anonymous : embedDocs.keyed;
    if (request.body.length <= LOOP_BODY_LIMIT) return this.answerOnLoop(request, mostDocs);
    return this.answerOffLoop(keep(request, mostDocs));
  };

  private answerOnLoop(request: RouteRequest, mostDocs: number): Answer | Promise<Answer> {
    const { fuse, embedMode } = this.parts;
    let length = this.writeOnLoop((out) => fuse(request.body, out, this.facts));
    if (length === NEEDS_MODEL) {
      length = this.writeOnLoop((out) => embedMode.dense.fuse(request.body, out, this.facts, mostDocs));
    }
    if (length >= 0) {
      const bytes = this.out.subarray(0, length);
      return { status: 200, body: { bytes, type: JSON_TYPE }, charge: this.facts[0] ?? 0 };
    }
    if (length === NEEDS_VECTORS) {
      const gathered = embedMode.dense.takeGathered();
      return this.answerGathered(keep(request, mostDocs), gathered);
    }
    const exact = { body: request.body, mostDocs, choice: embedMode.choice };
    const outcome = answerExactly(exact, this.parts);
    return 'answer' in outcome
      ? outcome.answer
      : this.answerUnscored(keep(request, mostDocs), outcome.unscored);
  }

  /** Has an answer written into the reused memory, which grows where it must. */
  private writeOnLoop(write: (out: Uint8Array) => number): number {
    const length = write(this.out);
    if (length >= NEEDS_VECTORS) return length;
    this.out = new Uint8Array(-length);
    return write(this.out);
  }

  /**
   * Answers into pooled memory; texts come back in any order, so that an answer is little longer than its
   * body.
   */
  private async answerOffLoop(kept: Kept): Promise<Answer> {
    const { body, mostDocs } = kept;
    const { fuseAsync, embedMode, answerExactlyOffLoop } = this.parts;
    const plain = await this.writePooled(body, (out) => fuseAsync(body, out));
    if (!('length' in plain)) return plain;
    if (plain.length === NEEDS_MODEL) {
      let gathered: GatheredTexts | undefined;
      const embedded = await this.writePooled(body, async (out) => {
        const attempt = await embedMode.dense.fuseAsync(body, out, mostDocs);
        if (attempt.length === NEEDS_VECTORS) gathered = attempt.takeGathered();
        return attempt;
      });
      if (!('length' in embedded)) return embedded;
      if (gathered !== undefined) return this.answerGathered(kept, gathered);
    }
    const outcome = await answerExactlyOffLoop({ body, mostDocs, choice: embedMode.choice });
    return 'answer' in outcome ? outcome.answer : this.answerUnscored(kept, outcome.unscored);
  }

  /** The answer that is written into pooled memory, or the number below 0 that stands for none. */
  private async writePooled(
    body: Buffer,
    write: (out: Buffer) => Promise<Written> | Written,
  ): Promise<Answer | { readonly length: number }> {
    let room = this.pool.take(body.byteLength + body.byteLength / 4);
    let { length, characters } = await write(room);
    if (length < NEEDS_VECTORS) {
      this.pool.give(room);
      room = this.pool.take(-length);
      ({ length, characters } = await write(room));
    }
    const release = (): void => this.pool.give(room);
    if (length < 0) {
      release();
      return { length };
    }
    const bytes = room.subarray(0, length);
    return { status: 200, body: { bytes, type: JSON_TYPE, release }, charge: characters };
  }

  /** Brings what is missing of a body that the fast path has read, and answers it. */
  private async answerGathered(kept: Kept, gathered: GatheredTexts): Promise<Answer> {
    try {
      const refused = await this.parts.embedMode.bring(gathered, kept.request.signal());
      return refused ?? (await this.writeGathered(kept.body, gathered));
    } finally {
      gathered.release();
    }
  }

  private async writeGathered(body: Buffer, gathered: GatheredTexts): Promise<Answer> {
    const onLoop = body.byteLength <= LOOP_BODY_LIMIT;
    const facts = new Float64Array(1);
    const write = (out: Buffer): Written | Promise<Written> => {
      if (!onLoop) return gathered.fuseAsync(body, out);
      const length = gathered.fuse(body, out, facts);
      return { length, characters: facts[0] ?? 0 };
    };
    const answer = await this.writePooled(body, write);
    if ('length' in answer) throw new Error('what was read once cannot be read again');
    return answer;
  }

  /** Has a model score a body that only the exact path reads, and answers it. */
  private async answerUnscored(kept: Kept, unscored: UnscoredTexts): Promise<Answer> {
    const { model, query, texts, entities } = unscored;
    const gathered = this.parts.embedMode.dense.gather(model, query, texts, entities);
    if (typeof gathered === 'string') return unusableEntities(gathered);
    try {
      const refused = await this.parts.embedMode.bring(gathered, kept.request.signal());
      if (refused !== undefined) return refused;
      const { truncated } = gathered;
      return await this.answerComputed(kept, { scores: gathered.scores(), model, truncated });
    } finally {
      gathered.release();
    }
  }

  private async answerComputed({ body, mostDocs }: Kept, computed: ComputedScores): Promise<Answer> {
    const exact = { body, mostDocs, choice: this.parts.embedMode.choice, computed };
    const onLoop = body.byteLength <= LOOP_BODY_LIMIT;
    const outcome = onLoop ? answerExactly(exact, this.parts) : await this.parts.answerExactlyOffLoop(exact);
    if ('unscored' in outcome) throw new Error('scores that were computed are not taken');
    return outcome.answer;
  }
}

function keep(request: RouteRequest, mostDocs: number): Kept {
  const { buffer, byteOffset, byteLength } = request.retain();
  return { body: Buffer.from(buffer, byteOffset, byteLength), mostDocs, request };
}

/** Makes the handler. */
export function fuseHandler(parts: FuseParts): (request: RouteRequest) => Answer | Promise<Answer> {
  return new FuseHandler(parts).answer;
}
