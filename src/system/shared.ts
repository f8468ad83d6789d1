/** Answers that several callers share: of work under way, and of work that was done a short time ago. */
import type { Clock } from './clock.js';

/** Work that runs once at a time. */
export interface OneAtATime<Value> {
  /** Starts it; while it runs, every call gets the same outcome. */
  readonly run: () => Promise<Value>;
  /** Resolves when it does not run; its failure is not reported here. */
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

/** Answers that stand for a while after they were asked for. A failure does not stand: the next call asks. */
export class Recent<Value> {
  /** In the order of their times. */
  private readonly answers = new Map<string, { readonly atMs: number; readonly answer: Promise<Value> }>();

  constructor(
    private readonly clock: Pick<Clock, 'monotonicMs'>,
    /** From the question on (ms). */
    private readonly freshMs: number,
  ) {}

  /** The answer that stands for a subject; undefined: none does. */
  standing(subject = ''): Promise<Value> | undefined {
    const last = this.answers.get(subject);
    const isFresh = last !== undefined && this.clock.monotonicMs() - last.atMs < this.freshMs;
    return isFresh ? last.answer : undefined;
  }

  /** The answer that stands for a subject, or the one that `ask` gives. */
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
