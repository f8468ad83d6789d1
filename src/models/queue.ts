/**
 * The queue of texts for the embedder: bounded in number and in time, with a deadline for each call. It is in
 * the parent, so that one limit holds for all workers of a machine.
 */
import type { Clock, Timer } from '../system/clock.js';
import { single, type Metric } from '../system/metrics.js';
import type { Embedded, InstalledModel, SomeVectors } from './embedder.js';
import { canBeDone, marginOf, nextCall, type WaitingCall } from './queueOrder.js';
import { Pace } from './pace.js';

/** One text for the embedder. */
export interface TextJob {
  readonly job: number;
  readonly model: InstalledModel;
  readonly text: Uint8Array;
}

/** Dependencies of a queue. */
export interface QueueParts {
  readonly clock: Clock;
  /** Most texts in the queue; a call to an empty queue is accepted whatever its size. */
  readonly mostTexts: number;
  /** Time from its arrival within which a call must be finished. */
  readonly deadlineMs: number;
  /**
   * Sends a text to the embedder, which answers with {@link EmbedQueue.done} or {@link EmbedQueue.failed}.
   */
  readonly send: (job: TextJob) => void;
}

/** Texts at the embedder at a time: the one in progress, and the next. */
const AHEAD = 2;

/** Most bytes in the queue. */
const MOST_BYTES = 64 << 20;

const LONGEST_RETRY_SECONDS = 60;

/** The first texts of a call, and their number in all. */
export interface FirstTexts {
  readonly count: number;
  readonly texts: readonly Uint8Array[];
}

/** A call in the queue. */
interface Call extends WaitingCall {
  readonly model: InstalledModel;
  readonly count: number;
  /** Those that have come. */
  readonly texts: Uint8Array[];
  /** Number of texts that are not computed, and the bytes of those of them that have come. */
  waitingTexts: number;
  waitingBytes: number;
  /** Indexes of texts not sent to the embedder yet; the last one is sent next. None until all have come. */
  left: number[];
  readonly vectors: Float32Array;
  readonly truncated: boolean[];
  /** Indexes of finished texts. */
  readonly done: number[];
  timer: Timer | undefined;
  readonly end: (outcome: Embedded) => void;
}

/** A pending call; no effect if it has ended. */
export interface CallHandle {
  /** Adds texts that follow those before. */
  readonly more: (texts: readonly Uint8Array[]) => void;
  readonly cancel: () => void;
}

/** The queue. */
export class EmbedQueue {
  /** Oldest first, which is also the order of deadlines. */
  private readonly calls = new Set<Call>();
  private readonly running = new Map<number, { readonly call: Call; readonly at: number }>();
  private lastJob = 0;
  private waitingTexts = 0;
  private waitingBytes = 0;
  private readonly pace = new Pace();
  private accepting = false;
  private readonly counts = { texts: 0, seconds: 0, full: 0, late: 0, failed: 0, cancelled: 0 };

  constructor(private readonly parts: QueueParts) {}

  /** True if a call is pending. */
  get busy(): boolean {
    return this.calls.size > 0;
  }

  /** The embedder is ready for texts. */
  ready(): void {
    this.accepting = true;
    this.give();
  }

  /** Adds a call; `end` is called once with the outcome. Returns undefined if that was immediate. */
  add(
    model: InstalledModel,
    { count, texts }: FirstTexts,
    end: (outcome: Embedded) => void,
  ): CallHandle | undefined {
    if (this.isFull(model, count)) {
      end(this.full());
      return undefined;
    }
    const { clock, deadlineMs } = this.parts;
    const call = newCall(model, count, clock.monotonicMs() + deadlineMs, end);
    this.waits(call, count, 0);
    this.calls.add(call);
    if (count === 0) {
      this.finish(call, { kind: 'vectors', vectors: call.vectors, truncated: call.truncated });
      return undefined;
    }
    call.timer = clock.after(deadlineMs, () => this.finish(call, { kind: 'too_late', some: doneOf(call) }));
    this.addTexts(call, texts);
    if (!this.calls.has(call)) return undefined;
    return {
      more: (texts) => this.addTexts(call, texts),
      cancel: () => this.finish(call, { kind: 'cancelled', some: doneOf(call) }),
    };
  }

  /** The embedder has finished a text. */
  done(job: number, vector: Float32Array, truncated: boolean, seconds: number): void {
    const found = this.take(job);
    this.counts.texts += 1;
    this.counts.seconds += seconds;
    if (found !== undefined) this.pace.measured(found.call.model, seconds * 1_000);
    if (found !== undefined && this.calls.has(found.call)) {
      const { call, at } = found;
      call.vectors.set(vector, at * call.model.dimension);
      call.truncated[at] = truncated;
      call.done.push(at);
      if (call.done.length === call.count) {
        this.finish(call, { kind: 'vectors', vectors: call.vectors, truncated: call.truncated });
      }
    }
    this.give();
  }

  /** The embedder failed on a text, and so the call has failed. */
  failed(job: number): void {
    const found = this.take(job);
    if (found !== undefined) this.finish(found.call, { kind: 'failed' });
    this.give();
  }

  /** The embedder has ended: every pending call has failed. */
  ended(): void {
    this.accepting = false;
    for (const call of [...this.calls]) this.finish(call, { kind: 'failed' });
    this.running.clear();
  }

