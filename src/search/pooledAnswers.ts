/**
 * Answers of the native module in pooled memory, also those of requests that wait for vectors or for the
 * thread pool.
 */
import { answerTooDetailed, answerTooLarge, callerGone, ownJson } from '../contract/answer.js';
import { retainedBody, type Answer, type RouteRequest } from '../contract/exchange.js';
import type { FuseAttempt, FuseOutcome, PendingFuse } from '../native/index.js';
import { BufferPool } from '../system/bufferPool.js';
import { inPool, inPoolAnyway } from '../system/threadPool.js';
import type { EmbedMode } from './embedMode.js';

/** Most memory that the pool holds for further answers (bytes). */
const POOLED_BYTES = 32 << 20;

/** The media type of every answer. */
export const JSON_TYPE = 'application/json';

/**
 * Outcome of the native module, the answer's length (written, or needed) and characters, and the answer where
 * it is longer than its room.
 */
export interface Attempt {
  readonly outcome: FuseOutcome;
  readonly length: number;
  readonly characters: number;
  takeAnswer(): Uint8Array | null;
}

/** A request that was answered in the thread pool, into this room. */
export interface Attempted {
  readonly attempt: FuseAttempt;
  readonly room: Buffer;
}

/** An answer in memory that nobody else writes to. */
export function ownAnswer(bytes: Uint8Array | null, charge: number): Answer {
  if (bytes === null) throw new Error('the native module wrote an answer, and has none');
  return ownJson(bytes, charge);
}

/** The refusal where an answer, of at most `mostBytes`, would be too long; undefined for other outcomes. */
export function tooLong(
  outcome: FuseOutcome,
  mostBytes: number,
  outcomes: typeof FuseOutcome,
): Answer | undefined {
  if (outcome === outcomes.TooDetailed) return answerTooDetailed;
  return outcome === outcomes.TooLarge ? answerTooLarge(mostBytes) : undefined;
}

/** Pooled memory for answers. */
export class PooledAnswers {
  private readonly pool = new BufferPool(POOLED_BYTES);
  private readonly facts = new Float64Array(2);

  constructor(
    private readonly embedMode: EmbedMode,
    private readonly outcomes: typeof FuseOutcome,
  ) {}

  take(bytes: number): Buffer {
    return this.pool.take(bytes);
  }

  give(room: Buffer): void {
    this.pool.give(room);
  }

  /** The answer in `room`, which is returned to the pool once it is sent, or in memory of its own. */
  answer(room: Buffer, attempt: Attempt): Answer {
    const { length, characters } = attempt;
    if (length > room.length) {
      this.pool.give(room);
      return ownAnswer(attempt.takeAnswer(), characters);
    }
    const release = (): void => this.pool.give(room);
    const body = { bytes: room.subarray(0, length), type: JSON_TYPE, release };
    return { status: 200, body, charge: characters };
  }

  /** The answer of a request; undefined: it has none, and its room is returned to the pool. */
  private attempted(
    request: RouteRequest,
    { attempt, room }: Attempted,
  ): Answer | Promise<Answer> | undefined {
    if (attempt.outcome === this.outcomes.Written) return this.answer(room, attempt);
    this.pool.give(room);
    if (attempt.outcome !== this.outcomes.Pending) return undefined;
    return this.answerPending(request, attempt.takePending());
  }

  /**
   * Answers a request by `work` in the thread pool, when its turn comes; `refused` is called if that has no
   * answer.
   */
  async inTurn(
    request: RouteRequest,
    work: () => Promise<Attempted | Answer>,
    refused: (attempt: FuseAttempt) => Answer | Promise<Answer>,
  ): Promise<Answer> {
    const made = await inPool(work, request.signal());
    if (made === 'busy') return callerGone;
    if ('status' in made) return made;
    return this.attempted(request, made) ?? refused(made.attempt);
  }

  /** The request that the native module parsed last, and did not answer. */
  private parsed(request: RouteRequest): PendingFuse {
    return this.embedMode.fuser.takePending(retainedBody(request));
  }

  /** Answers the request that was deferred last; `refused` is called if it has no answer. */
  async answerDeferred(request: RouteRequest, refused: (attempt: FuseAttempt) => Answer): Promise<Answer> {
    const pending = this.parsed(request);
    request.hold(pending.bytes);
    const work = async (): Promise<Attempted> => {
      const room = this.pool.take(pending.room);
      return { room, attempt: await pending.answerAsync(room) };
    };
    try {
      return await this.inTurn(request, work, refused);
    } finally {
      pending.release();
    }
  }

  /**
   * Computes the vectors that a request waits for, and answers it. `attempted`: its parsed form from the
   * thread pool; absent: the native module parsed it last on the event loop, where it is answered, too.
   */
  async answerPending(request: RouteRequest, attempted?: PendingFuse): Promise<Answer> {
    const pending = attempted ?? this.parsed(request);
    request.hold(pending.bytes);
    const onLoop = attempted === undefined;
    try {
      const refused = await this.embedMode.bring(pending, request.signal());
      return refused ?? (await this.writePending(pending, onLoop, request.mostAnswerBytes ?? Infinity));
    } finally {
      pending.release();
    }
  }

  private async writePending(pending: PendingFuse, onLoop: boolean, mostBytes: number): Promise<Answer> {
    const room = this.pool.take(pending.room);
    let attempt = onLoop ? this.attemptOnLoop(pending, room) : undefined;
    if (attempt === undefined || attempt.outcome === this.outcomes.Deferred) {
      attempt = await inPoolAnyway(() => pending.answerAsync(room));
    }
    if (attempt.outcome === this.outcomes.Written) return this.answer(room, attempt);
    this.pool.give(room);
    const refused = tooLong(attempt.outcome, mostBytes, this.outcomes);
    if (refused === undefined) throw new Error(`a request that was read came to ${attempt.outcome}`);
    return refused;
  }

  private attemptOnLoop(pending: PendingFuse, room: Buffer): Attempt {
    const outcome = pending.answer(room, this.facts);
    const [length = 0, characters = 0] = this.facts;
    return { outcome, length, characters, takeAnswer: () => pending.takeAnswer() };
  }
}
