/** The log of receipts of a running server: signed, proven offline, audited, and restored. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ReceiptResponse } from '../../src/contract/receipt.js';
import { exchange, head, post } from '../support/raw.js';
import { commandApart, temporaryFolder } from '../support/run.js';
import { until } from '../support/until.js';
import { fusegate, program, serve, stop } from './beside.js';

const json = { 'Content-Type': 'application/json' };

async function text(port: number, path: string): Promise<string> {
  const answer = await exchange(port, head('GET', path));
  return answer.status === 200 ? answer.body.toString() : '';
}

/** Submits a fragment and waits until a checkpoint has it. */
async function logged(port: number, title: string): Promise<ReceiptResponse> {
  const body = JSON.stringify({ title, content: `${title}, told` });
  const answer = await exchange(port, post('/dream', body, json));
  const { receipt } = JSON.parse(answer.body.toString()) as { receipt: string };
  const read = async (): Promise<ReceiptResponse> =>
    JSON.parse(await text(port, `/receipt/${receipt}`)) as ReceiptResponse;
  await until(async () => (await read()).log?.included_at !== null);
  return read();
}

test('a running server logs receipts, which are proven offline and audited', async () => {
  const folder = temporaryFolder();
  const { server, port } = await serve(folder);
  await logged(port, 'Truss');
  const receipt = await logged(port, 'Arch');
  assert.equal(receipt.log?.index, 1);
  assert.equal(statSync(join(folder, 'log-key')).mode & 0o777, 0o600);
  const [vkey, proof] = await Promise.all([
    text(port, '/log/vkey'),
    text(port, `/receipt/${receipt.receipt}/proof`),
  ]);
  const [receiptFile, proofFile, kept] = ['receipt', 'proof', 'kept'].map((name) => join(folder, name));
  assert.ok(receiptFile !== undefined && proofFile !== undefined && kept !== undefined);
  writeFileSync(receiptFile, JSON.stringify(receipt));
  writeFileSync(proofFile, proof);
  writeFileSync(kept, await text(port, '/checkpoint'));
  const offline = ['receipts', 'verify', receiptFile, '--offline', proofFile, '--vkey'] as const;
  const good = await program(folder, ...offline, vkey.trim());
  assert.deepEqual(
    [good.code, /verified, leaf 1 of 2 in the log fusegate\.invalid/.test(good.said)],
    [0, true],
  );
  writeFileSync(proofFile, proof.replace('index 1', 'index 0'));
  const bad = await fusegate(folder, ...offline, vkey.trim());
  assert.deepEqual([bad.code, /does not lead from this receipt to the root/.test(bad.said)], [1, true]);
  await logged(port, 'Dome');
  const url = `http://127.0.0.1:${port}`;
  const audited = await fusegate(folder, 'log', 'audit', url, '--vkey', vkey.trim(), '--since', kept);
  assert.equal(audited.code, 0, audited.said);
  assert.match(audited.said, /fusegate\.invalid: 3 receipts, root .* All hashes fit\.\n/);
  writeFileSync(kept, readFileSync(kept, 'utf8').replace('\n2\n', '\n1\n'));
  assert.equal((await fusegate(folder, 'log', 'audit', url, '--since', kept)).code, 1);
  const needless = await fusegate(folder, 'log', 'resolve', '--continue');
  assert.deepEqual([needless.code, /was not restored/.test(needless.said)], [1, true]);
  // The server that runs here has the key in memory.
  const early = await program(folder, 'log', 'resolve', '--new-key');
  assert.deepEqual([early.code, /is in use by process \d+\. Stop that server/.test(early.said)], [1, true]);
  await logged(port, 'Vault');
  assert.equal(await text(port, '/log/vkey'), vkey);
  await stop({ server });
});

