/**
 * Checkpoints that are cosigned by litewitness (filippo.io/torchwood), a witness that was not written here,
 * and by `fusegate log witness`; torchwood verifies both under one policy.
 */
import assert from 'node:assert/strict';
import { AsyncResource } from 'node:async_hooks';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { ReceiptResponse } from '../../../src/contract/receipt.js';
import { openKey } from '../../../src/log/keyFile.js';
import { verifierText } from '../../../src/log/note.js';
import { isCosigned, parsePolicy } from '../../../src/log/policy.js';
import { systemRandomness } from '../../../src/system/randomness.js';
import { keyOf } from '../../log/world.js';
import { freePort } from '../../support/ports.js';
import { run, Running, temporaryFolder } from '../../support/run.js';
import { until } from '../../support/until.js';
import { buildPrograms, programs } from '../go.js';
import { findPython } from '../../support/python.js';
import { skip, startVerifier } from './verifier.js';

const origin = 'fuse.example.com';
const main = fileURLToPath(new URL('../../../src/main.js', import.meta.url));
const folder = temporaryFolder();

/** Tells litewitness of a log, as its own tool does. */
const addLog = `
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as database:
    database.execute('INSERT INTO log VALUES (?, 0, ?)', (sys.argv[2], sys.argv[3]))
    database.execute('INSERT INTO key VALUES (?, ?)', (sys.argv[2], sys.argv[4]))
`;

/** Starts litewitness with a key in an agent; its line in a policy. */
async function startLitewitness(vkey: string): Promise<string> {
  buildPrograms(['litewitness']);
  const [socket, key] = [join(folder, 'agent'), join(folder, 'key')];
  await new Running('ssh-agent', ['-D', '-a', socket]).prints(/SSH_AUTH_SOCK/);
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
  const env = { ...process.env, SSH_AUTH_SOCK: socket };
  execFileSync('ssh-add', ['-q', key], { env, stdio: 'ignore' });
  const [, fingerprint = ''] = execFileSync('ssh-keygen', ['-lf', `${key}.pub`], { encoding: 'utf8' }).split(
    ' ',
  );
  const [database, listen] = [join(folder, 'lite.db'), `127.0.0.1:${await freePort()}`];
  const options = ['-name', 'lite.example/w', '-db', database, '-ssh-agent', socket, '-key', fingerprint];
  const lite = new Running(join(programs, 'litewitness'), [...options, '-listen', listen]);
  const [, own = ''] = await lite.prints(/vkey=(\S+)/);
  await until(
    () =>
      fetch(`http://${listen}/`).then(
        () => true,
        () => false,
      ),
    30_000,
  );
  const found = findPython(['sqlite3'], 'no requirements');
  assert.ok('python' in found);
  const empty = createHash('sha256').digest('base64');
  execFileSync(found.python, ['-c', addLog, database, origin, empty, vkey]);
  return `witness lite ${own} http://${listen}`;
}

/** Starts our own witness; its line in a policy. */
async function startOwn(vkey: string): Promise<string> {
  const args = ['log', 'witness', '--name', 'own.example/w', '--log', vkey, '--folder', join(folder, 'own')];
  const own = run(main, [...args, '--listen', '127.0.0.1:0'], {});
  const [, rest = ''] = await own.prints(/\nwitness \S+ (\S+ \S+)\n/);
  return `witness own ${rest}`;
}

/** Lines of a policy with both; bound to the file, so that they end with it and not with a hook. */
const startWitnesses = AsyncResource.bind(async (vkey: string): Promise<string> => {
  return `${await startLitewitness(vkey)}\n${await startOwn(vkey)}`;
});

/** The server, bound to the file too. */
const serve = AsyncResource.bind((): Running => {
  return run(main, ['serve'], {
    ...{ PORT: '0', WORKERS: '1', STORE_URL: `lmdb:${folder}/data/store` },
    ...{ PUBLIC_DOOR_URL: `https://${origin}`, WITNESSES: join(folder, 'policy') },
  });
});

describe('witnesses', { skip }, () => {
  let server: Running | undefined;
  let [address, vkey, policy] = ['', '', ''];
  before(async () => {
    if (skip !== false) return;
    mkdirSync(join(folder, 'data'));
    const opened = openKey(join(folder, 'data'), systemRandomness);
    assert.ok('value' in opened);
    vkey = verifierText({ name: origin, publicKey: opened.value.publicKey });
    const witnesses = await startWitnesses(vkey);
    policy = `log ${vkey}\n${witnesses}\ngroup both all lite own\nquorum both\n`;
    writeFileSync(join(folder, 'policy'), policy);
    server = serve();
    [, address = ''] = await server.prints(/listens on (http:\/\/127\.0\.0\.1:\d+)/);
  });

  const text = async (path: string): Promise<string> => (await fetch(`${address}${path}`)).text();

  const checkpointOf = (proof: string): string => proof.slice(proof.indexOf('\n\n') + 2);

  test('of others and of our own cosign checkpoints and proofs, one after another', async () => {
    const verify = startVerifier();
    const read = parsePolicy(policy);
    assert.ok('quorum' in read);
    const other = verifierText({ name: 'lite.example/w', publicKey: keyOf(3).publicKey }, 'witness');
    const wrong = policy.replace(/witness lite \S+/, `witness lite ${other}`);
    assert.notEqual(wrong, policy);
    for (const title of ['One', 'Two', 'Three']) {
      const sent = await fetch(`${address}/dream`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ title, content: `The content of ${title}.` }),
      });
      const { receipt } = (await sent.json()) as { receipt: string };
      const proofOf = (): Promise<string> => text(`/receipt/${receipt}/proof`);
      const isReady = async (): Promise<boolean> => isCosigned(read, checkpointOf(await proofOf()));
      await until(isReady, 30_000).catch((error: unknown) => {
        throw new Error(`not cosigned: ${server?.output ?? ''}`, { cause: error });
      });
      const proof = await proofOf();
      const answer = JSON.parse(await text(`/receipt/${receipt}`)) as ReceiptResponse;
      const entry = Buffer.from(answer.stored_envelope_sha256 ?? '', 'hex').toString('base64');
      const accepted = { sumdb: '', torchwood: '' };
      assert.deepEqual(await verify({ key: vkey, policy, proof, entry }), accepted);
      const checkpoint = checkpointOf(proof);
      assert.deepEqual(await verify({ key: vkey, policy, checkpoint }), accepted);
      assert.match((await verify({ key: vkey, policy: wrong, proof, entry })).torchwood, /./);
    }
    const page = await fetch(`${address}/log`);
    assert.match(await page.text(), /Cosigned by 2 witnesses/);
  });

  test('a proof is verified offline under the policy', async () => {
    const [receipt = ''] = /fr_[0-9A-Z]{26}/.exec(await text('/graph/fragments?limit=1')) ?? [];
    const [body, proof] = [join(folder, 'receipt.json'), join(folder, 'proof')];
    writeFileSync(body, await text(`/receipt/${receipt}`));
    writeFileSync(proof, await text(`/receipt/${receipt}/proof`));
    const args = ['receipts', 'verify', body, '--offline', proof, '--policy', join(folder, 'policy')];
    const verified = run(main, args, {});
    assert.equal((await verified.ended()).code, 0, verified.output);
    assert.match(verified.output, /cosigned as the policy wants/);
  });
});
