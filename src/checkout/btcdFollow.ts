/**
 * Notifications of btcd (btcd, JSON-RPC API, Websocket Extension): payments to addresses of a filter,
 * in the mempool and in blocks, and blocks. Only hints are made of it: what is true is looked up.
 */
import { address as addresses, networks, Transaction } from 'bitcoinjs-lib';
import { WebSocket } from 'ws';
import type { Clock, Timer } from '../system/clock.js';
import type { ChainHints, Following } from './chain.js';
import type { Network } from '../store/order.js';

/** Where btcd is, and what opens it. */
export interface BtcdPlace {
  /** `https://host:port` */
  readonly url: string;
  readonly user: string;
  /** A secret. */
  readonly password: string;
  /** Its certificate, PEM; null: one that the system trusts. */
  readonly certificate: string | null;
}

/** Its dependencies. */
export interface FollowParts {
  readonly place: BtcdPlace;
  readonly network: Network;
  readonly clock: Pick<Clock, 'after' | 'every'>;
  readonly hints: ChainHints;
}

/** Between two tries to connect (ms). */
const againMs = 1_000;

/** A connection from which nothing came for so long is taken for dead: btcd answers a ping a second (ms). */
const silentMs = 5_000;

const pingMs = 1_000;

/** Addresses in one message. */
const together = 1_000;

type Json = Readonly<Record<string, unknown>>;

function parsed(data: unknown): Json | undefined {
  try {
    const value: unknown = JSON.parse(String(data));
    return typeof value === 'object' && value !== null ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}

const params = {
  mainnet: networks.bitcoin,
  testnet: networks.testnet,
  signet: networks.testnet,
  regtest: networks.regtest,
} as const;

/** The addresses that a transaction pays to. */
function paidTo(hex: unknown, network: Network): string[] {
  try {
    return Transaction.fromHex(String(hex)).outs.flatMap(({ script }) => {
      try {
        return [addresses.fromOutputScript(script, params[network])];
      } catch {
        return []; // An output without an address.
      }
    });
  } catch {
    return [];
  }
}

/** Follows a btcd until it is stopped, through any number of connections. */
export class BtcdFollower implements Following {
  private socket: WebSocket | undefined;
  private retry: Timer | undefined;
  private readonly pulse: Timer;
  private silentForMs = 0;
  private connected = false;
  private stopped = false;

  constructor(private readonly parts: FollowParts) {
    this.pulse = parts.clock.every(pingMs, () => this.beat());
    this.connect();
  }

  /**
   * Adds addresses to the filter. A new connection begins without any; nothing ever empties a filter, because
   * btcd answers a connection's requests beside each other, in any order.
   */
  watch(found: readonly string[]): void {
    for (let at = 0; at < found.length; at += together) {
      this.send('loadtxfilter', [false, found.slice(at, at + together), []]);
    }
  }

  stop(): void {
    this.stopped = true;
    this.pulse.stop();
    this.retry?.stop();
    this.socket?.terminate();
  }

  private connect(): void {
    const { url, user, password, certificate } = this.parts.place;
    const address = new URL('/ws', url);
    address.protocol = 'wss:';
    const socket = new WebSocket(address, {
      auth: `${user}:${password}`,
      ...(certificate === null ? {} : { ca: certificate }),
    });
    this.socket = socket;
    this.silentForMs = 0;
    socket.on('open', () => {
      this.connected = true;
      this.send('notifyblocks', []);
      this.parts.hints.onConnected();
    });
    socket.on('message', (data: Buffer) => this.heard(data));
    socket.on('pong', () => (this.silentForMs = 0));
    // The look-ups, which go to the same node, report the error.
    socket.on('error', () => undefined);
    socket.on('close', () => this.lost(socket));
  }

  private lost(socket: WebSocket): void {
    if (socket !== this.socket || this.stopped) return;
    this.connected = false;
    this.parts.hints.onLost();
    this.retry = this.parts.clock.after(againMs, () => this.connect());
  }

  private beat(): void {
    this.silentForMs += pingMs;
    if (this.silentForMs > silentMs) this.socket?.terminate();
    else if (this.connected) this.socket?.ping();
  }

  private send(method: string, parameters: readonly unknown[]): void {
    if (!this.connected) return;
    this.socket?.send(JSON.stringify({ jsonrpc: '1.0', id: 1, method, params: parameters }));
  }

  private heard(data: Buffer): void {
    this.silentForMs = 0;
    const message = parsed(data.toString());
    const { hints, network } = this.parts;
    const given: unknown = message?.['params'];
    const list: readonly unknown[] = Array.isArray(given) ? given : [];
    switch (message?.['method']) {
      case 'relevanttxaccepted':
        hints.onAddresses(paidTo(list[0], network));
        break;
      case 'filteredblockconnected': {
        const transactions: readonly unknown[] = Array.isArray(list[2]) ? list[2] : [];
        hints.onAddresses(transactions.flatMap((each) => paidTo(each, network)));
        hints.onBlock();
        break;
      }
      case 'filteredblockdisconnected':
        hints.onBlock();
        break;
    }
  }
}
