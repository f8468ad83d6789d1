/** A process that commits units and reports on its standard output which were acknowledged. */
import { writeSync } from 'node:fs';
import type { Unit } from '../../src/store/evaluate.js';
import { whenUnavailable } from '../../src/store/store.js';
import { systemClock } from '../../src/system/clock.js';
import { newUnitId, storeAt } from '../support/openStore.js';

/** What {@link checkWorkload} finds of one unit: a record, a log entry and its place, all or none. */
export function workloadUnit(id: Uint8Array, name: string): Unit {
  // From one byte to several pages, so that values lie in leaves and in pages of their own.
  const value = Buffer.from(`${name} `.padEnd(16 * (1 + (Number.parseInt(name, 36) % 600)), '.'));
  return {
    id,
    operations: [
      { kind: 'insert', space: 'keysById', key: Buffer.from(name), value },
      { kind: 'append', log: 'leads', value, place: { space: 'leafPlaces', key: Buffer.from(name) } },
    ],
  };
}

/** Runs `count` units, `together` at a time, and prints `ACK <name>` for each that is done. */
async function work(folder: string, prefix: string, count: number, together: number): Promise<void> {
  const store = await storeAt(`lmdb:${folder}`);
  let next = 0;
  const write = async (): Promise<void> => {
    while (next < count) {
      const name = `${prefix}${(next += 1).toString(36)}`;
      const { operations, id } = workloadUnit(newUnitId(), name);
      const commit = store.commit(operations, id);
      const outcome = await whenUnavailable(commit, () => ({ kind: 'unavailable' }) as const);
      writeSync(1, `${outcome.kind === 'done' ? 'ACK' : outcome.kind} ${name}\n`);
      if (outcome.kind === 'unavailable') await systemClock.sleep(20);
    }
  };
  await Promise.all(Array.from({ length: together }, write));
  await store.close();
}

const [, file, folder, prefix, count, together] = process.argv;
if (file?.endsWith('workload.js') === true && folder !== undefined) {
  await work(folder, prefix ?? '', Number(count), Number(together));
}
