/**
 * One request of lines (NDJSON) and its answer: the route's handler answers each line, in order, while others
 * arrive. A client that does not read answers is not read from either.
 */
import type { Admission } from '../access/admission.js';
import { answerTooLarge } from '../contract/answer.js';
import type { Answer, RouteRequest } from '../contract/exchange.js';
import { ndjson } from '../contract/schema/body.js';
import type { Timer } from '../system/clock.js';
import { inSlice } from '../system/slices.js';
import { AnswerLines } from './answerLines.js';
import { bodyOf, lengthOf } from './answer.js';
import { closeLine, Exchange } from './exchange.js';
import { lineTooLong, overloaded, requestTimeout, tooManyFailed } from './failures.js';
import { KeptHead } from './head.js';
import type { PacedSender } from './incoming.js';
import { LineRequest } from './lineRequest.js';
import { Lines, type MissingLine } from './lines.js';
import type { Holder } from './memory.js';
import { PaceWindow } from './paceWindow.js';
import type { HttpRequest } from './uws.js';

/** Time after which pending lines are left for the event loop's next turn (ms). */
const turnMs = 2;

/** First and longest pause before reading again from a client that sends without reading (ms). */
const firstLookMs = 20;
const lastLookMs = 1_000;

/** Invalid lines allowed, and body bytes that allow one more: an error costs more than a short line. */
const mostFailed = 500;
const bytesPerFailed = 128;

/** Characters of an error that count as a further one: an error may list many faults. */
const charactersPerFailed = 512;

/** Stands in for the answer in its head, which shows only the media type. */
const answerHead = { body: { bytes: '', type: ndjson } };

/** Writes an answer that is not a 200 as a line. */
function failureLine(line: number, { status, headers }: Answer, body: Uint8Array | string): string {
  const text = (typeof body === 'string' ? body : Buffer.from(body).toString()).slice(1, -1);
  const retry = headers?.['retry-after'];
  const after = retry === undefined ? '' : `,"retry_after":${retry}`;
  return `{"error":{"line":${line},"status":${status},${text}${after}}}`;
}

/** The request and the writing of its answers. One object per request. */
export class LineExchange extends Exchange implements PacedSender {
  private readonly lines: Lines;
  private readonly answers: AnswerLines;
  /** Decides admission of each line after the first, by the request's head. */
  private admitLine = (): Admission | Promise<Admission> | undefined => undefined;
  /** True if the sender is admitted, and lines are answered. */
  private admitted = false;
  /** True once the first line is counted: the request's own admission counts for it. */
  private counted = false;
  /** True while a line awaits its answer, or the other lines await another turn of the event loop. */
  private busy = false;
  private paused = false;
  /** Ends a pause while the client has not taken the written answers. */
  private look: Timer | undefined;
  private lookMs = firstLookMs;
  /** True once no further line is taken. */
  private isLast = false;
  /** True if the body had not ended by then: its rest is dropped, with the connection. */
  private isUnread = false;
  /** Lines answered with an error. */
  private failed = 0;
  private readonly pace: PaceWindow;

  constructor(...parts: ConstructorParameters<typeof Exchange>) {
    super(...parts);
    const { server, mounted, response } = this;
    const { bodyWindowMs, bodyWindowBytes } = server.limits;
    this.pace = new PaceWindow(bodyWindowMs, bodyWindowBytes, this.startedMs);
    const { lineLimit = 0 } = mounted.route;
    const holder = (): Holder => this.holder();
    this.lines = new Lines(server.bodies, lineLimit, holder);
    this.answers = new AnswerLines(server, {
      response,
      holder,
      begin: () => this.writeHead(),
      onDrained: () => {
        this.lookMs = firstLookMs;
        this.work();
      },
    });
  }

  override begin(request: HttpRequest): void {
    const { admit } = this.mounted;
    if (admit !== undefined) {
      const head = new KeptHead(request, this.response, this.peer());
      this.admitLine = () => admit(head);
    }
    super.begin(request);
  }

  protected override expectBody(): void {
    this.server.receiving.add(this);
    this.response.onData((chunk, isLast) => {
      if (!this.isAnswered()) this.takePiece(new Uint8Array(chunk), isLast);
    });
    this.whenAdmitted(() => {
      this.admitted = true;
      this.work();
    });
  }

