/**
 * `npm run test:attack`: plays attacks on a server with its defaults while a paying customer's requests go on
 * and buyers order, prints what came of each, and fails where a bound is passed. `--seconds <n>`: how long
 * each attack goes on (60). `--only <names>`: those whose name has one of these, by commas. `--short`: one
 * round of each; what depends on the machine and on what else runs there (latency, growth by the day) is then
 * shown and not judged.
 */
import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { attacks, validLoad } from './attacks.js';
import type { CustomerParts, Seen } from './customer.js';
import type { Attack, Outcome } from './flood.js';
import { idleConnections } from './idle.js';
import { diskOf, startWorld, type World } from './world.js';

/** Most memory of all processes while attacked (bytes). */
const mostMemory = 1_500_000_000;

/** Most that a day of an attack may add to the disk and to the log (bytes). */
const mostDiskDay = 1e9;
const mostLogDay = 10e6;

/** Most that one round of an attack may add to the disk and to the log, where no day is reckoned (bytes). */
const mostDiskRound = 12e6;
const mostLogRound = 20_000;

const daySeconds = 86_400;

const { values } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '60' },
    only: { type: 'string', default: '' },
  },
});
const isShort = values.short;
const seconds = isShort ? 0 : Number(values.seconds);

/** One line of the table. */
interface Row extends Outcome {
  readonly name: string;
}

function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

const p99 = ({ small }: Seen): number => percentile(small.tookMs, 0.99);

/** Those who are served meanwhile. */
class Customer {
  private readonly worker: Worker;

  constructor({ port, key, server }: World) {
    const workerData: CustomerParts = { port, key, pid: server.pid };
    this.worker = new Worker(new URL('customer.js', import.meta.url), { workerData });
    this.worker.on('error', (error) => {
      throw error;
    });
  }

  /** What they have seen since the last time. */
  take(): Promise<Seen> {
    return new Promise((resolve) => {
      this.worker.once('message', resolve);
      this.worker.postMessage('take');
    });
  }

  async end(): Promise<void> {
    await this.worker.terminate();
  }
}

/** Rounds of an attack until its time is over; of each figure the worst. */
async function rounds(world: World, { play }: Attack, halfTime: () => void): Promise<Outcome[]> {
  const worst = new Map<string, Outcome>();
  const begunMs = performance.now();
  let isSecondHalf = false;
  do {
    for (const outcome of await play(world)) {
      const before = worst.get(outcome.what);
      if (before === undefined || outcome.figure > before.figure) worst.set(outcome.what, outcome);
    }
    if (!isSecondHalf && performance.now() - begunMs > seconds * 500) {
      isSecondHalf = true;
      halfTime();
    }
  } while (performance.now() - begunMs < seconds * 1_000);
  return [...worst.values()];
}

/** The longest that a customer may wait in one of a hundred requests (ms). */
interface Patience {
  readonly idleMs: number;
  readonly sharedMs: number;
}

/** Plays one attack, and says what it did to everybody else. */
async function attacked(
  world: World,
  customer: Customer,
  attack: Attack,
  { idleMs, sharedMs }: Patience,
): Promise<Row[]> {
  const { server, data } = world;
  await customer.take();
  const disk = { before: diskOf(data), half: 0 };
  const logBefore = server.output.length;
  const begunMs = performance.now();
  let halfMs = begunMs;
  const outcomes = await rounds(world, attack, () => {
    disk.half = diskOf(data);
    halfMs = performance.now();
  });
  await pause(300);
  const tookS = (performance.now() - begunMs) / 1_000;
  const seen = await customer.take();
  const after = diskOf(data);
  const log = server.output.length - logBefore;
  // A bucket that was full when the attack began is no part of what it may take from day to day.
  const halfS = (performance.now() - halfMs) / 1_000;
  const diskDay = ((after - disk.half) / halfS) * daySeconds;
  for (const note of seen.notes) console.error(`  ${note}`);
  const { small, large, orders, ready } = seen;
  const rows: Outcome[] = [
    ...outcomes,
    { what: `customer's small requests refused, of ${small.asked}`, figure: small.refused, bound: 0 },
    { what: `customer's 1.4 MB requests refused, of ${large.asked}`, figure: large.refused, bound: 0 },
    { what: `buyers' orders refused, of ${orders.asked}`, figure: orders.refused, bound: 0 },
    {
      what: `/ready said no, of ${ready.asked}`,
      figure: ready.refused,
      // A busy disk may hold up one look for longer than /ready waits.
      bound: isShort ? Math.ceil(ready.asked / 10) : 0,
    },
    {
      what: `ms of the customer's requests, 99 % (idle ${idleMs.toFixed(1)}, shared ${sharedMs.toFixed(1)})`,
      figure: Math.round(p99(seen) * 10) / 10,
      bound: isShort ? Infinity : Math.round(5 * idleMs + sharedMs),
    },
    { what: 'MB of all processes, most', figure: Math.round(seen.memory / 1e6), bound: mostMemory / 1e6 },
    isShort
      ? { what: 'bytes more on the disk', figure: after - disk.before, bound: mostDiskRound }
      : { what: 'MB a day on the disk', figure: Math.round(diskDay / 1e6), bound: mostDiskDay / 1e6 },
    isShort
      ? { what: 'bytes of log', figure: log, bound: mostLogRound }
      : {
          what: 'MB a day of log',
          figure: Math.round(((log / tookS) * daySeconds) / 1e5) / 10,
          bound: mostLogDay / 1e6,
        },
  ];
  console.error(`${attack.name}: ${tookS.toFixed(1)} s`);
  return rows.map((row) => ({ name: attack.name, ...row }));
}

/** How long the customer waits where nobody attacks, and where others send what he sends. */
async function measured(world: World, customer: Customer): Promise<Patience> {
  await pause(1_000);
  await customer.take();
  await pause(isShort ? 2_000 : 15_000);
  const idleMs = p99(await customer.take());
  const endMs = performance.now() + (isShort ? 0 : 15_000);
  do await validLoad(world);
  while (performance.now() < endMs);
  return { idleMs, sharedMs: p99(await customer.take()) };
}

let missed = 0;

function print(rows: readonly Row[]): void {
  for (const { name, what, figure, bound } of rows) {
    const held = figure <= bound;
    missed += held ? 0 : 1;
    const most = bound === Infinity ? '' : `<= ${bound.toLocaleString('en')}`;
    const verdict = bound === Infinity ? '' : held ? 'held' : 'PASSED';
    const cells = [
      name.padEnd(16),
      what.padEnd(70),
      figure.toLocaleString('en').padStart(11),
      most.padStart(13),
    ];
    console.log(`${cells.join(' ')}  ${verdict}`);
  }
}

const world = await startWorld();
const customer = new Customer(world);
const patience = await measured(world, customer);
const names = values.only.split(',');
for (const attack of attacks.filter(({ name }) => names.some((part) => name.includes(part)))) {
  // As each is over: what was seen stays where a later one ends the program.
  print(await attacked(world, customer, attack, patience));
}
await customer.end();
await world.stop();
if (!isShort && values.only === '') print(await idleConnections());
console.log(`${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1) ?? ''} at the end`);
process.exitCode = missed === 0 ? 0 : 1;
