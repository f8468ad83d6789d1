/** Backups and restores themselves, without their commands: complete or refused, and nothing in between. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import {
  checkBackup,
  makeBackup,
  readManifest,
  restoreBackup,
  type Manifest,
} from '../../src/store/backup.js';
import { copyStore } from '../../src/store/copy.js';
import type { Engine } from '../../src/store/engine.js';
import { unfinishedCopyKey } from '../../src/store/open.js';
import { everything } from '../../src/store/records.js';
import { maxKeyBytes, maxValueBytes, StoreUnavailable, type Entry } from '../../src/store/store.js';
import { memoryFolder } from '../support/run.js';
import { engineOver } from './engineOver.js';
import { engineAt } from '../support/openStore.js';

const about = { fusegate: '1.2.3', made_at: '2026-11-23T00:00:00.000Z' };
const none = (): undefined => undefined;
const fine = (): Promise<undefined> => Promise.resolve(undefined);

/** Records of many sizes, some longer than what is read at a time when they are put together. */
const records: readonly Entry[] = Array.from({ length: 300 }, (_, index) => ({
  key: Buffer.from([1 + (index % 3), ...Buffer.from(`record ${index}`)]),
  value: Buffer.alloc(index % 50 === 7 ? 900_000 : (index * 37) % 4_000, `${index}`),
}));

function put(engine: Engine, entries: readonly Entry[]): Promise<void> {
  return engine.transact(
    () => entries.map(({ key }) => key),
    () => entries,
  );
}

async function emptyEngine(): Promise<Engine> {
  const engine = await engineAt(`lmdb:${memoryFolder()}/store`);
  after(() => engine.close());
  return engine;
}

/** Keys and digests of values, in the order of keys. */
function shown(entries: readonly Entry[]): string[] {
  return entries
    .map(({ key, value }) => {
      const digest = createHash('sha256').update(value).digest('hex');
      return `${Buffer.from(key).toString('hex')} ${value.byteLength} ${digest}`;
    })
    .sort();
}

async function allOf(engine: Engine): Promise<string[]> {
  return shown(await engine.scan({ ...everything, limit: 10_000 }));
}

async function isUnfinished(engine: Engine): Promise<boolean> {
  return (await engine.get(unfinishedCopyKey)) !== undefined;
}

/** Files of a folder that this process has open; none where the system does not say. */
function openIn(folder: string): string[] {
  const own = '/proc/self/fd';
  if (!existsSync(own)) return [];
  const paths = readdirSync(own).flatMap((fd) => {
    try {
      return [readlinkSync(join(own, fd))];
    } catch {
      return []; // It was the listing's own.
    }
  });
  return paths.filter((path) => path.startsWith(folder));
}

/** A backup's folder with these bytes for records, and a manifest that says so. */
function written(file: Buffer, more: Partial<Manifest> = {}): { folder: string; manifest: Manifest } {
  const folder = memoryFolder();
  const sha256 = createHash('sha256').update(file).digest('hex');
  const form = { format: 'fusegate-backup', version: 1 } as const;
  const manifest = { ...form, ...about, records: 1, bytes: file.byteLength, sha256, ...more };
  writeFileSync(join(folder, 'records'), file);
  return { folder, manifest };
}

/** The file of records as docs/backup.md describes it. */
function framed(...entries: readonly Entry[]): Buffer {
  const parts = entries.map(({ key, value }) => {
    const lengths = Buffer.alloc(8);
    lengths.writeUInt32BE(key.byteLength, 0);
    lengths.writeUInt32BE(value.byteLength, 4);
    return Buffer.concat([lengths, key, value]);
  });
  return Buffer.concat(parts);
}

const engine = await emptyEngine();
await put(engine, records);

