/**
 * Priority of processes that start while others serve. A start takes a second of CPU (code is read and
 * compiled), which requests to the running server must not wait for: so a worker that takes over from another
 * starts at a lower priority and has the usual one again before it serves.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';

/** By how much the niceness is raised for a start: a quarter of a busy core. */
const startNiceness = 5;

/** Greatest niceness of Linux. */
const mostNiceness = 19;

/** Most listings of a process's threads; two are enough unless threads are started meanwhile. */
const mostListings = 100;

/** The capability CAP_SYS_NICE, by its bit. */
const mayLowerNiceness = 1n << 23n;

/** Files of /proc/self that say what a process may do. */
export interface Rights {
  readonly status: string;
  readonly limits: string;
  readonly uid_map: string;
}

/** True if a process with these rights may go back to a niceness (setpriority(2), user_namespaces(7)). */
export function mayGoBack({ status, limits, uid_map: users }: Rights, niceness: number): boolean {
  const capabilities = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0';
  // A capability in another namespace than the first, such as a container's, is none over priorities.
  const isFirst = /^\s*0\s+0\s+4294967295\s*$/.test(users);
  if (isFirst && (BigInt(`0x${capabilities}`) & mayLowerNiceness) !== 0n) return true;
  const limit = /^Max nice priority\s+(\d+|unlimited)/m.exec(limits)?.[1] ?? '0';
  return limit === 'unlimited' || Number(limit) >= mostNiceness + 1 - niceness;
}

/**
 * Starts a process at a lower priority, if this system allows that and lets it have its own back later.
 * `start` gets the niceness to go back to with {@link goBackTo}; undefined: the process starts as any other.
 */
export function startLowered<Started>(start: (niceness: number | undefined) => Started): Started {
  const niceness = ownNiceness();
  if (niceness === undefined || !isLowered(niceness)) return start(undefined);
  try {
    return start(niceness);
  } finally {
    setPriority(niceness);
  }
}

/** Lowers the priority of this thread; false if the system does not allow it. */
function isLowered(niceness: number): boolean {
  try {
    // On Linux this is the niceness of this thread, and of all threads of a process that it starts.
    setPriority(Math.min(mostNiceness, niceness + startNiceness));
    return true;
  } catch {
    // Rights say nothing of a filter of system calls, which a container or a service manager may set.
    return false;
  }
}

/** The niceness of this thread; undefined if it could not have it back. */
function ownNiceness(): number | undefined {
  if (process.platform !== 'linux') return undefined;
  const read = (name: keyof Rights): string => readFileSync(`/proc/self/${name}`, 'utf8');
  try {
    const rights = { status: read('status'), limits: read('limits'), uid_map: read('uid_map') };
    const niceness = getPriority();
    return mayGoBack(rights, niceness) ? niceness : undefined;
  } catch {
    // A system without /proc, or one that does not let a process ask for its priority.
    return undefined;
  }
}

/**
 * Gives all threads of this process a niceness, those that they start later too.
 * @throws Error if the system does not allow it
 */
export function goBackTo(niceness: number | undefined): void {
  if (niceness !== undefined) giveAll(niceness);
}

/** Gives all threads of this process a niceness, those that they start later too. */
function giveAll(niceness: number): void {
  // A thread that starts another meanwhile gives it its own niceness: the last listing must find none.
  for (let left = mostListings; left > 0; left -= 1) {
    const threads = readdirSync('/proc/self/task').map(Number);
    if (threads.filter((thread) => changed(thread, niceness)).length === 0) return;
  }
}

/** Gives this thread, and those that it starts later, the lowest priority, where the system allows it. */
export function takeLowestPriority(): void {
  try {
    setPriority(constants.priority.PRIORITY_LOW);
  } catch {
    // A filter of system calls: the usual priority then.
  }
}

/**
 * Lowers the priority of this process, which is a command that works beside a server, for good. Where the
 * system does not allow it, the process keeps its own.
 */
export function lowerPriority(): void {
  if (process.platform !== 'linux') return;
  try {
    giveAll(Math.min(mostNiceness, getPriority() + startNiceness));
  } catch {
    // A system without /proc, or a filter of system calls.
  }
}

/** Gives a thread a niceness; false if it had it, or has ended. */
function changed(thread: number, niceness: number): boolean {
  try {
    if (getPriority(thread) === niceness) return false;
    setPriority(thread, niceness);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).errno === -constants.errno.ESRCH) return false;
    throw error;
  }
}
