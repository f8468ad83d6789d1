/**
 * Priority of processes that start while others serve. A start takes a second of CPU (code is read and
 * compiled), which requests to the running server must not wait for: so a worker that takes over from another
 * starts at a lower priority and has the usual one again before it serves.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

/** By how much the niceness is raised for a start: a quarter of a busy core. */
const startNiceness = 5;

/** Greatest niceness of Linux. */
const mostNiceness = 19;

/** The capability CAP_SYS_NICE, by its bit. */
const mayLowerNiceness = 1n << 23n;

/** True if a process with these files of /proc may go back to a niceness (setpriority(2)). */
export function mayGoBack(status: string, limits: string, niceness: number): boolean {
  const capabilities = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0';
  if ((BigInt(`0x${capabilities}`) & mayLowerNiceness) !== 0n) return true;
  const limit = /^Max nice priority\s+(\d+|unlimited)/m.exec(limits)?.[1] ?? '0';
  return limit === 'unlimited' || Number(limit) >= mostNiceness + 1 - niceness;
}

/**
 * Starts a process at a lower priority, if this system lets it have its own back later. `start` gets the
 * niceness to go back to with {@link goBackTo}; undefined: the process starts as any other.
 */
export function startLowered<Started>(start: (niceness: number | undefined) => Started): Started {
  const niceness = ownNiceness();
  if (niceness === undefined) return start(undefined);
  // On Linux this is the niceness of this thread, and of all threads of a process that it starts.
  setPriority(Math.min(mostNiceness, niceness + startNiceness));
  try {
    return start(niceness);
  } finally {
    setPriority(niceness);
  }
}

/** The niceness of this thread; undefined if it could not have it back. */
function ownNiceness(): number | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    const [status, limits] = [
      readFileSync('/proc/self/status', 'utf8'),
      readFileSync('/proc/self/limits', 'utf8'),
    ];
    const niceness = getPriority();
    return mayGoBack(status, limits, niceness) ? niceness : undefined;
  } catch {
    // A system without /proc.
    return undefined;
  }
}

/** Gives all threads of this process a niceness, those that they start later too. */
export function goBackTo(niceness: number | undefined): void {
  if (niceness === undefined) return;
  // This thread first: one that it starts during the listing has the right one.
  setPriority(niceness);
  for (const thread of readdirSync('/proc/self/task')) {
    try {
      setPriority(Number(thread), niceness);
    } catch {
      // It has ended meanwhile.
    }
  }
}
