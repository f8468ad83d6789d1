/**
 * Starts the other processes of a server. They write their log themselves, to the parent's standard error.
 * Anything else that they print, such as a panic or V8's message when memory runs out, goes through the
 * parent, which logs each line: so every line that a server writes is a log line.
 */
import { ChildProcess, fork, type ForkOptions } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { LineFormat, Log, LogSink } from '../system/log.js';

/** Descriptor of the log in a child, after the standard ones and that of the channel. */
const logDescriptor = 4;

/** First descriptor of the others that a child inherits. */
export const firstInherited = logDescriptor + 1;

/** Longest printed line that is logged as one; longer ones are split (UTF-16 units). */
const longestLine = 16_384;

/** A process to start. */
export interface ChildOrder {
  /** Its name in the log. */
  readonly role: 'worker' | 'embedder';
  readonly program: string;
  readonly programArguments: readonly string[];
  /** Format of the parent's log. */
  readonly logFormat: LineFormat;
  readonly log: Pick<Log, 'info' | 'error'>;
  /** Descriptors of the parent that the child inherits, as {@link firstInherited} and up. */
  readonly inherited?: readonly number[];
}

/** As `fork`, which throws when memory is short, but emits other failures: this emits all of them. */
function forked(program: string, programArguments: readonly string[], options: ForkOptions): ChildProcess {
  try {
    return fork(program, programArguments, options);
  } catch (error) {
    const child = new ChildProcess();
    process.nextTick(() => child.emit('error', error));
    return child;
  }
}

/**
 * Starts a process with a channel; see {@link childSink} for its other end. It has no process id if it cannot
 * be started, and then emits `error`.
 */
export function startChild(order: ChildOrder): ChildProcess {
  const { role, program, programArguments, logFormat, log, inherited = [] } = order;
  const child = forked(program, [...programArguments, logFormat], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc', 2, ...inherited],
    // By V8, not as JSON: texts and vectors are bytes.
    serialization: 'advanced',
  });
  const about = { [`${role}Pid`]: child.pid };
  // Other output of a process is unexpected: mostly it says why the process ends.
  eachLine(child.stderr, (line) => log.error({ ...about, stream: 'stderr' }, line));
  eachLine(child.stdout, (line) => log.info({ ...about, stream: 'stdout' }, line));
  return child;
}

/**
 * Kills a process of {@link startChild}. If it was not started, Node would send the signal to process 0:
 * the whole group of this process.
 */
export function killChild(child: ChildProcess): void {
  if (child.pid !== undefined) child.kill('SIGKILL');
}

/** The log's sink in a process of {@link startChild}, given its last argument; undefined in any other. */
export function childSink(logFormat: string | undefined): LogSink | undefined {
  if (logFormat !== 'json' && logFormat !== 'text') return undefined;
  return { descriptor: logDescriptor, format: logFormat };
}

/** Calls `take` with each line of a stream that is not blank, including an unfinished last one. */
export function eachLine(from: Readable | null | undefined, take: (line: string) => void): void {
  let rest = '';
  const takeFilled = (line: string): void => {
    if (line.trim() !== '') take(line);
  };
  from?.setEncoding('utf8');
  from?.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (; rest.length > longestLine; rest = rest.slice(longestLine)) lines.push(rest.slice(0, longestLine));
    for (const line of lines) takeFilled(line);
  });
  from?.on('end', () => takeFilled(rest));
}
