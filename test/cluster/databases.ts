/**
 * Three machines with PostgreSQL under Patroni, and etcd: a leader, a synchronous standby, and another.
 */
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { etcdProgram, patroniAt, postgresFolder } from './install.js';
import { user, type Machine, type Started } from './network.js';

/** Password of every role; the network is the test's own. */
export const password = 'cluster';

/** A member of the cluster as Patroni's REST interface has it (`GET /cluster`). */
export interface Member {
  readonly name: string;
  /** `leader`, `sync_standby` or `replica`. */
  readonly role: string;
  readonly state: string;
  readonly timeline?: number;
  readonly lag?: number | string;
}

/** The ids of a user. */
export function idsOf(name: string): { readonly uid: number; readonly gid: number } {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((each) => each.startsWith(`${name}:`));
  const [, , uid, gid] = (line ?? '').split(':');
  if (uid === undefined || gid === undefined) throw new Error(`There is no user ${name}`);
  return { uid: Number(uid), gid: Number(gid) };
}

/** Makes a folder that a machine's programs write to. */
export function makeFolder(path: string): void {
  const { uid, gid } = idsOf(user);
  mkdirSync(path, { recursive: true });
  chownSync(path, uid, gid);
  chmodSync(path, 0o700);
}

/** Settings that all members share. Times in seconds. */
const shared = {
  // Above `loop_wait + 2 * retry_timeout`, as Patroni demands.
  ttl: 6,
  loop_wait: 1,
  retry_timeout: 2,
  primary_start_timeout: 0,
  synchronous_mode: true,
  synchronous_mode_strict: true,
  postgresql: {
    use_pg_rewind: true,
    use_slots: true,
    parameters: {
      max_connections: 100,
      wal_log_hints: 'on',
      wal_keep_size: '256MB',
      wal_receiver_timeout: '5s',
      wal_sender_timeout: '5s',
      // A standby looks for the new leader at once: its first try may come before its replication slot.
      wal_retrieve_retry_interval: '500ms',
      tcp_keepalives_idle: 2,
      tcp_keepalives_interval: 1,
      tcp_keepalives_count: 3,
      tcp_user_timeout: 5000,
      shared_buffers: '32MB',
    },
  },
};

/** The members as a machine has them; none: it does not answer. */
async function membersAt({ address }: Machine): Promise<readonly Member[]> {
  const body = await answerOf(`http://${address}:8008/cluster`);
  return body === undefined ? [] : (JSON.parse(body) as { readonly members: readonly Member[] }).members;
}

/** True if there are so many members, all of them running, with a leader and a synchronous standby. */
function isWhole(members: readonly Member[], machines: number): boolean {
  const count = (role: string): number => members.filter((member) => member.role === role).length;
  const timelines = new Set(members.map(({ timeline }) => timeline));
  const isRunning = members.every(({ state }) => state === 'running' || state === 'streaming');
  const roles = count('leader') === 1 && count('sync_standby') >= 1;
  return members.length === machines && roles && timelines.size === 1 && isRunning;
}

/** Etcd and Patroni with PostgreSQL, one of each on every machine. */
export class Databases {
  private readonly started = new Map<string, Started>();

  constructor(
    readonly machines: readonly Machine[],
    /** Patroni's version. */
    private readonly patroni: string,
  ) {}

  /** Starts all of it; the first Patroni that gets to it makes the database. */
  start(): void {
    for (const machine of this.machines) {
      this.configure(machine);
      this.startOn(machine);
    }
  }

  /** Starts what does not run on a machine. */
  startOn(machine: Machine): void {
    const running = machine.processes();
    if (machine.processes(/^etcd$/).length === 0) this.keep(machine, 'etcd', this.startEtcd(machine));
    if (running.length === 0 || machine.processes(/^patroni/).length === 0) {
      const patroni = machine.start(patroniAt(this.patroni), [join(machine.folder, 'patroni.json')], {});
      this.keep(machine, 'patroni', patroni);
    }
  }

  /** What the programs of the machines wrote last. */
  outputs(): string {
    return [...this.started].map(([name, output]) => `--- ${name}\n${output()}`).join('\n');
  }

  /** The members as a majority has them: those that the first machine tells which answers. */
  async members(): Promise<readonly Member[]> {
    for (const machine of this.machines) {
      const members = await membersAt(machine);
      if (members.length > 0) return members;
    }
    return [];
  }

  /** The machine of the leader; undefined: there is none, or nobody tells. */
  leader(): Promise<Machine | undefined> {
    return this.leaderBesides(undefined);
  }

  /** The machine that leads and is another than this one. */
  async leaderBesides(other: Machine | undefined): Promise<Machine | undefined> {
    for (const machine of this.machines) {
      if (machine === other) continue;
      if ((await statusOf(`http://${machine.address}:8008/primary`)) === 200) return machine;
    }
    return undefined;
  }

