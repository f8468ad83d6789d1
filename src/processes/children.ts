/**
 * Starts the other processes of a server. They write their log themselves, to the parent's standard error.
 * Anything else that they print, such as a panic or the last words of an engine without memory, goes through
 * the parent, which logs each line of it: so every line that a server writes is one of its log.
 */
import { fork, type ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { LineFormat, Log, LogSink } from '../system/log.js';

/** Descriptor of the log in a child, after its standard ones and its channel. */
const logDescriptor = 4;

/** First descriptor of further ones that a child inherits. */
export const firstInherited = logDescriptor + 1;

/** Longest printed line that is logged whole; the rest of a longer one is another line (UTF-16 units). */
const longestLine = 16_384;

/** A process to start. */
export interface ChildOrder {
  /** What the log calls it. */
  readonly role: 'worker' | 'embedder';
  readonly program: string;
  readonly programArguments: readonly string[];
  /** Format of the parent's log. */
  readonly logFormat: LineFormat;
  readonly log: Pick<Log, 'info' | 'error'>;
  /** Descriptors of the parent that it inherits as {@link firstInherited} and those after it. */
  readonly inherited?: readonly number[];
}

/** Starts a process with a channel; see {@link childSink} for its other end. */
export function startChild(order: ChildOrder): ChildProcess {
  const { role, program, programArguments, logFormat, log, inherited = [] } = order;
  const child = fork(program, [...programArguments, logFormat], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc', 2, ...inherited],
    // By V8, not as JSON: texts and vectors are bytes.
    serialization: 'advanced',
  });
  const about = { [`${role}Pid`]: child.pid };
  // What a process prints beside its log is unexpected: mostly why it ends.
  eachLine(child.stderr, (line) => log.error({ ...about, stream: 'stderr' }, line));
  eachLine(child.stdout, (line) => log.info({ ...about, stream: 'stdout' }, line));
  return child;
}

/** The log's sink in a process by {@link startChild}, whose last argument is given; undefined: in another. */
export function childSink(logFormat: string | undefined): LogSink | undefined {
  if (logFormat !== 'json' && logFormat !== 'text') return undefined;
  return { descriptor: logDescriptor, format: logFormat };
}

/** Calls `take` with each line of a stream that is not empty, the last one too. */
export function eachLine(from: Readable | null, take: (line: string) => void): void {
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
