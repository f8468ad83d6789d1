/**
 * Lowers the priority of processes that start while others serve. A start takes a second of CPU, to read and
 * compile code, and must not delay the requests of the running server. So a worker that takes over from
 * another starts at a lower priority, and returns to the usual one before it serves.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';

/** Increase of the niceness for a start, which then gets a quarter of a busy core. */
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

/** True if a process with these rights may return to a niceness (setpriority(2), user_namespaces(7)). */
export function mayGoBack({ status, limits, uid_map: users }: Rights, niceness: number): boolean {
  const capabilities = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0';
  // In a user namespace other than the initial one, such as a container's, the capability has no effect here.
  const isFirst = /^\s*0\s+0\s+4294967295\s*$/.test(users);
  if (isFirst && (BigInt(`0x${capabilities}`) & mayLowerNiceness) !== 0n) return true;
  const limit = /^Max nice priority\s+(\d+|unlimited)/m.exec(limits)?.[1] ?? '0';
  return limit === 'unlimited' || Number(limit) >= mostNiceness + 1 - niceness;
}

/**
 * Starts a process at a lower priority, if the system allows that and allows a return to the present one.
 * `start` gets the niceness to return to with {@link goBackTo}; undefined: the priority is not lowered.
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
    // On Linux this sets the niceness of this thread alone; a process that it starts inherits it.
    setPriority(Math.min(mostNiceness, niceness + startNiceness));
    return true;
  } catch {
    // The rights do not show a seccomp filter, which a container or a service manager may set.
    return false;
  }
}

/** The niceness of this thread; undefined if the thread could not return to it. */
function ownNiceness(): number | undefined {
  if (process.platform !== 'linux') return undefined;
  const read = (name: keyof Rights): string => readFileSync(`/proc/self/${name}`, 'utf8');
  try {
    const rights = { status: read('status'), limits: read('limits'), uid_map: read('uid_map') };
    const niceness = getPriority();
    return mayGoBack(rights, niceness) ? niceness : undefined;
  } catch {
    // There is no /proc, or the process may not read its priority.
    return undefined;
  }
}

/**
 * Sets the niceness of all threads of this process, if one is given; threads that start later inherit it.
 * @throws Error if the system does not allow it
 */
export function goBackTo(niceness: number | undefined): void {
  if (niceness !== undefined) giveAll(niceness);
}

/** Sets the niceness of all threads of this process; threads that start later inherit it. */
function giveAll(niceness: number): void {
  // A thread started meanwhile may have inherited the old niceness: repeats until a listing needs no change.
  for (let left = mostListings; left > 0; left -= 1) {
    const threads = readdirSync('/proc/self/task').map(Number);
    if (threads.filter((thread) => changed(thread, niceness)).length === 0) return;
  }
}

/** Gives this thread, and those that it starts later, the lowest priority, if the system allows it. */
export function takeLowestPriority(): void {
  try {
    setPriority(constants.priority.PRIORITY_LOW);
  } catch {
    // A seccomp filter forbids it: the priority stays as it is.
  }
}

/**
 * Lowers the priority of this process for good: a command that works beside a server. If the system does not
 * allow it, the priority stays as it is.
 */
export function lowerPriority(): void {
  if (process.platform !== 'linux') return;
  try {
    giveAll(Math.min(mostNiceness, getPriority() + startNiceness));
  } catch {
    // There is no /proc, or a seccomp filter forbids it.
  }
}

/** Sets a thread's niceness; false if the thread already had it, or has ended. */
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
