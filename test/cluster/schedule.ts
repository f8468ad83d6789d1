/** Schedules of faults: the same for the same seed. */
import { Dice } from '../support/world.js';

/** Faults, and what of a cluster is left to serve while they last. */
export const faults = {
  /** Every process of the leader's machine is killed at one stroke. */
  'kill the leader': 'writes',
  /** PostgreSQL alone is killed, and Patroni sees it. */
  "kill the leader's PostgreSQL": 'writes',
  /** Every process of the machine stops, and goes on later from where it was. */
  'pause the leader': 'writes',
  /** Nothing passes to or from the leader's machine. */
  'cut off the leader': 'writes',
  /** The leader loses the other two databases, and the nodes still reach it. */
  'cut the leader from the databases': 'writes',
  /** The way to the leader carries 30 kB a second and loses the rest. */
  'slow the way to the leader': 'nothing',
  'kill the standby': 'writes',
  'pause the standby': 'writes',
  'cut off the standby': 'writes',
  /** One etcd of three. */
  "kill the leader's etcd": 'writes',
  'kill a node': 'writes',
  'pause a node': 'writes',
  'cut a node from the databases': 'writes',
  /** No majority is left: the leader gives up, and nothing is written. */
  'cut all databases from each other': 'nothing',
} as const;

/** A kind of fault. */
export type Fault = keyof typeof faults;

/** One step of a schedule. */
export interface Step {
  readonly fault: Fault;
  /** Which node it is about, where it is about one. */
  readonly node: number;
  /** Writes that are acknowledged before it begins. */
  readonly after: number;
  /** How long it lasts at least (ms). */
  readonly lastsMs: number;
  /** A second fault that begins while the first goes on. */
  readonly second: Fault | undefined;
}

/** Faults that may come beside another: those that take none of the databases. */
const besides: readonly Fault[] = ['kill a node', 'pause a node', 'cut a node from the databases'];

/** The schedule of a seed. */
export function scheduleOf(seed: number, steps: number, only: readonly Fault[] = []): readonly Step[] {
  const dice = new Dice(seed);
  const kinds = only.length > 0 ? only : (Object.keys(faults) as Fault[]);
  return Array.from({ length: steps }, () => {
    const fault = dice.pick(kinds);
    const node = dice.below(3);
    const after = 20 + dice.below(60);
    const lastsMs = 500 + dice.below(5_500);
    const isDouble = dice.happens(0.25) && !besides.includes(fault);
    const second = dice.pick(besides);
    return { fault, node, after, lastsMs, second: isDouble ? second : undefined };
  });
}
