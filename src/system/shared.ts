/** Answers shared by several callers: of running work, and of recent work. */
import type { Clock } from './clock.js';

/** Work that runs once at a time. */
export interface OneAtATime<Value> {
  /** Starts it; while it runs, every call gets the same outcome. */
  readonly run: () => Promise<Value>;
  /** Resolves when it is not running; failures are not reported here. */
  readonly settled: () => Promise<void>;
}

/** Wraps work so that it runs once at a time. */
export function oneAtATime<Value>(work: () => Promise<Value>): OneAtATime<Value> {
  let running: Promise<Value> | undefined;
  return {
    run: () => (running ??= work().finally(() => (running = undefined))),
    async settled() {
      await running?.catch(() => undefined);
    },
  };
}

/**
 * Answers that are cached for a while after the question. A failure is not cached: the next call asks again.
 */
export class Recent<Value> {
  /** In order of time. */
  private readonly answers = new Map<string, { readonly atMs: number; readonly answer: Promise<Value> }>();

  constructor(
    private readonly clock: Pick<Clock, 'monotonicMs'>,
    /** Lifetime, from the question on (ms). */
    private readonly freshMs: number,
  ) {}

  /** The cached answer for a subject; undefined: there is none. */
  standing(subject = ''): Promise<Value> | undefined {
    const last = this.answers.get(subject);
    const isFresh = last !== undefined && this.clock.monotonicMs() - last.atMs < this.freshMs;
    return isFresh ? last.answer : undefined;
  }

  /** The cached answer for a subject, or a new one from `ask`. */
  of(ask: () => Promise<Value>, subject = ''): Promise<Value> {
    const standing = this.standing(subject);
    if (standing !== undefined) return standing;
    const nowMs = this.clock.monotonicMs();
    for (const [each, { atMs }] of this.answers) {
      if (nowMs - atMs < this.freshMs) break;
      this.answers.delete(each);
    }
    const answer = ask();
    this.answers.set(subject, { atMs: nowMs, answer });
    answer.catch(() => {
      if (this.answers.get(subject)?.answer === answer) this.answers.delete(subject);
    });
    return answer;
  }
}
