/**
 * The runner's end of a worker (`worker.ts`): asks it, ends it when it takes too long, starts another. And
 * programs that run once.
 */
import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Answer, Asked } from './worker.js';

/** Runs of test files after which a process is replaced: what is loaded again stays in its memory. */
const mostRuns = 60;

/** What came of a question; `late`: nothing in time. */
export type Outcome = Answer | { readonly kind: 'late' };

/** Kills a process that leads a group, with all that it started. */
function killGroup(child: ChildProcess | undefined): void {
  try {
    if (child?.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has ended with all that it started.
  }
}

/** Runs a program; false if it fails, or is late and so was killed with all that it started. */
export function succeeds(
  [program = '', ...args]: readonly string[],
  cwd: string,
  timeoutMs: number,
  env = process.env,
): Promise<boolean> {
  return new Promise((settle) => {
    const child = spawn(program, args, { cwd, env, detached: true, stdio: 'ignore' });
    // A change may make a loop endless: without this, its process would go on when the runner is stopped.
    const end = (): void => killGroup(child);
    process.once('exit', end);
    const timer = setTimeout(end, timeoutMs);
    child.on('close', (code) => {
      clearTimeout(timer);
      process.off('exit', end);
      settle(code === 0);
    });
  });
}

export class TestProcess {
  private child: ChildProcess | undefined;
  private runs = 0;
  // A change may make a loop endless: without this, its process would go on when the runner is stopped.
  private readonly endWithRunner = (): void => this.end();

  constructor(
    private readonly box: string,
    private readonly fresh: readonly string[],
  ) {}

  /** Asks, in a process that has begun. A process that is late, or unsure, is not asked again. */
  async ask(asked: Asked, timeoutMs: number): Promise<Outcome> {
    if (this.runs >= mostRuns) this.end();
    const child = this.child ?? (await this.start());
    this.runs += 1;
    const outcome = await this.exchange(child, asked, timeoutMs);
    if (outcome.kind === 'late' || outcome.kind === 'unsure') this.end();
    return outcome;
  }

  /** Ends the process and all that its tests started. */
  end(): void {
    const { child } = this;
    this.child = undefined;
    this.runs = 0;
    process.off('exit', this.endWithRunner);
    killGroup(child);
  }

  private async start(): Promise<ChildProcess> {
    const child = fork(join(this.box, 'dist/test/mutants/worker.js'), {
      cwd: this.box,
      detached: true,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    process.once('exit', this.endWithRunner);
    this.child = child;
    await this.exchange(child, { kind: 'begin', fresh: this.fresh }, 60_000);
    return child;
  }

  private async exchange(child: ChildProcess, asked: Asked, timeoutMs: number): Promise<Outcome> {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), timeoutMs);
    child.send(asked);
    try {
      const { signal } = stop;
      const answered = once(child, 'message', { signal }) as Promise<[Answer]>;
      const ended = once(child, 'exit', { signal }).then((): [Answer] => [{ kind: 'unsure' }]);
      ended.catch(() => undefined);
      const [answer] = await Promise.race([answered, ended]);
      return answer;
    } catch {
      return { kind: 'late' };
    } finally {
      clearTimeout(timer);
      stop.abort();
    }
  }
}
