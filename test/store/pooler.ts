/** PgBouncer with pooled transactions in front of a PostgreSQL of the tests. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/ports.js';
import { giveToServer, serverUser, type PostgresServer } from '../support/postgresServer.js';

const program = '/usr/sbin/pgbouncer';

/** Why the tests with a pooler cannot run here and what to do about it; false when they can. */
export function poolerMissing(): string | false {
  return existsSync(program) ? false : 'PgBouncer is not installed. Run: apt-get install pgbouncer';
}

/** A pooler. */
export class Pooler {
  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
    readonly port: number,
  ) {}

  /** Starts one; resolves when it takes connections. */
  static async start(server: PostgresServer): Promise<Pooler> {
    const [folder, port] = [mkdtempSync(join(tmpdir(), 'fusegate-pooler-')), await freePort()];
    const user = serverUser();
    chmodSync(folder, 0o700);
    if (user !== undefined) chownSync(folder, user.uid, user.gid);
    const file = join(folder, 'pgbouncer.ini');
    const configuration = [
      '[databases]',
      `* = host=127.0.0.1 port=${server.port} user=postgres password='${server.password}'`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = any',
      'pool_mode = transaction',
      'server_login_retry = 0.1',
      '',
    ];
    writeFileSync(file, configuration.join('\n'));
    giveToServer(file);
    const child = spawn(program, [file], { ...user, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    await new Promise<void>((resolve, reject) => {
      child.stderr.on('data', (data: Buffer) => {
        said += data.toString();
        if (said.includes('process up')) resolve();
      });
      child.on('error', reject).on('exit', () => reject(new Error(`PgBouncer has ended:\n${said}`)));
    });
    return new Pooler(child, folder, port);
  }

  /** Ends it, and with it all its connections. */
  async stop(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGQUIT');
    await ended;
    rmSync(this.folder, { recursive: true, force: true });
  }
}
