/**
 * Spans of requests and of the work that they cause. A request that is not chosen costs the read of one
 * header field and six random bytes. Running work finds its span across awaits. In a process that never
 * records, the search costs one read.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock } from '../system/clock.js';
import type { Sampler } from './sampler.js';
import { parseTraceparent, readTracestate, traceparentOf } from './traceContext.js';

/** Facts of a span, by OpenTelemetry's names if it has them. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** A span that has ended. */
export interface SpanRecord {
  readonly name: string;
  readonly kind: SpanKind;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  /** True if the parent is a span of another program. */
  readonly isParentRemote: boolean;
  /** The caller's `tracestate`. */
  readonly state: string;
  /** Milliseconds since 1970, with fractions. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: SpanAttributes;
  readonly hasFailed: boolean;
}

/** A span's side of a call; `internal`: there is no call. */
export type SpanKind = 'server' | 'client' | 'internal';

/** A request's head, as far as it concerns tracing. */
export interface TraceHead {
  getHeader(name: string): string;
}

/** Most requests that a process records in a second. */
const mostPerSecond = 1_000;

const current = new AsyncLocalStorage<Span>();
/** Number of spans that have run work and have not ended. */
let running = 0;

/**
 * The span of the running work; undefined if there is none. Work that outlives its request, such as a
 * connection kept open, no longer belongs to the request's span.
 */
export function activeSpan(): Span | undefined {
  const span = current.getStore();
  return span === undefined || span.hasEnded ? undefined : span;
}

/** The trace and the request of a span. */
interface Origin {
  readonly tracer: Tracer;
  readonly traceId: string;
  readonly parentSpanId: string | undefined;
  readonly isParentRemote: boolean;
  readonly state: string;
  /** True if the span is sent to the collector; otherwise it only measures a stage. */
  readonly isRecorded: boolean;
  /** Time that the request's stages have taken (ms), by name; undefined if answers do not show it. */
  readonly stages: Map<string, number> | undefined;
  /** Wall time at the zero of the monotonic clock, the same for all spans of a request. */
  readonly zeroMs: number;
}

const noStages: ReadonlyMap<string, number> = new Map();

/** A span under way. */
export class Span {
  readonly spanId: string;
  private readonly startMs: number;
  private hasRun = false;
  hasEnded = false;

  constructor(
    private readonly origin: Origin,
    private name: string,
    private readonly kind: SpanKind,
    private readonly stage = '',
  ) {
    this.spanId = origin.isRecorded ? origin.tracer.parts.sampler.spanId() : '';
    this.startMs = origin.tracer.parts.clock.monotonicMs();
  }

  /** Begins a span within this one. */
  child(name: string, kind: SpanKind): Span {
    const stage = kind === 'client' ? 'upstream' : (name.split(' ')[0] ?? name);
    return new Span({ ...this.origin, parentSpanId: this.spanId, isParentRemote: false }, name, kind, stage);
  }

  /** True if the span is sent to the collector. */
  get isRecorded(): boolean {
    return this.origin.isRecorded;
  }

  /** Time that finished stages have taken (ms), by name; the times of overlapping ones are added up. */
  stages(): ReadonlyMap<string, number> {
    return this.origin.stages ?? noStages;
  }

  /** Runs `work` with this span as its {@link activeSpan}. */
  run<Value>(work: () => Value): Value {
    if (!this.hasRun) running += 1;
    this.hasRun = true;
    return current.run(this, work);
  }

  /** Header fields with which another server of the operator continues the trace. */
  fields(): Readonly<Record<string, string>> {
    const { traceId, state, isRecorded } = this.origin;
    if (!isRecorded) return {};
    const traceparent = traceparentOf(traceId, this.spanId);
    return state === '' ? { traceparent } : { traceparent, tracestate: state };
  }

