/** Parts of a text that ran, from V8's block coverage (the inspector protocol's Profiler.CoverageRange). */

/** From one place up to another. */
export type Interval = readonly [from: number, end: number];

/** A block as V8 counts it: what counts at a place is the smallest block around it. */
export interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

/** The places that ran, in order. */
export function coveredIn(ranges: readonly Range[]): Interval[] {
  const length = Math.max(0, ...ranges.map(({ endOffset }) => endOffset));
  const ran = new Uint8Array(length);
  const outermostFirst = ranges.toSorted(
    (left, right) => right.endOffset - right.startOffset - (left.endOffset - left.startOffset),
  );
  for (const { startOffset, endOffset, count } of outermostFirst)
    ran.fill(count > 0 ? 1 : 0, startOffset, endOffset);
  const found: Interval[] = [];
  for (let from = ran.indexOf(1); from >= 0;) {
    const gap = ran.indexOf(0, from);
    const end = gap < 0 ? length : gap;
    found.push([from, end]);
    from = ran.indexOf(1, end);
  }
  return found;
}

/** Whether a place is in one of the intervals. */
export function isIn(intervals: readonly Interval[] | undefined, place: number): boolean {
  return intervals?.some(([from, end]) => from <= place && place < end) ?? false;
}
