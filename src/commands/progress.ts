/** How far a long command is: a bar on a terminal, lines elsewhere (cli-progress). */
import { Presets, SingleBar } from 'cli-progress';
import type { Progress } from '../store/copy.js';

/** A display of passes over records, or over what else is counted. */
export interface ProgressDisplay {
  readonly progress: Progress;
  /** Ends the last bar. */
  readonly end: () => void;
}

/** A bar for each pass on a terminal; elsewhere a line at every tenth. `unit`: what is counted. */
export function progressOn(stream: NodeJS.WriteStream, unit = 'records'): ProgressDisplay {
  const format = `{pass} [{bar}] {percentage} % | {value}/{total} ${unit} | {eta_formatted} left`;
  let bar: SingleBar | undefined;
  let passNow = '';
  let tenth = -1;
  const end = (): void => bar?.stop();
  const progress: Progress = (pass, records, about) => {
    const total = Math.max(records, about);
    if (pass !== passNow) {
      end();
      passNow = pass;
      tenth = -1;
      bar = stream.isTTY
        ? new SingleBar({ stream, format, clearOnComplete: false }, Presets.shades_classic)
        : undefined;
      bar?.start(total, 0, { pass: pass.padEnd(13) });
    }
    bar?.setTotal(total);
    bar?.update(records);
    const now = total === 0 ? 10 : Math.floor((10 * records) / total);
    if (bar === undefined && now > tenth) stream.write(`${pass}: ${records} of ${total} ${unit}\n`);
    tenth = now;
  };
  return { progress, end };
}
