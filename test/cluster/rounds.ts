/** Rounds of a cluster: one seed each, its schedule of faults under load, and the check afterwards. */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { leadsAfter } from '../../src/store/tables/leads.js';
import { whenUnavailable, type Store } from '../../src/store/store.js';
import { storeAt } from '../support/openStore.js';
import type { Databases } from './databases.js';
import { Cluster, foundIn, type ClusterOptions } from './cluster.js';
import { History, problemsOf } from './history.js';
import { Load } from './load.js';
import type { Machine } from './network.js';
import { faults, scheduleOf, type Fault, type Step } from './schedule.js';

/** What the command line may set. */
export interface RoundsOptions extends ClusterOptions {
  readonly seeds: number;
  readonly first: number;
  /** Faults of a schedule. */
  readonly steps: number;
  /** Kinds of faults; none: all. */
  readonly only: readonly Fault[];
  /** Rounds after which the cluster is made anew. */
  readonly fresh: number;
}

/** Longest time without an acknowledged write at a fault (ms). */
const mostSilentMs = 15_000;

/** How long writes may take to be acknowledged again before a round is given up (ms). */
const patienceMs = 90_000;

/** Writes that are acknowledged after a fault has begun, before it counts as overcome. */
const overcomeBy = 10;

/** Faults after which another machine leads. */
const replacing: ReadonlySet<Fault> = new Set([
  'kill the leader',
  'pause the leader',
  'cut off the leader',
  'cut the leader from the databases',
]);

/** Pause of the follower where it has seen everything (ms). */
const lookMs = 50;

/** Longest times without an acknowledged write by the kinds of faults (ms). */
type Silences = Map<Fault, number[]>;

/** Reads the log of leads from entry to entry, as fast as they come. */
class Follower {
  private isOver = false;
  private readonly going: Promise<void>;

  constructor(
    private readonly store: Store,
    private readonly history: History,
  ) {
    this.going = this.follow();
  }

  /** Ends it once it has seen what is there. */
  async stop(): Promise<void> {
    this.isOver = true;
    await this.going;
  }

  private async follow(): Promise<void> {
    for (;;) {
      const isLast = this.isOver;
      const before = this.history.followed.length;
      const isDone = await whenUnavailable(
        this.look().then(() => true),
        () => false,
      );
      if (isLast && isDone && this.history.followed.length === before) return;
      await pause(lookMs);
    }
  }

  private async look(): Promise<void> {
    const { followed } = this.history;
    for await (const { position, value } of leadsAfter(this.store, followed.at(-1)?.position ?? 0)) {
      followed.push({ position, name: value.id });
    }
  }
}

/** Time until a second look at a store in which something was wrong (ms). */
const settledMs = 30_000;

/** Interval at which {@link Operator} looks (ms), and how long no standby may read the leader's log. */
const operatorMs = 5_000;
const mostAloneMs = 60_000;

/**
 * What an operator does beside a schedule. Where two leaders wrote to one timeline (Patroni 3.0.2), no
 * standby goes on: its own log does not fit the leader's, and it asks for nothing. In strict synchronous mode
 * nothing is acknowledged then, until a standby is copied from the leader.
 */
class Operator {
  private readonly looks: NodeJS.Timeout;
  private aloneMs = 0;

  constructor(private readonly databases: Databases) {
    this.looks = setInterval(() => void this.look(), operatorMs);
  }

  stop(): void {
    clearInterval(this.looks);
  }

  private async look(): Promise<void> {
    this.aloneMs = (await this.databases.streaming()) === 0 ? this.aloneMs + operatorMs : 0;
    if (this.aloneMs < mostAloneMs) return;
    this.aloneMs = 0;
    console.log(`      no standby followed for a minute: ${await this.databases.copyStandby()} is copied`);
  }
}

/** Longest time without an acknowledged write from a time on (ms). */
function longestSilence(times: readonly number[], fromMs: number, toMs: number): number {
  const marks = [...times.filter((time) => time > fromMs && time < toMs), toMs];
  let [longest, last] = [0, fromMs];
  for (const time of marks) {
    longest = Math.max(longest, time - last);
    last = time;
  }
  return longest;
}

/** One cluster and the history of all rounds on it. */
class Trial {
  readonly history = new History();

  constructor(
    readonly cluster: Cluster,
    private readonly silences: Silences,
  ) {}

  /** Plays a seed's schedule; resolves to what is wrong. */
  async play(seed: number, { steps, only }: RoundsOptions): Promise<readonly string[]> {
    const { cluster, history } = this;
    const { nodes, lightning } = cluster;
    const store = await storeAt(nodes.storeUrl);
    const parts = { nodes: nodes.machines, balancer: nodes.balancer, history, lightning };
    const load = new Load({ ...parts, prefix: `s${seed}` });
    const follower = new Follower(store, history);
    const operator = new Operator(cluster.databases);
    try {
      for (const step of scheduleOf(seed, steps, only)) await this.take(step);
    } catch (error) {
      // What was acknowledged is looked for all the same.
      history.wrong.push(error instanceof Error ? error.message : String(error));
    }
    await load.stop();
    await follower.stop();
    const problems = problemsOf(history, await foundIn(store, history));
    await store.close();
    operator.stop();
    if (problems.length > 0) await this.lookAgain(problems.length);
    return problems;
  }

