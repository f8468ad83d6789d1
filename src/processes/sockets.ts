/**
 * Listening sockets on their way from one server's processes to another's, which listen on them from then on.
 * They come to an inbox in the data folder, which its owner alone may enter. Linux alone has this.
 */
import { closeSync, openSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { LeftSockets } from '../http/listening.js';
import { native } from '../native/addon.js';
import { reasonOf } from '../system/reason.js';

/** Name of a process's inbox in the data folder. */
const inboxName = (pid: number): string => `handover-inbox-${pid}`;

/** Longest path of a Unix socket that the system takes (bytes). */
const longestPath = 107;

/** Time that one look into the inbox waits (ms). */
const lookMs = 100;

/** Descriptors that were sent, and what each is. */
export interface Delivered {
  readonly port: readonly number[];
  readonly door: readonly number[];
  readonly metrics: readonly number[];
  /** The open file of the data folder's lock. */
  readonly lock: readonly number[];
}

/** The counts of them, which come with them. */
type Counts = Readonly<Record<keyof Delivered, number>>;

/** What is in a delivery, in this order. */
const contents = ['port', 'door', 'metrics', 'lock'] as const;

/**
 * Calls `use` with a path of a file in a folder that is short enough for a Unix socket: that of the folder's
 * open descriptor, where its own is too long.
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

/** An inbox that descriptors are sent to: the folder that it lies in, and whose it is. */
export interface Addressee {
  readonly folder: string;
  readonly pid: number;
}

/** Sends descriptors to an inbox. @throws Error where there is none */
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

/** Nothing that was sent. */
const nothing = (): Record<keyof Delivered, number[]> => ({ port: [], door: [], metrics: [], lock: [] });

/** Takes away the inboxes of processes that were killed, where no other can have one. */
export function removeInboxes(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (/^handover-inbox-\d+$/.test(name)) rmSync(join(folder, name), { force: true });
  }
}

/** An inbox, until it is closed. */
export class SocketInbox {
  private readonly inbox: InstanceType<typeof native.Inbox>;
  /** What came and is this process's to close. */
  delivered = nothing();
  private deliveries = 0;
  private expected: number | undefined;

  /** @throws Error where the folder cannot have one */
  constructor(private readonly folder: string) {
    this.inbox = withSocketPath(folder, inboxName(process.pid), (path) => new native.Inbox(path));
  }

  /** Takes deliveries until there are as many as {@link expect} was told. */
  async receive(): Promise<void> {
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

  /** Says how many deliveries come; 0 has {@link receive} end soon. */
  expect(deliveries: number): void {
    this.expected = deliveries;
  }

  /** All that came, which is the caller's to close; takes the inbox away. */
  takeAll(): Delivered {
    const all = this.delivered;
    this.delivered = nothing();
    this.close();
    return all;
  }

  /** Closes what came and was not taken, and takes the inbox away. */
  close(): void {
    rmSync(join(this.folder, inboxName(process.pid)), { force: true });
    for (const descriptor of Object.values(this.delivered).flat()) closeSync(descriptor);
    this.delivered = nothing();
  }
}

/** The sockets of each of `workers` workers: of those that came, as many for each as there are. */
export function shareOut(delivered: LeftSockets, workers: number): LeftSockets[] {
  const ofWorker = (descriptors: readonly number[], worker: number): number[] =>
    descriptors.filter((_, at) => at % workers === worker);
  return Array.from({ length: workers }, (_, worker) => ({
    port: ofWorker(delivered.port, worker),
    door: ofWorker(delivered.door, worker),
  }));
}
