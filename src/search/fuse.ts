/**
 * The handler of POST /v1/fuse: the body's bytes to the native module, which answers every valid one. One
 * that waits for vectors is kept there as it was read, while a model makes them.
 */
import { type BodyParts, loopBytes } from '../contract/schema/bytes.js';
import type { Answer, RouteRequest } from '../contract/exchange.js';
import type { FuseOutcome, PendingFuse } from '../native/index.js';
import { BufferPool } from '../system/bufferPool.js';
import { embedDocs, type EmbedMode } from './embedMode.js';
import { refusalOf, refusalOffLoop, unusableEntities } from './refusal.js';

/** What the handler is made of. */
export interface FuseParts extends BodyParts {
  readonly embedMode: EmbedMode;
  readonly FuseOutcome: typeof FuseOutcome;
  /** The sentence that says why an outcome's `entity_map` cannot be applied. */
  readonly entitiesRefusal: (outcome: FuseOutcome) => string | null;
}

/**
 * Longest body, in bytes, that is answered on the event loop. One of this length takes about 0.2 ms there,
 * which is what handing it to another thread and back costs on a busy machine; up to 1.5 ms where dense
 * scores are computed, too.
 */
export const LOOP_BODY_LIMIT = 256 * 1024;

const JSON_TYPE = 'application/json';

/** Memory for answers from the thread pool that is kept for the next ones (bytes). */
const POOLED_BYTES = 32 << 20;

/** What the native module came to, and the answer's length (written, or needed) and characters. */
interface Attempt {
  readonly outcome: FuseOutcome;
  readonly length: number;
  readonly characters: number;
}

class FuseHandler {
  // Reused from request to request: http has sent or copied an answer's bytes when it calls again.
  private out = new Uint8Array(2 * LOOP_BODY_LIMIT);
  private readonly facts = new Float64Array(2);
  private readonly pool = new BufferPool(POOLED_BYTES);

  constructor(private readonly parts: FuseParts) {}

  readonly answer = (request: RouteRequest): Answer | Promise<Answer> => {
    const mostDocs = request.header('x-api-key') === '' ? embedDocs.anonymous : embedDocs.keyed;
    if (request.body.length <= LOOP_BODY_LIMIT) return this.answerOnLoop(request, mostDocs);
    return this.answerOffLoop(request, mostDocs);
  };

  private answerOnLoop(request: RouteRequest, mostDocs: number): Answer | Promise<Answer> {
    const { embedMode, FuseOutcome: outcomes } = this.parts;
    const { fuser, choice } = embedMode;
    const { body } = request;
    let outcome = fuser.fuse(body, this.out, this.facts, mostDocs);
    if (outcome === outcomes.NeedsRoom) {
      this.out = new Uint8Array(this.facts[0] ?? 0);
      outcome = fuser.fuse(body, this.out, this.facts, mostDocs);
    }
    if (outcome === outcomes.Written) {
      const bytes = this.out.subarray(0, this.facts[0]);
      return { status: 200, body: { bytes, type: JSON_TYPE }, charge: this.facts[1] ?? 0 };
    }
    if (outcome === outcomes.Pending) return this.answerPending(request, fuser.takePending(), true);
    if (outcome === outcomes.Invalid) {
      if (body.length <= loopBytes) return refusalOf({ body, mostDocs, choice }, this.parts);
      return refusalOffLoop({ body: request.retain(), mostDocs, choice }, this.parts);
    }
    return this.refusedEntities(outcome);
  }

  /**
   * Answers into pooled memory; texts come back in any order, so that an answer is little longer than its
   * body.
   */
  private async answerOffLoop(request: RouteRequest, mostDocs: number): Promise<Answer> {
    const { embedMode, FuseOutcome: outcomes } = this.parts;
    const { fuser, choice } = embedMode;
    const { buffer, byteOffset, byteLength } = request.retain();
    const body = Buffer.from(buffer, byteOffset, byteLength);
    let room = this.pool.take(byteLength + byteLength / 4);
    let attempt = await fuser.fuseAsync(body, room, mostDocs);
    if (attempt.outcome === outcomes.NeedsRoom) {
      this.pool.give(room);
      room = this.pool.take(attempt.length);
      attempt = await fuser.fuseAsync(body, room, mostDocs);
    }
    const { outcome } = attempt;
    if (outcome === outcomes.Written) return this.pooledAnswer(room, attempt);
    this.pool.give(room);
    if (outcome === outcomes.Pending) return this.answerPending(request, attempt.takePending(), false);
    if (outcome === outcomes.Invalid) return refusalOffLoop({ body, mostDocs, choice }, this.parts);
    return this.refusedEntities(outcome);
  }

  private pooledAnswer(room: Buffer, { length, characters }: Attempt): Answer {
    const release = (): void => this.pool.give(room);
    const body = { bytes: room.subarray(0, length), type: JSON_TYPE, release };
    return { status: 200, body, charge: characters };
  }

  private refusedEntities(outcome: FuseOutcome): Answer {
    const sentence = this.parts.entitiesRefusal(outcome);
    if (sentence === null) throw new Error(`the native module came to ${outcome}`);
    return unusableEntities(sentence);
  }

  /** Brings what a request waits for, and has it answered. */
  private async answerPending(request: RouteRequest, pending: PendingFuse, onLoop: boolean): Promise<Answer> {
    try {
      const refused = await this.parts.embedMode.bring(pending, request.signal());
      return refused ?? (await this.writePending(pending, onLoop));
    } finally {
      pending.release();
    }
  }

  private async writePending(pending: PendingFuse, onLoop: boolean): Promise<Answer> {
    const room = this.pool.take(pending.room);
    const attempt = onLoop ? this.attemptOnLoop(pending, room) : await pending.answerAsync(room);
    if (attempt.outcome !== this.parts.FuseOutcome.Written) {
      throw new Error(`a request that was read came to ${attempt.outcome}`);
    }
    return this.pooledAnswer(room, attempt);
  }

  private attemptOnLoop(pending: PendingFuse, room: Buffer): Attempt {
    const outcome = pending.answer(room, this.facts);
    const [length = 0, characters = 0] = this.facts;
    return { outcome, length, characters };
  }
}

/** Makes the handler. */
export function fuseHandler(parts: FuseParts): (request: RouteRequest) => Answer | Promise<Answer> {
  return new FuseHandler(parts).answer;
}
