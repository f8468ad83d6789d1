/**
 * `bench checkout`: orders made and polled through HTTP with one worker, on a real btcd and LND; what it
 * costs to watch many of them, and how soon a payment is found.
 */
import type { OrderRecord } from '../src/store/tables/order.js';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { BitcoinOrder, BitcoinOrderCreated } from '../src/contract/bitcoin.js';
import { openStore } from '../src/store/open.js';
import { allOrders } from '../src/store/tables/orders.js';
import { systemClock } from '../src/system/clock.js';
import { systemRandomness } from '../src/system/randomness.js';
import { PaymentNodes } from '../test/peers/payments/nodes.js';
import { runWrk, withWrk, type Load } from './load.js';
import { machine, writeRecord } from './machine.js';
import type { RecordOptions } from './options.js';
import { dotPlot } from './plot.js';
import type { Server } from './processes.js';
import { startFusegate } from './servers.js';
import { figure, spread } from './statistics.js';

/** What the command line may set. */
export interface CheckoutOptions extends RecordOptions {
  readonly seconds: number;
  readonly connections: number;
}

/** Least rates (1/s), most of a core that watching takes, most time until a payment is found (s). */
const TARGETS = { orders: 500, polls: 5_000, watching: 0.05, found: 2 } as const;
/** Watched orders at least, and the time of watching (s); orders that are polled, and that are paid. */
const SIZES = { watched: 10_000, watchedSeconds: 60, polled: 1_000, payments: 5 } as const;

interface Figures {
  readonly orders: Load;
  readonly polls: Load;
  /** Lightning orders, as fast as LND makes invoices. */
  readonly lightning: Load;
  /** Orders that were open while watching was measured. */
  readonly watched: number;
  /** Share of a core. */
  readonly watching: number;
  /** Seconds from the node's knowing a payment to the order's being `seen`, in the order of payments. */
  readonly found: readonly number[];
}

async function stored(folder: string): Promise<OrderRecord[]> {
  const log = { error: () => undefined, warn: () => undefined, info: () => undefined };
  const parts = { clock: systemClock, randomness: systemRandomness, log };
  const store = await openStore(`lmdb:${folder}`, parts);
  const orders: OrderRecord[] = [];
  for await (const order of allOrders(store)) orders.push(order);
  await store.close();
  return orders;
}

