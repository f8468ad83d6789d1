/**
 * The worker processes: started together, replaced one by one after crashes, drained together. A new
 * generation starts on the same sockets, so that no connection is lost.
 */
import type { ChildProcess } from 'node:child_process';
import type { Tiers } from '../access/tiers.js';
import type { InstalledModel } from '../models/embedder.js';
import type { Clock, Timer } from '../system/clock.js';
import type { Configuration } from '../configuration.js';
import type { LineFormat, Log } from '../system/log.js';
import { countersOf, type Metric } from '../system/metrics.js';
import type { LeftSockets } from '../http/listening.js';
import { firstInherited, killChild, startChild } from './children.js';
import type { EmbedderProcess } from './embedder.js';
import { isEmbedQuestion } from '../models/messages.js';
import type { ToParent, ToWorker } from './messages.js';
import { startLowered } from './priority.js';
import { quickCrashMs, restartDelayMs } from './restartDelay.js';
import { shareOut, type Addressee } from './sockets.js';

/** Dependencies of a pool. */
export interface PoolParts {
  /** The program of a worker and its arguments. */
  readonly program: string;
  readonly programArguments: readonly string[];
  readonly configuration: Configuration;
  readonly tiers: Tiers;
  /** The installed models. */
  readonly models: readonly InstalledModel[];
  /** The workers' embedder. */
  readonly embedder: EmbedderProcess;
  readonly port: number;
  /** Port of the fragment door; undefined: it shares `port`. */
  readonly doorPort: number | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** Format of the log's lines. */
  readonly logFormat: LineFormat;
  /**
   * Remakes damaged files of the data folder: `thorough` before a worker is replaced, else at each interval.
   */
  readonly repairFolder: (thorough: boolean) => void;
}

/** Workers of one configuration, started together. */
interface Generation {
  readonly configuration: Configuration;
  readonly tiers: Tiers;
  /** Number of workers that are ready to listen on inherited sockets. */
  ready: number;
  /** True once others have replaced them: crashed ones are not restarted. */
  leaving: boolean;
  /** Resolves the start, once. */
  settle: ((refused: string | undefined) => void) | undefined;
}

/** One worker process, from the parent's side. */
interface Worker {
  readonly child: ChildProcess;
  readonly startedMs: number;
  readonly generation: Generation;
  listening: boolean;
  refused: string | undefined;
  /** Its counters as last reported. */
  metrics: readonly Metric[];
  /** Called once it takes no new connections. */
  onClosed: () => void;
}

/** The workers' answers to a request for metrics. */
export interface Collected {
  readonly metrics: (readonly Metric[])[];
  /** Number of workers that did not answer in time; {@link metrics} has only their last counters. */
  readonly missing: number;
}

/** Interval of checking the data folder for damaged files (ms). */
const repairMs = 5_000;

/** Time limit for a worker to hand over its sockets (ms). */
const handOverMs = 5_000;

/** The workers of one parent. */
export class WorkerPool {
  /** Number of workers restarted after a crash. */
  restarts = 0;
  /** Called when a worker ends, with the last counters it reported. */
  onRetired: (counters: readonly Metric[]) => void = () => undefined;

  private readonly workers = new Set<Worker>();
  private readonly waiting = new Set<Timer>();
  private quickCrashes = 0;
  private stopping = false;
  private stopped: Promise<void> | undefined;
  private killed = false;
  private metricsRequests = 0;
  /** The workers that serve, or the first that start. */
  private generation: Generation | undefined;
  private settleStop: (() => void) | undefined;
  private onHandedOver: ((worker: Worker, failed: string | undefined) => void) | undefined;
  private readonly metricsWaits = new Map<number, (worker: Worker) => void>();
  private repairs: Timer | undefined;

  constructor(private readonly parts: PoolParts) {}

  /** Number of workers that listen. */
  get listening(): number {
    return [...this.workers].filter(({ listening, generation }) => listening && !generation.leaving).length;
  }

  /**
   * Starts all workers; undefined once all listen, else a sentence that says why one does not. They listen on
   * inherited sockets if there are any.
   */
  start(left?: LeftSockets): Promise<string | undefined> {
    this.repairs = this.parts.clock.every(repairMs, () => this.parts.repairFolder(false));
    const generation = generationOf(this.parts);
    this.generation = generation;
    return this.startAll(generation, left);
  }

