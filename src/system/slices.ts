/**
 * Short pieces of work on the event loop, such as digests and JSON. A burst of them has two milliseconds of
 * one turn of the loop; the others run in later turns, in their order. Between two turns whatever else came
 * is served.
 */
import { performance } from 'node:perf_hooks';

/** Time that the pieces of one turn take together before the others have to wait (ms). */
const sliceMs = 2;

/** The pieces that wait for their turn. */
export class Slices {
  private readonly waiting: (() => void)[] = [];
  /** Time that this turn's pieces took (ms). */
  private spentMs = 0;
  private isTurnPlanned = false;
  private isInTurn = false;

  /** @param nextTurn calls back once the loop has looked at everything else; `isInTurn`: called by a turn */
  constructor(
    private readonly nowMs: () => number,
    private readonly nextTurn: (run: () => void, isInTurn: boolean) => void,
  ) {}

  /** Runs a piece: at once where this turn has time for it. */
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
 * Calls back once the loop has polled for other events. Immediates follow the callbacks of a poll without
 * another one between: only those that an immediate plans are sure to come after one.
 */
function afterPoll(run: () => void, isInTurn: boolean): void {
  if (isInTurn) setImmediate(run);
  else setImmediate(() => setImmediate(run));
}

/** The pieces of this process: they share its one event loop. */
const slices = new Slices(() => performance.now(), afterPoll);

/** Runs a short piece of work in a turn of the event loop that has time for it. */
export function inSlice<Value>(piece: () => Value): Promise<Value> {
  return slices.run(piece);
}

/** Items of a list that are written in one piece. */
const pieceItems = 32;

/**
 * An object as JSON.stringify writes it, where it has long lists: these are written a piece at a time.
 */
export async function jsonInSlices(value: object): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let open = '{';
  for (const [name, member] of Object.entries(value) as [string, unknown][]) {
    if (member === undefined) continue;
    const head = `${open}${JSON.stringify(name)}:`;
    open = ',';
    if (Array.isArray(member) && member.length > pieceItems) {
      pieces.push(Buffer.from(head), ...(await listPieces(member)));
    } else pieces.push(Buffer.from(head + JSON.stringify(member)));
  }
  pieces.push(Buffer.from(open === '{' ? '{}' : '}'));
  return Buffer.concat(pieces);
}

async function listPieces(items: readonly unknown[]): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  for (let from = 0; from < items.length; from += pieceItems) {
    const some = items.slice(from, from + pieceItems);
    const open = from === 0 ? '[' : ',';
    pieces.push(await inSlice(() => Buffer.from(open + JSON.stringify(some).slice(1, -1))));
  }
  pieces.push(Buffer.from(']'));
  return pieces;
}
