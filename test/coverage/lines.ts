/** Lines of a source that ran, and places that never did, from what ran of the built text. */
import type { Interval } from '../mutants/intervals.js';

/** A place of a built text that never ran. */
export interface Unreached {
  /** Source line, from 1. */
  readonly line: number;
  readonly text: string;
}

/** Coverage of a file. */
export interface Coverage {
  readonly lines: number;
  readonly reached: number;
  readonly unreached: readonly Unreached[];
}

/** Source line (from 1) of a place in the built text; undefined: the compiler's own. */
export type LineOf = (place: number) => number | undefined;

/** A text that does nothing by itself: what ends or separates statements. */
const punctuation = /^[\s{}()[\];,]*$/;

/** Marks, at each place of a text, whether it ran in one of several processes. */
export function marks(length: number, processes: readonly (readonly Interval[])[]): Uint8Array {
  const ran = new Uint8Array(length);
  for (const intervals of processes) for (const [from, end] of intervals) ran.fill(1, from, end);
  return ran;
}

/** Places that never ran, without those of punctuation alone. */
function gapsIn(text: string, ran: Uint8Array): Interval[] {
  const gaps: Interval[] = [];
  for (let from = ran.indexOf(0); from >= 0;) {
    const next = ran.indexOf(1, from);
    const end = next < 0 ? text.length : next;
    if (!punctuation.test(text.slice(from, end))) gaps.push([from, end]);
    from = ran.indexOf(0, end);
  }
  return gaps;
}

/** Coverage of a built text. A line counts as reached where some of it ran. */
export function coverageOf(text: string, ran: Uint8Array, lineOf: LineOf): Coverage {
  const lines = new Map<number, boolean>();
  for (const { index } of text.matchAll(/[^\s{}()[\];,]+/g)) {
    const line = lineOf(index);
    if (line !== undefined) lines.set(line, (lines.get(line) ?? false) || ran[index] === 1);
  }
  const unreached = gapsIn(text, ran).map(([from, end]) => {
    const at = from + text.slice(from, end).search(/\S/);
    return { line: lineOf(at) ?? 0, text: text.slice(at, end).trim().replaceAll(/\s+/g, ' ') };
  });
  const reached = [...lines.values()].filter((ranHere) => ranHere).length;
  return { lines: lines.size, reached, unreached };
}
