/** Comma-separated values as RFC 4180 writes them, safe to open in a spreadsheet. */

/** Value of a cell; null is an empty cell. */
export type Cell = string | number | boolean | null;

/**
 * First characters that spreadsheets read as a formula, in plain and full width. Such a text gets an
 * apostrophe in front, which spreadsheets read as the mark of a text; `--format jsonl` is exact.
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
