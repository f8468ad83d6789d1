/**
 * LMDB as the lmdb package opens it, without what src/store/lmdb.ts puts around it: a process that writes
 * until it is killed, or one that opens the environment and closes it.
 */
import { writeSync } from 'node:fs';
import { open, type RootDatabase } from 'lmdb';

/** Opens an environment with the options that the store uses. */
export function openBare(folder: string): RootDatabase<Uint8Array, Uint8Array> {
  return open<Uint8Array, Uint8Array>({
    path: folder,
    encoding: 'binary',
    keyEncoding: 'binary',
    overlappingSync: false,
    separateFlushed: false,
    cache: false,
    compression: false,
    mapSize: 2 ** 40,
    maxReaders: 1024,
  });
}

const [, file, what, folder] = process.argv;
if (file?.endsWith('bareLmdb.js') === true && folder !== undefined) {
  const environment = openBare(folder);
  for (let number = 0; what === 'write'; number += 1) {
    const key = Buffer.from(`w${number}`);
    await environment.transaction(() => void environment.put(key, Buffer.from('1')));
    writeSync(1, `ACK w${number}\n`);
  }
  await environment.close();
}