  /** Length of the queue, and counts by outcome. */
  metrics(): Metric[] {
    const { texts, seconds } = this.counts;
    const outcomes = (['full', 'late', 'failed', 'cancelled'] as const).map((outcome) => ({
      value: this.counts[outcome],
      labels: { outcome },
    }));
    return [
      single('gauge', 'fusegate_embed_queue_texts', 'Texts that wait for the embedder.', this.waitingTexts),
      single('counter', 'fusegate_embed_texts_total', 'Texts that the embedder has computed.', texts),
      single('counter', 'fusegate_embed_seconds_total', 'Time that the embedder spent on texts.', seconds),
      {
        name: 'fusegate_embed_unserved_total',
        help: 'Calls of the embedder that got no vectors.',
        type: 'counter',
        aggregator: 'sum',
        values: outcomes,
      },
    ];
  }

  private addTexts(call: Call, texts: readonly Uint8Array[]): void {
    if (!this.calls.has(call)) return;
    this.waits(call, 0, bytesOf(texts));
    call.texts.push(...texts);
    if (this.waitingBytes > MOST_BYTES && this.calls.size > 1) this.finish(call, this.full());
    else if (call.texts.length === call.count) {
      call.left = shortestLast(call.texts);
      this.give();
    }
  }

  private full(): Embedded {
    this.counts.full += 1;
    return { kind: 'queue_full', retryAfterSeconds: this.retryAfterSeconds() };
  }

  private isFull(model: InstalledModel, texts: number): boolean {
    if (this.waitingTexts === 0) return false;
    if (this.waitingTexts + texts > this.parts.mostTexts) return true;
    return this.pace.isKnown(model) && !this.canBeDone(texts * this.pace.msPerText(model));
  }

  /** True if a call with this amount of work can meet its deadline, and the pending ones theirs. */
  private canBeDone(ms: number): boolean {
    const { clock, deadlineMs } = this.parts;
    return canBeDone(this.calls, ms, (call) => this.msLeft(call), clock.monotonicMs(), deadlineMs);
  }

  private msLeft({ model, count, done }: Call): number {
    return (count - done.length) * this.pace.msPerText(model);
  }

  /** Time until the queue is empty: all calls finished, or given up. An empty queue accepts any call. */
  private retryAfterSeconds(): number {
    const nowMs = this.parts.clock.monotonicMs();
    let workMs = 0;
    let lastMs = 0;
    for (const call of this.calls) {
      workMs += this.msLeft(call);
      lastMs = call.deadlineAtMs - nowMs;
    }
    const seconds = Math.ceil(Math.min(workMs, lastMs) / 1_000);
    return Math.min(Math.max(seconds, 1), LONGEST_RETRY_SECONDS);
  }

  /** Sends the embedder as many texts as it has room for. */
  private give(): void {
    const { clock, deadlineMs, send } = this.parts;
    while (this.accepting && this.running.size < AHEAD) {
      const msLeft = (call: Call): number => this.msLeft(call);
      const call = nextCall(this.calls, msLeft, clock.monotonicMs(), marginOf(deadlineMs));
      const at = call?.left.pop();
      const text = at === undefined ? undefined : call?.texts[at];
      if (call === undefined || at === undefined || text === undefined) return;
      this.lastJob += 1;
      this.running.set(this.lastJob, { call, at });
      send({ job: this.lastJob, model: call.model, text });
    }
  }

  private take(job: number) {
    const found = this.running.get(job);
    this.running.delete(job);
    if (found !== undefined && this.calls.has(found.call)) {
      this.waits(found.call, -1, -(found.call.texts[found.at]?.byteLength ?? 0));
    }
    return found;
  }

  /** Counts texts of a call that begin or cease to wait. */
  private waits(call: Call, texts: number, bytes: number): void {
    call.waitingTexts += texts;
    call.waitingBytes += bytes;
    this.waitingTexts += texts;
    this.waitingBytes += bytes;
  }

  private finish(call: Call, outcome: Embedded): void {
    if (!this.calls.delete(call)) return;
    call.timer?.stop();
    this.waits(call, -call.waitingTexts, -call.waitingBytes);
    if (outcome.kind === 'too_late') this.counts.late += 1;
    else if (outcome.kind === 'failed') this.counts.failed += 1;
    else if (outcome.kind === 'cancelled') this.counts.cancelled += 1;
    call.end(outcome);
  }
}

/** The finished part of a call. */
function doneOf({ model, done, vectors, truncated }: Call): SomeVectors {
  const places = [...done].sort((one, other) => one - other);
  const some = new Float32Array(places.length * model.dimension);
  for (const [next, at] of places.entries()) {
    const vector = vectors.subarray(at * model.dimension, (at + 1) * model.dimension);
    some.set(vector, next * model.dimension);
  }
  return { places, vectors: some, truncated: places.map((at) => truncated[at] ?? false) };
}

/** A call whose texts have not come. */
function newCall(
  model: InstalledModel,
  count: number,
  deadlineAtMs: number,
  end: (outcome: Embedded) => void,
): Call {
  const vectors = new Float32Array(count * model.dimension);
  const truncated = Array.from({ length: count }, () => false);
  const waiting = { texts: [], waitingTexts: 0, waitingBytes: 0, left: [], done: [], timer: undefined };
  return { model, count, deadlineAtMs, vectors, truncated, end, ...waiting };
}

function bytesOf(texts: readonly Uint8Array[]): number {
  return texts.reduce((sum, text) => sum + text.byteLength, 0);
}

/** Indexes of texts by their length, the shortest last, so that the runtime can reuse its memory. */
function shortestLast(texts: readonly Uint8Array[]): number[] {
  const bytes = (at: number): number => texts[at]?.byteLength ?? 0;
  return texts.map((_, at) => at).sort((one, other) => bytes(other) - bytes(one) || other - one);
}
