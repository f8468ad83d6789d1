/**
 * Passes listening sockets from one server's processes to another's, which then listen on them. They arrive
 * in an inbox in the data folder that only its owner may enter. Linux only.
 */
import { closeSync, openSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { LeftSockets } from '../http/listening.js';
import { native } from '../native/addon.js';
import { reasonOf } from '../system/reason.js';

/** Name of a process's inbox in the data folder. */
const inboxName = (pid: number): string => `handover-inbox-${pid}`;

/** Longest path of a Unix socket that the system allows (bytes). */
const longestPath = 107;

/** Time for which one check of the inbox waits (ms). */
const lookMs = 100;

/** Received descriptors, by kind. */
export interface Delivered {
  readonly port: readonly number[];
  readonly door: readonly number[];
  readonly metrics: readonly number[];
  /** The open lock file of the data folder. */
  readonly lock: readonly number[];
}

/** The number of each kind, sent with the descriptors. */
type Counts = Readonly<Record<keyof Delivered, number>>;

/** Order of the kinds in a delivery. */
const contents = ['port', 'door', 'metrics', 'lock'] as const;

/**
 * Calls `use` with a path of the file `name` in a folder that is short enough for a Unix socket. If the plain
 * path is too long, the path goes through the folder's open descriptor.
 */
export function withSocketPath<Used>(folder: string, name: string, use: (path: string) => Used): Used {
  const path = join(folder, name);
  if (Buffer.byteLength(path) <= longestPath) return use(path);
  const descriptor = openSync(folder, 'r');
  try {
    return use(`/proc/self/fd/${descriptor}/${name}`);
  } finally {
    closeSync(descriptor);
  }
}

/** An inbox for descriptors: its folder, and the id of its process. */
export interface Addressee {
  readonly folder: string;
  readonly pid: number;
}

/** Sends descriptors to an inbox. @throws Error if there is none */
export function sendDelivery({ folder, pid }: Addressee, delivered: Delivered): void {
  const counts = Object.fromEntries(contents.map((each) => [each, delivered[each].length]));
  const descriptors = contents.flatMap((each) => [...delivered[each]]);
  withSocketPath(folder, inboxName(pid), (path) =>
    native.sendDescriptors(path, JSON.stringify(counts), descriptors),
  );
}

/** Sends this process's listening sockets to an inbox; undefined, or why it cannot. */
export function sendSockets(
  addressee: Addressee,
  { port, doorPort }: { readonly port: number; readonly doorPort: number | undefined },
): string | undefined {
  try {
    const door = doorPort === undefined ? [] : native.listeningOn(doorPort);
    sendDelivery(addressee, { port: native.listeningOn(port), door, metrics: [], lock: [] });
    return undefined;
  } catch (error) {
    return reasonOf(error);
  }
}

/** An empty delivery. */
const nothing = (): Record<keyof Delivered, number[]> => ({ port: [], door: [], metrics: [], lock: [] });

/** Removes the inboxes of killed processes; called while no other process can have one. */
export function removeInboxes(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (/^handover-inbox-\d+$/.test(name)) rmSync(join(folder, name), { force: true });
  }
}

/** An inbox, until it is closed. */
export class SocketInbox {
  private readonly inbox: InstanceType<typeof native.Inbox>;
  /** Received descriptors; this process must close them. */
  delivered = nothing();
  private deliveries = 0;
  private expected: number | undefined;

  /**
   * @throws Error if the folder cannot hold one
   */
  constructor(private readonly folder: string) {
    this.inbox = withSocketPath(folder, inboxName(process.pid), (path) => new native.Inbox(path));
  }

  /** Receives deliveries up to the number given to {@link expect}. */
  receive(): Promise<void> {
    const received = this.gather();
    // Callers await it after they have asked for deliveries: until then an error must not end the process.
    received.catch(() => undefined);
    return received;
  }

  private async gather(): Promise<void> {
    while (this.expected === undefined || this.deliveries < this.expected) {
      const delivery = await this.inbox.receive(lookMs);
      if (delivery === null) continue;
      this.deliveries += 1;
      const counts = JSON.parse(delivery.text) as Counts;
      let from = 0;
      for (const each of contents) {
        this.delivered[each].push(...delivery.descriptors.slice(from, from + counts[each]));
        from += counts[each];
      }
    }
  }

  /** Sets the number of deliveries; 0 makes {@link receive} end soon. */
  expect(deliveries: number): void {
    this.expected = deliveries;
  }

  /** Returns everything received, for the caller to close; removes the inbox. */
  takeAll(): Delivered {
    const all = this.delivered;
    this.delivered = nothing();
    this.close();
    return all;
  }

  /** Closes received descriptors that were not taken, and removes the inbox. */
  close(): void {
    rmSync(join(this.folder, inboxName(process.pid)), { force: true });
    for (const descriptor of Object.values(this.delivered).flat()) closeSync(descriptor);
    this.delivered = nothing();
  }
}

/** Distributes the received sockets among `workers` workers, as evenly as possible. */
export function shareOut(delivered: LeftSockets, workers: number): LeftSockets[] {
  const ofWorker = (descriptors: readonly number[], worker: number): number[] =>
    descriptors.filter((_, at) => at % workers === worker);
  return Array.from({ length: workers }, (_, worker) => ({
    port: ofWorker(delivered.port, worker),
    door: ofWorker(delivered.door, worker),
  }));
}
