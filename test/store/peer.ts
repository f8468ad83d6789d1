/**
 * A process of its own that works on a store, for tests of several processes: `peer <url> <job> <count>`.
 * It writes `ready`, then one line for each unit that was acknowledged.
 */
import { once } from 'node:events';
import { recordKey } from '../../src/store/bytes.js';
import { engineAt, newUnitId, storeAt } from '../support/openStore.js';
import { addOne } from './counter.js';
import { retried } from './retried.js';

/** Appends `count` entries, eight at a time, and tells the position and value of each. */
async function append(url: string, count: number): Promise<void> {
  const store = await storeAt(url);
  console.log('ready');
  const writer = async (number: number): Promise<void> => {
    for (let index = number; index < count; index += 8) {
      const value = `${process.pid}-${index}`;
      const unit = {
        id: newUnitId(),
        operations: [{ kind: 'append', log: 'leads', value: Buffer.from(value) }],
      } as const;
      const outcome = await retried(store, unit);
      if (outcome.kind === 'done') console.log(`at ${outcome.positions[0]} ${value}`);
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, number) => writer(number)));
  await store.close();
}

async function increment(url: string, count: number): Promise<void> {
  const store = await storeAt(url);
  console.log('ready');
  for (let index = 0; index < count; index += 1) await addOne(store, 'counter');
  await store.close();
}

/** Holds a transaction open for `milliseconds` with a record of it locked. */
async function hold(url: string, milliseconds: number): Promise<void> {
  const engine = await engineAt(url);
  const key = recordKey('usage', Buffer.from('held'));
  await engine.transact(
    () => [key],
    () => {
      process.stdout.write('holding\n');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
      return [{ key, value: Buffer.from('after') }];
    },
  );
  console.log('released');
  await engine.close();
}

const [, , url = '', job = '', count = '0'] = process.argv;
if (job === 'append') await append(url, Number(count));
else if (job === 'increment') await increment(url, Number(count));
else if (job === 'hold') await hold(url, Number(count));
else throw new Error(`No job ${job}`);
if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain');
