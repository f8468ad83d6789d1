/** Power cuts while backups, stores, folders, the master secret and models are made; needs strace. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { keyPath, openKey } from '../../src/log/keyFile.js';
import { seenFile } from '../../src/log/seen.js';
import { readModels } from '../../src/models/modelFolder.js';
import { checkBackup, readManifest } from '../../src/store/backup.js';
import { masterSecretFile } from '../../src/system/masterSecret.js';
import { systemRandomness } from '../../src/system/randomness.js';
import { makeSecretFile, readSecretFile } from '../../src/system/secretFile.js';
import { temporaryFolder } from '../support/run.js';
import { Disk, folderCuts, layOut } from './folderCut.js';
import { buildWithoutSync } from './noSync.js';
import { newUnitId, storeAt } from '../support/openStore.js';
import { generator } from './powerCut.js';
import { skipWithout } from './tools.js';
import { bytesOf, readTrace, traceArguments, type Call } from './trace.js';
import { workloadUnit } from './workload.js';

const program = fileURLToPath(new URL('promise.js', import.meta.url));
const skip = skipWithout('strace', 'cc');

/** Something that is to outlive power cuts. */
interface Durable {
  /** The arguments of the program that makes it, below a folder. */
  readonly args: (root: string) => readonly string[];
  /** What is there before. */
  readonly prepare?: (root: string) => unknown;
  /** Whether the names of what is there are safe. */
  readonly namesSynced?: boolean;
  /** What is found: a text that the program may have said; undefined: nothing. Throws for anything else. */
  readonly find: (root: string) => Promise<string | undefined>;
}

/** The calls of the program. */
function trace(args: readonly string[], preload: readonly string[]): Call[] {
  const file = join(temporaryFolder(), 'trace');
  const run = spawnSync('strace', [...preload, ...traceArguments(file), process.execPath, program, ...args], {
    encoding: 'utf8',
  });
  assert.equal(run.status, 0, run.stderr);
  return readTrace(readFileSync(file, 'latin1'));
}

/** What the program said, and at which line. */
function saidIn(calls: readonly Call[]): { readonly text: string; readonly line: number } {
  const said = calls.filter(({ name, args }) => name === 'write' && args.startsWith('1<'));
  const texts = said.map(({ args }) => /^ACK (.+)\n$/.exec(bytesOf(args).toString())?.[1]);
  const [text] = texts;
  const [call] = said;
  assert.ok(text !== undefined && call !== undefined && texts.length === 1, 'it says one thing');
  return { text, line: call.ended };
}

/** Cuts the power everywhere; returns the count of cuts. */
async function check({ args, prepare, namesSynced = true, find }: Durable, preload: readonly string[] = []) {
  const root = join(temporaryFolder(), 'disk');
  mkdirSync(root);
  await prepare?.(root);
  const disk = new Disk(root, { namesSynced });
  const calls = trace(args(root), preload);
  const { text, line: saidAt } = saidIn(calls);
  const remains = temporaryFolder();
  let cuts = 0;
  for (const { folder, line, how } of folderCuts(disk, calls, 6, generator(1))) {
    const at = join(remains, String((cuts += 1)));
    layOut(at, folder);
    const found = await find(at).catch((error: unknown) => {
      throw new Error(`before line ${line}, ${how}`, { cause: error });
    });
    const promised = saidAt < line;
    assert.ok(found === text || (found === undefined && !promised), `${found}: before line ${line}, ${how}`);
  }
  return cuts;
}

/** Where it is made: two folders below what is there. */
const placeOf = (root: string): string => join(root, 'not', 'yet');
const storeBeside = (root: string): string => `lmdb:${join(dirname(root), 'store')}`;
const modelBeside = (root: string): string => join(dirname(root), 'tiny');

async function seedStore(root: string): Promise<void> {
  const store = await storeAt(storeBeside(root));
  for (const name of ['a', 'zz']) await store.commit(workloadUnit(newUnitId(), name).operations);
  await store.close();
}

async function findBackup(folder: string): Promise<string | undefined> {
  const read = readManifest(folder);
  if ('wrong' in read) return undefined;
  const none = (): void => undefined;
  const wrong = await checkBackup(folder, read.manifest, none, none);
  return wrong === undefined ? read.manifest.sha256 : undefined;
}

const backup: Durable = {
  prepare: seedStore,
  args: (root) => ['backup', storeBeside(root), placeOf(root)],
  find: (root) => findBackup(placeOf(root)),
};

/** Into an empty folder that somebody has just made. */
const backupInto: Durable = {
  async prepare(root) {
    await seedStore(root);
    mkdirSync(join(root, 'backup'));
  },
  namesSynced: false,
  args: (root) => ['backup', storeBeside(root), join(root, 'backup')],
  find: (root) => findBackup(join(root, 'backup')),
};

async function findStore(folder: string): Promise<string | undefined> {
  if (!existsSync(join(folder, 'data.mdb'))) return undefined;
  await (await storeAt(`lmdb:${folder}`)).close();
  return 'open';
}

const store: Durable = {
  args: (root) => ['store', placeOf(root)],
  find: (root) => findStore(placeOf(root)),
};

/** The process that created it was stopped before it synced the name. */
const storeFound: Durable = {
  prepare: async (root) => (await storeAt(`lmdb:${root}`)).close(),
  namesSynced: false,
  args: (root) => ['store', root],
  find: findStore,
};

