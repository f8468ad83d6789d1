/**
 * Short pieces of work on the event loop, such as digests and JSON. Pieces may use two milliseconds of one
 * turn of the loop; the others run in later turns, in order. Between two turns other events are served.
 */
import { performance } from 'node:perf_hooks';

/** Time for the pieces of one turn before the others must wait (ms). */
const sliceMs = 2;

/** The queue of pieces. */
export class Slices {
  private readonly waiting: (() => void)[] = [];
  /** Time used by this turn's pieces (ms). */
  private spentMs = 0;
  private isTurnPlanned = false;
  private isInTurn = false;

  /**
   * @param nextTurn calls back once the loop has served everything else; `isInTurn`: called within a turn
   */
  constructor(
    private readonly nowMs: () => number,
    private readonly nextTurn: (run: () => void, isInTurn: boolean) => void,
  ) {}

  /** Runs a piece, at once if this turn has time for it. */
  run<Value>(piece: () => Value): Promise<Value> {
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        try {
          resolve(piece());
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
      };
      if (this.waiting.length > 0 || this.spentMs >= sliceMs) this.waiting.push(begin);
      else this.measure(begin);
    });
  }

  private measure(begin: () => void): void {
    const begunMs = this.nowMs();
    begin();
    this.spentMs += this.nowMs() - begunMs;
    this.plan();
  }

  private plan(): void {
    if (this.isTurnPlanned) return;
    this.isTurnPlanned = true;
    this.nextTurn(() => this.turn(), this.isInTurn);
  }

  private turn(): void {
    this.isTurnPlanned = false;
    this.spentMs = 0;
    this.isInTurn = true;
    while (this.spentMs < sliceMs) {
      const begin = this.waiting.shift();
      if (begin === undefined) break;
      this.measure(begin);
    }
    this.isInTurn = false;
  }
}

/**
 * Calls back once the loop has polled for other events. Immediates run directly after the callbacks of a
 * poll, without another poll in between. Only an immediate scheduled by an immediate is sure to run after a
 * poll.
 */
function afterPoll(run: () => void, isInTurn: boolean): void {
  if (isInTurn) setImmediate(run);
  else setImmediate(() => setImmediate(run));
}

/** Resolves once the loop has polled for other events. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => afterPoll(resolve, false));
}

/** The queue of this process, which has one event loop. */
const slices = new Slices(() => performance.now(), afterPoll);

/** Runs a short piece of work in a turn of the event loop that has time for it. */
export function inSlice<Value>(piece: () => Value): Promise<Value> {
  return slices.run(piece);
}

/** Items of a list written in one piece. */
const pieceItems = 32;

const never = new AbortController().signal;

/**
 * The JSON of an object with long lists, as JSON.stringify writes it, made piece by piece. It is cut off once
 * `signal` is aborted.
 */
export async function jsonInSlices(value: object, signal: AbortSignal = never): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let open = '{';
  for (const [name, member] of Object.entries(value) as [string, unknown][]) {
    if (member === undefined) continue;
    const head = `${open}${JSON.stringify(name)}:`;
    open = ',';
    if (Array.isArray(member) && member.length > pieceItems) {
      pieces.push(Buffer.from(head), ...(await listPieces(member, signal)));
    } else pieces.push(Buffer.from(head + JSON.stringify(member)));
  }
  pieces.push(Buffer.from(open === '{' ? '{}' : '}'));
  return joined(pieces);
}

/** Pieces in one buffer. `Buffer.concat` takes up to 5 ms for nine megabytes, most of it for fresh memory. */
async function joined(pieces: readonly Buffer[]): Promise<Buffer> {
  const all = Buffer.allocUnsafe(pieces.reduce((bytes, { length }) => bytes + length, 0));
  let end = 0;
  for (const piece of pieces) {
    const at = end;
    await inSlice(() => piece.copy(all, at));
    end += piece.length;
  }
  return all;
}

async function listPieces(items: readonly unknown[], signal: AbortSignal): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  for (let from = 0; from < items.length && !signal.aborted; from += pieceItems) {
    const some = items.slice(from, from + pieceItems);
    const open = from === 0 ? '[' : ',';
    pieces.push(await inSlice(() => Buffer.from(open + JSON.stringify(some).slice(1, -1))));
  }
  pieces.push(Buffer.from(']'));
  return pieces;
}