describe('a backup', () => {
  test('has every record, and its manifest their number, bytes and digest', async () => {
    const folder = join(memoryFolder(), 'new', 'backup');
    const steps: unknown[][] = [];
    const outcome = await makeBackup(engine, folder, about, (...step) => {
      steps.push([...step, statSync(join(folder, 'records')).size]);
    });
    assert.ok(outcome.kind === 'made', JSON.stringify(outcome));
    assert.deepEqual(openIn(folder), []);
    const file = readFileSync(join(folder, 'records'));
    assert.ok(file.equals(framed(...records.toSorted(byKey))), 'byte for byte');
    const sha256 = createHash('sha256').update(file).digest('hex');
    const form = { format: 'fusegate-backup', version: 1 };
    const expected = { ...form, ...about, records: records.length, bytes: file.byteLength, sha256 };
    assert.deepEqual(outcome.manifest, expected);
    assert.deepEqual(readManifest(folder), { manifest: expected });
    const text = readFileSync(join(folder, 'manifest.json'), 'utf8');
    assert.equal(text, `${JSON.stringify(expected, undefined, 2)}\n`, 'people read it');
    assert.deepEqual(readdirSync(folder).sort(), ['manifest.json', 'records']);
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    for (const name of readdirSync(folder)) assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600);
    const written = ['backup', records.length, records.length, file.byteLength];
    assert.deepEqual(steps.at(-1), written, 'what is said to be written is');
    const seen: Entry[] = [];
    const checked: unknown[][] = [];
    const seenSoFar: number[] = [];
    const progress = (...step: unknown[]): void => {
      checked.push(step);
      seenSoFar.push(seen.length);
    };
    const see = ({ key, value }: Entry): void => {
      seen.push({ key: Buffer.from(key), value: Buffer.from(value) });
    };
    const wrong = await checkBackup(folder, outcome.manifest, progress, see);
    assert.equal(wrong, undefined);
    assert.deepEqual(openIn(folder), []);
    assert.deepEqual(shown(seen), shown(records));
    assert.deepEqual(checked.at(-1), ['check', records.length, records.length]);
    assert.deepEqual(
      checked.map(([, count]) => count),
      seenSoFar,
    );
  });

  test('is written to an empty folder only', async () => {
    const folder = memoryFolder();
    writeFileSync(join(folder, 'note'), 'mine');
    const refused = await makeBackup(engine, folder, about, none);
    assert.deepEqual(refused, {
      kind: 'failed',
      reason: `${folder} is not empty: it holds note. Name a new folder.`,
    });
    assert.deepEqual(readdirSync(folder), ['note']);
    rmSync(join(folder, 'note'));
    assert.equal((await makeBackup(engine, folder, about, none)).kind, 'made');
    const again = await makeBackup(engine, folder, about, none);
    assert.match(
      again.kind === 'failed' ? again.reason : again.kind,
      /is not empty: it holds manifest\.json/,
    );
    assert.deepEqual(readdirSync(folder).sort(), ['manifest.json', 'records'], 'the one there stays');
    const place = join(folder, 'records', 'backup');
    const nowhere = await makeBackup(engine, place, about, none);
    const cannot = `The folder ${place} cannot be made (ENOTDIR`;
    assert.ok(nowhere.kind === 'failed' && nowhere.reason.startsWith(cannot), JSON.stringify(nowhere));
  });

  test('that is begun twice in one folder at once is made once, and whole', async () => {
    const folder = memoryFolder();
    const outcomes = await Promise.all([1, 2].map(() => makeBackup(engine, folder, about, none)));
    const [made, ...more] = outcomes.flatMap((each) => (each.kind === 'made' ? [each] : []));
    assert.ok(made !== undefined && more.length === 0);
    const refused = outcomes.find(({ kind }) => kind === 'failed');
    assert.match(refused?.kind === 'failed' ? refused.reason : '', /is not empty: it holds records\./);
    assert.equal(await checkBackup(folder, made.manifest, none, none), undefined);
    assert.deepEqual(readManifest(folder), { manifest: made.manifest });
  });

  test('that fails half-way leaves nothing, and says why', async () => {
    for (const [error, reason] of [
      [new StoreUnavailable('The disk is gone.'), 'The disk is gone.'],
      [new Error('it broke'), 'The backup cannot be written (it broke).'],
    ] as const) {
      const halfway = engineOver(engine, {
        snapshot: (use) =>
          engine.snapshot((scan) => {
            let pages = 0;
            return use((range) => ((pages += 1) > 2 ? Promise.reject(error) : scan(range)));
          }),
      });
      const uncounted = engineOver(halfway, { count: () => Promise.reject(error) });
      for (const failing of [halfway, uncounted]) {
        const folder = memoryFolder();
        assert.deepEqual(await makeBackup(failing, folder, about, none), { kind: 'failed', reason });
        assert.deepEqual([readdirSync(folder), openIn(folder)], [[], []]);
      }
    }
    const unread = engineOver(engine, {
      get: () => Promise.reject(new StoreUnavailable('It does not answer.')),
    });
    const folder = memoryFolder();
    const outcome = await makeBackup(unread, folder, about, none);
    assert.deepEqual(outcome, { kind: 'failed', reason: 'It does not answer.' });
  });

  test('is made of no unfinished copy', async () => {
    const half = await emptyEngine();
    await put(half, [{ key: unfinishedCopyKey, value: Buffer.from('1') }]);
    const folder = join(memoryFolder(), 'backup');
    const outcome = await makeBackup(half, folder, about, none);
    const reason = 'The store to copy from is itself an unfinished copy.';
    assert.deepEqual(outcome, { kind: 'failed', reason });
    assert.throws(() => readdirSync(folder), /ENOENT/);
  });
});

