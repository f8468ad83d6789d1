/**
 * Lines that a server writes at every level of its log: where it listens, and why it does not start. They
 * have the log's format: at a terminal they are plain sentences.
 */
import { createLog, logSink, type LogFields, type LogFormat } from '../system/log.js';

/** Writes them. */
export interface Notices {
  /** A line on standard output. `fields`: its facts, for programs. */
  readonly say: (line: string, fields?: LogFields) => void;
  /** A doubt about the settings, on standard error. */
  readonly warn: (line: string) => void;
  /** Why the server ends, or does not start, on standard error; `errors`: one by one. */
  readonly fail: (line: string, errors?: readonly string[]) => void;
}

/** The notices of this process. */
export function notices(format: LogFormat): Notices {
  const [out, err] = [logSink(1, format), logSink(2, format)];
  const said = createLog('info', out);
  const noted = createLog('info', err);
  return {
    say: out.format === 'text' ? (line) => console.log(line) : (line, fields = {}) => said.info(fields, line),
    ...(err.format === 'text' ? forPeople : { warn: (line: string) => noted.warn({}, line), fail }),
  };

  function fail(line: string, errors?: readonly string[]): void {
    noted.fatal(errors === undefined ? {} : { errors }, line);
  }
}

const forPeople: Omit<Notices, 'say'> = {
  warn: (line) => console.error(`Warning: ${line}`),
  fail(line, errors) {
    console.error(errors === undefined ? line : `${line}:`);
    for (const error of errors ?? []) console.error(`  ${error}`);
  },
};