  /** The machine of the synchronous standby. */
  async standby(): Promise<Machine | undefined> {
    const found = (await this.members()).find(({ role }) => role === 'sync_standby');
    return this.machines.find(({ name }) => name === found?.name);
  }

  /** True if there are a leader, a synchronous standby and another, all on the leader's timeline. */
  async isWhole(): Promise<boolean> {
    // A machine that was cut off tells what it saw before.
    const views = await Promise.all(this.machines.map(membersAt));
    const leaders = new Set(views.map((members) => members.find(({ role }) => role === 'leader')?.name));
    return leaders.size === 1 && views.every((members) => isWhole(members, this.machines.length));
  }

  /** Standbys that read the leader's log now; undefined: there is no leader. */
  async streaming(): Promise<number | undefined> {
    const leader = await this.leader();
    const body = leader && (await answerOf(`http://${leader.address}:8008/patroni`));
    if (body === undefined) return undefined;
    return (JSON.parse(body) as { readonly replication?: readonly unknown[] }).replication?.length ?? 0;
  }

  /** Has Patroni copy a standby from the leader, as `patronictl reinit` does; its name. */
  async copyStandby(): Promise<string> {
    const members = await this.members();
    const [standby] = members.filter(({ role }) => role !== 'leader');
    const machine = this.machines.find(({ name }) => name === standby?.name);
    if (machine === undefined) return 'none';
    const asked = { method: 'POST', body: '{"force": true}', signal: AbortSignal.timeout(answerMs) };
    await fetch(`http://${machine.address}:8008/reinitialize`, asked).catch(() => undefined);
    return machine.name;
  }

  private keep(machine: Machine, what: string, started: Started): void {
    this.started.set(`${machine.name} ${what}`, started);
  }

  private startEtcd(machine: Machine): Started {
    const { name, address, folder } = machine;
    const peers = this.machines.map((each) => `${each.name}=http://${each.address}:2380`).join(',');
    const options = {
      name,
      'data-dir': join(folder, 'etcd'),
      'listen-peer-urls': `http://${address}:2380`,
      'initial-advertise-peer-urls': `http://${address}:2380`,
      'listen-client-urls': `http://${address}:2379`,
      'advertise-client-urls': `http://${address}:2379`,
      'initial-cluster': peers,
      'initial-cluster-state': 'new',
      // For a network of one site. An election takes one to two timeouts, and starts every lease again.
      'heartbeat-interval': '50',
      'election-timeout': '500',
      'pre-vote': 'true',
    };
    const args = Object.entries(options).map(([option, value]) => `--${option}=${value}`);
    return machine.start(etcdProgram(), args, {});
  }

  private configure({ name, address, folder }: Machine): void {
    makeFolder(folder);
    const roles = { superuser: 'postgres', replication: 'replicator', rewind: 'rewinder' };
    const authentication = Object.fromEntries(
      Object.entries(roles).map(([role, username]) => [role, { username, password }]),
    );
    const configuration = {
      scope: 'fusegate',
      name,
      restapi: { listen: `${address}:8008`, connect_address: `${address}:8008` },
      etcd3: { hosts: this.machines.map((each) => `${each.address}:2379`) },
      bootstrap: {
        dcs: shared,
        initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, 'data-checksums'],
      },
      postgresql: {
        listen: `${address}:5432`,
        connect_address: `${address}:5432`,
        data_dir: join(folder, 'data'),
        bin_dir: postgresFolder(),
        pgpass: join(folder, 'pgpass'),
        authentication,
        pg_hba: [
          'local all all trust',
          'host all all 10.209.0.0/16 md5',
          'host replication all 10.209.0.0/16 md5',
        ],
        parameters: { unix_socket_directories: folder },
      },
    };
    // YAML is a superset of JSON (YAML 1.2, 1.3).
    writeFileSync(join(folder, 'patroni.json'), JSON.stringify(configuration), { mode: 0o644 });
  }
}

/** How long an answer is waited for (ms). */
const answerMs = 1_000;

/** Status and body of an answer; undefined: none came. */
function ask(url: string): Promise<{ readonly status: number; readonly body: string } | undefined> {
  return new Promise((resolve) => {
    const sent = get(url, { timeout: answerMs, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
      response.on('error', () => resolve(undefined));
    });
    sent.on('timeout', () => sent.destroy());
    sent.on('error', () => resolve(undefined));
  });
}

async function answerOf(url: string): Promise<string | undefined> {
  const answer = await ask(url);
  return answer?.status === 200 ? answer.body : undefined;
}

/** The status of an answer; undefined: none came. */
export async function statusOf(url: string): Promise<number | undefined> {
  return (await ask(url))?.status;
}
