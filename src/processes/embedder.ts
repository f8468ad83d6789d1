/**
 * The parent's end of the embedder process: one process for all workers of the machine, started with the
 * first text, and again after a crash. The parent holds the queue.
 */
import type { ChildProcess } from 'node:child_process';
import type { InstalledModel } from '../models/embedder.js';
import type { EmbedAnswer, EmbedQuestion, FromEmbedder, ToEmbedder } from '../models/messages.js';
import { EmbedQueue, type CallHandle } from '../models/queue.js';
import type { Clock, Timer } from '../system/clock.js';
import type { LineFormat, Log } from '../system/log.js';
import { countersOf, single, type Metric } from '../system/metrics.js';
import { killChild, startChild } from './children.js';
import { quickCrashMs, restartDelayMs } from './restartDelay.js';

/** Dependencies of the embedder. */
export interface EmbedderParts {
  /** The program of the process and its arguments. */
  readonly program: string;
  readonly embedderArguments: readonly string[];
  readonly models: readonly InstalledModel[];
  /** Threads for one text. */
  readonly threads: number;
  /** Most texts in the queue. */
  readonly mostTexts: number;
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Format of the log's lines. */
  readonly logFormat: LineFormat;
}

/** A running process. */
interface Running {
  readonly child: ChildProcess;
  readonly startedMs: number;
  metrics: readonly Metric[];
}

/** The caller; compared by identity. */
type Asker = object;

/** The embedder of one parent. */
export class EmbedderProcess {
  /** Called when the process ends, with the last counters it reported. */
  onRetired: (counters: readonly Metric[]) => void = () => undefined;

  private readonly queue: EmbedQueue;
  private readonly askers = new Map<Asker, Map<number, CallHandle>>();
  private readonly refused = new Set<string>();
  private running: Running | undefined;
  private pausing = false;
  private restart: Timer | undefined;
  private stopping = false;
  private restarts = 0;
  private quickCrashes = 0;

  constructor(private readonly parts: EmbedderParts) {
    const { clock, mostTexts, deadlineMs } = parts;
    const send = (job: { job: number; model: InstalledModel; text: Uint8Array }): void => {
      this.tell({ kind: 'text', ...job });
    };
    this.queue = new EmbedQueue({ clock, mostTexts, deadlineMs, send });
  }

  /** Process id; undefined while none runs. */
  get pid(): number | undefined {
    return this.running?.child.pid;
  }

  /** Starts the process and loads a model before its first text comes. */
  preload(model: InstalledModel): void {
    this.start();
    this.tell({ kind: 'load', model });
  }

  /**
   * Handles a question. If it asks for vectors, `answer` is called once, unless the asker is forgotten first.
   */
  hear(asker: Asker, question: EmbedQuestion, answer: (answer: EmbedAnswer) => void): void {
    const asked = this.askers.get(asker) ?? new Map<number, CallHandle>();
    this.askers.set(asker, asked);
    const { request } = question;
    if (question.kind === 'cancelEmbed') {
      asked.get(request)?.cancel();
      return;
    }
    if (question.kind === 'moreTexts') {
      asked.get(request)?.more(question.texts);
      return;
    }
    const model = this.parts.models.find(({ id }) => id === question.model);
    if (model === undefined || this.stopping) {
      answer({ kind: 'embedded', request, outcome: { kind: 'failed' } });
      return;
    }
    const handle = this.queue.add(model, question, (outcome) => {
      asked.delete(request);
      if (this.askers.get(asker) === asked) answer({ kind: 'embedded', request, outcome });
    });
    if (handle !== undefined) asked.set(request, handle);
    if (this.queue.busy && !this.pausing) this.start();
  }

  /** Drops the pending questions of an asker that has ended. */
  forget(asker: Asker): void {
    const asked = [...(this.askers.get(asker)?.values() ?? [])];
    this.askers.delete(asker);
    for (const { cancel } of asked) cancel();
  }

  /** Ends the process; pending questions fail. The process holds nothing that could be lost. */
  stop(): void {
    this.stopping = true;
    this.restart?.stop();
    this.queue.ended();
    if (this.running !== undefined) killChild(this.running.child);
  }

  /** Metrics of the queue and of the process. */
  metrics(): Metric[] {
    const help = 'Embedder processes started for crashed ones.';
    return [
      single('counter', 'fusegate_embedder_restarts_total', help, this.restarts),
      ...this.queue.metrics(),
      ...(this.running?.metrics ?? []),
    ];
  }

  private tell(message: ToEmbedder): void {
    const child = this.running?.child;
    // A send failure needs no handling: a dying process is noticed when it exits.
    if (child?.connected === true) child.send(message, () => undefined);
  }

  private start(): void {
    if (this.running !== undefined || this.stopping) return;
    const { embedderArguments: programArguments, threads, clock } = this.parts;
    const child = startChild({ ...this.parts, role: 'embedder', programArguments });
    const running: Running = { child, startedMs: clock.monotonicMs(), metrics: [] };
    this.running = running;
    child.on('message', (message: FromEmbedder) => this.heard(running, message));
    child.on('error', (error) => this.ended(running, error.message));
    child.on('exit', (code, signal) => this.ended(running, signal ?? `exit code ${code ?? 'unknown'}`));
    this.tell({ kind: 'start', threads });
    this.queue.ready();
  }

  private heard(running: Running, message: FromEmbedder): void {
    if (running !== this.running) return;
    if (message.kind === 'vector') {
      this.queue.done(message.job, message.vector, message.truncated, message.seconds);
    } else if (message.kind === 'failed') {
      this.logOnce(message.reason);
      this.queue.failed(message.job);
    } else if (message.kind === 'vitals') running.metrics = message.metrics;
    else if (message.reason !== undefined) this.logOnce(message.reason);
  }

  /** A model that is refused is refused for every text: log it once. */
  private logOnce(reason: string): void {
    if (this.refused.has(reason)) return;
    this.refused.add(reason);
    this.parts.log.error({ reason }, 'model cannot be run');
  }

  private ended(running: Running, how: string): void {
    if (running !== this.running) return;
    this.running = undefined;
    this.refused.clear();
    this.onRetired(countersOf(running.metrics));
    this.queue.ended();
    if (this.stopping) return;
    const { clock, log } = this.parts;
    const livedMs = Math.round(clock.monotonicMs() - running.startedMs);
    this.quickCrashes = livedMs < quickCrashMs ? this.quickCrashes + 1 : 0;
    const delayMs = restartDelayMs(this.quickCrashes);
    const fields = { embedderPid: running.child.pid, how, livedMs, restartInMs: delayMs };
    log.error(fields, 'the embedder ended and is replaced');
    this.pausing = true;
    this.restart = clock.after(delayMs, () => {
      this.pausing = false;
      this.restarts += 1;
      this.start();
    });
  }
}
