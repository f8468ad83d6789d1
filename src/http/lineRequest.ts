/** The request that a line of a request is. */
import type { RouteRequest } from '../contract/exchange.js';

/** The request that a line is of. */
export interface WholeRequest extends Omit<RouteRequest, 'input'> {
  /** Counts bytes of memory that a line holds. */
  lineHolds(bytes: number): void;
  /** Counts bytes of memory that a line has returned. */
  lineReturns(bytes: number): void;
}

/** A line as its handler sees it: a request with the line as body. */
export class LineRequest implements RouteRequest<undefined> {
  readonly input = undefined;
  private copied = false;
  /** Bytes of memory that it holds besides the line's. */
  private held = 0;

  constructor(
    private readonly whole: WholeRequest,
    public body: Uint8Array,
    readonly keyed: boolean,
  ) {}

  get id(): string {
    return this.whole.id;
  }
  get path(): RouteRequest['path'] {
    return this.whole.path;
  }
  get key(): string | undefined {
    return this.whole.key;
  }
  get mostAnswerBytes(): number | undefined {
    return this.whole.mostAnswerBytes;
  }
  get query(): RouteRequest['query'] {
    return this.whole.query;
  }
  get mayAct(): boolean {
    return this.whole.mayAct;
  }
  get head(): boolean {
    return this.whole.head;
  }

  header(name: string): string {
    return this.whole.header(name);
  }

  retain(): Uint8Array {
    if (!this.copied) {
      this.body = new Uint8Array(this.body);
      this.copied = true;
      this.hold(this.body.byteLength);
    }
    return this.body;
  }

  hold(bytes: number): void {
    this.held += bytes;
    this.whole.lineHolds(bytes);
  }

  /** Returns what it holds. Called once, when its handler has ended. */
  release(): void {
    this.whole.lineReturns(this.held);
  }

  peer(): Uint8Array {
    return this.whole.peer();
  }
  caller(): Uint8Array {
    return this.whole.caller();
  }
  aborted(): boolean {
    return this.whole.aborted();
  }
  signal(): AbortSignal {
    return this.whole.signal();
  }
}