test('a manifest is complete and in its form, or it is refused', () => {
  const folder = memoryFolder();
  const path = join(folder, 'manifest.json');
  const whole = { format: 'fusegate-backup', version: 1, ...about, records: 0, bytes: 0, sha256: 'a' };
  const read = (manifest: unknown): unknown => {
    writeFileSync(path, JSON.stringify(manifest));
    return readManifest(folder);
  };
  assert.deepEqual(read(whole), { manifest: whole });
  const lacking = { wrong: `${path} lacks members that a manifest must have.` };
  for (const [name, values] of Object.entries({
    fusegate: [1, null],
    made_at: [1, null],
    records: ['1', 0.5, 2 ** 53, null],
    bytes: ['1', 0.5, 2 ** 53, null],
    sha256: [1, null],
  })) {
    for (const value of [...values, undefined]) {
      assert.deepEqual(read({ ...whole, [name]: value }), lacking, `${name} ${value}`);
    }
  }
  for (const version of [0, 2, '1', undefined]) {
    const wrong = `The backup in ${folder} was made by a later version of Fusegate.`;
    assert.deepEqual(read({ ...whole, version }), { wrong });
  }
  for (const other of [{ ...whole, format: 'backup' }, {}, null, 5, []]) {
    assert.deepEqual(read(other), { wrong: `${path} is not a manifest of a Fusegate backup.` });
  }
  rmSync(path);
  const missing = readManifest(folder);
  const wrong = `${folder} holds no whole backup: manifest.json cannot be read (ENOENT`;
  assert.ok('wrong' in missing && missing.wrong.startsWith(wrong), JSON.stringify(missing));
});

