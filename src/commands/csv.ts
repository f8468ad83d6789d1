/** Comma-separated values as RFC 4180 writes them, safe to open in a spreadsheet. */

/** Value of a cell; null is an empty cell. */
export type Cell = string | number | boolean | null;

/**
 * Beginnings that spreadsheets read as a formula, in plain and full width. A text that has one gets an
 * apostrophe before it, which spreadsheets take for the mark of a text; `--format jsonl` is exact.
 */
const formula = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

function field(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell !== 'string') return String(cell);
  const safe = formula.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(safe) || safe !== safe.trim() ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** One line with its line end. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(field).join(',')}\r\n`;
}