  private takePiece(piece: Uint8Array, isLast: boolean): void {
    this.bytesIn += piece.byteLength;
    if (this.isLast) return;
    this.lines.push(piece);
    if (isLast) {
      this.lines.end();
      this.takeNoMore();
    }
    this.work();
    this.lines.keep();
    this.adjustSoon();
  }

  private takeNoMore(): void {
    this.isLast = true;
    this.server.receiving.delete(this);
  }

  /** Drops the lines that are not answered yet, and all further ones. */
  private dropRest(): void {
    this.isUnread = !this.isLast;
    this.takeNoMore();
    this.lines.release();
  }

  /** True if the request only awaits the client's next line. */
  private isFree(): boolean {
    return this.admitted && !this.busy && !this.answers.waiting;
  }

  /**
   * Answers the lines at hand until it must wait for a line, the client or the event loop. The requests of
   * lines take turns: together they occupy the loop no more than one of them.
   */
  private work(): void {
    if (!this.isFree()) return;
    this.busy = true;
    void inSlice(() => {
      this.busy = false;
      if (!this.aborted()) this.workNow();
    });
  }

  private workNow(): void {
    this.unpause();
    this.response.cork(() => this.answerLines());
    if (this.aborted()) return;
    if (this.isLast && this.isFree()) this.finishLines();
    else this.adjustSoon();
  }

  private answerLines(): void {
    const { clock } = this.server;
    const endMs = clock.monotonicMs() + turnMs;
    for (let line = this.nextLine(); line !== undefined; line = this.nextLine()) {
      const answered = this.answerLine(line);
      if (answered !== undefined) {
        this.waitFor(answered);
        break;
      }
      if (this.answers.isFull && !this.answers.flush()) return;
      if (clock.monotonicMs() >= endMs) {
        this.waitFor(new Promise((resolve) => setImmediate(resolve)));
        break;
      }
    }
    this.answers.flush();
  }

  /** The next line to answer. After too many failures, one error answers all further lines. */
  private nextLine(): Uint8Array | MissingLine | undefined {
    const line = this.lines.next();
    if (line === undefined || this.failed <= mostFailed + this.bytesIn / bytesPerFailed) return line;
    this.dropRest();
    this.add(this.lines.count, tooManyFailed, undefined);
    return undefined;
  }

  /**
   * Schedules {@link adjust}. A server that does not read from a client does not learn that it may write
   * either. Answers written in a handler are sent when it returns; how much is left is known only then.
   */
  private adjustSoon(): void {
    setImmediate(() => {
      if (!this.isAnswered() && !this.aborted()) this.adjust();
    });
  }

  /** Limits what the client sends to what is being answered. Nothing is written until {@link unpause}. */
  private adjust(): void {
    const { answers, lines, busy, admitted } = this;
    if (answers.waiting) {
      if (!lines.isEmpty && !this.isLast) this.pauseAndLook();
    } else if (busy || !admitted) this.pause();
  }

  /** Stops reading, and the server's own timer, which would close the connection during a line's work. */
  private pause(): void {
    if (!this.paused) this.response.pause();
    this.paused = true;
  }

  /** Resumes reading, and restarts the measurement of the client's pace. */
  private unpause(): void {
    if (!this.paused) return;
    this.paused = false;
    this.pace.begin(this.server.clock.monotonicMs(), this.bytesIn);
    this.response.resume();
  }

  /**
   * Stops reading from a client that does not read, with ever longer pauses before it checks again. During a
   * pause it does not hear that the client has read, so nothing else ends one.
   */
  private pauseAndLook(): void {
    if (this.paused) return;
    this.pause();
    this.look = this.server.clock.after(this.lookMs, () => this.unpause());
    this.lookMs = Math.min(2 * this.lookMs, lastLookMs);
  }

  override refuse(answer: Answer, close?: boolean): void {
    this.unpause();
    super.refuse(answer, close);
  }

  private waitFor(step: Promise<unknown>): void {
    this.busy = true;
    void step.then(() => {
      this.busy = false;
      this.work();
    });
  }

  /** Answers one line; a promise if the answer must be awaited. It never rejects. */
  private answerLine(line: Uint8Array | MissingLine): Promise<void> | undefined {
    const { count, limit } = this.lines;
    if (line === 'too long' || line === 'overloaded') {
      this.add(count, line === 'too long' ? lineTooLong(limit) : overloaded, undefined);
      return undefined;
    }
    try {
      const admission = this.counted ? this.admitLine() : this.decided;
      this.counted = true;
      if (!(admission instanceof Promise)) return this.handleLine(count, line, admission);
      const kept = new Uint8Array(line);
      return admission
        .then((decided) => this.handleLine(count, kept, decided))
        .catch((error: unknown) => this.failLine(count, error));
    } catch (error) {
      this.failLine(count, error);
      return undefined;
    }
  }

