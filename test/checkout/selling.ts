/** Checkouts as processes start them, over nodes of the tests. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { after, afterEach } from 'node:test';
import { startCheckout, type Checkout, type CheckoutParts } from '../../src/checkout/checkout.js';
import { readConfiguration } from '../../src/configuration.js';
import { Gate } from '../support/gate.js';
import type { LndServer } from '../support/lndServer.js';
import type { HandClock } from '../support/handClock.js';
import { accountKey, tiers, type Shop } from '../support/shop.js';

/** Settings of a checkout. */
export type Configuration = CheckoutParts['configuration'];

/** Where nothing is set but a price of bitcoin: 60,000 US dollars. */
export const nothingSet = ((): Configuration => {
  const read = readConfiguration({ RATE_SOURCE: 'fixed:60000' }, { platform: 'linux', cores: 1 });
  if ('errors' in read) assert.fail(read.errors.join(' '));
  return read.configuration;
})();

/** The settings of a Lightning node. */
export function ofLnd({ place }: LndServer): Partial<Configuration> {
  return {
    ...{ btcNetwork: 'regtest', lndRestUrl: place.url, lndTlsCert: place.certificate },
    lndMacaroonHex: place.macaroon,
  };
}

/** The settings of payments on chain that this node reports. */
export function onChain(btcChain: Configuration['btcChain']): Partial<Configuration> {
  return { btcXpub: accountKey, btcChain };
}

/** A checkout, and what it told its operator. */
export interface Process {
  readonly checkout: Checkout;
  /** Rounds of look-ups, each with its rail and the number of orders. */
  readonly rounds: string[];
  /** Everything else that was logged. */
  readonly said: string[];
}

/** Checkouts that run. */
const running: Checkout[] = [];

// Before the test's store is closed.
afterEach(() => Promise.all(running.splice(0).map((each) => each.stop())));

/** Starts a checkout, which is stopped after the test. */
export async function start(
  shop: Shop,
  clock: HandClock,
  settings: Partial<Configuration>,
  more: Partial<CheckoutParts> = {},
): Promise<Process> {
  const [rounds, said] = [[] as string[], [] as string[]];
  const say = (about: object, text = ''): unknown => said.push(`${text}: ${JSON.stringify(about)}`);
  const checkout = await startCheckout({
    ...{ ...shop.book, clock, tiers, holder: 'one' },
    getPage: () => Promise.reject(new Error('there is no page')),
    log: {
      debug: (about: { rail?: string; looked?: number }) => rounds.push(`${about.rail} ${about.looked}`),
      ...{ info: say, warn: say, error: say },
    },
    configuration: { ...nothingSet, ...settings },
    ...more,
  });
  running.push(checkout);
  return { checkout, rounds, said };
}

/** An Esplora server of mainnet that has no payment. */
export class QuietEsplora {
  up = true;
  readonly asked: string[] = [];
  readonly sockets = new Set<Socket>();
  /** What its answers wait for. */
  readonly gate = new Gate();
  // Connections that nobody uses stay until somebody closes them.
  private readonly server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const { url: path = '', socket } = request;
    this.asked.push(path);
    this.sockets.add(socket);
    void this.gate.passed().then(() => {
      if (this.up) response.end(this.answer(path));
      else socket.destroy();
    });
  });

  /** Starts it; it ends with the tests. */
  static async start(): Promise<QuietEsplora> {
    const esplora = new QuietEsplora();
    await new Promise<void>((listening) => esplora.server.listen(0, '127.0.0.1', listening));
    after(() => {
      esplora.server.closeAllConnections();
      esplora.server.close();
    });
    return esplora;
  }

  /** How often it was asked for the payments of an address. */
  looks(address: string): number {
    return this.asked.filter((path) => path === `/address/${address}/txs`).length;
  }

  get chain(): Configuration['btcChain'] {
    return { kind: 'esplora', url: `http://127.0.0.1:${(this.server.address() as AddressInfo).port}` };
  }

  private answer(path: string): string {
    if (path === '/block-height/0') return '000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f';
    if (path === '/blocks/tip/height') return '100';
    // A time after that of every test.
    if (path === '/blocks') return '[{"timestamp":4102444800}]';
    if (path.endsWith('/txs')) return '[]';
    return JSON.stringify({ chain_stats: { tx_count: 0 }, mempool_stats: { tx_count: 0 } });
  }
}