  /**
   * Starts workers with another configuration on the same sockets. The former leave once all new ones listen.
   * Undefined once all new connections go to the new workers, or a sentence if nothing has changed.
   */
  async renew(
    settings: { readonly configuration: Configuration; readonly tiers: Tiers },
    left: LeftSockets,
    leaveMs: number,
  ): Promise<string | undefined> {
    const next = generationOf(settings);
    const refused = await this.startAll(next, left);
    if (refused !== undefined) return refused;
    const former = this.generation;
    this.generation = next;
    if (former !== undefined) await this.leave(former, leaveMs);
    return undefined;
  }

  /**
   * Has every serving worker send its listening sockets to the inbox. Returns the number of workers, or why
   * one cannot.
   */
  async handOver(to: Addressee): Promise<{ readonly sent: number } | { readonly failed: string }> {
    // Workers that drain have closed their sockets.
    if (this.stopping) return { failed: 'the server stops' };
    const asked = new Set([...this.workers].filter(({ listening }) => listening));
    for (const worker of asked) if (worker.generation.leaving) asked.delete(worker);
    const sent = asked.size;
    const failed = await new Promise<string | undefined>((resolve) => {
      const timer = this.parts.clock.after(handOverMs, () => resolve('a worker does not answer'));
      this.onHandedOver = (worker, wrong) => {
        // Former workers that still drain end meanwhile.
        if (!asked.delete(worker)) return;
        if (wrong === undefined && asked.size > 0) return;
        timer.stop();
        resolve(wrong);
      };
      for (const worker of asked) this.tell(worker, { kind: 'handOver', to });
    });
    this.onHandedOver = undefined;
    return failed === undefined ? { sent } : { failed };
  }

  private startAll(generation: Generation, left: LeftSockets | undefined): Promise<string | undefined> {
    // Nothing would tell these workers to drain, and the stop would wait for them.
    if (this.stopping) return Promise.resolve('The server stops.');
    const { workers } = generation.configuration;
    return new Promise((resolve) => {
      generation.settle = resolve;
      const shares = left === undefined ? [] : shareOut(left, workers);
      for (let at = 0; at < workers; at += 1) this.startOne(generation, shares[at]);
    });
  }

  /**
   * Has workers answer pending requests, wait until their clients have disconnected, and end. Resolves once
   * none takes new connections.
   */
  private async leave(generation: Generation, leaveMs: number): Promise<void> {
    generation.leaving = true;
    const ofIt = [...this.workers].filter((worker) => worker.generation === generation);
    const closed = ofIt.map((worker) => new Promise<void>((resolve) => (worker.onClosed = resolve)));
    for (const worker of ofIt) {
      this.tell(worker, { kind: 'drain', timeoutMs: leaveMs, untilClosed: true });
      const timer = this.parts.clock.after(leaveMs + 1_000, () => killChild(worker.child));
      this.waiting.add(timer);
      worker.child.once('exit', () => {
        timer.stop();
        this.waiting.delete(timer);
      });
    }
    await Promise.all(closed);
  }

  /**
   * Has every worker answer pending requests and end; kills those left after `timeoutMs`. False if it killed
   * any. `untilClosed`: idle connections are waited for, too. A second call can only hasten the end.
   */
  async stop(timeoutMs: number, untilClosed = false): Promise<boolean> {
    this.stopping = true;
    this.repairs?.stop();
    for (const timer of this.waiting) timer.stop();
    for (const worker of this.workers) this.tell(worker, { kind: 'drain', timeoutMs, untilClosed });
    const timer = this.parts.clock.after(timeoutMs + 1_000, () => {
      this.killed = true;
      this.kill();
    });
    this.stopped ??= new Promise<void>((resolve) => {
      this.settleStop = resolve;
      if (this.workers.size === 0) resolve();
    });
    await this.stopped;
    timer.stop();
    return !this.killed;
  }

  /** Kills every worker at once. */
  kill(): void {
    this.stopping = true;
    this.repairs?.stop();
    for (const worker of this.workers) killChild(worker.child);
  }

