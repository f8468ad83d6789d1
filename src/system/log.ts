/** The log: one line per event, as JSON (pino) or for people. It never contains client data. */
import { isatty } from 'node:tty';
import { pino } from 'pino';
import { timeText } from './clock.js';

/** The values of `LOG_LEVEL`, the most verbose first. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** One of {@link logLevels}. */
export type LogLevel = (typeof logLevels)[number];

/** The values of `LOG_FORMAT`; `auto`: for people at a terminal, else JSON. */
export const logFormats = ['auto', 'json', 'text'] as const;

/** One of {@link logFormats}. */
export type LogFormat = (typeof logFormats)[number];

/** The format of lines once it is known where they go. */
export type LineFormat = Exclude<LogFormat, 'auto'>;

/** Destination of lines. */
export interface LogSink {
  readonly descriptor: number;
  readonly format: LineFormat;
}

/** The sink of an open descriptor. */
export function logSink(descriptor: number, format: LogFormat = 'auto'): LogSink {
  if (format !== 'auto') return { descriptor, format };
  return { descriptor, format: isatty(descriptor) ? 'text' : 'json' };
}

/** Facts of one event: names to plain values. No path, query, body, key, email, Referer or User-Agent. */
export type LogFields = Readonly<Record<string, unknown>>;

/** The destination of events. */
export interface Log {
  readonly debug: (fields: LogFields, message: string) => void;
  readonly info: (fields: LogFields, message: string) => void;
  readonly warn: (fields: LogFields, message: string) => void;
  readonly error: (fields: LogFields, message: string) => void;
  /** True if `debug` lines are written: lets a hot path skip building them. */
  readonly debugging: boolean;
}

/** A log whose level may change. */
export interface LevelledLog extends Log {
  /** For events after which the process ends. */
  readonly fatal: (fields: LogFields, message: string) => void;
  readonly setLevel: (level: LogLevel) => void;
}

/** A log, of standard error by default; each line has the process id. `err` fields include the stack. */
export function createLog(level: LogLevel, sink: LogSink = logSink(2)): LevelledLog {
  const logger = pino({ level, base: { pid: process.pid } }, destination(sink));
  const log: Omit<LevelledLog, 'debugging'> & { debugging: boolean } = {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    fatal: (fields, message) => logger.fatal(fields, message),
    debugging: logger.isLevelEnabled('debug'),
    setLevel(next: LogLevel) {
      logger.level = next;
      log.debugging = logger.isLevelEnabled('debug');
    },
  };
  return log;
}

/** Most characters that wait for a log that cannot be written; then lines are dropped. */
const mostWaiting = 1 << 20;

/** Synchronous: an event before a crash is written. A log on a full disk must not end the process. */
function destination({ descriptor, format }: LogSink): { readonly write: (line: string) => void } {
  const lines = pino.destination({ dest: descriptor, sync: true, maxLength: mostWaiting });
  lines.on('error', () => undefined);
  return format === 'json' ? lines : { write: (line) => void lines.write(`${forPeople(line)}\n`) };
}

/** A line of JSON as people read it: time, level, message, facts; the stack of an error below it. */
export function forPeople(line: string): string {
  const { level, time, pid, msg, err, ...facts } = JSON.parse(line) as Record<string, unknown>;
  const name = pino.levels.labels[Number(level)] ?? String(level);
  const { stack, ...error } = (err ?? {}) as Record<string, unknown>;
  const shown = Object.entries({ ...error, ...facts, pid })
    .filter(([fact, value]) => fact !== 'message' || value !== msg)
    .map(([fact, value]) => `${fact}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const head = `${timeText(Number(time))} ${name.padEnd(5)} ${String(msg)}`;
  return `${head} (${shown.join(', ')})${typeof stack === 'string' ? `\n${stack}` : ''}`;
}
