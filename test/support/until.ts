/** The tests' only way to wait: for an event that nothing announces. */
import { setTimeout as pause } from 'node:timers/promises';

/**
 * Longest that tests wait for what should happen (ms): only a defect takes it, also where a process of low
 * priority gets little time on a busy machine.
 */
export const patientMs = 300_000;

/** Waits until a condition holds; fails after `timeoutMs`. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  timeoutMs = patientMs,
): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`not within ${timeoutMs} ms: ${condition.toString()}`);
    await pause(10);
  }
}