/** How long it takes until an order that is paid is seen (s). */
async function payment(server: Server, nodes: PaymentNodes): Promise<number> {
  const made = await fetch(`${server.url}/v1/checkout/btc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"tier":"developer"}',
  });
  const { order_id: id, address } = (await made.json()) as BitcoinOrderCreated;
  const look = async (): Promise<string> => {
    const headers = { 'sec-purpose': 'prefetch' };
    const answer = await fetch(`${server.url}/v1/checkout/btc/${id}`, { headers });
    return ((await answer.json()) as BitcoinOrder).status;
  };
  await pause(1_500);
  // This poll looks up; those of the next 5 s tell what the watcher found.
  if ((await look()) !== 'pending') throw new Error(`${id} is paid before it is paid`);
  await nodes.payAddress(address, 50_000);
  const known = performance.now();
  while ((await look()) !== 'seen') {
    if (performance.now() - known > 30_000) throw new Error(`${id} is not seen`);
    await pause(10);
  }
  return (performance.now() - known) / 1_000;
}

/** @throws when an address was given out twice, or an acknowledged order is not there */
function checkOrders(orders: readonly OrderRecord[], { requests }: Load): void {
  const indexes = new Set(orders.map((order) => (order.rail === 'btc' ? order.addressIndex : null)));
  if (indexes.size !== orders.length) throw new Error('An address was given out twice');
  if (orders.length < requests)
    throw new Error(`${requests - orders.length} acknowledged orders are not there`);
}

/** Settings of both servers. */
const settings = {
  ...{
    LOG_LEVEL: 'error',
    RATE_SOURCE: 'fixed:60000',
    CHECKOUT_REQUESTS_PER_MINUTE: '0',
    POLLS_PER_MINUTE: '0',
    PAGES_PER_MINUTE: '0',
    CARD_EVENTS_PER_MINUTE: '0',
  },
  ...{ MAX_UNPAID_ORDERS: '0', UNPAID_ORDERS_PER_ADDRESS: '0', BTC_NETWORK: 'regtest' },
};

/** Lightning orders on a server of their own. @throws when an acknowledged one is not there */
async function lightningOrders(
  folder: string,
  nodes: PaymentNodes,
  { connections, seconds }: CheckoutOptions,
): Promise<Load> {
  const storeFolder = join(folder, 'lightning', 'store');
  const server = await startFusegate({
    ...{ ...settings, STORE_URL: `lmdb:${storeFolder}`, LND_REST_URL: nodes.merchant.url },
    ...{ LND_TLS_CERT: nodes.merchant.certificatePath, LND_MACAROON_HEX: nodes.macaroon },
  });
  let load: Load;
  try {
    const run = { script: 'checkout.lua', path: '/', argument: 'lightning', connections, seconds };
    load = await runWrk(server, run);
  } finally {
    await server.stop();
  }
  const missing = load.requests - (await stored(storeFolder)).length;
  if (missing > 0) throw new Error(`${missing} acknowledged Lightning orders are not there`);
  return load;
}

async function onChain(
  folder: string,
  nodes: PaymentNodes,
  options: CheckoutOptions,
): Promise<Omit<Figures, 'lightning'>> {
  const { vectors } = JSON.parse(readFileSync('test/vectors/payments/bip84.json', 'utf8')) as {
    readonly vectors: readonly { readonly network: string; readonly account_public: string }[];
  };
  const storeFolder = join(folder, 'checkout', 'store');
  const server = await startFusegate({
    ...{ ...settings, STORE_URL: `lmdb:${storeFolder}` },
    BTC_XPUB: vectors.find(({ network }) => network !== 'mainnet')?.account_public ?? '',
    BTC_CHAIN: nodes.chain,
  });
  const run = { script: 'checkout.lua', path: '/', connections: options.connections };
  try {
    const orders = await runWrk(server, { ...run, seconds: options.seconds, argument: 'orders' });
    const known = await stored(storeFolder);
    checkOrders(known, orders);
    const list = join(folder, 'orders');
    writeFileSync(
      list,
      known
        .slice(0, SIZES.polled)
        .map(({ id }) => `/v1/checkout/btc/${id}\n`)
        .join(''),
    );
    const polls = await runWrk(server, { ...run, seconds: options.seconds, argument: list });
    let more = known.length;
    while (more < SIZES.watched) {
      const seconds = Math.ceil((SIZES.watched - more) / orders.requestsPerSecond);
      more += (await runWrk(server, { ...run, seconds, argument: 'orders' })).requests;
    }
    await pause(20_000); // What the load left to do.
    const before = server.cpuSeconds();
    await pause(SIZES.watchedSeconds * 1_000);
    const watching = (server.cpuSeconds() - before) / SIZES.watchedSeconds;
    const found: number[] = [];
    for (let count = 0; count < SIZES.payments; count += 1) found.push(await payment(server, nodes));
    const watched = (await stored(storeFolder)).filter(({ open }) => open).length;
    return { orders, polls, watched, watching, found };
  } finally {
    await server.stop();
  }
}

/** Runs it, prints and judges the figures, and writes the record; resolves to the exit code. */
export function benchCheckout(options: CheckoutOptions): Promise<number> {
  return withWrk(async (folder, startedAt) => {
    console.error('Starting btcd and LND (the first time they are built, which takes some minutes) …');
    const nodes = await PaymentNodes.start();
    try {
      const figures = await onChain(folder, nodes, options);
      const lightning = await lightningOrders(folder, nodes, options);
      return report(options, startedAt, { ...figures, lightning });
    } finally {
      await nodes.stop();
    }
  });
}

function report(options: CheckoutOptions, startedAt: Date, figures: Figures): number {
  const { orders, polls, lightning, watched, watching, found } = figures;
  const slowest = Math.max(...found);
  const verdicts = {
    orders: orders.requestsPerSecond >= TARGETS.orders,
    polls: polls.requestsPerSecond >= TARGETS.polls,
    watching: watched >= SIZES.watched && watching < TARGETS.watching,
    found: slowest <= TARGETS.found,
  };
  const judged = (name: keyof typeof TARGETS): string =>
    `[target ${TARGETS[name]}: ${verdicts[name] ? 'pass' : 'missed'}]`;
  const host = machine();
  const record = { startedAt: startedAt.toISOString(), machine: host, options, ...figures, verdicts };
  if (options.json) console.log(JSON.stringify(record, null, 2));
  else {
    console.log(`${figure(orders.requestsPerSecond)} on-chain orders a second  ${judged('orders')}`);
    console.log(`${figure(polls.requestsPerSecond)} polls a second  ${judged('polls')}`);
    console.log(`${figure(lightning.requestsPerSecond)} Lightning orders a second, as LND makes invoices`);
    console.log(
      `watching ${figure(watched)} orders takes ${(100 * watching).toFixed(1)} % of a core  ` +
        judged('watching'),
    );
    console.log(
      `a payment is found within ${slowest.toFixed(2)} s of the node's knowing it  ${judged('found')}`,
    );
  }
  if (options.record) {
    for (const file of writeRecord('checkout', startedAt, record, plot(host, figures))) {
      console.error(`Wrote ${file}`);
    }
  }
  return Object.values(verdicts).every((passed) => passed) ? 0 : 2;
}

function plot(host: ReturnType<typeof machine>, { orders, polls, lightning }: Figures): string {
  const row = (label: string, value: number) => ({
    label,
    values: [spread([value])],
    note: `${figure(value)}/s`,
  });
  return dotPlot({
    title: 'Orders through HTTP',
    subtitle: `One worker; btcd, LND and wrk on the same machine. ${host.cpu}, Node ${host.node.slice(1)}`,
    axis: 'per second (logarithmic)',
    series: ['rate'],
    rows: [
      row('POST /v1/checkout/btc', orders.requestsPerSecond),
      row('GET /v1/checkout/btc/{order_id}', polls.requestsPerSecond),
      row('POST /v1/checkout/lightning', lightning.requestsPerSecond),
    ],
  });
}
