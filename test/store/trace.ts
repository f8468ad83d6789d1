/** System calls as strace(1) prints them (`-f -y -xx`), read back into what was written, synced and sent. */
import { readFileSync } from 'node:fs';

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

/** The calls that write, sync, name, send or make processes; not every machine has each of them. */
const tracedCalls = [
  ...['openat', 'lseek', 'write', 'writev', 'pwrite64', 'pwritev', 'pwritev2', 'fdatasync', 'fsync'],
  ...['msync', 'ftruncate', 'fallocate', 'sendto', 'sendmsg', 'clone', 'clone3', 'fork', 'vfork'],
  ...['sendfile', 'copy_file_range'],
  ...['link', 'linkat', 'mkdir', 'mkdirat', 'rename', 'renameat', 'renameat2', 'unlink', 'unlinkat', 'rmdir'],
];

/** Arguments by which strace writes a trace that {@link readTrace} understands into `file`. */
export function traceArguments(file: string): string[] {
  const calls = tracedCalls.map((name) => `?${name}`).join(',');
  return ['-f', '-qq', '-y', '-xx', '-s', '1048576', '-e', `trace=${calls}`, '-o', file];
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

function plainPath(path: string): string {
  return path.replaceAll(/(?:\\x[0-9a-f]{2})+/g, (hex) => unescapeHex(hex).toString());
}

/** The file or socket that the call's first argument stands for, as `-y` prints it (path in hexadecimal). */
export function targetOf(args: string): string {
  return plainPath(/^\d+<((?:[^>]|->)*)>/.exec(args)?.[1] ?? '');
}

const copies = new Set(['copy_file_range', 'sendfile']);

/** The arguments of a call, those of a copy from the file that is written on. */
function argsOf({ name, args }: Call): string {
  // copy_file_range(from, its offset, to, …) and sendfile(to, from, …).
  return name === 'copy_file_range' ? args.slice(args.indexOf('], ') + 3) : args;
}

/** The file that a copy reads. */
function sourceOf({ name, args }: Call): string {
  return targetOf(name === 'sendfile' ? args.slice(args.indexOf('>, ') + 3) : args);
}

/** The file that a call writes or syncs. */
export function changedFile(call: Call): string {
  return targetOf(argsOf(call));
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

/** Where the writes of a trace go that name no position: descriptors by their process. */
export class Positions {
  private readonly positions = new Map<string, number>();
  private readonly processOf: (thread: number) => number;

  constructor(calls: readonly Call[]) {
    this.processOf = processes(calls);
  }

  /** The descriptor of a call's first argument, or the one that it returned. */
  descriptor(call: Call): string {
    const { thread, name, result } = call;
    return `${this.processOf(thread)} ${name === 'openat' ? result : Number.parseInt(argsOf(call), 10)}`;
  }

  /** Sees a call that opens a file or sets the position in it. */
  see(call: Call): void {
    const descriptor = this.descriptor(call);
    if (call.name === 'lseek') this.positions.set(descriptor, call.result);
    else if (call.args.includes('O_APPEND')) this.positions.delete(descriptor);
    else this.positions.set(descriptor, 0);
  }

  /**
   * Where and what a call writes; undefined where it writes nothing. Of a copy it is what the source has now,
   * at the same place.
   */
  written(call: Call): { readonly offset: number; readonly bytes: Buffer } | undefined {
    if (!writes.has(call.name) && !copies.has(call.name)) return undefined;
    const positioned = call.name.startsWith('p');
    const descriptor = this.descriptor(call);
    const offset = positioned
      ? Number(/(\d+)\s*$/.exec(call.args)?.[1])
      : (this.positions.get(descriptor) ?? Number.NaN);
    const all = copies.has(call.name) ? readFileSync(sourceOf(call)).subarray(offset) : bytesOf(call.args);
    const bytes = all.subarray(0, call.result);
    if (Number.isNaN(offset) || bytes.byteLength !== call.result) throw new Error(`Cannot read ${call.name}`);
    if (!positioned) this.positions.set(descriptor, offset + call.result);
    return { offset, bytes };
  }
}

/** The paths in a call's arguments, in their order. */
export function pathsIn(args: string): string[] {
  return [...args.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map(([, hex]) => unescapeHex(hex ?? '').toString());
}

/** Writes to and syncs of the file whose path ends with `suffix`, in the order in which they ended. */
export function fileEvents(calls: readonly Call[], suffix: string): FileEvent[] {
  const events: FileEvent[] = [];
  const positions = new Positions(calls);
  const through = new Set<string>();
  for (const call of calls) {
    if (call.name === 'openat') {
      const [opened = ''] = pathsIn(call.args);
      const descriptor = positions.descriptor(call);
      through.delete(descriptor);
      if (opened.endsWith(suffix) && /O_D?SYNC/.test(call.args)) through.add(descriptor);
      if (opened.endsWith(suffix)) positions.see(call);
      continue;
    }
    if (!targetOf(call.args).endsWith(suffix) || call.result < 0) continue;
    if (call.name === 'lseek') positions.see(call);
    else if (call.name === 'fdatasync' || call.name === 'fsync') events.push({ kind: 'sync', call });
    else {
      const written = positions.written(call);
      if (written === undefined) throw new Error(`${call.name} changes ${suffix}`);
      events.push({ kind: 'write', ...written, synced: through.has(positions.descriptor(call)), call });
    }
  }
  return events;
}
