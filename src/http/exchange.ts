/** One request and its answer on uWebSockets.js: handler, writing, back-pressure, abort. */
import { answerTooLarge, mostKeyedAnswerBytes, storeUnavailable } from '../contract/answer.js';
import { ownedAnswer, type Answer, type RouteRequest } from '../contract/exchange.js';
import { StoreUnavailable } from '../store/store.js';
import { bodyOf, fieldLines, lengthOf, limitLines, stagesLine, statusLine, timingLine } from './answer.js';
import { crossOriginLines } from './cors.js';
import { internalError } from './failures.js';
import { Reception } from './reception.js';
import type { CheckResult } from './routes.js';
import { endRequestSpan } from './spans.js';
import { waitForClient, type UnsentAnswer } from './unsent.js';

/** Tells the client that the connection ends after this answer. */
export const closeLine = '\r\nconnection: close';

/**
 * Largest unread body that is read and discarded to save the connection; a larger one ends it. A client that
 * is still sending when its connection ends usually loses the answer.
 */
const droppableBytes = 16_777_216;

/** Size from which text becomes bytes before it is sent, as its client may take only a part (bytes). */
const largeAnswerBytes = 131_072;

/**
 * Size below which the server may keep an answer in its own buffer, unseen by us (bytes). To hear whether the
 * client took it costs half a microsecond more. So of short answers one in 16 is sent so, at moments that
 * nobody can choose: about as many stay unread.
 */
const shortAnswerBytes = 1_024;
const shortAnswersUnseen = 16;

/** Of a head alone the server never tells if it was taken: one in so many ends its connection. */
const headsUnseen = 256;

/** The request as its handler sees it, and the writing of its answer. One object per request. */
export class Exchange extends Reception implements RouteRequest {
  input: unknown = undefined;

  /** State of the answer; `deferred`: known, and to be written in the next turn of the event loop. */
  protected reply: 'none' | 'deferred' | 'written' = 'none';
  /** True while an asynchronous handler may still read the body. */
  private handling = false;
  protected status = 0;
  protected bytesOut = 0;
  /** Time at which a request with a span was complete; 0: not yet. */
  private receivedMs = 0;
  /** Rest of an answer that the client has not taken. */
  private unsent: UnsentAnswer | undefined;
  /** Notifies the owner of the answer's bytes that they are no longer needed. */
  private releaseAnswer: (() => void) | undefined;

  protected override isAnswered(): boolean {
    return this.reply !== 'none';
  }

  get mostAnswerBytes(): number {
    return this.keyed ? mostKeyedAnswerBytes : this.mounted.route.keylessAnswerLimit;
  }

  /** Checks the request, runs the handler and answers. */
  protected override handle(): void {
    const { span, server } = this;
    if (span === undefined) {
      this.handleNow();
      return;
    }
    this.receivedMs = server.clock.monotonicMs();
    span.run(() => this.handleNow());
  }

  private handleNow(): void {
    try {
      const checked = this.mounted.check?.(this);
      const answer =
        checked instanceof Promise ? checked.then((result) => this.answer(result)) : this.answer(checked);
      if (answer instanceof Promise) this.wait(answer);
      else this.write(answer, false);
    } catch (error) {
      this.fail(error);
    }
  }

  /** The handler's answer to a checked request, or the answer that refuses it. */
  private answer(checked: CheckResult | undefined): Answer | Promise<Answer> {
    if (checked !== undefined) {
      if ('refused' in checked) return checked.refused;
      this.input = checked.input;
    }
    return this.mounted.handler(this as unknown as RouteRequest<never>);
  }

  /**
   * The handler may read the body and ask who calls until its promise settles, even if the client has gone.
   */
  private wait(answer: Promise<Answer>): void {
    this.watch();
    // If the admission has the address, it need not be read from the connection.
    if (this.decided?.address === undefined) this.peer();
    this.handling = true;
    answer.then(
      (value) => {
        this.settle(value);
        this.cork(() => this.write(value, false));
      },
      (error: unknown) => {
        this.settle(undefined);
        this.failCorked(error);
      },
    );
  }

  private settle(answer: Answer | undefined): void {
    this.handling = false;
    if (!this.aborted()) return;
    this.releaseBody();
    if (answer !== undefined && 'bytes' in answer.body) answer.body.release?.();
  }

  protected override fail(error: unknown): void {
    const answer = this.answerTo(error, {}, 'request failed');
    if (this.reply !== 'written') this.write(answer, false);
  }

