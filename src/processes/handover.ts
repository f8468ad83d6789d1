/**
 * One server takes over from another on the same data folder. For a while both listen on the same sockets.
 * Their messages go over a Unix socket in the data folder, one JSON object a line.
 *
 * The new server asks. The old one has its listening sockets and the lock of the data folder sent to the new
 * one's inbox, and says where it listens. The new one starts its workers on them and says that it serves. The
 * old one says that it leaves, stops listening and answers its pending requests. If the new one ends before
 * it says that it serves, nothing changes. If it ends later while the old one still answers, the old one ends
 * soon: it has the lock, too, and as long as it has it no other server can start.
 */
import {
  chmodSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  readdirSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { LeftSockets } from '../http/listening.js';
import { native } from '../native/addon.js';
import type { Log } from '../system/log.js';
import type { Ports } from '../system/ports.js';
import { reasonOf } from '../system/reason.js';
import { removeInboxes, sendDelivery, SocketInbox, withSocketPath, type Addressee } from './sockets.js';

/**
 * Raised when a server and the version before it can no longer share a store and a data folder for a while.
 */
const protocol = 1;

/** Name of the Unix socket in the data folder that takes requests to hand over. */
const socketName = 'handover';

/** From the new server to the old one. */
type ToOld =
  | {
      readonly kind: 'take';
      readonly protocol: number;
      readonly pid: number;
      /** Name of the store: two servers on one data folder may have different stores. */
      readonly store: string;
      readonly host: string;
      /** The ports that the new server wants; 0: the old one's. */
      readonly ports: Ports;
    }
  /** `stays`: the connection stays open as long as the new server runs. Older versions close it. */
  | { readonly kind: 'serving'; readonly stays?: true };

/** From the old server to the new one. */
type ToNew =
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'given'; readonly ports: Ports; readonly deliveries: number }
  | { readonly kind: 'leaving' };

function say(socket: Socket, message: ToOld | ToNew): void {
  socket.write(`${JSON.stringify(message)}\n`);
}

