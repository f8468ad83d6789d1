/** A cluster of databases and nodes, the faults that are injected, and what its store holds. */
import { createServer, connect, type Server } from 'node:net';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { decodeReceipt, findBinding } from '../../src/store/tables/fragments.js';
import { entriesAfter, recordsAfter } from '../../src/store/entries.js';
import { leadsAfter } from '../../src/store/tables/leads.js';
import { decodeCount } from '../../src/store/bytes.js';
import { findOrderAt } from '../../src/store/tables/orders.js';
import type { Store } from '../../src/store/store.js';
import { systemClock } from '../../src/system/clock.js';
import { LndServer } from '../support/lndServer.js';
import { collect } from '../support/collect.js';
import { until } from '../support/until.js';
import { Databases, makeFolder } from './databases.js';
import type { Entry, Found, History } from './history.js';
import { Cuts, Machine } from './network.js';
import { Nodes } from './nodes.js';
import type { Fault } from './schedule.js';

/** How long the cluster may take to come into being, or to be whole again (ms). */
const wholeMs = 180_000;

/** Where Linux has shared memory: a file system of its own for this program. */
const shared = '/dev/shm';

/** Pause between two looks at what is waited for (ms): each costs the cluster. */
const lookMs = 250;

/** Limits of callers are not what is tested. */
const unlimited = {
  ...{ LEADS_PER_MINUTE: '0', DOOR_SUBMISSIONS_PER_MINUTE: '0', CHECKOUT_REQUESTS_PER_MINUTE: '0' },
  ...{ POLLS_PER_MINUTE: '0', STORED_KB_PER_MINUTE: '0', ACCESS: 'open' },
};

/** Lets machines reach a port of this process; its own port. */
function relayTo(port: number): Promise<{ readonly port: number; readonly server: Server }> {
  const server = createServer((client) => {
    const upstream = connect({ host: '127.0.0.1', port });
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.pipe(to);
      from.on('error', () => to.destroy()).on('close', () => to.destroy());
    }
  });
  return new Promise((resolve) => {
    server.listen(0, '0.0.0.0', () => {
      const address = server.address();
      resolve({ port: typeof address === 'object' && address !== null ? address.port : 0, server });
    });
  });
}

/** What a cluster is made of. */
export interface ClusterOptions {
  /** Patroni's version. */
  readonly patroni: string;
  /** Folder for what its programs write; undefined: only the last of it is kept. */
  readonly logs: string | undefined;
}

/** A cluster. */
export class Cluster {
  private readonly cuts = new Cuts();

  private constructor(
    private readonly folder: string,
    readonly databases: Databases,
    readonly nodes: Nodes,
    readonly lightning: LndServer,
    private readonly relay: Server,
  ) {}

  /** Makes the machines and starts everything. Resolves when it is whole. */
  static async start(folder: string, { patroni, logs }: ClusterOptions): Promise<Cluster> {
    makeFolder(folder);
    const machine = (name: string, index: number): Machine =>
      new Machine(name, index, join(folder, name), logs);
    const databases = new Databases(
      [1, 2, 3].map((number) => machine(`db${number}`, number)),
      patroni,
    );
    const lightning = await LndServer.start(() => systemClock.wallMs());
    const { certificate, macaroon, url } = lightning.place;
    writeFileSync(join(folder, 'lnd.cert'), certificate, { mode: 0o644 });
    const relay = await relayTo(Number(new URL(url).port));
    const environment = {
      ...unlimited,
      MASTER_SECRET: 'a-secret-of-the-tests-that-opens-nothing',
      BTC_NETWORK: 'regtest',
      LND_TLS_CERT: join(folder, 'lnd.cert'),
      LND_MACAROON_HEX: macaroon,
    };
    const nodes = new Nodes(
      [4, 5, 6].map((number) => machine(`node${number - 3}`, number)),
      machine('lb', 7),
      {
        databases: databases.machines,
        lightning: ({ router }) => `${router}:${relay.port}`,
        environment,
      },
    );
    for (const each of [...databases.machines, ...nodes.machines, nodes.balancer]) each.plug();
    const cluster = new Cluster(folder, databases, nodes, lightning, relay.server);
    databases.start();
    await cluster.waitFor(() => databases.isWhole());
    nodes.start();
    await cluster.whole();
    return cluster;
  }

  /** Resolves when every part of it works. What has ended is started again, as an init system does. */
  async whole(): Promise<void> {
    const { databases, nodes } = this;
    await this.waitFor(async () => {
      for (const machine of databases.machines) databases.startOn(machine);
      return databases.isWhole();
    });
    await this.waitFor(async () => {
      for (const machine of nodes.machines) nodes.startOn(machine);
      return nodes.areReady();
    });
  }