  /** Ends the span; a second call changes nothing. */
  end(attributes: SpanAttributes, hasFailed = false, name = this.name): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    // While `current` is in use, Node calls hooks for each promise: without this, all requests would pay for
    // the one in a hundred. Spans that only measure stages do not end, so the hooks stay then.
    if (this.hasRun && (running -= 1) === 0) current.disable();
    const { tracer, zeroMs, traceId, parentSpanId, isParentRemote, state, stages } = this.origin;
    const endMs = tracer.parts.clock.monotonicMs();
    if (stages !== undefined && this.stage !== '')
      stages.set(this.stage, (stages.get(this.stage) ?? 0) + endMs - this.startMs);
    if (!this.origin.isRecorded) return;
    tracer.parts.record({
      ...{ name, kind: this.kind, traceId, spanId: this.spanId, parentSpanId, isParentRemote, state },
      ...{ attributes, hasFailed },
      startMs: zeroMs + this.startMs,
      endMs: zeroMs + endMs,
    });
  }
}

/** Facts of a call by its outcome. */
export interface CallFacts {
  readonly attributes: SpanAttributes;
  readonly hasFailed: boolean;
}

/** Facts of a call to another server by the status of its answer. */
export function httpFacts(status: number): CallFacts {
  const hasFailed = status >= 400;
  const error = hasFailed ? { 'error.type': String(status) } : {};
  return { attributes: { 'http.response.status_code': status, ...error }, hasFailed };
}

/** Does work as a span; if it throws, the span ends as failed. */
export async function recorded<Value>(
  span: Span,
  attributes: SpanAttributes,
  work: () => Promise<Value>,
  facts: (value: Value) => CallFacts,
): Promise<Value> {
  try {
    const value = await work();
    const { attributes: more, hasFailed } = facts(value);
    span.end({ ...attributes, ...more }, hasFailed);
    return value;
  } catch (error) {
    span.end({ ...attributes, 'error.type': error instanceof Error ? error.name : 'Error' }, true);
    throw error;
  }
}

/** Dependencies of a tracer. */
export interface TracerParts {
  readonly sampler: Sampler;
  readonly clock: Pick<Clock, 'wallMs' | 'monotonicMs'>;
  /** Called with each span that has ended. */
  readonly record: (span: SpanRecord) => void;
  /** True if answers show the time of their stages: then every request has a span, recorded or not. */
  readonly hasStages?: boolean;
  /** Counts the requests that are chosen but not recorded. */
  readonly counts: { dropped: number };
}

/** Begins the traces of a process. */
export class Tracer {
  private windowStartMs = -Infinity;
  private inWindow = 0;

  constructor(readonly parts: TracerParts) {}

  /** Begins the span of a request, in the caller's trace if it names one; undefined: the request has none. */
  take(head: TraceHead): Span | undefined {
    const given = head.getHeader('traceparent');
    const parent = given === '' ? undefined : parseTraceparent(given);
    const traceId = this.parts.sampler.choose(parent);
    const isRecorded = traceId !== undefined && this.hasRoom();
    if (!isRecorded)
      return this.parts.hasStages === true ? this.begin('', undefined, '', '', 'server') : undefined;
    const state = parent === undefined ? '' : readTracestate(head.getHeader('tracestate'));
    return this.begin(traceId, parent?.spanId, state, '', 'server');
  }

  /** Begins a trace of work that no request caused; undefined: it is not recorded. */
  root(name: string, kind: SpanKind): Span | undefined {
    const traceId = this.parts.sampler.choose(undefined);
    return traceId === undefined ? undefined : this.begin(traceId, undefined, '', name, kind);
  }

  private begin(
    traceId: string,
    parentSpanId: string | undefined,
    state: string,
    name: string,
    kind: SpanKind,
  ): Span {
    const { clock } = this.parts;
    const zeroMs = clock.wallMs() - clock.monotonicMs();
    const isParentRemote = parentSpanId !== undefined;
    const isRecorded = traceId !== '';
    const stages = this.parts.hasStages === true ? new Map<string, number>() : undefined;
    const origin = { traceId, parentSpanId, isParentRemote, state, zeroMs, isRecorded, stages };
    return new Span({ tracer: this, ...origin }, name, kind);
  }

  /** Callers can have all of their requests chosen: this bounds the number that is recorded. */
  private hasRoom(): boolean {
    const nowMs = this.parts.clock.monotonicMs();
    if (nowMs - this.windowStartMs >= 1_000) {
      this.windowStartMs = nowMs;
      this.inWindow = 0;
    }
    this.inWindow += 1;
    if (this.inWindow <= mostPerSecond) return true;
    this.parts.counts.dropped += 1;
    return false;
  }
}
