/**
 * Stored text for a terminal: the public wrote it, and a terminal would obey its control characters (CWE-150;
 * ECMA-48 for C0 and C1, UAX #9 for characters that change the direction).
 */

/** Characters that move a cursor, end a line, ring the bell, or change the reading direction. */
const obeyed = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** A text on one line, with control characters as `\u` and four hex digits. */
export function printable(text: string): string {
  return text.replace(obeyed, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * A line of a table. `columns`: widths by name, 0 for the last, which is not padded. An absent cell is a
 * dash.
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