  /** Waits for a condition; what the programs wrote is told where it does not come. */
  async waitFor(condition: () => boolean | Promise<boolean>, timeoutMs = wholeMs): Promise<void> {
    try {
      await until(async () => (await condition()) || (await pause(lookMs, false)), timeoutMs);
    } catch (error) {
      const outputs = [this.databases.outputs(), this.nodes.outputs()].join('\n');
      const members = JSON.stringify(await this.databases.members());
      throw new Error(`${String(error)}\n${outputs}\n${members}`, { cause: error });
    }
  }

  /** Ends everything, and takes the machines away with all that they wrote: it is in memory. */
  stop(): void {
    this.cuts.heal();
    const machines = [...this.databases.machines, ...this.nodes.machines, this.nodes.balancer];
    for (const machine of machines) machine.unplug();
    this.relay.close();
    // A database that is killed leaves its shared memory.
    const left = existsSync(shared) ? readdirSync(shared) : [];
    for (const name of left.filter((each) => each.startsWith('PostgreSQL.')))
      rmSync(join(shared, name), { force: true });
    // What was killed may write until it has ended.
    rmSync(this.folder, { recursive: true, maxRetries: 20 });
  }

  /** The machine that a fault is about. */
  async machineOf(fault: Fault, node: number): Promise<Machine> {
    const { databases, nodes } = this;
    let found: Machine | undefined;
    if (fault.includes('node')) found = nodes.machines[node];
    else if (fault.includes('standby')) found = await databases.standby();
    else found = await databases.leader();
    if (found === undefined) throw new Error(`There is nothing to ${fault}`);
    return found;
  }

  /** Begins a fault; what it returns ends it. */
  begin(fault: Fault, machine: Machine): () => void {
    const { databases, nodes, cuts } = this;
    const isNode = nodes.machines.includes(machine);
    const startAgain = (): void => (isNode ? nodes.startOn(machine) : databases.startOn(machine));
    const healCuts = (): void => cuts.heal();
    const everything = [...databases.machines, ...nodes.machines, nodes.balancer];
    switch (fault) {
      case 'kill the leader':
      case 'kill the standby':
      case 'kill a node':
        machine.signal('SIGKILL');
        return startAgain;
      case "kill the leader's PostgreSQL":
        machine.signal('SIGKILL', /^postgres$/);
        return startAgain;
      case "kill the leader's etcd":
        machine.signal('SIGKILL', /^etcd$/);
        return startAgain;
      case 'pause the leader':
      case 'pause the standby':
      case 'pause a node':
        machine.signal('SIGSTOP');
        return () => machine.signal('SIGCONT');
      case 'cut off the leader':
      case 'cut off the standby':
        cuts.between([machine], everything);
        return healCuts;
      case 'cut the leader from the databases':
      case 'cut a node from the databases':
        cuts.between([machine], databases.machines);
        return healCuts;
      case 'cut all databases from each other':
        cuts.between(databases.machines, databases.machines);
        return healCuts;
      case 'slow the way to the leader':
        machine.slow();
        return () => machine.hurry();
    }
  }
}

/** What a store has of a history. */
export async function foundIn(store: Store, history: History): Promise<Found> {
  const leads: Entry[] = [];
  const addresses = new Map<string, string>();
  for await (const { position, value } of leadsAfter(store, 0)) {
    leads.push({ position, name: value.id });
    addresses.set(value.id, value.email);
  }
  const fragments = (await collect(entriesAfter(store, 'fragments', 0))).map(({ position, value }) => {
    return { position, name: decodeReceipt(value) };
  });
  const places = new Map<string, number>();
  for await (const { key, value } of recordsAfter(store, 'leafPlaces'))
    places.set(Buffer.from(key).toString(), decodeCount(value));
  const bindings = new Map<string, string>();
  for (const key of history.receipts.keys()) {
    const found = await findBinding(store, key);
    if (found !== undefined) bindings.set(key, found.receipt);
  }
  const orders = new Map<string, string>();
  for (const hash of history.orders.keys()) {
    const order = await findOrderAt(store, 'lightning', hash);
    if (order !== undefined) orders.set(hash, order.id);
  }
  return {
    ...{ leads, addresses, fragments, places, bindings, orders },
    leadHead: await store.last('leads'),
    fragmentHead: await store.last('fragments'),
  };
}
