/**
 * Machines of a test: network namespaces (Linux, network_namespaces(7)) with a router between them that cuts
 * and slows their ways to each other. The router is the namespace of this process, which `main.ts` makes.
 */
import { execFileSync, spawn } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** The user that everything on a machine runs as; PostgreSQL refuses to be root. */
export const user = 'postgres';

/** Runs a program of the network to its end; its output. */
function command(program: string, ...args: readonly string[]): string {
  return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

/** Gets the router ready: it passes on what comes. */
export function startRouter(): void {
  // `ip netns` makes it the first time that a machine is named.
  mkdirSync('/run/netns', { recursive: true });
  command('mount', '-t', 'tmpfs', 'tmpfs', '/run/netns');
  command('ip', 'link', 'set', 'lo', 'up');
  writeFileSync('/proc/sys/net/ipv4/ip_forward', '1');
}

/** A process that a machine started: what it wrote last. */
export type Started = () => string;

/** Bytes of a process's output that are kept. */
const keptOutput = 20_000;

/** A machine. */
export class Machine {
  readonly address: string;
  /** Address under which it reaches this process. */
  readonly router: string;
  /** The router's end of its cable. */
  private readonly cable: string;
  private isSlow = false;

  constructor(
    readonly name: string,
    index: number,
    /** The folder of its files. */
    readonly folder: string,
    /** Folder for the whole output of its programs, a file each; undefined: only the end of it is kept. */
    private readonly logs: string | undefined,
  ) {
    this.address = `10.209.${index}.2`;
    this.router = `10.209.${index}.1`;
    this.cable = `to-${name}`;
  }

  /** Plugs it in. */
  plug(): void {
    command('ip', 'netns', 'add', this.name);
    command('ip', 'link', 'add', this.cable, 'type', 'veth', 'peer', 'name', 'wire', 'netns', this.name);
    command('ip', 'addr', 'add', `${this.router}/24`, 'dev', this.cable);
    command('ip', 'link', 'set', this.cable, 'up');
    const inside = ['ip', '-n', this.name] as const;
    command(...inside, 'addr', 'add', `${this.address}/24`, 'dev', 'wire');
    for (const device of ['lo', 'wire']) command(...inside, 'link', 'set', 'dev', device, 'up');
    command(...inside, 'route', 'add', 'default', 'via', this.router);
  }

  /** Ends what runs on it, and takes it away with its cable. */
  unplug(): void {
    this.signal('SIGKILL');
    command('ip', 'link', 'del', this.cable);
    command('ip', 'netns', 'del', this.name);
  }

  /** Starts a program on it. */
  start(program: string, args: readonly string[], environment: Readonly<Record<string, string>>): Started {
    const as = ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups'];
    const child = spawn('ip', ['netns', 'exec', this.name, ...as, program, ...args], {
      cwd: this.folder,
      env: { PATH: process.env['PATH'] ?? '', HOME: this.folder, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const log = this.logs && join(this.logs, `${this.name}-${basename(program)}.log`);
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data: Buffer) => {
        output = (output + data.toString()).slice(-keptOutput);
        if (log !== undefined) appendFileSync(log, data);
      });
    }
    return () => output;
  }

  /** Processes on it whose names match. */
  processes(names = /./): number[] {
    const all = command('ip', 'netns', 'pids', this.name).split('\n').filter(Boolean).map(Number);
    return all.filter((pid) => names.test(nameOf(pid)));
  }

  /** Sends a signal to its processes whose names match, until none runs where the signal ends them. */
  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT', names = /./): void {
    for (let more = true; more;) {
      const found = this.processes(names);
      for (const pid of found) {
        try {
          process.kill(pid, signal);
        } catch {
          // It has ended already.
        }
      }
      more = signal === 'SIGKILL' && found.length > 0;
    }
  }

  /** Makes its way slow: 30 kB a second each way, after which packets queue and are lost. */
  slow(): void {
    const rate = ['root', 'tbf', 'rate', '240kbit', 'burst', '5kb', 'latency', '300ms'];
    command('tc', 'qdisc', 'add', 'dev', this.cable, ...rate);
    command('tc', '-n', this.name, 'qdisc', 'add', 'dev', 'wire', ...rate);
    this.isSlow = true;
  }

  hurry(): void {
    if (!this.isSlow) return;
    command('tc', 'qdisc', 'del', 'dev', this.cable, 'root');
    command('tc', '-n', this.name, 'qdisc', 'del', 'dev', 'wire', 'root');
    this.isSlow = false;
  }
}

/** The name of a process; of one that has ended, or is a zombie, nothing. */
function nameOf(pid: number): string {
  try {
    const stat = readFileSync(join('/proc', String(pid), 'stat'), 'utf8');
    const end = stat.lastIndexOf(')');
    return stat[end + 2] === 'Z' ? '' : stat.slice(stat.indexOf('(') + 1, end);
  } catch {
    return '';
  }
}

/** Cuts between machines; packets vanish without a word. */
export class Cuts {
  private readonly rules: string[][] = [];

  /** Lets nothing pass between two groups of machines. */
  between(some: readonly Machine[], others: readonly Machine[]): void {
    for (const one of some) {
      for (const other of others) {
        if (one !== other) this.oneWay(one, other);
        if (one !== other) this.oneWay(other, one);
      }
    }
  }

  /** Lets nothing pass from one machine to another. */
  oneWay(from: Machine, to: Machine): void {
    const rule = ['from', from.address, 'to', to.address, 'blackhole'];
    // Two groups may have machines in common.
    if (this.rules.some((each) => each.join() === rule.join())) return;
    command('ip', 'rule', 'add', 'pref', '100', ...rule);
    this.rules.push(rule);
  }

  heal(): void {
    for (const rule of this.rules.splice(0)) command('ip', 'rule', 'del', 'pref', '100', ...rule);
  }
}
