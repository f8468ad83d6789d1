/** `GET /ready`: whether requests can be served, and why not. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { jsonAnswer } from '../contract/answer.js';
import type { Handler } from '../contract/exchange.js';
import type { ReadyCheck, ReadyResponse } from '../contract/info.js';
import type { Store } from '../store/store.js';
import type { Clock } from '../system/clock.js';

/** One thing that readiness depends on. */
export interface ReadinessCheck {
  readonly name: string;
  /** What is wrong, as a sentence for the operator; null when nothing is. */
  readonly run: () => Promise<string | null> | string | null;
}

/** A file can be written in the data folder: also a full or read-only disk fails it. */
export function dataFolderCheck(folder: string): ReadinessCheck {
  const probe = join(folder, `.ready-${process.pid}`);
  const run = async () => {
    try {
      await writeFile(probe, 'ready\n');
      await rm(probe);
      return null;
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
      return `The data folder cannot be written (${code}).`;
    }
  };
  return { name: 'data_folder', run };
}

/** For how long the outcome of a look at the store is told again (ms): it costs a synced write. */
const probeMs = 1_000;

/** A record can be written to the store and synced. */
export function storeCheck(store: Pick<Store, 'probe'>, clock: Pick<Clock, 'monotonicMs'>): ReadinessCheck {
  let probedMs = -Infinity;
  let outcome: Promise<string | null> = Promise.resolve(null);
  const run = () => {
    if (clock.monotonicMs() - probedMs >= probeMs) {
      probedMs = clock.monotonicMs();
      outcome = store.probe().then((probe) => {
        return probe.kind === 'unavailable' ? `The store cannot be written (${probe.reason}).` : null;
      });
    }
    return outcome;
  };
  return { name: 'store', run };
}

/** The native module runs and is the one built from this version. */
export function nativeModuleCheck(nativeVersion: () => string, expected: string): ReadinessCheck {
  const run = () => {
    const found = nativeVersion();
    return found === expected ? null : `The native module is version ${found}, not ${expected}; build again.`;
  };
  return { name: 'native_module', run };
}

async function outcome({ name, run }: ReadinessCheck): Promise<ReadyCheck> {
  const reason = await run();
  return { check: name, ok: reason === null, reason };
}

/** Runs every check: 200 when all pass, else 503 with the reasons. `warn` gives further sentences. */
export function ready(checks: readonly ReadinessCheck[], warn: () => Promise<readonly string[]>): Handler {
  return async () => {
    const [outcomes, warnings] = await Promise.all([Promise.all(checks.map(outcome)), warn()]);
    const isReady = outcomes.every(({ ok }) => ok);
    const body: ReadyResponse = { ready: isReady, checks: outcomes, warnings: [...warnings] };
    return jsonAnswer(body.ready ? 200 : 503, body);
  };
}
