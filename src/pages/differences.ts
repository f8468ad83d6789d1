/** Word differences of two texts, by the longest common subsequence of their words. */

/** A part of both texts: equal, or one that replaces the other. */
export interface Difference {
  readonly before: string;
  readonly after: string;
}

/**
 * Most pairs of words that are compared: a report has dozens of examples, and all are made in one turn of the
 * event loop.
 */
const mostPairs = 4_096;

/** Lengths of the longest common subsequences of both rests, from each pair of indexes. */
function table(left: readonly string[], right: readonly string[]): Uint16Array {
  const width = right.length + 1;
  const lengths = new Uint16Array((left.length + 1) * width);
  for (let row = left.length - 1; row >= 0; row -= 1) {
    for (let column = right.length - 1; column >= 0; column -= 1) {
      const at = row * width + column;
      const same = left[row] === right[column];
      lengths[at] = same
        ? (lengths[at + width + 1] ?? 0) + 1
        : Math.max(lengths[at + width] ?? 0, lengths[at + 1] ?? 0);
    }
  }
  return lengths;
}

/** The parts of two lists of words, in order; adjacent parts of a kind are merged. */
function aligned(left: readonly string[], right: readonly string[]): Difference[] {
  if (left.length * right.length > mostPairs) {
    return [{ before: left.join(''), after: right.join('') }];
  }
  const [lengths, width] = [table(left, right), right.length + 1];
  const parts: Difference[] = [];
  let [row, column, before, after] = [0, 0, '', ''];
  const flush = (): void => {
    if (before !== '' || after !== '') parts.push({ before, after });
    [before, after] = ['', ''];
  };
  while (row < left.length || column < right.length) {
    const [from, to] = [left[row], right[column]];
    if (from !== undefined && from === to) {
      flush();
      parts.push({ before: from, after: from });
      [row, column] = [row + 1, column + 1];
      continue;
    }
    const down = lengths[(row + 1) * width + column] ?? 0;
    const aside = lengths[row * width + column + 1] ?? 0;
    if (from !== undefined && (to === undefined || down >= aside)) {
      before += from;
      row += 1;
    } else {
      after += to ?? '';
      column += 1;
    }
  }
  flush();
  return parts;
}

/** The parts of two lists: what both begin and end with, and those of the rest, by `between`. */
function around(
  left: readonly string[],
  right: readonly string[],
  between: (left: readonly string[], right: readonly string[]) => Difference[],
): Difference[] {
  const shorter = Math.min(left.length, right.length);
  let head = 0;
  while (head < shorter && left[head] === right[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && left.at(-1 - tail) === right.at(-1 - tail)) tail += 1;
  const same = (parts: readonly string[]): Difference => ({ before: parts.join(''), after: parts.join('') });
  return [
    same(left.slice(0, head)),
    ...between(left.slice(head, left.length - tail), right.slice(head, right.length - tail)),
    same(left.slice(left.length - tail)),
  ].filter((part) => part.before !== '' || part.after !== '');
}

/** A difference without its common prefix and suffix, which become parts of their own. */
function trimmed({ before, after }: Difference): Difference[] {
  return around(Array.from(before), Array.from(after), (left, right) => [
    { before: left.join(''), after: right.join('') },
  ]);
}

/** The parts of two texts; joined, each side gives its text. */
export function differences(before: string, after: string): Difference[] {
  const words = (text: string): string[] => text.match(/\s+|[^\s]+/gu) ?? [];
  return around(words(before), words(after), (left, right) => aligned(left, right).flatMap(trimmed));
}