describe('a file of records', () => {
  const entry = { key: Buffer.from([1, 2]), value: Buffer.from('value') };
  const check = async (file: Buffer, more: Partial<Manifest> = {}): Promise<string | undefined> => {
    const { folder, manifest } = written(file, more);
    const wrong = await checkBackup(folder, manifest, none, none);
    return wrong?.replace(`The backup's file ${join(folder, 'records')} cannot be used: `, '');
  };

  test('is what its manifest says, by its digest', async () => {
    assert.equal(await check(framed(entry)), undefined);
    assert.equal(await check(Buffer.alloc(0)), undefined);
    assert.equal(await check(Buffer.alloc(8)), 'it contains something that is not a record.');
    const other = 'it is not what the manifest says, by its SHA-256.';
    assert.equal(await check(framed(entry), { sha256: 'a'.repeat(64) }), other);
  });

  test('may contain whole records only', async () => {
    const two = framed(entry, entry);
    const first = framed(entry).byteLength;
    for (let length = 1; length < two.byteLength; length += 1) {
      const wrong = length === first ? undefined : 'it ends within a record.';
      assert.equal(await check(two.subarray(0, length)), wrong, String(length));
    }
  });

  test('has keys and values as long as an engine may hold, and no longer', async () => {
    const wrong = 'it contains something that is not a record.';
    const [key, value] = [Buffer.alloc(maxKeyBytes + 1, 1), Buffer.alloc(maxValueBytes + 65_536, 1)];
    assert.equal(await check(framed({ key, value })), undefined);
    assert.equal(await check(framed({ key: Buffer.alloc(maxKeyBytes + 2, 1), value })), wrong);
    assert.equal(await check(framed({ key: Buffer.alloc(0), value })), wrong);
    assert.equal(await check(framed({ key, value: Buffer.concat([value, Buffer.of(1)]) })), wrong);
  });

  test('that is missing or cannot be read is named', async () => {
    const { folder, manifest } = written(framed(entry));
    const path = join(folder, 'records');
    rmSync(path);
    const cannot = `The backup's file ${path} cannot be used:`;
    const missing = await checkBackup(folder, manifest, none, none);
    assert.ok(missing?.startsWith(`${cannot} ENOENT`), missing);
    const target = await emptyEngine();
    const restored = await restoreBackup(folder, manifest, target, none, fine);
    assert.deepEqual(restored, { kind: 'failed', reason: missing });
    mkdirSync(path);
    const unread = await checkBackup(folder, manifest, none, none);
    assert.ok(unread?.startsWith(`${cannot} EISDIR`), unread);
  });
});

