/** The worker processes: started together, replaced one by one when they crash, drained together. */
import { fork, type ChildProcess } from 'node:child_process';
import type { Tiers } from '../access/tiers.js';
import type { InstalledModel } from '../models/embedder.js';
import type { Clock, Timer } from '../system/clock.js';
import type { Configuration } from '../configuration.js';
import type { Log } from '../system/log.js';
import { countersOf, type Metric } from '../system/metrics.js';
import type { EmbedderProcess } from './embedder.js';
import type { ToParent, ToWorker } from './messages.js';
import { quickCrashMs, restartDelayMs } from './restartDelay.js';

/** Parts of a pool. */
export interface PoolParts {
  /** The program of a worker and its arguments. */
  readonly program: string;
  readonly programArguments: readonly string[];
  readonly configuration: Configuration;
  readonly tiers: Tiers;
  /** The installed models. */
  readonly models: readonly InstalledModel[];
  /** Embedder of the workers. */
  readonly embedder: EmbedderProcess;
  readonly port: number;
  /** Port of the fragment door; undefined: it shares the other. */
  readonly doorPort: number | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** Makes damaged files of the data folder again: `thorough` before a worker is replaced, and else often. */
  readonly repairFolder: (thorough: boolean) => void;
}

/** One worker process as the parent sees it. */
interface Worker {
  readonly child: ChildProcess;
  readonly startedMs: number;
  listening: boolean;
  refused: string | undefined;
  /** Its counters when they were last asked for. */
  metrics: readonly Metric[];
}

/** Answers of the workers to a request for metrics. */
export interface Collected {
  readonly metrics: (readonly Metric[])[];
  /** Workers that did not answer in time; only what they last counted is in {@link metrics}. */
  readonly missing: number;
}

/** Interval at which the parent looks for damaged files of the data folder (ms). */
const repairMs = 5_000;

/** The workers of one parent. */
export class WorkerPool {
  /** Workers started in the place of crashed ones. */
  restarts = 0;
  /** Called with what a worker had counted when it ended. */
  onRetired: (counters: readonly Metric[]) => void = () => undefined;

  private readonly workers = new Set<Worker>();
  private readonly waiting = new Set<Timer>();
  private quickCrashes = 0;
  private stopping = false;
  private metricsRequests = 0;
  private settleStart: ((refused: string | undefined) => void) | undefined;
  private settleStop: (() => void) | undefined;
  private readonly metricsWaits = new Map<number, (worker: Worker) => void>();
  private repairs: Timer | undefined;

  constructor(private readonly parts: PoolParts) {}

  /** Count of workers that listen. */
  get listening(): number {
    return [...this.workers].filter((worker) => worker.listening).length;
  }

  /** Starts all workers; undefined when all listen, else the sentence that says why one does not. */
  start(): Promise<string | undefined> {
    this.repairs = this.parts.clock.every(repairMs, () => this.parts.repairFolder(false));
    return new Promise((resolve) => {
      this.settleStart = resolve;
      for (let count = 0; count < this.parts.configuration.workers; count += 1) this.startOne();
    });
  }

  /**
   * Has every worker answer what is in flight and end; kills those left after `timeoutMs`. False when it
   * had to.
   */
  async stop(timeoutMs: number): Promise<boolean> {
    this.stopping = true;
    this.repairs?.stop();
    for (const timer of this.waiting) timer.stop();
    for (const worker of this.workers) this.tell(worker, { kind: 'drain', timeoutMs });
    let killed = false;
    const timer = this.parts.clock.after(timeoutMs + 1_000, () => {
      killed = true;
      this.kill();
    });
    await new Promise<void>((resolve) => {
      this.settleStop = resolve;
      if (this.workers.size === 0) resolve();
    });
    timer.stop();
    return !killed;
  }

  /** Ends every worker at once. */
  kill(): void {
    this.stopping = true;
    this.repairs?.stop();
    for (const worker of this.workers) worker.child.kill('SIGKILL');
  }

