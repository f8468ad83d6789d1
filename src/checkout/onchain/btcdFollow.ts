/**
 * Notifications of btcd (btcd, JSON-RPC API, Websocket Extension): blocks, and payments to filtered
 * addresses, in the mempool and in blocks. They are only hints: the truth is looked up.
 */
import { address as addresses, Transaction } from 'bitcoinjs-lib';
import { WebSocket } from 'ws';
import type { Clock, Timer } from '../../system/clock.js';
import type { JsonObject } from '../../system/json.js';
import { addressParameters } from './addresses.js';
import type { ChainHints, Following } from './chain.js';
import type { BtcdPlace } from '../nodeSettings.js';
import type { Network } from '../../store/tables/orderRow.js';

/** Its dependencies. */
export interface FollowParts {
  readonly place: BtcdPlace;
  readonly network: Network;
  readonly clock: Pick<Clock, 'after' | 'every'>;
  readonly hints: ChainHints;
}

/** Time between two attempts to connect (ms). */
const againMs = 1_000;

/** A connection that is silent for this long counts as dead (ms): btcd answers a ping each second. */
const silentMs = 5_000;

const pingMs = 1_000;

/** Most addresses in one message. */
const together = 1_000;

/** A message; nothing but an object has members. */
function parsed(data: unknown): JsonObject | null | undefined {
  try {
    return JSON.parse(String(data)) as JsonObject | null;
  } catch {
    return undefined;
  }
}

/** The addresses that a transaction pays to. */
function paidTo(hex: unknown, network: Network): string[] {
  try {
    return Transaction.fromHex(String(hex)).outs.flatMap(({ script }) => {
      try {
        return [addresses.fromOutputScript(script, addressParameters[network])];
      } catch {
        return []; // An output without an address.
      }
    });
  } catch {
    return [];
  }
}

/** Follows a btcd until it is stopped, and reconnects as often as needed. */
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
   * Adds addresses to the filter. A new connection starts with an empty filter. A filter only ever grows,
   * because btcd answers a connection's requests concurrently, in any order.
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
    const socket = new WebSocket(new URL('/ws', url), {
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
    // The look-ups ask the same node and report the error.
    socket.on('error', () => undefined);
    socket.on('close', () => this.lost());
  }

  /** Called once for each connection: the next is made only after this. */
  private lost(): void {
    if (this.stopped) return;
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
    }
  }
}
