/**
 * What a request costs a server: processor time of all its threads, the time for which its event loop is held
 * up, and memory. Measured from outside, on a server with one worker and without limits by address. Linux.
 */
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { post, RawClient, type RawResponse } from '../support/raw.js';
import type { PingOrder, PingParts } from './pingThread.js';
import { processesOf, startWorld, type World } from './world.js';

/** What a request costs. */
export interface Cost {
  /** Processor time of all threads of the worker (ms). */
  readonly cpuMs: number;
  /** The longest that its event loop answered nobody else (ms). */
  readonly loopMs: number;
  /** Memory that it took at most beyond what it had before (bytes). */
  readonly memory: number;
  readonly bytes: number;
  readonly answerBytes: number;
  readonly status: number;
}

/** Most that a request may cost: CPU by its bytes, the loop, memory by its bytes and its answer's. */
export const most = {
  cpuMs: (bytes: number, mibMs = 100) => 5 + (mibMs * bytes) / (1 << 20),
  loopMs: 5,
  memory: (bytes: number, answerBytes: number) => 4 * bytes + 2 * answerBytes + memoryNoise,
} as const;

/** Memory that a collector of garbage leaves lying about, whatever is asked (bytes). */
const memoryNoise = 24 << 20;

/**
 * The most that a request costs in parts of what it may. `byBytes`: its processor time is judged, too, of
 * which a MiB may take `mibMs`.
 * `mostLoopMs`: the loop's time is longer while others run, so a busy machine needs another bound.
 */
export function shareOf(
  { cpuMs, loopMs, memory, bytes, answerBytes }: Cost,
  { byBytes, mibMs }: { readonly byBytes: boolean; readonly mibMs?: number | undefined },
  mostLoopMs: number = most.loopMs,
): number {
  const others = Math.max(loopMs / mostLoopMs, memory / most.memory(bytes, answerBytes));
  return byBytes ? Math.max(cpuMs / most.cpuMs(bytes, mibMs), others) : others;
}

/** True where the kernel says how long each thread has run. */
export const canMeasure = existsSync('/proc/self/schedstat');

/** Limits by address, which would refuse what is measured. */
const unlimited = [
  ...['AUDITS', 'CARD_EVENTS', 'CHECKOUT_REQUESTS', 'CLICKS', 'DOOR_SUBMISSIONS', 'EXPLORATIONS'],
  ...['HARVEST_MARKERS', 'LEADS', 'PAGES', 'POLLS', 'PREVIEWS'],
].map((name) => [`${name}_PER_MINUTE`, '0'] as const);

const environment = {
  ...Object.fromEntries(unlimited),
  STORED_KB_PER_MINUTE: '0',
  MAX_UNPAID_ORDERS: '0',
  UNPAID_ORDERS_PER_ADDRESS: '0',
  WORKERS: '1',
};

/** Fragments of the server that is measured, for the routes that explore: half of them as long as may be. */
const fragments = 2_000;

/** Reads processor time of every thread of a process (ms), by thread. */
function threadTimes(pid: number): Map<string, number> {
  const times = new Map<string, number>();
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      const [ran = '0'] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ');
      times.set(thread, Number(ran) / 1e6);
    } catch {
      // The thread has ended.
    }
  }
  return times;
}

function spent(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const [thread, ms] of after) sum += ms - (before.get(thread) ?? 0);
  return sum;
}

function statusBytes(pid: number, name: string): number {
  const [, kB = '0'] =
    new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kB) * 1024;
}

/** The least of each figure of two tries of a request; the rest is the second one's. */
export function leastOf(one: Cost, other: Cost): Cost {
  return {
    ...other,
    cpuMs: Math.min(one.cpuMs, other.cpuMs),
    loopMs: Math.min(one.loopMs, other.loopMs),
    memory: Math.min(one.memory, other.memory),
  };
}

/** A server whose costs are measured. */
export class CostServer {
  private client: RawClient | undefined;

