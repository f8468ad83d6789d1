/** Delay before a crashed process is replaced. */

/** A process that lived less than this crashed quickly (ms). */
export const quickCrashMs = 10_000;
const firstDelayMs = 100;
const longestDelayMs = 30_000;

/** Delay after the `n`-th quick crash in a row (ms): it doubles, up to 30 s. */
export function restartDelayMs(quickCrashes: number): number {
  return quickCrashes === 0 ? 0 : Math.min(firstDelayMs * 2 ** (quickCrashes - 1), longestDelayMs);
}