/** A running server's part in a takeover. */
export interface Leaver {
  readonly folder: string;
  readonly store: string;
  readonly host: string;
  readonly ports: Ports;
  /** Has the workers send their listening sockets to an inbox. */
  readonly handOver: (to: Addressee) => Promise<HandOverOutcome>;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/** Number of deliveries sent to an inbox, or why there are none. */
export type HandOverOutcome = { readonly sent: number } | { readonly failed: string };

/** The server that has taken over. */
export interface Successor {
  /** Resolves once it has ended. */
  readonly ended: Promise<void>;
}

/** A running server's offer to hand over, until it is closed. */
export interface Offer {
  /** Resolves once another server serves in this one's place. */
  readonly taken: Promise<Successor>;
  /** True while another server takes over. */
  readonly isUnderWay: () => boolean;
  readonly close: () => void;
}

/** Waits for another server to take over. If the folder cannot hold a Unix socket, none can. */
export function offerHandover(leaver: Leaver): Offer {
  const { folder, log } = leaver;
  const server = createServer();
  let isAsked = false;
  const taken = new Promise<Successor>((resolve) => {
    server.on('connection', (socket) => {
      socket.on('error', () => undefined);
      if (isAsked) {
        say(socket, { kind: 'refused', reason: 'Another server is already taking over.' });
        socket.end();
        return;
      }
      isAsked = true;
      // If the other server ends in the middle of a message, reading fails: that means the same.
      const ended = (): undefined => {
        log.warn({}, 'the server that was to take over has ended, and this one goes on serving');
        socket.destroy();
      };
      void hearTaker(socket, leaver, ended)
        .catch(ended)
        .then((taker) => {
          isAsked = taker !== undefined;
          if (taker === undefined) return;
          // After this message the path is the other server's; closing removes it, so it is closed first.
          server.close();
          say(socket, { kind: 'leaving' });
          resolve({ ended: endOf(taker, socket, leaver) });
        });
    });
  });
  server.on('error', (error) =>
    log.warn({ reason: reasonOf(error) }, 'no server can take over from this one'),
  );
  if (process.platform === 'linux') listenIn(server, folder);
  return { taken, isUnderWay: () => isAsked, close: () => void server.close() };
}

function listenIn(server: Server, folder: string): void {
  removeInboxes(folder);
  rmSync(join(folder, socketName), { force: true });
  withSocketPath(folder, socketName, (path) => server.listen(path));
  server.once('listening', () => chmodSync(join(folder, socketName), 0o600));
  server.unref();
}

/** Returns why a server may not take over, or undefined if it may. */
function wrongTaker(
  { host, store, ports }: Leaver,
  asked: ToOld & { readonly kind: 'take' },
): string | undefined {
  if (asked.protocol !== protocol) {
    return 'The running server is of a version that cannot share its store with this one. Stop it first.';
  }
  if (asked.store !== store) {
    return `The running server has ${store}, not ${asked.store}. Set STORE_URL as it has it.`;
  }
  const { port } = asked.ports;
  if (asked.host === host && (port === 0 || port === ports.port)) return undefined;
  return (
    `The running server listens on ${host} port ${ports.port}, which a server that takes over keeps. ` +
    'Set HOST and PORT as it has them.'
  );
}

/** A server that serves in this one's place. */
interface Taker {
  readonly pid: number;
  readonly stays: boolean;
}

/** Answers a server that asks to take over, until it says that it serves; undefined if it does not. */
async function hearTaker(socket: Socket, leaver: Leaver, ended: () => undefined): Promise<Taker | undefined> {
  const { ports, log } = leaver;
  let pid = 0;
  for await (const line of createInterface({ input: socket })) {
    const said = read(line) as ToOld | undefined;
    if (said?.kind === 'serving') return { pid, stays: said.stays ?? false };
    if (said?.kind !== 'take') break;
    pid = said.pid;
    log.info({ takerPid: said.pid }, 'another server asks to take over');
    const wrong = wrongTaker(leaver, said);
    const given = wrong === undefined ? await give(leaver, said.pid) : { refused: wrong };
    if ('refused' in given) {
      log.warn({ reason: given.refused }, 'the other server cannot take over, and this one goes on serving');
      say(socket, { kind: 'refused', reason: given.refused });
      socket.end();
      return undefined;
    }
    say(socket, { kind: 'given', ports, ...given });
  }
  ended();
  return undefined;
}

/** Resolves once the server that has taken over ends. */
function endOf({ pid, stays }: Taker, socket: Socket, { log }: Leaver): Promise<void> {
  if (!stays) {
    socket.end();
    return new Promise(() => undefined);
  }
  return new Promise((resolve) => {
    socket.unref().resume();
    socket.once('close', () => {
      log.warn({ takerPid: pid }, 'the server that took over has ended: this one ends soon, too');
      resolve();
    });
  });
}

/** A line from the other server; undefined if it is malformed. */
function read(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Sends the new server everything it needs to its inbox, or says why it cannot. */
async function give(
  { folder, ports, handOver }: Leaver,
  pid: number,
): Promise<{ readonly deliveries: number } | { readonly refused: string }> {
  const refused = (why: string) => ({ refused: `The running server cannot hand over its sockets (${why}).` });
  try {
    const outcome = await handOver({ folder, pid });
    if ('failed' in outcome) return refused(outcome.failed);
    const metrics = ports.metricsPort === 0 ? [] : native.listeningOn(ports.metricsPort);
    sendDelivery({ folder, pid }, { port: [], door: [], metrics, lock: [lockDescriptor(folder)] });
    return { deliveries: outcome.sent + 1 };
  } catch (error) {
    return refused(reasonOf(error));
  }
}

/** This process' file descriptor of the data folder's locked file. */
function lockDescriptor(folder: string): number {
  const { dev, ino } = statSync(join(folder, 'lock'));
  const descriptors = readdirSync('/proc/self/fd').map(Number);
  const found = descriptors.find((descriptor) => {
    try {
      const open = fstatSync(descriptor);
      return open.dev === dev && open.ino === ino;
    } catch {
      // The descriptor of this very listing, closed by now.
      return false;
    }
  });
  if (found === undefined) throw new Error('the lock of the data folder is not there');
  return found;
}

/** Resources inherited from another server. */
export interface TakenOver {
  readonly ports: Ports;
  readonly sockets: LeftSockets;
  /** The listening socket of the metrics; undefined: the other server had none. */
  readonly metrics: number | undefined;
  /**
   * Tells the other server that this one serves; resolves once it leaves. The lock then belongs to this one.
   */
  readonly serving: () => Promise<void>;
  /** Resolves once the other server has ended; until then, or until `forget`, this process goes on. */
  readonly formerEnded: () => Promise<void>;
  /** The other server takes it for the end of this one. */
  readonly forget: () => void;
}

/** Requirements of a server that takes over. */
export interface TakerParts {
  readonly folder: string;
  readonly store: string;
  readonly host: string;
  readonly ports: Ports;
}

/** Takes over from the server that holds the data folder; returns a sentence if it cannot. */
export async function takeOver({
  folder,
  ...wanted
}: TakerParts): Promise<TakenOver | { readonly refused: string }> {
  const socket = await connected(folder);
  if (socket === undefined) {
    const why = 'It leaves, is older than this version, or is another program.';
    return { refused: `The server that uses ${folder} cannot be asked to hand over. ${why} Stop it first.` };
  }
  const inbox = new SocketInbox(folder);
  const heard = createInterface({ input: socket })[Symbol.asyncIterator]();
  const received = inbox.receive();
  say(socket, { kind: 'take', protocol, pid: process.pid, ...wanted });
  const said = await hear(heard);
  inbox.expect(said?.kind === 'given' ? said.deliveries : 0);
  await received;
  if (said?.kind !== 'given') {
    socket.destroy();
    inbox.close();
    const ended = 'The running server ended meanwhile. Start this one again.';
    return { refused: said?.kind === 'refused' ? said.reason : ended };
  }
  const { port, door, metrics, lock } = inbox.takeAll();
  const serving = async (): Promise<void> => {
    say(socket, { kind: 'serving', stays: true });
    await hear(heard);
    for (const descriptor of lock) writeLock(descriptor);
  };
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const formerEnded = (): Promise<void> => {
    socket.ref();
    return closed;
  };
  const forget = (): void => void socket.destroy();
  return { ports: said.ports, sockets: { port, door }, metrics: metrics[0], serving, formerEnded, forget };
}

function connected(folder: string): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = withSocketPath(folder, socketName, (path) => connect(path));
    socket.once('connect', () => {
      socket.on('error', () => undefined);
      // If this process fails to start it ends, and so does this connection: the other server notices that.
      resolve(socket.unref());
    });
    socket.once('error', () => resolve(undefined));
  });
}

async function hear(heard: AsyncIterator<string>): Promise<ToNew | undefined> {
  const line = await heard.next();
  return line.done === true ? undefined : (read(line.value) as ToNew | undefined);
}

/**
 * Writes this process's id into the lock file, which both servers have open. It stays open, and so locked: if
 * the disk does not take the text, only messages lack the id.
 */
function writeLock(descriptor: number): void {
  try {
    ftruncateSync(descriptor, 0);
    writeSync(descriptor, String(process.pid), 0);
    fsyncSync(descriptor);
  } catch {
    // The other server has left: this one must not end.
  }
}
