/**
 * LMDB without what src/store/engines/lmdb/lmdb.ts puts around an environment: a process that writes
 * until it is killed, or one that opens the environment and closes it.
 */
import { writeSync } from 'node:fs';
import { openEnvironment } from '../../src/store/engines/lmdb/lmdb.js';

const [, file, what, folder] = process.argv;
if (file?.endsWith('bareLmdb.js') === true && folder !== undefined) {
  const environment = openEnvironment(folder);
  for (let number = 0; what === 'write'; number += 1) {
    const key = Buffer.from(`w${number}`);
    await environment.transaction(() => void environment.put(key, Buffer.from('1')));
    writeSync(1, `ACK w${number}\n`);
  }
  await environment.close();
}