  /** Tells lost writes from a look at a database that had fallen behind: a later look finds those. */
  private async lookAgain(before: number): Promise<void> {
    const { cluster, history } = this;
    console.log(`    members: ${JSON.stringify(await cluster.databases.members())}`);
    await pause(settledMs);
    const store = await storeAt(cluster.nodes.storeUrl);
    const problems = problemsOf(history, await foundIn(store, history));
    await store.close();
    console.log(`    ${before} wrong at the first look, ${problems.length} ${settledMs / 1_000} s later`);
  }

  /** Lets a fault come and go. */
  private async take(step: Step): Promise<void> {
    const { cluster, history } = this;
    await this.written(step.after);
    // Without a synchronous standby nobody may take a lost leader's place, so that no write is due.
    await cluster.whole();
    const machine = await cluster.machineOf(step.fault, step.node);
    const standby = (await cluster.databases.standby())?.name ?? 'none';
    const beganMs = performance.now();
    const ends = [cluster.begin(step.fault, machine)];
    let endedMs = beganMs;
    let leads = 'none';
    try {
      if (step.second !== undefined) {
        const other = await cluster.machineOf(step.second, step.node);
        ends.push(cluster.begin(step.second, other));
      }
      const beside = step.second === undefined ? '' : `, and ${step.second}`;
      console.log(`    ${step.fault} (${machine.name}; standby ${standby})${beside}`);
      await this.overcome(step, machine);
      await pause(Math.max(0, step.lastsMs - (performance.now() - beganMs)));
      endedMs = performance.now();
      leads = (await cluster.databases.leader())?.name ?? 'none';
    } finally {
      for (const end of ends.reverse()) end();
    }
    await cluster.whole();
    await this.written(overcomeBy);
    const silentMs = longestSilence(history.acknowledgedMs, beganMs, endedMs);
    const all = this.silences.get(step.fault) ?? [];
    this.silences.set(step.fault, [...all, silentMs]);
    const whole = Math.round((performance.now() - endedMs) / 1_000);
    const silence = `no write for ${(silentMs / 1_000).toFixed(1)} s`;
    console.log(`      ${silence}; ${leads} led then; whole ${whole} s after its end`);
  }

  /** Resolves when a cluster works on in spite of a fault, as far as it has to. */
  private async overcome({ fault }: Step, machine: Machine): Promise<void> {
    const { cluster, history } = this;
    const { refused } = history;
    if (faults[fault] === 'writes') {
      if (replacing.has(fault)) await this.replaced(machine);
      await this.written(overcomeBy);
    } else if (fault.startsWith('cut')) {
      await cluster.waitFor(() => history.refused > refused + overcomeBy, patienceMs);
    }
  }

  /** Resolves when so many more writes are acknowledged. */
  private written(count: number): Promise<void> {
    const { acknowledgedMs } = this.history;
    const before = acknowledgedMs.length;
    return this.cluster.waitFor(() => acknowledgedMs.length >= before + count, patienceMs);
  }

  /** Resolves when another machine leads. */
  private async replaced(leader: Machine): Promise<void> {
    const { databases } = this.cluster;
    await this.cluster.waitFor(async () => {
      const found = await databases.leaderBesides(leader);
      return found !== undefined;
    }, patienceMs);
  }
}

/** Plays the rounds; resolves to the exit code. */
export async function runRounds(folder: string, options: RoundsOptions): Promise<number> {
  const silences: Silences = new Map();
  let trial: Trial | undefined;
  let failed = 0;
  for (let round = 0; round < options.seeds; round += 1) {
    const seed = options.first + round;
    if (round % options.fresh === 0 && trial !== undefined) {
      trial.cluster.stop();
      trial = undefined;
    }
    const began = performance.now();
    trial ??= new Trial(await Cluster.start(join(folder, String(round)), options), silences);
    console.log(`seed ${seed}`);
    const { history } = trial;
    const told = [history.leads.size, history.receipts.size, history.orders.size] as const;
    const problems = await trial.play(seed, options);
    for (const problem of problems.slice(0, 20)) console.log(`    WRONG: ${problem}`);
    failed += problems.length > 0 ? 1 : 0;
    const seconds = Math.round((performance.now() - began) / 1_000);
    const counts = `${history.leads.size - told[0]} leads, ${history.receipts.size - told[1]} fragments, `;
    console.log(
      `    ${counts}${history.orders.size - told[2]} orders; ${problems.length} wrong; ${seconds} s`,
    );
    // What is wrong in a history stays wrong: the next seed gets a cluster of its own.
    if (problems.length > 0) {
      trial.cluster.stop();
      trial = undefined;
    }
    if (trial !== undefined) console.log(`    ${soFar(history)}`);
  }
  trial?.cluster.stop();
  report(options.seeds, failed, silences);
  return failed === 0 ? 0 : 1;
}

function soFar({ refused, unanswered, fused, staleReads, acknowledgedMs }: History): string {
  const told = `${acknowledgedMs.length} leads acknowledged, ${refused} answers 503 with Retry-After`;
  const others = `${unanswered} requests without an answer of a node`;
  return `on this cluster: ${told}, ${others}, ${fused} fused, ${staleReads} stale reads`;
}

function report(seeds: number, failed: number, silences: Silences): void {
  console.log(
    `${seeds} schedules, ${failed} with something wrong. Longest time without an acknowledged write:`,
  );
  for (const [fault, times] of silences) {
    const longest = Math.max(...times);
    const verdict = faults[fault] === 'nothing' || longest < mostSilentMs ? '' : '  longer than 15 s';
    console.log(`  ${fault}: ${(longest / 1_000).toFixed(1)} s at most, ${times.length} times${verdict}`);
  }
}