test('after a restore nothing is signed until the operator says which state counts', async () => {
  const [folder, other] = [temporaryFolder(), temporaryFolder()];
  const first = await serve(folder);
  await logged(first.port, 'Truss');
  const saved = join(other, 'backup');
  assert.equal((await program(folder, 'backup', saved)).code, 0);
  const vkey = await text(first.port, '/log/vkey');
  await stop(first);
  for (const name of ['master-secret', 'log-key']) {
    writeFileSync(join(other, name), readFileSync(join(folder, name)), { mode: 0o600 });
  }
  assert.equal((await program(other, 'restore', saved)).code, 0);
  const waiting = await serve(other);
  await waiting.server.prints(/restored from a backup/);
  const before = await text(waiting.port, '/checkpoint');
  await stop(waiting);
  assert.equal((await program(other, 'log', 'resolve')).code, 1);
  assert.equal((await program(other, 'log', 'resolve', '--continue')).code, 0);
  const again = await serve(other);
  await logged(again.port, 'Arch');
  assert.notEqual(await text(again.port, '/checkpoint'), before);
  assert.equal(await text(again.port, '/log/vkey'), vkey);
  await stop(again);
  assert.equal((await program(other, 'log', 'resolve', '--new-key')).code, 0);
  const anew = await serve(other);
  await logged(anew.port, 'Dome');
  assert.notEqual(await text(anew.port, '/log/vkey'), vkey);
  await stop(anew);
});

test('a lost key is replaced by no other, and signs again once it is put back', async () => {
  const folder = temporaryFolder();
  const [key, copy] = [join(folder, 'log-key'), join(folder, 'copy')];
  const findings = async (): Promise<string> => (await fusegate(folder, 'doctor')).said;
  const first = await serve(folder);
  await logged(first.port, 'Truss');
  const vkey = await text(first.port, '/log/vkey');
  await stop(first);
  assert.ok((await findings()).includes(`ok       log          The key ${key} signs as ${vkey.trim()}.`));
  renameSync(key, copy);
  const without = await serve(folder);
  await without.server.prints(/no checkpoint of the log of receipts is signed/);
  await without.server.prints(/log-key is missing, and this store's log is signed already/);
  assert.ok(!existsSync(key), 'none was made');
  const { code, said } = await fusegate(folder, 'doctor');
  assert.equal(code, 1);
  assert.match(
    said,
    /^problem {2}log {10}Nothing is signed\. The log's key .+log-key is missing, .+ --new-key\.$/m,
  );
  const other = temporaryFolder();
  await stop(without);
  const stranger = await serve(other);
  await logged(stranger.port, 'Vault');
  await stop(stranger);
  writeFileSync(key, readFileSync(join(other, 'log-key')), { mode: 0o600 });
  assert.match(await findings(), /^problem {2}log {10}Nothing is signed\. .+ is signed by another key, /m);
  renameSync(copy, key);
  const again = await serve(folder);
  await logged(again.port, 'Arch');
  assert.equal(await text(again.port, '/log/vkey'), vkey);
  await stop(again);
  assert.doesNotMatch(await findings(), /Nothing is signed/);
});

test('a key that is set needs no file, and is replaced by setting another', async () => {
  const folder = temporaryFolder();
  const set = { LOG_KEY: `${'7'.repeat(64)}\n` };
  const command = async (...args: string[]): Promise<string> =>
    (await commandApart(args, { STORE_URL: `lmdb:${folder}/store`, ...set })).output;
  const first = await serve(folder, set);
  await logged(first.port, 'Truss');
  const vkey = await text(first.port, '/log/vkey');
  await stop(first);
  assert.deepEqual(existsSync(join(folder, 'log-key')), false);
  // As where a machine's folder is new.
  rmSync(join(folder, 'log-seen'));
  const next = await serve(folder, set);
  await logged(next.port, 'Arch');
  assert.equal(await text(next.port, '/log/vkey'), vkey);
  await stop(next);
  assert.ok((await command('doctor')).includes(`The key LOG_KEY signs as ${vkey.trim()}.`));
  assert.match(
    await command('log', 'resolve', '--new-key'),
    /^The old key was retired\. If the server has it by LOG_KEY, set another one /,
  );
  const old = await serve(folder, set);
  await old.server.prints(/The key of the log here was retired\. Give this machine the new one, by LOG_KEY/);
  await stop(old);
  const anew = await serve(folder, { LOG_KEY: '8'.repeat(64) });
  await logged(anew.port, 'Dome');
  assert.notEqual(await text(anew.port, '/log/vkey'), vkey);
  await stop(anew);
});