  /**
   * Answers 503 while the store is unavailable. Any other error is a broken invariant: it is logged and
   * answered 500.
   */
  protected answerTo(error: unknown, about: object, said: string): Answer {
    if (error instanceof StoreUnavailable) return storeUnavailable();
    const { id: requestId, mounted, server } = this;
    server.log.error({ requestId, route: mounted.route.id, ...about, err: error }, said);
    return internalError;
  }

  /** Answers before the body was read. */
  override refuse(answer: Answer, close = false): void {
    this.stopReceiving();
    this.write(answer, close || this.declared > droppableBytes);
  }

  /**
   * Answers in the next turn of the event loop. If the parser finds another request while this one is
   * unanswered, it closes the connection. In the read that has the end of a chunked body, it continues past
   * that end, whatever the answer says.
   */
  private writeLater(answer: Answer, close: boolean): void {
    this.watch();
    this.reply = 'deferred';
    const { body } = answer;
    const owned = ownedAnswer(answer);
    setImmediate(() => {
      if (this.aborted()) {
        if ('bytes' in body) body.release?.();
      } else this.cork(() => this.write(owned, close));
    });
  }

  private write(given: Answer, close: boolean): void {
    if (this.aborted()) return;
    if ((this.chunked || this.isLate) && this.reply === 'none') {
      this.writeLater(given, close);
      return;
    }
    const { mounted, server, decided: admission } = this;
    const { writeFailure } = mounted;
    const answer = writeFailure === undefined || given.status < 400 ? given : writeFailure(given, this.id);
    const body = bodyOf(answer);
    const finished = 'bytes' in answer.body ? answer.body : undefined;
    this.releaseAnswer = finished?.release;
    const { keylessAnswerLimit } = mounted.route;
    if (keylessAnswerLimit < Infinity && admission !== undefined && admission.key === undefined) {
      if (lengthOf(body) > keylessAnswerLimit) {
        this.releaseAnswer?.();
        this.write(answerTooLarge(keylessAnswerLimit), close);
        return;
      }
    }
    if (given.status >= 400) mounted.meter.countProblem(given);
    const elapsedMs = server.clock.monotonicMs() - this.startedMs;
    let lines = this.headLines(answer);
    if (server.timing === 'stages') lines += this.stages(elapsedMs);
    else if (mounted.route.timed && server.timing === 'total') lines += timingLine(elapsedMs);
    if (admission !== undefined && answer.charge > 0) admission.charge(answer.charge);
    this.reply = 'written';
    this.status = answer.status;
    if (answer.status !== 200) this.response.writeStatus(statusLine(answer.status));
    const isLast = close || this.chunked || server.draining;
    this.send(lines, body, isLast, finished?.immutable === true, elapsedMs);
  }

  /**
   * The timing line with each stage: `receive` until the body was complete, then the waits for others, then
   * under the route's name the rest, which is this process' own work. A refusal by the head has no stages.
   */
  private stages(elapsedMs: number): string {
    const { span, receivedMs, startedMs, mounted } = this;
    if (span === undefined || receivedMs === 0) return timingLine(elapsedMs);
    const receive = receivedMs - startedMs;
    const waited = [...span.stages()];
    const rest = elapsedMs - receive - waited.reduce((sum, [, ms]) => sum + ms, 0);
    return stagesLine([['receive', receive], ...waited, [mounted.route.id, rest]], elapsedMs);
  }

  /** The header lines of an answer, starting with the first one's value. */
  protected headLines(answer: Pick<Answer, 'body' | 'headers'>): string {
    const { mounted, decided: admission } = this;
    const lines = this.id + mounted.lines + fieldLines(answer, mounted.route.fields);
    const limits = admission === undefined ? '' : limitLines(admission);
    return lines + (this.crossOrigin ? crossOriginLines : '') + limits;
  }

  /** Writes the header lines in one call (starting with the first one's value) and the body. */
  private send(
    lines: string,
    body: Uint8Array | string,
    close: boolean,
    immutable: boolean,
    elapsedMs: number,
  ): void {
    const length = lengthOf(body);
    if (length === 0 || this.mounted.head || this.status === 204 || this.status === 304) {
      this.sendBodyless(lines, length, close);
    } else if (this.isUnseen(length, close)) {
      this.bytesOut = length;
      // Or what follows on the connection would be read as another request.
      if (this.chunked) this.response.pause();
      this.response.writeHeader('x-request-id', lines).end(body, close);
    } else if (!this.sendSeen(close ? lines + closeLine : lines, body, length, immutable)) return;
    this.finish(elapsedMs);
  }