  /** Collects the metrics of every worker, for at most `timeoutMs`. */
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
    // A send failure needs no handling: a dying worker is noticed when it exits.
    if (worker.child.connected) worker.child.send(message, () => undefined);
  }

  private startOne(generation: Generation, left: LeftSockets | undefined): void {
    const { models, port, doorPort, clock } = this.parts;
    const { configuration, tiers } = generation;
    const inherited = [...(left?.port ?? []), ...(left?.door ?? [])];
    const start = (niceness?: number) => ({
      child: startChild({ ...this.parts, role: 'worker', inherited }),
      niceness,
    });
    // Others serve on inherited sockets meanwhile.
    const { child, niceness } = left === undefined ? start() : startLowered(start);
    const startedMs = clock.monotonicMs();
    const state = { listening: false, refused: undefined, metrics: [], onClosed: () => undefined };
    const worker: Worker = { child, startedMs, generation, ...state };
    this.workers.add(worker);
    child.on('message', (message: ToParent) => this.hear(worker, message));
    child.on('error', (error) => {
      worker.refused ??= `A worker could not be started (${error.message}).`;
      // Without a process no exit follows.
      if (child.pid === undefined) this.ended(worker, null, null);
    });
    child.on('exit', (code, signal) => this.ended(worker, code, signal));
    const order = { kind: 'start', configuration, tiers, models, port, doorPort, niceness } as const;
    const isReplacement = generation.settle === undefined;
    this.tell(worker, { ...order, isReplacement, left: left === undefined ? undefined : placesOf(left) });
  }

  private hear(worker: Worker, message: ToParent): void {
    if (message.kind === 'metrics') {
      worker.metrics = message.metrics;
      this.metricsWaits.get(message.request)?.(worker);
    } else if (message.kind === 'refused') worker.refused = message.reason;
    else if (isEmbedQuestion(message)) {
      this.parts.embedder.hear(worker, message, (answer) => this.tell(worker, answer));
    } else if (message.kind === 'handedOver') this.onHandedOver?.(worker, message.failed);
    else if (message.kind === 'closed') worker.onClosed();
    else this.advance(worker, message.kind);
  }

  /** Workers on inherited sockets listen only once all of them can, so that a failed start serves no one. */
  private advance(worker: Worker, reached: 'ready' | 'listening'): void {
    const { generation } = worker;
    const all = [...this.workers].filter((each) => each.generation === generation);
    const { workers } = generation.configuration;
    if (reached === 'ready') {
      generation.ready += 1;
      if (generation.ready === workers) for (const each of all) this.tell(each, { kind: 'listen' });
      return;
    }
    worker.listening = true;
    if (all.filter(({ listening }) => listening).length === workers) started(generation, undefined);
  }

  private ended(worker: Worker, code: number | null, signal: NodeJS.Signals | null): void {
    const { generation } = worker;
    if (!this.workers.delete(worker)) return;
    worker.onClosed();
    this.parts.embedder.forget(worker);
    this.onRetired(countersOf(worker.metrics));
    this.onHandedOver?.(worker, 'a worker ended');
    if (this.stopping) {
      if (this.workers.size === 0) this.settleStop?.();
      return;
    }
    if (generation.leaving) return;
    const how = signal ?? `exit code ${code ?? 'unknown'}`;
    if (generation.settle !== undefined) {
      if (generation === this.generation) this.kill();
      else this.killGeneration(generation);
      started(generation, worker.refused ?? `A worker ended before it listened (${how}).`);
      return;
    }
    this.replace(worker, how);
  }

  private killGeneration(generation: Generation): void {
    generation.leaving = true;
    for (const worker of this.workers) if (worker.generation === generation) killChild(worker.child);
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
    log.error(fields, 'a worker ended and is replaced');
    const timer = clock.after(delayMs, () => {
      this.waiting.delete(timer);
      this.restarts += 1;
      this.parts.repairFolder(true);
      if (!worker.generation.leaving) this.startOne(worker.generation, undefined);
    });
    this.waiting.add(timer);
  }
}

function generationOf({ configuration, tiers }: Pick<Generation, 'configuration' | 'tiers'>): Generation {
  return { configuration, tiers, ready: 0, leaving: false, settle: undefined };
}

function started(generation: Generation, refused: string | undefined): void {
  generation.settle?.(refused);
  generation.settle = undefined;
}

/** The descriptors of inherited sockets in the worker. */
function placesOf({ port, door }: LeftSockets): LeftSockets {
  const places = [...port, ...door].map((_, at) => firstInherited + at);
  return { port: places.slice(0, port.length), door: places.slice(port.length) };
}
