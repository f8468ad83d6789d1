/** Stores for the tests: opened by URL as a server opens them, with a silent log. */
import { openStore, parseStoreUrl } from '../../src/store/open.js';
import type { Engine, StoreParts } from '../../src/store/engine.js';
import type { Store } from '../../src/store/store.js';
import { unitIds } from '../../src/store/unitId.js';
import { systemClock } from '../../src/system/clock.js';
import { systemRandomness } from '../../src/system/randomness.js';

const quiet = { error: () => undefined, warn: () => undefined, info: () => undefined };

/** The machine's clock and randomness, and no log. */
export const testParts: StoreParts = { clock: systemClock, randomness: systemRandomness, log: quiet };

/** Makes unit ids. */
export const newUnitId = unitIds(systemClock, systemRandomness);

/** Opens a store; fails when it cannot be opened. */
export function storeAt(url: string): Promise<Store> {
  return openStore(url, testParts);
}

/** Opens an engine; fails when it cannot be opened. */
export async function engineAt(url: string, more: Partial<StoreParts> = {}): Promise<Engine> {
  const parsed = parseStoreUrl(url);
  if ('wrong' in parsed) throw new Error(parsed.wrong);
  return parsed.location.open({ ...testParts, ...more });
}
