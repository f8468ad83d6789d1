/**
 * Connections of one worker against their limits. uWebSockets.js reports each connection with its address as
 * it opens, and without it as it closes. So open connections by address are read from the kernel's table
 * (Linux), and only once there are enough that one address may have too many.
 */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { countedAddress } from '../access/address.js';
import { unmapped } from '../system/network.js';
import type { Log } from '../system/log.js';
import { single, type Metric } from '../system/metrics.js';
import { oneAtATime } from '../system/shared.js';
import { inSlice } from '../system/slices.js';
import type { HttpResponse, TemplatedApp } from './uws.js';

/** Limits on connections. */
export interface ConnectionBounds {
  /** Most connections of this worker. */
  readonly most: number;
  /** Workers that share the port, and with it an address's connections. */
  readonly workers: number;
  /** True if an address is a proxy's, behind which there are many clients. */
  readonly isProxy: (address: Uint8Array) => boolean;
}

/** One address may have this fraction (1/n) of all connections. */
const addressShare = 8;

/** File descriptors reserved for files, the store and other parts. */
const otherDescriptors = 256;

/** Characters of a kernel table read at once: some 400 of its lines. */
const pieceCharacters = 64 * 1024;

/** The kernel's ESTABLISHED, and CLOSE_WAIT, whose client has ended its side, as its table writes them. */
const openStates = ['01', '08'];

/** Number of descriptors this process may have; Infinity if the system does not say. */
export function descriptorLimit(
  read: () => string = () => readFileSync('/proc/self/limits', 'utf8'),
): number {
  try {
    const limit = /^Max open files +(\d+)/m.exec(read())?.[1];
    return limit === undefined ? Infinity : Number(limit);
  } catch {
    return Infinity;
  }
}

/** The number of connections that the descriptors allow: beyond it the server would retry endlessly. */
export function affordable(most: number, descriptors: number): number {
  return Math.max(16, Math.min(most, descriptors - otherDescriptors));
}

/** Counts a kernel table's connections to a local port by remote address, as limits count addresses. */
export function connectedTo(port: number, table: string): Map<string, number> {
  const remotes = new Map<string, number>();
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')} `;
  for (let at = 0; at < table.length; at = endOfLine(table, at)) {
    // `  12: 0100007F:1F90 0200007F:C350 01 …`
    const remote = table.indexOf(local, at) + local.length;
    if (remote < local.length) break;
    at = table.lastIndexOf('\n', remote) + 1;
    const isLocal = table.indexOf(':', table.indexOf(': ', at) + 1) === remote - local.length;
    const end = table.indexOf(':', remote);
    // The state follows the remote port.
    if (!isLocal || !openStates.includes(table.slice(end + 6, end + 8))) continue;
    const address = table.slice(remote, end);
    remotes.set(address, (remotes.get(address) ?? 0) + 1);
  }
  const counts = new Map<string, number>();
  for (const [address, count] of remotes) {
    const name = nameOf(wordsToBytes(address));
    counts.set(name, (counts.get(name) ?? 0) + count);
  }
  return counts;
}

function endOfLine(table: string, from: number): number {
  const end = table.indexOf('\n', from);
  return end < 0 ? table.length : end + 1;
}

/** A table in pieces of whole lines; each is read in well under a millisecond. */
function* piecesOf(table: string): Generator<string, void> {
  for (let at = 0; at < table.length;) {
    const end = endOfLine(table, at + pieceCharacters);
    yield table.slice(at, end);
    at = end;
  }
}

/** An address from the kernel's notation: words of four bytes, each in machine order (little-endian). */
function wordsToBytes(hex: string): Uint8Array {
  const bytes = Buffer.from(hex, 'hex');
  return bytes.length % 4 === 0 ? bytes.swap32() : bytes;
}

/** An address as connection limits count it: IPv4 whole, IPv6 by its /64. */
function nameOf(address: Uint8Array): string {
  return Buffer.from(countedAddress(unmapped(address))).toString('hex');
}

/** The kernel's tables of connections as text. */
function readTables(): Promise<readonly string[]> {
  const files = ['/proc/net/tcp', '/proc/net/tcp6'];
  return Promise.all(files.map((file) => readFile(file, 'latin1').catch(() => '')));
}

/** Counts the connections of one worker and closes those beyond the limits. */
export class Connections {
  private open = 0;
  private refused = 0;
  private readonly ports: number[] = [];
  /** Connections by address at the last reading, and those opened since it began. */
  private seen = new Map<string, number>();
  private since = new Map<string, number>();
  /** Connections opened since the current reading began. */
  private sinceThisLook: Map<string, number> | undefined;
  private readonly looks = oneAtATime(() => this.lookNow());

  constructor(
    private readonly bounds: ConnectionBounds,
    private readonly log: Pick<Log, 'warn'>,
    private readonly tables: () => Promise<readonly string[]> = readTables,
  ) {}

  /** Makes an app report its connections. */
  watch(app: TemplatedApp): void {
    app.filter((response, change) => {
      this.open += change as number;
      if ((change as number) > 0) this.take(response);
    });
  }

  /** Open connections. */
  get count(): number {
    return this.open;
  }

  /** Adds a port whose connections are counted. */
  listensOn(port: number): void {
    this.ports.push(port);
  }

  /** Reads the kernel's tables while an address may have too many connections; called about once a second. */
  look(): Promise<void> {
    if (this.open <= this.perAddress() / 2) {
      this.seen.clear();
      this.since.clear();
      return Promise.resolve();
    }
    return this.looks.run();
  }

  metrics(): Metric[] {
    return [
      single('gauge', 'fusegate_http_connections', 'Open connections.', this.open),
      single(
        'counter',
        'fusegate_http_connections_refused_total',
        'Connections closed at once because there were too many, of one address or of all.',
        this.refused,
      ),
    ];
  }

  private perAddress(): number {
    return Math.max(1, Math.floor(this.bounds.most / addressShare));
  }

  private take(response: HttpResponse): void {
    if (this.open > this.bounds.most) {
      this.refuse(response);
      return;
    }
    const address = unmapped(new Uint8Array(response.getRemoteAddress()));
    if (this.bounds.isProxy(address)) return;
    const name = nameOf(address);
    const opened = (this.since.get(name) ?? 0) + 1;
    this.since.set(name, opened);
    this.sinceThisLook?.set(name, (this.sinceThisLook.get(name) ?? 0) + 1);
    // The kernel's table has the connections of every worker; the kernel distributes them evenly.
    const before = (this.seen.get(name) ?? 0) / this.bounds.workers;
    // Many opened connections may have closed again: this matters only while many are open.
    if (this.open > this.perAddress() && before + opened > this.perAddress()) this.refuse(response);
  }

  private refuse(response: HttpResponse): void {
    if (this.refused === 0)
      this.log.warn({ connections: this.open }, 'connections beyond the limit are closed');
    this.refused += 1;
    response.close();
  }

  /** A connection that opens during a reading may or may not be in the tables: it counts as opened since. */
  private async lookNow(): Promise<void> {
    const since = new Map<string, number>();
    this.sinceThisLook = since;
    const counts = new Map<string, number>();
    for (const table of await this.tables()) {
      for (const piece of piecesOf(table)) {
        for (const port of this.ports) {
          for (const [name, count] of await inSlice(() => connectedTo(port, piece))) {
            counts.set(name, (counts.get(name) ?? 0) + count);
          }
        }
      }
    }
    this.seen = counts;
    this.since = since;
    this.sinceThisLook = undefined;
  }
}
