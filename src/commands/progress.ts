/** Progress of a long command: a bar on a terminal, lines elsewhere (cli-progress). */
import { Presets, SingleBar } from 'cli-progress';
import type { Progress } from '../store/copy.js';

/** A display of passes over records. */
export interface ProgressDisplay {
  readonly progress: Progress;
  /** Ends the last bar. */
  readonly end: () => void;
}

/** Widest bar, and the narrowest that is useful. */
const widestBar = 40;
const narrowestBar = 5;

/** Columns below which the amounts are omitted, to leave room for the percentage and the time left. */
const roomForAmounts = 90;

/** A bar that fits a terminal: its template, and the width of the bar itself. */
export function barFor(columns: number): { readonly format: string; readonly barsize: number } {
  const isWide = columns >= roomForAmounts;
  const amounts = isWide ? ' | {value}/{total} {unit}' : '';
  const format = `{pass} [{bar}] {percentage} %${amounts} | {eta_formatted} left`;
  // The words, the percentage and a time left of up to 8 characters; then the amounts.
  const besides = 13 + ' [] 100 % |  left'.length + 8 + (isWide ? 30 : 0);
  return { format, barsize: Math.max(narrowestBar, Math.min(widestBar, columns - besides - 1)) };
}

/** A bar for each pass on a terminal; elsewhere a line at every tenth. `counted`: the default unit. */
export function progressOn(stream: NodeJS.WriteStream, counted = 'records'): ProgressDisplay {
  let bar: SingleBar | undefined;
  let passNow = '';
  let tenth = -1;
  const end = (): void => bar?.stop();
  const progress: Progress = (pass, count, about, unit = counted) => {
    const total = Math.max(count, about);
    if (pass !== passNow) {
      end();
      passNow = pass;
      tenth = -1;
      const options = { stream, ...barFor(stream.columns), clearOnComplete: false };
      bar = stream.isTTY ? new SingleBar(options, Presets.shades_classic) : undefined;
      bar?.start(total, 0, { pass: pass.padEnd(13), unit });
    }
    bar?.setTotal(total);
    bar?.update(count);
    const now = total === 0 ? 10 : Math.floor((10 * count) / total);
    if (bar === undefined && now > tenth) stream.write(`${pass}: ${count} of ${total} ${unit}\n`);
    tenth = now;
  };
  return { progress, end };
}
