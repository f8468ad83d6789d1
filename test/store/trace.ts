/** System calls as strace(1) prints them (`-f -y -xx`), read back into what was written, synced and sent. */

/** One system call of one thread. */
export interface Call {
  readonly thread: number;
  readonly name: string;
  /** What stands between the parentheses. */
  readonly args: string;
  /** What it returned; negative when it failed. */
  readonly result: number;
  /** Lines at which it began and ended: a call may affect the world at any point between. */
  readonly begun: number;
  readonly ended: number;
}

/** The calls that write, sync, send or make processes. */
const tracedCalls = [
  ...['openat', 'lseek', 'write', 'writev', 'pwrite64', 'pwritev', 'pwritev2', 'fdatasync', 'fsync'],
  ...['msync', 'ftruncate', 'fallocate', 'sendto', 'sendmsg', 'clone', 'clone3', 'fork', 'vfork'],
  ...['link', 'linkat'],
];

/** Arguments by which strace writes a trace that {@link readTrace} understands into `file`. */
export function traceArguments(file: string): string[] {
  return ['-f', '-qq', '-y', '-xx', '-s', '1048576', '-e', `trace=${tracedCalls.join(',')}`, '-o', file];
}

const complete = /^(\d+) +(\w+)\((.*)\) += (-?\d+)/s;
const begun = /^(\d+) +(\w+)\((.*) <unfinished \.\.\.>$/s;
const resumed = /^(\d+) +<\.\.\. (\w+) resumed>(.*)\) += (-?\d+)/s;

/** The finished calls of a trace, in the order in which they ended. */
export function readTrace(text: string): Call[] {
  const calls: Call[] = [];
  const open = new Map<string, { readonly args: string; readonly line: number }>();
  text.split('\n').forEach((line, at) => {
    const whole = complete.exec(line);
    if (whole !== null) {
      const [, thread = '', name = '', args = '', result = ''] = whole;
      calls.push({ thread: Number(thread), name, args, result: Number(result), begun: at, ended: at });
      return;
    }
    const start = begun.exec(line);
    if (start !== null) {
      open.set(`${start[1]} ${start[2]}`, { args: start[3] ?? '', line: at });
      return;
    }
    const end = resumed.exec(line);
    if (end === null) return;
    const [, thread = '', name = '', rest = '', result = ''] = end;
    const entered = open.get(`${thread} ${name}`);
    if (entered === undefined) return;
    const args = entered.args + rest;
    calls.push({
      thread: Number(thread),
      name,
      args,
      result: Number(result),
      begun: entered.line,
      ended: at,
    });
  });
  return calls;
}

/** Bytes of a string that strace printed as hexadecimal escapes. */
export function unescapeHex(text: string): Buffer {
  return Buffer.from(text.replaceAll('\\x', ''), 'hex');
}

/** Every quoted string of a call's arguments, joined: the bytes that were written. */
export function bytesOf(args: string): Buffer {
  return Buffer.concat(
    [...args.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map(([, hex]) => unescapeHex(hex ?? '')),
  );
}

/** The file or socket that the call's first argument stands for, as `-y` prints it (path in hexadecimal). */
export function targetOf(args: string): string {
  const path = /^\d+<((?:[^>]|->)*)>/.exec(args)?.[1] ?? '';
  return path.replaceAll(/(?:\\x[0-9a-f]{2})+/g, (hex) => unescapeHex(hex).toString());
}

/** The process of every thread that the trace saw begin; any other thread is a process of its own. */
function processes(calls: readonly Call[]): (thread: number) => number {
  const parents = new Map<number, number>();
  for (const { name, args, result, thread } of calls) {
    const shares = /^(clone3?)$/.test(name) && args.includes('CLONE_THREAD');
    if (shares && result > 0) parents.set(result, thread);
  }
  const processOf = (thread: number): number => {
    const parent = parents.get(thread);
    return parent === undefined ? thread : processOf(parent);
  };
  return processOf;
}

/** What happened to one file. */
export type FileEvent =
  | {
      readonly kind: 'write';
      readonly offset: number;
      readonly bytes: Buffer;
      /** Whether the descriptor writes through to the disk (O_DSYNC). */
      readonly synced: boolean;
      readonly call: Call;
    }
  | { readonly kind: 'sync'; readonly call: Call };

const writes = new Set(['pwrite64', 'pwritev', 'pwritev2', 'write', 'writev']);

/** Writes to and syncs of the file whose path ends with `suffix`, in the order in which they ended. */
export function fileEvents(calls: readonly Call[], suffix: string): FileEvent[] {
  const events: FileEvent[] = [];
  const processOf = processes(calls);
  // Descriptors by their process.
  const through = new Set<string>();
  const positions = new Map<string, number>();
  for (const call of calls) {
    const process = processOf(call.thread);
    if (call.name === 'openat') {
      const opened = unescapeHex(/"([^"]*)"/.exec(call.args)?.[1] ?? '').toString();
      const descriptor = `${process} ${call.result}`;
      through.delete(descriptor);
      if (opened.endsWith(suffix) && /O_D?SYNC/.test(call.args)) through.add(descriptor);
      continue;
    }
    if (!targetOf(call.args).endsWith(suffix) || call.result < 0) continue;
    const descriptor = `${process} ${Number.parseInt(call.args, 10)}`;
    if (call.name === 'lseek') positions.set(descriptor, call.result);
    else if (call.name === 'fdatasync' || call.name === 'fsync') events.push({ kind: 'sync', call });
    else if (writes.has(call.name)) {
      const positioned = call.name.startsWith('p');
      const offset = positioned
        ? Number(/(\d+)\s*$/.exec(call.args)?.[1])
        : (positions.get(descriptor) ?? Number.NaN);
      const bytes = bytesOf(call.args).subarray(0, call.result);
      if (Number.isNaN(offset) || bytes.byteLength !== call.result)
        throw new Error(`Cannot read ${call.name}`);
      if (!positioned) positions.set(descriptor, offset + call.result);
      events.push({ kind: 'write', offset, bytes, synced: through.has(descriptor), call });
    } else throw new Error(`${call.name} changes ${suffix}`);
  }
  return events;
}
