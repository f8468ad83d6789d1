/** Opening the store of a `STORE_URL`: URLs that name no store, and a store that cannot serve. */
import assert from 'node:assert/strict';
import { readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { engineKinds, openStore, parseStoreUrl } from '../../src/store/open.js';
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

test('a store that is refused is closed again', { skip }, async () => {
  const folder = temporaryFolder();
  const url = `lmdb:${folder}/store`;
  const engine = await engineAt(url);
  // As every version has written it.
  const marker = Buffer.concat([Buffer.of(5), Buffer.from('unfinished copy')]);
  await engine.transact(
    () => [marker],
    () => [{ key: marker, value: Buffer.of(1) }],
  );
  await engine.close();
  await assert.rejects(storeAt(url), { name: 'StoreUnavailable', message: /unfinished copy or restore/ });
  assert.deepEqual(openFiles(folder), []);
});

test('a location is shown without its password, and says what several machines may share', () => {
  const located = (url: string) => {
    const found = parseStoreUrl(url);
    if ('wrong' in found) return assert.fail(found.wrong);
    const { name, folder } = found.location;
    return { url: found.location.url, name, folder, missing: found.location.missing() };
  };
  assert.deepEqual(located('lmdb:/'), {
    ...{ url: 'lmdb:/', name: 'the store in /', folder: '/' },
    missing: { kind: 'missing', reason: 'There is no store in /.' },
  });
  const url = 'postgres://u:pw@db.example/d';
  assert.deepEqual(located(url), {
    ...{ url, name: 'PostgreSQL at db.example:5432', folder: null, missing: undefined },
  });
  assert.deepEqual(
    engineKinds.map(({ shared }) => shared),
    [false, true],
  );
});

test('a folder is found to have no store, to have one, or to be unreadable', async () => {
  const folder = temporaryFolder();
  const missingIn = (path: string) => {
    const found = parseStoreUrl(`lmdb:${path}`);
    return 'wrong' in found ? assert.fail(found.wrong) : found.location.missing();
  };
  writeFileSync(`${folder}/file`, '');
  for (const path of [`${folder}/none`, `${folder}/file`])
    assert.deepEqual(missingIn(path), { kind: 'missing', reason: `There is no store in ${path}.` });
  const tooLong = `${folder}/${'x'.repeat(300)}`;
  assert.deepEqual(missingIn(tooLong), {
    kind: 'unreadable',
    reason:
      `The store in ${tooLong} cannot be read (ENAMETOOLONG). ` +
      'Run this as the user that runs the server, or give this one the rights.',
  });
  await (await storeAt(`lmdb:${folder}/store`)).close();
  assert.equal(missingIn(`${folder}/store`), undefined);
  const inTheWay = `lmdb:${folder}/file`;
  await assert.rejects(openStore(inTheWay, testParts), {
    name: 'StoreUnavailable',
    message: new RegExp(`^The store in ${folder}/file cannot be opened \\(.+\\)\\.$`),
  });
});