  /** True if what the client does not take of an answer may stay in the server's own buffer. */
  private isUnseen(length: number, close: boolean): boolean {
    // The connection of a last answer takes no further one.
    if (close) return length < largeAnswerBytes;
    return length < shortAnswerBytes && !this.isOneIn(shortAnswersUnseen);
  }

  /** True for about one request in so many. */
  private isOneIn(many: number): boolean {
    return Math.trunc(this.startedMs * 1_000) % many === 1;
  }

  /**
   * Answers with a head alone. With an argument, `endWithoutBody` writes a length of its own, and waits for
   * as many bytes, so ours is a header line like the others.
   */
  private sendBodyless(lines: string, length: number, close: boolean): void {
    const hasLength = this.status !== 204 && (this.mounted.head || this.status !== 304);
    const stated = hasLength ? `${lines}\r\ncontent-length: ${length}` : lines;
    if (close || this.isOneIn(headsUnseen)) this.sendLast(stated);
    else this.response.writeHeader('x-request-id', stated).endWithoutBody();
  }

  /**
   * Writes a head that ends its connection. The server cannot end one after a head alone. For it this answer
   * is never complete, so it serves no request that follows, and the connection is closed in the next turn.
   */
  private sendLast(lines: string): void {
    const date = new Date(this.server.clock.wallMs()).toUTCString();
    this.watch();
    this.response.writeHeader('x-request-id', `${lines}\r\ndate: ${date}${closeLine}\r\n`);
    this.isOver = true;
    setImmediate(() => {
      if (!this.aborted()) this.response.close();
    });
  }

  /**
   * Sends what the client takes at once; true if that is all. It holds the rest, and while some is left, a
   * request that follows ends the connection. After a chunked body nothing more is read from it: the server
   * closes it once it has been silent for some ten seconds.
   */
  private sendSeen(lines: string, body: Uint8Array | string, length: number, immutable: boolean): boolean {
    const { response, chunked } = this;
    const sent = typeof body === 'string' && length >= largeAnswerBytes ? Buffer.from(body) : body;
    this.bytesOut = length;
    if (chunked) response.pause();
    const [, done] = response.writeHeader('x-request-id', lines).tryEnd(sent, length);
    if (done) return true;
    if (chunked) response.resume();
    this.watch();
    this.releaseBody();
    const bytes = typeof sent === 'string' ? Buffer.from(sent) : sent;
    const ownership = immutable ? 'immutable' : this.releaseAnswer === undefined ? 'lent' : 'owned';
    const onSent = (): void => this.finish();
    const answer = { response, bytes, ownership, holder: this.holder(), isLast: chunked, onSent } as const;
    this.unsent = waitForClient(this.server, answer);
    if (this.unsent === undefined) response.close();
    return false;
  }

  /** Counts and logs the answer once all of it is handed over. */
  protected finish(elapsedMs = this.server.clock.monotonicMs() - this.startedMs): void {
    const { mounted, server, status, bytesIn, bytesOut } = this;
    mounted.meter.count(status, elapsedMs, bytesIn, bytesOut);
    this.endSpan();
    this.release();
    // Answers above 500 come in thousands under attack: they are counted, and logged in summary.
    if (status > 500) {
      const name = `${mounted.route.id} ${status}`;
      server.failures.set(name, (server.failures.get(name) ?? 0) + 1);
    }
    if (status !== 500 && !server.log.debugging) return;
    const fields = { requestId: this.id, route: mounted.route.id, status, ms: elapsedMs, bytesIn, bytesOut };
    if (status === 500) server.log.error(fields, 'request answered');
    else server.log.debug(fields, 'request answered');
  }

  protected override cutOff(): void {
    this.endSpan('aborted');
  }

  private endSpan(cause?: 'aborted'): void {
    if (this.span?.isRecorded !== true) return;
    const { span, id, method, mounted, status, bytesIn, bytesOut } = this;
    endRequestSpan(span, { id, method, route: mounted.route, status, bytesIn, bytesOut, cause });
  }

  protected override release(): void {
    this.server.inFlight -= 1;
    this.unsent?.release();
    this.releaseAnswer?.();
    if (!this.handling) this.releaseBody();
  }
}
