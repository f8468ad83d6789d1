/**
 * Stored text on a terminal: strangers wrote it, and control characters would be obeyed there (CWE-150;
 * ECMA-48 for C0 and C1, UAX #9 for what turns the direction).
 */

/** Whatever moves a cursor, ends a line, rings, or turns the direction of reading. */
const obeyed = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** A text with its control characters as `\u` and four hexadecimal digits, on one line. */
export function printable(text: string): string {
  return text.replace(obeyed, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * A line of a table. `columns`: the width of each by its name, 0 for the last, which is not filled up. A cell
 * that is not there is a dash.
 */
export function tableRow(
  columns: Readonly<Record<string, number>>,
  cells: Readonly<Record<string, string | number | boolean | null | undefined>>,
): string {
  const padded = Object.entries(columns).map(([name, width]) =>
    printable(String(cells[name] ?? '-')).padEnd(width),
  );
  return `${padded.join('  ').trimEnd()}\n`;
}