  private constructor(
    private readonly world: World,
    private readonly worker: number,
    private readonly pinger: Worker,
  ) {}

  static async start(): Promise<CostServer> {
    const world = await startWorld(environment);
    const isWorker = (pid: number): boolean =>
      readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes('worker');
    const worker = processesOf(world.server.pid).find(isWorker);
    if (worker === undefined) throw new Error('the server has no worker');
    const workerData: PingParts = { port: world.port };
    const pinger = new Worker(new URL('./pingThread.js', import.meta.url), { workerData });
    const server = new CostServer(world, worker, pinger);
    try {
      await server.fill();
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  }

  get key(): string {
    return this.world.key;
  }

  /** The least of so many tries, of each figure: whatever else the machine does only adds to it. */
  async cost(request: Buffer, bytes: number, tries = 3): Promise<Cost> {
    let least: Cost | undefined;
    for (let round = 0; round < tries; round += 1) {
      const { answer, cpuMs, ownMs, memory } = await this.measure(request);
      // Others who use the cores lengthen the one, and further turns the other.
      const loopMs = Math.min(ownMs, await this.holdUp(request));
      const cost = { cpuMs, loopMs, memory, bytes, answerBytes: answer.body.length, status: answer.status };
      least = least === undefined ? cost : leastOf(least, cost);
    }
    if (least === undefined) throw new Error('no try');
    return least;
  }

  async stop(): Promise<void> {
    this.client?.destroy();
    await this.pinger.terminate();
    await this.world.stop();
  }

  private async ask(request: Buffer): Promise<RawResponse> {
    if (this.client?.closed === true) this.client = undefined;
    this.client ??= await RawClient.open(this.world.port);
    const answer = await this.client.send(request).response();
    if (answer.headers.get('connection') === 'close') {
      this.client.destroy();
      this.client = undefined;
    }
    return answer;
  }

  /** Processor time of all threads, and the event loop's own, and memory. */
  private async measure(
    request: Buffer,
  ): Promise<{ answer: RawResponse; cpuMs: number; ownMs: number; memory: number }> {
    const { worker } = this;
    // Forgets the most that it ever had (proc(5)).
    writeFileSync(`/proc/${worker}/clear_refs`, '5');
    const had = statusBytes(worker, 'VmRSS');
    const before = threadTimes(worker);
    const answer = await this.ask(request);
    const after = threadTimes(worker);
    const [own = 0, owned = 0] = [before, after].map((times) => times.get(String(worker)));
    return {
      answer,
      cpuMs: spent(before, after),
      ownMs: owned - own,
      memory: Math.max(0, statusBytes(worker, 'VmHWM') - had),
    };
  }

  /** How long the event loop answers nobody else while it answers a request (ms). */
  private async holdUp(request: Buffer): Promise<number> {
    await this.order('begin');
    await this.ask(request);
    return this.order('end');
  }

  private async order(order: PingOrder): Promise<number> {
    const told = once(this.pinger, 'message');
    this.pinger.postMessage(order);
    const [longestMs] = (await told) as [number];
    return longestMs;
  }

  private async fill(): Promise<void> {
    const content = 'A red bike with a lock, and the road that it takes. '.repeat(20);
    const longest = '😀'.repeat(1_990);
    for (let from = 0; from < fragments; from += 40) {
      const text = from < fragments / 2 ? longest : content;
      const markers = Array.from({ length: 40 }, (_, at) => {
        const fragment = { title: `bike ${from + at}`, content: `${text}${from + at}`, mechanism: 'm' };
        return `<<SHARD>>${JSON.stringify(fragment)}<</SHARD>>`;
      });
      const body = JSON.stringify({ text: markers.join(''), mind: 'census' });
      const answer = await this.ask(post('/harvest', body, { 'Content-Type': 'application/json' }));
      if (answer.status !== 200) throw new Error(answer.body.toString());
    }
  }
}