  /** Asks every worker for its metrics and waits at most `timeoutMs`. */
  async collect(timeoutMs: number): Promise<Collected> {
    const request = (this.metricsRequests += 1);
    const asked = new Set([...this.workers].filter((worker) => worker.listening));
    const answered: Worker[] = [];
    await new Promise<void>((resolve) => {
      const timer = this.parts.clock.after(timeoutMs, resolve);
      const settle = (worker: Worker): void => {
        answered.push(worker);
        if (answered.length < asked.size) return;
        timer.stop();
        resolve();
      };
      if (asked.size === 0) {
        resolve();
        return;
      }
      this.metricsWaits.set(request, settle);
      for (const worker of asked) this.tell(worker, { kind: 'metrics', request });
    });
    this.metricsWaits.delete(request);
    const missing = [...asked].filter((worker) => !answered.includes(worker) && this.workers.has(worker));
    const metrics = [
      ...answered.map((worker) => worker.metrics),
      ...missing.map(({ metrics }) => countersOf(metrics)),
    ];
    return { metrics, missing: missing.length };
  }

  private tell(worker: Worker, message: ToWorker): void {
    // Failing to send is no news: the end of a dying worker is seen by its exit.
    if (worker.child.connected) worker.child.send(message, () => undefined);
  }

  private startOne(): void {
    const { program, programArguments, configuration, tiers, models, port, doorPort, clock } = this.parts;
    const stdio = ['ignore', 'inherit', 'inherit', 'ipc'] as const;
    // Serialized by the engine, not as JSON: texts and vectors are bytes.
    const child = fork(program, programArguments, { stdio: [...stdio], serialization: 'advanced' });
    const startedMs = clock.monotonicMs();
    const worker: Worker = { child, startedMs, listening: false, refused: undefined, metrics: [] };
    this.workers.add(worker);
    child.on('message', (message: ToParent) => this.hear(worker, message));
    child.on('error', (error) => (worker.refused ??= `A worker could not be started (${error.message}).`));
    child.on('exit', (code, signal) => this.ended(worker, code, signal));
    this.tell(worker, { kind: 'start', configuration, tiers, models, port, doorPort });
  }

  private hear(worker: Worker, message: ToParent): void {
    if (message.kind === 'metrics') {
      worker.metrics = message.metrics;
      this.metricsWaits.get(message.request)?.(worker);
    } else if (message.kind === 'refused') worker.refused = message.reason;
    else if (message.kind === 'embed' || message.kind === 'cancelEmbed') {
      this.parts.embedder.hear(worker, message, (answer) => this.tell(worker, answer));
    } else {
      worker.listening = true;
      if (this.listening === this.parts.configuration.workers) this.started(undefined);
    }
  }

  private started(refused: string | undefined): void {
    this.settleStart?.(refused);
    this.settleStart = undefined;
  }

  private ended(worker: Worker, code: number | null, signal: NodeJS.Signals | null): void {
    this.workers.delete(worker);
    this.parts.embedder.forget(worker);
    this.onRetired(countersOf(worker.metrics));
    if (this.stopping) {
      if (this.workers.size === 0) this.settleStop?.();
      return;
    }
    const how = signal ?? `exit code ${code ?? 'unknown'}`;
    if (this.settleStart !== undefined) {
      this.kill();
      this.started(worker.refused ?? `A worker ended before it listened (${how}).`);
      return;
    }
    this.replace(worker, how);
  }

  private replace(worker: Worker, how: string): void {
    const { clock, log } = this.parts;
    const livedMs = Math.round(clock.monotonicMs() - worker.startedMs);
    this.quickCrashes = livedMs < quickCrashMs ? this.quickCrashes + 1 : 0;
    const delayMs = restartDelayMs(this.quickCrashes);
    const fields = {
      workerPid: worker.child.pid,
      how,
      reason: worker.refused,
      livedMs,
      restartInMs: delayMs,
    };
    log.error(fields, 'worker ended, another takes its place');
    const timer = clock.after(delayMs, () => {
      this.waiting.delete(timer);
      this.restarts += 1;
      this.parts.repairFolder(true);
      this.startOne();
    });
    this.waiting.add(timer);
  }
}
