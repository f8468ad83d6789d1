/** The log: one JSON line per event on standard error (pino). It never contains client data. */
import { pino } from 'pino';

/** The values of `LOG_LEVEL`, the most verbose first. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** One of {@link logLevels}. */
export type LogLevel = (typeof logLevels)[number];

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
  readonly setLevel: (level: LogLevel) => void;
}

/** A log to standard error; each line has the process id. `err` fields include the stack. */
export function createLog(level: LogLevel): LevelledLog {
  const logger = pino({ level, base: { pid: process.pid } }, pino.destination({ dest: 2, sync: true }));
  const log: Omit<LevelledLog, 'debugging'> & { debugging: boolean } = {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    debugging: logger.isLevelEnabled('debug'),
    setLevel(next: LogLevel) {
      logger.level = next;
      log.debugging = logger.isLevelEnabled('debug');
    },
  };
  return log;
}
