/** Time that is waited before a process takes the place of one that crashed. */

/** A process that lived shorter than this crashed at once (ms). */
export const quickCrashMs = 10_000;
const firstDelayMs = 100;
const longestDelayMs = 30_000;

/** Time that after the `n`-th quick crash in a row the next process starts (ms): doubling, at most 30 s. */
export function restartDelayMs(quickCrashes: number): number {
  return quickCrashes === 0 ? 0 : Math.min(firstDelayMs * 2 ** (quickCrashes - 1), longestDelayMs);
}
