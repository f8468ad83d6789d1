/** Opening the store of a `STORE_URL`: what is no URL of a store, and a store that cannot serve. */
import assert from 'node:assert/strict';
import { readdirSync, readlinkSync } from 'node:fs';
import { test } from 'node:test';
import { engineKinds, openStore, parseStoreUrl, unfinishedCopyKey } from '../../src/store/open.js';
import { engineAt, storeAt, testParts } from '../support/openStore.js';
import { temporaryFolder } from '../support/run.js';

test('a URL of no engine is refused with the form of each', async () => {
  const forms = engineKinds.map(({ form }) => form).join(', or ');
  for (const url of ['', 'mysql://a/b', 'lmdb']) {
    assert.deepEqual(parseStoreUrl(url), { wrong: `must be ${forms}` });
    await assert.rejects(openStore(url, testParts), {
      name: 'StoreUnavailable',
      message: `STORE_URL must be ${forms}.`,
    });
  }
});

/** Files of a folder that this process has open. */
function openFiles(folder: string): string[] {
  return readdirSync('/proc/self/fd')
    .flatMap((descriptor) => {
      try {
        return readlinkSync(`/proc/self/fd/${descriptor}`);
      } catch {
        // The descriptor of this very listing is closed by now.
        return [];
      }
    })
    .filter((path) => path.startsWith(folder));
}

const skip = process.platform === 'linux' ? false : 'needs /proc';

test('a store that cannot serve is closed when that is said', { skip }, async () => {
  const folder = temporaryFolder();
  const url = `lmdb:${folder}/store`;
  const engine = await engineAt(url);
  await engine.transact(
    () => [unfinishedCopyKey],
    () => [{ key: unfinishedCopyKey, value: Buffer.of(1) }],
  );
  await engine.close();
  await assert.rejects(storeAt(url), { name: 'StoreUnavailable', message: /unfinished copy or restore/ });
  assert.deepEqual(openFiles(folder), []);
});
