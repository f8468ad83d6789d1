/** The one wait of the tests: for an event that nothing announces. */
import { setTimeout as pause } from 'node:timers/promises';

/** Waits until a condition holds; fails after `timeoutMs`. */
export async function until(condition: () => boolean | Promise<boolean>, timeoutMs = 120_000): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`not within ${timeoutMs} ms: ${condition.toString()}`);
    await pause(10);
  }
}
