/** Names that resemble settings: typing errors that would otherwise be silently ignored. */

/**
 * Single-character edits and swaps of adjacent characters between two strings (optimal string alignment
 * distance).
 */
export function editDistance(left: string, right: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const replaced = (previous[column - 1] ?? 0) + (left[row - 1] === right[column - 1] ? 0 : 1);
      const swapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      current.push(
        Math.min(
          replaced,
          (previous[column] ?? 0) + 1,
          (current[column - 1] ?? 0) + 1,
          swapped ? (before[column - 2] ?? Infinity) + 1 : Infinity,
        ),
      );
    }
    before = previous;
    previous = current;
  }
  return previous[right.length] ?? 0;
}

/** A name with each of its words in the singular. */
function singular(name: string): string {
  return name.replace(/IES(?=_|$)/g, 'Y').replace(/S(?=_|$)/g, '');
}

/**
 * True if `name`, in capitals, is nearly `known`: it differs in letters, `_`, plurals, or lacks last words.
 */
function isNearly(name: string, known: string): boolean {
  if (singular(name) === singular(known)) return true;
  // A single word, such as STRIPE, may belong to another program.
  if (name.includes('_') && known.startsWith(`${name}_`)) return true;
  const [plain, plainKnown] = [name.replaceAll('_', ''), known.replaceAll('_', '')];
  const most = known.length > 6 ? 2 : 1;
  // Cheap first: an edit changes the length by one at most, and a start compares all names with all settings.
  if (Math.abs(plain.length - plainKnown.length) > most) return false;
  return editDistance(plain, plainKnown) <= most;
}

/** The name of ours that is nearest to another name. */
export function nearestName(name: string, ours: readonly string[]): string {
  const plain = name.toUpperCase();
  const near = ours.find((known) => isNearly(plain, known)) ?? ours.find((known) => known.startsWith(plain));
  if (near !== undefined) return near;
  const [first = ''] = [...ours].sort((a, b) => editDistance(plain, a) - editDistance(plain, b));
  return first;
}

/** A sentence for each name that is not in `ours` but nearly so, or begins with the product's name. */
export function lookalikes(names: readonly string[], ours: readonly string[]): string[] {
  return names.flatMap((name) => {
    if (ours.includes(name)) return [];
    const plain = name.toUpperCase().replace(/^FUSEGATE_?/, '');
    const near = ours.find((known) => isNearly(plain, known));
    if (near !== undefined) return [`${name} is not read; did you mean ${near}?`];
    if (/^FUSEGATE/i.test(name)) return [`${name} is not read; the variables are ${ours.join(', ')}.`];
    return [];
  });
}
