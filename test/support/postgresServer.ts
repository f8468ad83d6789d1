/** A real PostgreSQL server for the tests: a data folder of its own, a free loopback port, fsync on. */
import { after, before } from 'node:test';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import postgres from 'postgres';
import { peersRequired } from '../peers/required.js';
import { until } from './until.js';
import { freePort } from './ports.js';

/** Where Debian puts the programs of each version, newest last; those of the PATH come after. */
function programs(): string | undefined {
  const folder = '/usr/lib/postgresql';
  const versions = existsSync(folder) ? readdirSync(folder).sort((a, b) => Number(b) - Number(a)) : [];
  const places = [
    ...versions.map((version) => join(folder, version, 'bin')),
    ...(process.env['PATH'] ?? '').split(':'),
  ];
  return places.find((place) => existsSync(join(place, 'initdb')) && existsSync(join(place, 'postgres')));
}

/**
 * Why the tests on PostgreSQL cannot run here and what to do about it; false when they can.
 * @throws Error when they cannot though `FUSEGATE_REQUIRE_PEERS` demands them
 */
export function postgresMissing(): string | false {
  if (programs() !== undefined) return false;
  const sentence = 'PostgreSQL is not installed. Run: apt-get install postgresql';
  if (peersRequired) throw new Error(sentence);
  return sentence;
}

/** The user that the server and its pooler run as: they refuse to be root. */
export function serverUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const line = /^postgres:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8'));
  return line === null ? { uid: 65_534, gid: 65_534 } : { uid: Number(line[1]), gid: Number(line[2]) };
}

/** Makes a file the server's own, readable by nobody else. */
export function giveToServer(path: string): void {
  const user = serverUser();
  chmodSync(path, 0o600);
  if (user !== undefined) chownSync(path, user.uid, user.gid);
}

const password = 'p:@/ss?w%rd';

/** A server that runs. */
export class PostgresServer {
  private child: ChildProcess | undefined;
  private databases = 0;
  private log = '';

  private constructor(
    private readonly bin: string,
    /** The folder of its data and of its socket. */
    readonly folder: string,
    readonly port: number,
  ) {}

  /** Makes a data folder and starts the server on it, with `settings` of postgresql.conf. */
  static async start(settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> {
    const bin = programs();
    if (bin === undefined) throw new Error('PostgreSQL is not installed');
    const folder = mkdtempSync(join(tmpdir(), 'fusegate-pg-'));
    const user = serverUser();
    chmodSync(folder, 0o700);
    if (user !== undefined) chownSync(folder, user.uid, user.gid);
    const data = join(folder, 'data');
    const secret = join(folder, 'password');
    writeFileSync(secret, password);
    giveToServer(secret);
    const args = ['-U', 'postgres', '-A', 'scram-sha-256', '-E', 'UTF8', '--locale=C', `--pwfile=${secret}`];
    execFileSync(join(bin, 'initdb'), ['-D', data, ...args], {
      ...user,
      cwd: '/',
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const server = new PostgresServer(bin, folder, await freePort());
    await server.boot(settings);
    return server;
  }

  /** Starts the server on its data folder, after {@link kill}. */
  async boot(settings: Readonly<Record<string, string>> = {}): Promise<void> {
    const all: Readonly<Record<string, string>> = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: this.folder,
      fsync: 'on',
      max_connections: '50',
      ...settings,
    };
    const set = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const end = performance.now() + 30_000;
    for (;;) {
      this.log = '';
      const child = spawn(
        join(this.bin, 'postgres'),
        ['-D', join(this.folder, 'data'), '-p', String(this.port), ...set],
        {
          ...serverUser(),
          cwd: '/',
          stdio: ['ignore', 'ignore', 'pipe'],
        },
      );
      child.stderr.on('data', (data: Buffer) => (this.log += data.toString()));
      this.child = child;
      if (await this.accepts(child, end)) return;
      // The processes of a server that was killed may still hold its shared memory.
      if (performance.now() > end) throw new Error(`PostgreSQL does not start:\n${this.log}`);
      await pause(100);
    }
  }

  /** Starts it as a standby without a primary, after {@link kill}; `SELECT pg_promote()` ends that. */
  async bootAsStandby(): Promise<void> {
    const signal = join(this.folder, 'data', 'standby.signal');
    writeFileSync(signal, '');
    giveToServer(signal);
    await this.boot();
  }

  private async accepts(child: ChildProcess, end: number): Promise<boolean> {
    while (child.exitCode === null && performance.now() < end) {
      if (/ready to accept (read-only )?connections/.test(this.log)) return true;
      await pause(20);
    }
    return false;
  }

  /** The URL of a database. */
  url(database: string, port = this.port): string {
    return `postgres://postgres:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`;
  }

  /** A new, empty database; its URL. */
  async database(): Promise<string> {
    this.databases += 1;
    const name = `test_${this.databases}`;
    await this.query('postgres', `CREATE DATABASE ${name}`);
    return this.url(name);
  }

  /** Runs statements as the server's owner and gives the rows of the last one. */
  async query(database: string, statements: string): Promise<readonly (readonly unknown[])[]> {
    const sql = postgres(this.url(database), { max: 1, fetch_types: false, onnotice: () => undefined });
    try {
      const rows: unknown = await sql.unsafe(statements).values();
      return rows as readonly (readonly unknown[])[];
    } finally {
      await sql.end();
    }
  }

  /** Kills every process of the server at once, as a crash of the machine would. */
  async kill(): Promise<void> {
    const pid = this.child?.pid ?? 0;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
    for (const one of [pid, ...children]) {
      try {
        process.kill(one, 'SIGKILL');
      } catch {
        // It has ended already.
      }
    }
    await this.ended();
  }

  /** Stops the server and removes its folder. */
  async stop(): Promise<void> {
    this.child?.kill('SIGINT');
    await this.ended();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async ended(): Promise<void> {
    await until(() => this.child?.exitCode !== null || this.child.signalCode !== null);
  }

  /** Id of its first process. */
  get pid(): number {
    return this.child?.pid ?? 0;
  }

  /** Its password, which no message may carry. */
  get password(): string {
    return password;
  }

  /** The folder of its Unix socket. */
  get socketFolder(): string {
    return this.folder;
  }
}

/** A server for the tests of the suite that calls this, started before them and stopped after them. */
export function suiteServer(settings?: Readonly<Record<string, string>>): () => PostgresServer {
  let server: PostgresServer | undefined;
  before(async () => {
    server = await PostgresServer.start(settings);
  });
  after(() => server?.stop());
  return () => {
    if (server === undefined) throw new Error('The server is asked for before the suite has begun');
    return server;
  };
}