  private handleLine(
    count: number,
    line: Uint8Array,
    admission: Admission | undefined,
  ): Promise<void> | undefined {
    if (admission?.refusal !== undefined) {
      this.add(count, admission.refusal, admission);
      return undefined;
    }
    const request = new LineRequest(this, line, this.keyed);
    let answer: Answer | Promise<Answer> | undefined;
    try {
      answer = this.mounted.handler(request as unknown as RouteRequest<never>);
    } finally {
      if (!(answer instanceof Promise)) request.release();
    }
    if (!(answer instanceof Promise)) {
      this.add(count, answer, admission);
      return undefined;
    }
    return answer
      .then((value) => this.add(count, value, admission))
      .catch((error: unknown) => this.failLine(count, error))
      .finally(() => request.release());
  }

  /** Counts bytes of memory that a line holds. */
  lineHolds(bytes: number): void {
    this.server.bodies.memory.take(this.holder(), bytes);
  }

  /** Counts bytes of memory that a line has returned. */
  lineReturns(bytes: number): void {
    this.server.bodies.memory.give(this.holder(), bytes);
  }

  private failLine(count: number, error: unknown): void {
    this.add(count, this.answerTo(error, { line: count }, 'line failed'), undefined);
  }

  /** Adds the answer to a line, and charges it. */
  private add(count: number, answer: Answer, admission: Admission | undefined): void {
    if (!this.aborted()) this.addLine(count, answer, admission);
    if ('bytes' in answer.body) answer.body.release?.();
  }

  private addLine(count: number, answer: Answer, admission: Admission | undefined): void {
    const body = bodyOf(answer);
    const { keylessAnswerLimit } = this.mounted.route;
    if (answer.status !== 200) {
      const failure = failureLine(count, answer, body);
      this.failed += 1 + Math.floor(failure.length / charactersPerFailed);
      this.answers.add(failure);
    } else if (!this.keyed && lengthOf(body) > keylessAnswerLimit) {
      const refusal = answerTooLarge(keylessAnswerLimit);
      this.answers.add(failureLine(count, refusal, bodyOf(refusal)));
    } else {
      this.answers.add(body);
      if (answer.charge > 0) admission?.charge(answer.charge);
    }
  }

  private writeHead(): void {
    const close = this.chunked || this.server.draining ? closeLine : '';
    this.response.writeHeader('x-request-id', this.headLines(answerHead) + close);
  }

  /**
   * Ends the answer. After a chunked body, and in a long turn of the event loop, it does so in the next turn:
   * a request that follows in this one must find it unanswered, which ends the connection.
   */
  private finishLines(): void {
    const end = (): void => {
      if (!this.aborted()) this.endAnswer(this.chunked || this.isUnread || this.server.draining);
    };
    if (this.chunked || this.isLate) setImmediate(end);
    else end();
  }

  /** Ends the answer; with `isLast` the connection takes no further request. */
  private endAnswer(isLast: boolean): void {
    this.response.cork(() => {
      if (!this.answers.begun) this.writeHead();
      this.reply = 'written';
      this.status = 200;
      this.bytesOut = this.answers.bytes;
      // The server cannot end a connection after a chunked answer. It closes a silent one, and one that it no
      // longer reads is silent.
      if (isLast) this.pause();
      this.response.end('');
    });
    this.finish();
  }

  /** Checks the sender's pace, while nothing else is awaited. */
  check(nowMs: number): void {
    if (!this.isFree()) this.pace.begin(nowMs, this.bytesIn);
    if (!this.pace.isSlow(nowMs, this.bytesIn)) return;
    this.dropRest();
    if (!this.answers.begun) {
      this.cork(() => this.refuse(requestTimeout, true));
      return;
    }
    this.response.cork(() => {
      this.answers.add(failureLine(this.lines.count + 1, requestTimeout, bodyOf(requestTimeout)));
      if (this.answers.flush()) this.finishLines();
      else this.response.close();
    });
  }

  protected override release(): void {
    this.server.receiving.delete(this);
    this.look?.stop();
    this.lines.release();
    this.answers.release();
    super.release();
  }
}
