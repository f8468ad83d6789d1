/** Answers of the native module in pooled memory, also those of requests that wait for vectors. */
import type { Answer, RouteRequest } from '../contract/exchange.js';
import type { FuseAttempt, FuseOutcome, PendingFuse } from '../native/index.js';
import { BufferPool } from '../system/bufferPool.js';
import type { EmbedMode } from './embedMode.js';

/** Most memory that the pool holds for further answers (bytes). */
const POOLED_BYTES = 32 << 20;

/** The media type of every answer. */
export const JSON_TYPE = 'application/json';

/** Outcome of the native module, and the answer's length (written, or needed) and characters. */
export interface Attempt {
  readonly outcome: FuseOutcome;
  readonly length: number;
  readonly characters: number;
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

  /** The answer in `room`, which is returned to the pool once it is sent. */
  answer(room: Buffer, { length, characters }: Attempt): Answer {
    const release = (): void => this.pool.give(room);
    const body = { bytes: room.subarray(0, length), type: JSON_TYPE, release };
    return { status: 200, body, charge: characters };
  }

  /** Computes the vectors that a request waits for, and answers it. */
  async answerPending(request: RouteRequest, pending: PendingFuse, onLoop: boolean): Promise<Answer> {
    try {
      const refused = await this.embedMode.bring(pending, request.signal());
      return refused ?? (await this.writePending(pending, onLoop));
    } finally {
      pending.release();
    }
  }

  private async writePending(pending: PendingFuse, onLoop: boolean): Promise<Answer> {
    const room = this.pool.take(pending.room);
    if (!onLoop) return this.writeOffLoop(await pending.answerAsync(room), room);
    const attempt = this.attemptOnLoop(pending, room);
    if (this.isWritten(attempt, room)) return this.answer(room, attempt);
    return this.writePending(pending, true);
  }

  private async writeOffLoop(attempt: FuseAttempt, room: Buffer): Promise<Answer> {
    if (this.isWritten(attempt, room)) return this.answer(room, attempt);
    const again = attempt.takePending();
    try {
      return await this.writePending(again, false);
    } finally {
      again.release();
    }
  }

  /** True if the answer was written; false if its results, now known, need a larger buffer. */
  private isWritten({ outcome, length }: Attempt, room: Buffer): boolean {
    if (outcome === this.outcomes.Written) return true;
    this.pool.give(room);
    if (outcome === this.outcomes.NeedsRoom && length > room.length) return false;
    throw new Error(`a request that was read came to ${outcome}`);
  }

  private attemptOnLoop(pending: PendingFuse, room: Buffer): Attempt {
    const outcome = pending.answer(room, this.facts);
    const [length = 0, characters = 0] = this.facts;
    return { outcome, length, characters };
  }
}
