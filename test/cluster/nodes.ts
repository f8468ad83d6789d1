/**
 * Three machines with Fusegate, each with an HAProxy of its own that leads to the leader of the databases; on
 * the last of them by way of PgBouncer. A fourth machine has the HAProxy that clients come by.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeFolder, password, statusOf } from './databases.js';
import { programOf } from './install.js';
import type { Machine, Started } from './network.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));

/** Port of every Fusegate, and of the way to all of them. */
export const httpPort = 8080;

/** Ports on a Fusegate's machine, on its loopback address. */
const ports = { leader: 5000, pooler: 6432, lightning: 10_009 } as const;

const defaults = [
  'global',
  '  maxconn 500',
  'defaults',
  '  timeout connect 2s',
  '  timeout check 1s',
  '  timeout client 1h',
  '  timeout server 1h',
];

/** The way to the leader. */
function toLeader(databases: readonly Machine[], host: string): string[] {
  return [
    'listen leader',
    '  mode tcp',
    `  bind ${host}:${ports.leader}`,
    '  option httpchk GET /primary',
    '  http-check expect status 200',
    '  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions',
    ...databases.map(({ name, address }) => `  server ${name} ${address}:5432 check port 8008`),
  ];
}

/** The HAProxy of a node's machine: to the leader and to the Lightning node. */
function nodeProxy(databases: readonly Machine[], lightning: string): string {
  return [
    ...defaults,
    ...toLeader(databases, '127.0.0.1'),
    'listen lightning',
    '  mode tcp',
    `  bind 127.0.0.1:${ports.lightning}`,
    `  server lightning ${lightning}`,
    '',
  ].join('\n');
}

/** The HAProxy of clients, and of the test's look at the store. Nodes answer without their database, too. */
function clientProxy(nodes: readonly Machine[], databases: readonly Machine[]): string {
  return [
    ...defaults,
    ...toLeader(databases, ''),
    'listen nodes',
    '  mode http',
    '  option redispatch',
    // Of its own: no node is up, or the one that was asked was killed.
    '  http-error status 503 content-type text/plain string "No node answers. Try again." hdr Retry-After 1',
    `  bind :${httpPort}`,
    '  balance roundrobin',
    '  option httpchk',
    // uWebSockets.js speaks HTTP/1.1 alone.
    '  http-check send meth GET uri /health ver HTTP/1.1 hdr Host fusegate',
    '  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions',
    ...nodes.map(({ name, address }) => `  server ${name} ${address}:${httpPort} check`),
    '',
  ].join('\n');
}

function poolerConfiguration(folder: string): string {
  return [
    '[databases]',
    `* = host=127.0.0.1 port=${ports.leader}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${ports.pooler}`,
    'unix_socket_dir =',
    'auth_type = trust',
    `auth_file = ${join(folder, 'users')}`,
    'pool_mode = transaction',
    'server_login_retry = 1',
    'server_connect_timeout = 3',
    '',
  ].join('\n');
}

/** What nodes are started with. */
export interface NodeSettings {
  readonly databases: readonly Machine[];
  /** Address and port of the Lightning node as a machine sees them. */
  readonly lightning: (machine: Machine) => string;
  readonly environment: Readonly<Record<string, string>>;
}

/** Nodes of Fusegate. */
export class Nodes {
  private readonly started = new Map<string, Started>();

  constructor(
    readonly machines: readonly Machine[],
    readonly balancer: Machine,
    private readonly settings: NodeSettings,
  ) {}

  start(): void {
    for (const machine of this.machines) {
      const { folder } = machine;
      makeFolder(folder);
      const proxy = nodeProxy(this.settings.databases, this.settings.lightning(machine));
      writeFileSync(join(folder, 'haproxy.cfg'), proxy);
      writeFileSync(join(folder, 'pgbouncer.ini'), poolerConfiguration(folder));
      writeFileSync(join(folder, 'users'), `"postgres" "${password}"\n`);
      this.startOn(machine);
    }
    makeFolder(this.balancer.folder);
    const proxy = clientProxy(this.machines, this.settings.databases);
    writeFileSync(join(this.balancer.folder, 'haproxy.cfg'), proxy);
    this.startProxy(this.balancer);
  }

  /** Where the store is for whoever is on no node. */
  get storeUrl(): string {
    return `postgres://postgres:${password}@${this.balancer.address}:${ports.leader}/postgres`;
  }

  /** Starts what does not run on a node's machine. */
  startOn(machine: Machine): void {
    if (machine.processes(/^haproxy$/).length === 0) this.startProxy(machine);
    if (this.isPooled(machine) && machine.processes(/^pgbouncer$/).length === 0) {
      const pooler = machine.start(programOf('pgbouncer'), [join(machine.folder, 'pgbouncer.ini')], {});
      this.started.set(`${machine.name} pgbouncer`, pooler);
    }
    if (machine.processes(/^(node|fusegate)/).length > 0) return;
    const port = this.isPooled(machine) ? ports.pooler : ports.leader;
    const environment = {
      HOST: '0.0.0.0',
      PORT: String(httpPort),
      WORKERS: '1',
      EMBED_CACHE_MB: '1',
      STORE_URL: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
      LND_REST_URL: `https://127.0.0.1:${ports.lightning}`,
      ...this.settings.environment,
    };
    const node = machine.start(process.execPath, [main, 'serve'], environment);
    this.started.set(`${machine.name} fusegate`, node);
  }

  /** True if a node can reach its database and is ready. */
  async isReady(machine: Machine): Promise<boolean> {
    return (await statusOf(`http://${machine.address}:${httpPort}/ready`)) === 200;
  }

  async areReady(): Promise<boolean> {
    const ready = await Promise.all(
      [...this.machines, this.balancer].map((machine) => this.isReady(machine)),
    );
    return ready.every(Boolean);
  }

  /** What the programs of the machines wrote last. */
  outputs(): string {
    return [...this.started].map(([name, output]) => `--- ${name}\n${output()}`).join('\n');
  }

  private isPooled(machine: Machine): boolean {
    return machine === this.machines.at(-1);
  }

  private startProxy(machine: Machine): void {
    const args = ['-db', '-f', join(machine.folder, 'haproxy.cfg')];
    this.started.set(`${machine.name} haproxy`, machine.start(programOf('haproxy'), args, {}));
  }
}