const dataFolder: Durable = {
  args: (root) => ['take folder', placeOf(root)],
  find: (root) => Promise.resolve(existsSync(placeOf(root)) ? 'taken' : undefined),
};

async function findSecret(data: string): Promise<string | undefined> {
  const read = await Promise.resolve(readSecretFile(masterSecretFile(data)));
  assert.ok(read === undefined || 'value' in read, 'nobody finds half a secret');
  return read?.value[0];
}

const made: Durable = {
  args: (root) => ['make secret', placeOf(root)],
  find: (root) => findSecret(placeOf(root)),
};

/** The process that made the file was stopped before it synced the name. */
const read: Durable = {
  prepare: (root) => makeSecretFile(masterSecretFile(root), systemRandomness),
  namesSynced: false,
  args: (root) => ['read secret', root],
  find: findSecret,
};

const model: Durable = {
  prepare(root) {
    const source = modelBeside(root);
    mkdirSync(source);
    const weights = Buffer.alloc(10_000, 'weights');
    writeFileSync(join(source, 'weights.bin'), weights);
    const sha256 = createHash('sha256').update(weights).digest('hex');
    const manifest = {
      ...{ id: 'tiny', kind: 'static', dimension: 4, pooling: 'mean', max_tokens: 8, query_prefix: '' },
      ...{ document_prefix: '', license: 'MIT', provenance: 'here' },
      files: { 'weights.bin': { bytes: weights.byteLength, sha256 } },
    };
    writeFileSync(join(source, 'fusegate.json'), JSON.stringify(manifest));
  },
  args: (root) => ['model', modelBeside(root), placeOf(root)],
  async find(root) {
    const { models, refused } = await readModels([placeOf(root)]);
    assert.deepEqual(refused, [], 'no half of a model has its name');
    return models[0]?.digest;
  },
};

/** The public key of a data folder's log; undefined: there is none yet. */
async function findLogKey(data: string): Promise<string | undefined> {
  if (!existsSync(keyPath(data))) return undefined;
  const opened = await Promise.resolve(openKey(data, systemRandomness));
  assert.ok('value' in opened, 'nobody finds half a key');
  return Buffer.from(opened.value.publicKey).toString('hex');
}

const logKey: Durable = {
  args: (root) => ['log key', placeOf(root)],
  find: (root) => findLogKey(placeOf(root)),
};

/** The process that made it was stopped before it synced the name. */
const logKeyRead: Durable = {
  prepare: (root) => openKey(root, systemRandomness),
  namesSynced: false,
  args: (root) => ['log key', root],
  find: findLogKey,
};

/** It is there under one of its two names. */
const logKeyRetired: Durable = {
  prepare: (root) => openKey(root, systemRandomness),
  args: (root) => ['retire key', root],
  find(root) {
    const [used, retired] = [existsSync(keyPath(root)), existsSync(`${keyPath(root)}.retired`)];
    assert.ok(used !== retired, 'no key is lost');
    return Promise.resolve(retired ? 'retired' : undefined);
  },
};

/** The checkpoint that a data folder knows: that of 3 leaves, which was noted before, or another. */
async function findSeen(data: string): Promise<string | undefined> {
  const found = await Promise.resolve(seenFile(data, 'own').read());
  assert.ok(found === undefined || 'size' in found, 'nobody finds half a checkpoint');
  return found?.size === 3 ? undefined : String(found?.size ?? 'forgotten');
}

const noteThree = (root: string): Promise<void> =>
  seenFile(root, 'own').write({ size: 3, root: Buffer.alloc(32, 9) });

const checkpoint: Durable = {
  prepare: noteThree,
  args: (root) => ['seen', root, '1234567890'],
  find: findSeen,
};

const checkpointWitnessed: Durable = {
  prepare: noteThree,
  args: (root) => ['seen now', root, '1234567890'],
  find: findSeen,
};

const checkpointForgotten: Durable = {
  prepare: noteThree,
  args: (root) => ['forget', root],
  find: findSeen,
};

const durable = {
  'a backup that was made is whole': backup,
  'a backup that was made in a folder that was there is whole': backupInto,
  'a store that was made is there': store,
  'a store that was opened is found again': storeFound,
  'a data folder that was made is there': dataFolder,
  'a master secret that was made is the one that is found': made,
  'a master secret that was read is found again': read,
  'a model that was installed is whole': model,
  'a key of the log that was made is the one that is found': logKey,
  'a key of the log that was read is found again': logKeyRead,
  'a key of the log that was retired is in use no more, and not lost': logKeyRetired,
  'a checkpoint that was noted is known': checkpoint,
  'a checkpoint that a witness noted before it signed is known': checkpointWitnessed,
  'a checkpoint that was forgotten is not known': checkpointForgotten,
};

describe('after a power cut', { skip }, () => {
  for (const [name, each] of Object.entries(durable)) {
    test(name, async () => assert.ok((await check(each)) > 9));
  }

  test('none of these checks passes for a build that does not sync', async () => {
    const preload = ['-E', `LD_PRELOAD=${buildWithoutSync(temporaryFolder())}`];
    for (const [name, each] of Object.entries(durable)) {
      await assert.rejects(check(each, preload), /before line/, name);
    }
  });
});