describe('a restore', () => {
  const entries = [
    { key: Buffer.from([1, 1]), value: Buffer.from('one') },
    { key: Buffer.from([2, 2]), value: Buffer.from('two') },
  ];

  test('has every record, and is unfinished until its end', async () => {
    const { folder, manifest } = written(framed(...records.toSorted(byKey)), { records: records.length });
    const target = await emptyEngine();
    const during: unknown[] = [];
    const steps: unknown[][] = [];
    const finish = async (): Promise<undefined> => {
      during.push(await isUnfinished(target), (await allOf(target)).length);
      return undefined;
    };
    const outcome = await restoreBackup(folder, manifest, target, (...step) => steps.push(step), finish);
    const { bytes, sha256: digest } = manifest;
    assert.deepEqual(outcome, { kind: 'copied', records: records.length, bytes, digest });
    assert.deepEqual(during, [true, records.length + 1], 'the marker is one more');
    assert.deepEqual(await allOf(target), shown(records));
    assert.equal(await isUnfinished(target), false);
    const last = steps.findLast(([name]) => name === 'restore');
    assert.deepEqual(last, ['restore', records.length, records.length]);
    assert.deepEqual(openIn(folder), []);
    assert.deepEqual(steps.at(-1), ['verify target', records.length, records.length]);
  });

  test('marks its target before it writes, and writes one transaction at a time', async () => {
    const { folder, manifest } = written(framed(...records.toSorted(byKey)));
    const target = await emptyEngine();
    const begun: string[][] = [];
    const limits: number[] = [];
    let under = 0;
    const watched = engineOver(target, {
      scan(range) {
        limits.push(range.limit);
        return target.scan(range);
      },
      async transact(keys, decide) {
        assert.equal((under += 1), 1, 'one at a time');
        // Had the file been read meanwhile, its records would be written by now.
        for (let times = 0; times < 5; times += 1) await readFile(join(folder, 'records'));
        assert.equal(under, 1, 'one at a time');
        await target.transact(keys, (read) => {
          const writes = decide(read);
          begun.push(writes.map(({ key }) => Buffer.from(key).toString('hex')));
          return writes;
        });
        under -= 1;
      },
    });
    assert.equal((await restoreBackup(folder, manifest, watched, none, fine)).kind, 'copied');
    assert.equal(limits[0], 1, 'one record shows that it is not empty');
    const marker = unfinishedCopyKey.toString('hex');
    assert.deepEqual([begun[0], begun.at(-1)], [[marker], [marker]]);
    const keys = records.toSorted(byKey).map(({ key }) => Buffer.from(key).toString('hex'));
    assert.ok(begun.length > 3, 'more than is read at a time');
    assert.deepEqual(begun.slice(1, -1).flat(), keys);
  });

  test('writes to no store that holds something', async () => {
    const { folder, manifest } = written(framed(...entries));
    const [taken] = entries;
    assert.ok(taken !== undefined);
    const target = await emptyEngine();
    await put(target, [taken]);
    const refused = await restoreBackup(folder, manifest, target, none, fine);
    const reason = 'The store to write to holds records already. It must be empty.';
    assert.deepEqual(refused, { kind: 'refused', reason });
    assert.deepEqual(await allOf(target), shown([taken]));
  });

  test('that fails at the end leaves a store that no server accepts', async () => {
    const { folder, manifest } = written(framed(...entries));
    const [, last] = entries;
    assert.ok(last !== undefined);
    const failures: readonly (readonly [RegExp, () => Promise<unknown>, Engine])[] = await Promise.all(
      [
        async () => {
          const target = await emptyEngine();
          const finish = (): Promise<string> => Promise.resolve('The nodes do not answer.');
          const run = () => restoreBackup(folder, manifest, target, none, finish);
          return [/^The nodes do not answer\.$/, run, target] as const;
        },
        async () => {
          const target = await emptyEngine();
          const other = { ...manifest, sha256: 'b'.repeat(64) };
          return [
            / changed meanwhile\.$/,
            () => restoreBackup(folder, other, target, none, fine),
            target,
          ] as const;
        },
        async () => {
          const target = await emptyEngine();
          const lossy = engineOver(target, {
            transact: (keys, decide) =>
              target.transact(keys, (read) => decide(read).filter(({ key }) => !last.key.equals(key))),
          });
          const run = () => restoreBackup(folder, manifest, lossy, none, fine);
          return [/^The target holds other records than the source \(1, 2\)\.$/, run, target] as const;
        },
        async () => {
          const target = await emptyEngine();
          const cut = written(framed(...entries).subarray(0, -1));
          const run = () => restoreBackup(cut.folder, cut.manifest, target, none, fine);
          return [/ it ends within a record\.$/, run, target] as const;
        },
      ].map((make) => make()),
    );
    for (const [expected, run, target] of failures) {
      const outcome = (await run()) as { readonly kind: string; readonly reason: string };
      assert.equal(outcome.kind, 'failed');
      assert.match(outcome.reason, expected);
      assert.equal(await isUnfinished(target), true, outcome.reason);
    }
  });
});

describe('a copy of a store', () => {
  test('has every record, and reports its progress', async () => {
    const target = await emptyEngine();
    const steps: unknown[][] = [];
    const outcome = await copyStore(engine, target, (...step) => steps.push(step));
    assert.equal(outcome.kind === 'copied' && outcome.records, records.length);
    assert.deepEqual(await allOf(target), shown(records));
    for (const name of ['copy', 'verify source', 'verify target']) {
      const last = steps.findLast(([pass]) => pass === name);
      assert.deepEqual(last, [name, records.length, records.length]);
    }
  });

  test('is not begun where its source does not answer', async () => {
    const target = await emptyEngine();
    const gone = new StoreUnavailable('The disk is gone.');
    const source = engineOver(engine, { get: () => Promise.reject(gone) });
    const outcome = await copyStore(source, target, none);
    assert.deepEqual(outcome, { kind: 'refused', reason: 'The disk is gone.' });
    assert.equal(await isUnfinished(target), false);
  });
});

function byKey(left: Entry, right: Entry): number {
  return Buffer.compare(left.key, right.key);
}
