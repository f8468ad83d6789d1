/** A process that makes one thing durable and reports on its standard output when it is. */
import { writeSync } from 'node:fs';
import { openKey, retireKey } from '../../src/log/keyFile.js';
import { seenFile } from '../../src/log/seen.js';
import { installModel } from '../../src/models/install.js';
import { takeDataFolder } from '../../src/processes/folder.js';
import { makeBackup } from '../../src/store/backup.js';
import { systemClock } from '../../src/system/clock.js';
import { systemRandomness } from '../../src/system/randomness.js';
import { masterSecretFile, type MasterSecrets } from '../../src/system/masterSecret.js';
import { makeSecretFile, readSecretFile } from '../../src/system/secretFile.js';
import { engineAt, storeAt } from '../support/openStore.js';

/** Says `text` to whoever asked for it: from here on it must outlive a power cut. */
function promise(text: string): void {
  writeSync(1, `ACK ${text}\n`);
}

async function backup(url: string, folder: string): Promise<void> {
  const engine = await engineAt(url);
  const about = { fusegate: '0', made_at: '2026-01-01T00:00:00Z' };
  const outcome = await makeBackup(engine, folder, about, () => undefined);
  if (outcome.kind === 'made') promise(outcome.manifest.sha256);
  await engine.close();
}

function secret(read: ReturnType<typeof readSecretFile<MasterSecrets>>): void {
  if (read !== undefined && 'value' in read) promise(read.value[0]);
}

async function model(source: string, folder: string): Promise<void> {
  const outcome = await installModel(
    source,
    {},
    {
      folder,
      shipped: [],
      hub: '',
      fetch,
      clock: systemClock,
      lockFile: () => null,
      tryModel: () => Promise.resolve(undefined),
      showPass: () => undefined,
    },
  );
  if ('model' in outcome) promise(outcome.model.digest);
}

async function store(folder: string): Promise<void> {
  const opened = await storeAt(`lmdb:${folder}`);
  promise('open');
  await opened.close();
}

/** Opens the log's key: the first is made. */
function logKey(folder: string): void {
  const opened = openKey(folder, systemRandomness);
  if ('value' in opened) promise(Buffer.from(opened.value.publicKey).toString('hex'));
}

function retire(folder: string): void {
  retireKey(folder, 'retired');
  promise('retired');
}

/** Notes a checkpoint of so many leaves. */
async function seen(folder: string, size: string): Promise<void> {
  await seenFile(folder, 'own').write({ size: Number(size), root: Buffer.alloc(32, 1) });
  promise(size);
}

/** The same as a witness does it, before it signs. */
function seenNow(folder: string, size: string): void {
  seenFile(folder, 'own').writeNow({ size: Number(size), root: Buffer.alloc(32, 1) });
  promise(size);
}

function forget(folder: string): void {
  seenFile(folder, 'own').remove();
  promise('forgotten');
}

const jobs: Readonly<Record<string, (from: string, to: string) => unknown>> = {
  backup,
  model,
  store,
  'take folder': (folder) =>
    promise(
      takeDataFolder(
        folder,
        () => null,
        () => undefined,
      ) ?? 'taken',
    ),
  'make secret': (folder) => secret(makeSecretFile(masterSecretFile(folder), systemRandomness)),
  ...{ 'log key': logKey, 'retire key': retire, seen, 'seen now': seenNow, forget },
  'read secret': (folder) => secret(readSecretFile(masterSecretFile(folder))),
};

const [, , job = '', from = '', to = ''] = process.argv;
await jobs[job]?.(from, to);
