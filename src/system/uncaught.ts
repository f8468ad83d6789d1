/** Logs what Node.js would print by itself: its warnings, and errors that nothing has caught. */
import { createLog, logSink, type LevelledLog, type Log, type LogSink } from './log.js';

/** The logs in use; undefined: Node.js prints. */
let used: { readonly warnings: Pick<Log, 'warn'>; readonly crash: LevelledLog } | undefined;

/**
 * Logs warnings from now on at the level of `log`, and uncaught errors at every level; after an error, `end`
 * ends the process with 1. A second call replaces the logs of the first.
 *
 * @param end ends the process without waiting for anything: a unit in progress may wait for this thread
 */
export function logUncaught(end: (status: number) => never, sink: LogSink = logSink(2), log?: Log): void {
  const isFirst = used === undefined;
  const crash = createLog('fatal', sink);
  used = { warnings: log ?? createLog('warn', sink), crash };
  if (!isFirst) return;
  // Node.js' own listener prints. If the operator switched warnings off, there is none to replace.
  if (process.listenerCount('warning') > 0) {
    process.removeAllListeners('warning');
    process.on('warning', (warning) => used?.warnings.warn({ err: warning }, warning.message));
  }
  process.on('uncaughtException', (error: unknown) => {
    used?.crash.fatal({ err: error }, 'an error that nothing caught ends this process');
    end(1);
  });
}
