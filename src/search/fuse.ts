/**
 * The handler of POST /v1/fuse: passes the body's bytes to the native module, which answers every valid
 * request. A request that waits for vectors, or for the thread pool, stays parsed there.
 */
import { type BodyParts, loopBytes } from '../contract/schema/bytes.js';
import { retainedBody, type Answer, type RouteRequest } from '../contract/exchange.js';
import type { FuseAttempt, FuseOutcome, Fuser } from '../native/index.js';
import { ownerRequired, type LearnerOf, type OwnerOf } from './corpora.js';
import { embedDocs, type EmbedMode } from './embedMode.js';
import { type Attempted, JSON_TYPE, ownAnswer, PooledAnswers, tooLong } from './pooledAnswers.js';
import { refusalOf, refusalOffLoop, unusableEntities } from './refusal.js';

/** Parts of the handler. */
export interface FuseParts extends BodyParts {
  readonly embedMode: EmbedMode;
  /** Most docs that a model scores for a caller without a key; default: 50. */
  readonly keylessDocs?: number;
  readonly FuseOutcome: typeof FuseOutcome;
  /** Owner of the statistics and profiles that a request may name; absent: only shared ones. */
  readonly ownerOf?: OwnerOf;
  /** Owner of the statistics that a request may add to; absent: none. */
  readonly learnerOf?: LearnerOf;
  /** Why the `entity_map` of an outcome cannot be applied, as a sentence. */
  readonly entitiesRefusal: (outcome: FuseOutcome) => string | null;
}

/**
 * Longest body (bytes) that is answered on the event loop, where it takes about 0.2 ms. That is also the cost
 * of using another thread on a busy machine. If dense scores are computed as well, a body leaves the event
 * loop from 48 KiB on, which may take 4 ms.
 */
export const LOOP_BODY_LIMIT = 256 * 1024;

class FuseHandler {
  // Reused by all requests: http has sent or copied an answer's bytes before the next call.
  private out = new Uint8Array(2 * LOOP_BODY_LIMIT);
  private readonly facts = new Float64Array(2);
  private readonly run: Fuser['fuse'];
  private readonly pooled: PooledAnswers;
  private readonly keylessDocs: number;

  constructor(private readonly parts: FuseParts) {
    this.run = parts.embedMode.fuser.fuse;
    this.pooled = new PooledAnswers(parts.embedMode, parts.FuseOutcome);
    this.keylessDocs = parts.keylessDocs ?? embedDocs.anonymous;
  }

  readonly answer = (request: RouteRequest): Answer | Promise<Answer> => {
    const mostDocs = request.keyed ? embedDocs.keyed : this.keylessDocs;
    if (request.body.length <= LOOP_BODY_LIMIT) return this.answerOnLoop(request, mostDocs);
    return this.answerOffLoop(request, mostDocs);
  };

  private answerOnLoop(request: RouteRequest, mostDocs: number): Answer | Promise<Answer> {
    const { embedMode, FuseOutcome: outcomes } = this.parts;
    const { fuser, choice } = embedMode;
    const { body, mostAnswerBytes = Infinity } = request;
    const most = { docs: mostDocs, bytes: mostAnswerBytes };
    let outcome = this.fuse(body, most, this.parts.ownerOf?.(request.key));
    if (outcome === outcomes.OwnerUnknown) {
      const learner = this.parts.learnerOf?.(request.key) ?? null;
      if (learner === null) return ownerRequired;
      outcome = this.fuse(body, most, learner);
    }
    if (outcome === outcomes.Written) {
      const [length = 0, charge = 0] = this.facts;
      if (length > this.out.length) return ownAnswer(fuser.takeAnswer(), charge);
      return { status: 200, body: { bytes: this.out.subarray(0, length), type: JSON_TYPE }, charge };
    }
    if (outcome === outcomes.Deferred) {
      return this.pooled.answerDeferred(request, (attempt) => this.refused(attempt.outcome, mostAnswerBytes));
    }
    if (outcome === outcomes.Pending) return this.pooled.answerPending(request);
    if (outcome === outcomes.Invalid) {
      const names = fuser.takeFaults();
      const writtenOut = fuser.takeWrittenOut();
      const refused = writtenOut ?? body;
      if (refused.length <= loopBytes) {
        return refusalOf({ body: refused, mostDocs, choice, names }, this.parts);
      }
      return refusalOffLoop({ body: writtenOut ?? request.retain(), mostDocs, choice, names }, this.parts);
    }
    return this.refused(outcome, mostAnswerBytes);
  }

  private fuse(
    body: Uint8Array,
    most: { readonly docs: number; readonly bytes: number },
    owner: string | undefined,
  ): FuseOutcome {
    const outcome = this.run(body, this.out, this.facts, most.docs, owner, most.bytes);
    if (outcome !== this.parts.FuseOutcome.NeedsRoom) return outcome;
    this.out = new Uint8Array(this.facts[0] ?? 0);
    return this.run(body, this.out, this.facts, most.docs, owner, most.bytes);
  }

  /**
   * Answers into pooled memory. Texts are returned in another order, so an answer is little longer than its
   * body.
   */
  private answerOffLoop(request: RouteRequest, mostDocs: number): Promise<Answer> {
    const { embedMode, FuseOutcome: outcomes } = this.parts;
    const body = retainedBody(request);
    const refused = (attempt: FuseAttempt): Answer | Promise<Answer> => {
      if (attempt.outcome !== outcomes.Invalid) {
        return this.refused(attempt.outcome, request.mostAnswerBytes ?? Infinity);
      }
      const { choice } = embedMode;
      const written = attempt.takeWrittenOut() ?? body;
      return refusalOffLoop({ body: written, mostDocs, choice, names: attempt.takeFaults() }, this.parts);
    };
    return this.pooled.inTurn(request, () => this.attempt(body, request, mostDocs), refused);
  }

  /** Fuses in the thread pool, into pooled memory that is large enough. */
  private async attempt(
    body: Buffer,
    { key, mostAnswerBytes = Infinity }: RouteRequest,
    mostDocs: number,
  ): Promise<Attempted | Answer> {
    const { embedMode, FuseOutcome: outcomes } = this.parts;
    let room = this.pooled.take(body.length + body.length / 4);
    const fuse = (owner: string | undefined): Promise<FuseAttempt> =>
      embedMode.fuser.fuseAsync(body, room, mostDocs, owner, mostAnswerBytes);
    let owner = this.parts.ownerOf?.(key);
    let attempt = await fuse(owner);
    if (attempt.outcome === outcomes.OwnerUnknown) {
      const learner = this.parts.learnerOf?.(key) ?? null;
      if (learner === null) {
        this.pooled.give(room);
        return ownerRequired;
      }
      owner = learner;
      attempt = await fuse(owner);
    }
    if (attempt.outcome === outcomes.NeedsRoom) {
      this.pooled.give(room);
      room = this.pooled.take(attempt.length);
      attempt = await fuse(owner);
    }
    return { attempt, room };
  }

  private refused(outcome: FuseOutcome, mostAnswerBytes: number): Answer {
    const refused = tooLong(outcome, mostAnswerBytes, this.parts.FuseOutcome);
    if (refused !== undefined) return refused;
    const sentence = this.parts.entitiesRefusal(outcome);
    if (sentence === null) throw new Error(`the native module came to ${outcome}`);
    return unusableEntities(sentence);
  }
}

/** Makes the handler. */
export function fuseHandler(parts: FuseParts): (request: RouteRequest) => Answer | Promise<Answer> {
  return new FuseHandler(parts).answer;
}
