/**
 * Spans of requests and of the work that they cause. A request that is not chosen costs a look at one header
 * field and six random bytes. The span under way is found by the work that runs, across awaits; where none is
 * ever recorded, looking for it costs a read.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock } from '../system/clock.js';
import type { Sampler } from './sampler.js';
import { parseTraceparent, readTracestate, traceparentOf } from './traceContext.js';

/** Facts of a span, by OpenTelemetry's names where it has one. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** A span that is over. */
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

/** Requests that a process records in a second at most. */
const mostPerSecond = 1_000;

const current = new AsyncLocalStorage<Span>();
/** Spans that have run and have not ended. */
let running = 0;

/**
 * The span whose work runs now; undefined: none is recorded. Work that a request began and that outlives it,
 * such as a connection that is kept, is not the request's any more.
 */
export function activeSpan(): Span | undefined {
  const span = current.getStore();
  return span === undefined || span.hasEnded ? undefined : span;
}

/** What a span belongs to. */
interface Origin {
  readonly tracer: Tracer;
  readonly traceId: string;
  readonly parentSpanId: string | undefined;
  readonly isParentRemote: boolean;
  readonly state: string;
  /** True if it is sent to the collector; else its times are of use here alone. */
  readonly isRecorded: boolean;
  /** Time that the stages of a request have taken (ms), where its answer says so. */
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

  /** True if it is sent to the collector. */
  get isRecorded(): boolean {
    return this.origin.isRecorded;
  }

  /** Time that the stages which are over have taken (ms), by their names; what overlaps counts twice. */
  stages(): ReadonlyMap<string, number> {
    return this.origin.stages ?? noStages;
  }

  /** Runs work, in which {@link activeSpan} is this one. */
  run<Value>(work: () => Value): Value {
    if (!this.hasRun) running += 1;
    this.hasRun = true;
    return current.run(this, work);
  }

  /** Header fields that have a server which the operator runs continue the trace. */
  fields(): Readonly<Record<string, string>> {
    const { traceId, state, isRecorded } = this.origin;
    if (!isRecorded) return {};
    const traceparent = traceparentOf(traceId, this.spanId);
    return state === '' ? { traceparent } : { traceparent, tracestate: state };
  }

  /** Ends it, once; a second end changes nothing. */
  end(attributes: SpanAttributes, hasFailed = false, name = this.name): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    // Until then Node calls hooks for each promise of the process: without this, all requests pay for one in
    // a hundred. Spans that only measure stages do not end; where answers show stages, the hooks stay.
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

/** Does work that is a span; what it throws ends the span as failed. */
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
  /** Takes a span that is over. */
  readonly record: (span: SpanRecord) => void;
  /** True if answers say what their stages took: then every request has a span, if it is recorded or not. */
  readonly hasStages?: boolean;
  /** Counts what is chosen and not recorded. */
  readonly counts: { dropped: number };
}

/** Begins the traces of a process. */
export class Tracer {
  private windowStartMs = -Infinity;
  private inWindow = 0;

  constructor(readonly parts: TracerParts) {}

  /** Begins the span of a request, in the caller's trace where it names one; undefined: not recorded. */
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

  /** Callers can have every request of theirs chosen: this bounds what they make of it. */
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
