/** How far a long command is: a bar on a terminal, lines elsewhere (cli-progress). */
import { Presets, SingleBar } from 'cli-progress';
import type { Progress } from '../store/copy.js';

/** A display of passes over records. */
export interface ProgressDisplay {
  readonly progress: Progress;
  /** Ends the last bar. */
  readonly end: () => void;
}

/** A bar for each pass on a terminal; elsewhere a line at every tenth. `counted`: what is, unless told. */
export function progressOn(stream: NodeJS.WriteStream, counted = 'records'): ProgressDisplay {
  const format = '{pass} [{bar}] {percentage} % | {value}/{total} {unit} | {eta_formatted} left';
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
      bar = stream.isTTY
        ? new SingleBar({ stream, format, clearOnComplete: false }, Presets.shades_classic)
        : undefined;
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
