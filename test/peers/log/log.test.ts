/**
 * The log of a running server, checked by verifiers of others: Go's golang.org/x/mod/sumdb and
 * filippo.io/torchwood. Both accept its checkpoint, a proof, every tile and entry, and that the log begins
 * with an earlier checkpoint; both refuse each of them if a byte is changed.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { signCheckpoint, logKey, openCheckpoint, parseVerifierKey } from '../../../src/log/note.js';
import type { ReceiptResponse } from '../../../src/contract/receipt.js';
import { receiptUnit, sealOf } from '../../log/world.js';
import { temporaryFolder } from '../../support/run.js';
import { until } from '../../support/until.js';
import { storeAt } from '../../support/openStore.js';
import { startServer } from '../program.js';
import { skip, startVerifier, type Asked, type Said } from './verifier.js';

/** Receipts before the server starts: a log of two levels of tiles. */
const stored = 600;

const folder = temporaryFolder();
let address = '';
let vkey = '';
let verify: (asked: Omit<Asked, 'key'>) => Promise<Said>;

async function text(path: string): Promise<string> {
  const answer = await fetch(`${address}${path}`);
  assert.equal(answer.status, 200, path);
  return answer.text();
}

async function receiptOf(title: string): Promise<ReceiptResponse> {
  const sent = await fetch(`${address}/dream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ title, content: `The content of ${title}.` }),
  });
  const { receipt } = (await sent.json()) as { receipt: string };
  const read = async (): Promise<ReceiptResponse> =>
    JSON.parse(await text(`/receipt/${receipt}`)) as ReceiptResponse;
  await until(async () => (await read()).log?.included_at !== null);
  return read();
}

before(async () => {
  if (skip !== false) return;
  const said = startVerifier();
  const store = await storeAt(`lmdb:${folder}/store`);
  for (let at = 0; at < stored; at += 1) await store.commit(receiptUnit(at, sealOf(at)));
  await store.close();
  address = await startServer({
    STORE_URL: `lmdb:${folder}/store`,
    PUBLIC_DOOR_URL: 'https://fuse.example.com',
  });
  await until(async () => (await fetch(`${address}/checkpoint`)).status === 200);
  vkey = (await text('/log/vkey')).trim();
  verify = (asked) => said({ key: vkey, ...asked });
});

const accepted: Said = { sumdb: '', torchwood: '' };

async function assertRefused(asked: Omit<Asked, 'key'>, what: string): Promise<void> {
  const said = await verify(asked);
  assert.ok(said.sumdb !== '' && said.torchwood !== '', `${what}: ${JSON.stringify(said)}`);
}

/** A text with the base64 of another hash in place of what a pattern's first group finds. */
function swapped(given: string, pattern: RegExp): string {
  const [whole = '', found = ''] = pattern.exec(given) ?? [];
  assert.notEqual(found, '');
  const bytes = Buffer.from(found, 'base64');
  bytes[bytes.byteLength - 1] = (bytes.at(-1) ?? 0) ^ 1;
  return given.replace(whole, whole.replace(found, bytes.toString('base64')));
}

describe('verifiers of others', { skip }, () => {
  test('accept the checkpoint, and no other', async () => {
    const checkpoint = await text('/checkpoint');
    assert.deepEqual(await verify({ checkpoint }), accepted);
    await assertRefused({ checkpoint: checkpoint.replace(`\n${stored}\n`, `\n${stored + 1}\n`) }, 'size');
    await assertRefused({ checkpoint: swapped(checkpoint, /\n([^\n]{43}=)\n/) }, 'root');
    await assertRefused({ checkpoint: swapped(checkpoint, / (\S+)\n$/) }, 'signature');
    await assertRefused(
      { checkpoint: checkpoint.replaceAll('fuse.example.com', 'other.example.com') },
      'name',
    );
  });

  test('accept proofs, and none of another entry, place or path', async () => {
    for (const title of ['one', 'two', 'three']) {
      const { receipt, stored_envelope_sha256: seal } = await receiptOf(`Title ${title}`);
      const entry = Buffer.from(seal ?? '', 'hex').toString('base64');
      const proof = await text(`/receipt/${receipt}/proof`);
      assert.deepEqual(await verify({ proof, entry }), accepted);
      await assertRefused({ proof, entry: sealOf(1).toString('base64') }, 'entry');
      const [, index = ''] = /\nindex (\d+)\n/.exec(proof) ?? [];
      await assertRefused(
        { proof: proof.replace(`index ${index}`, `index ${Number(index) - 1}`), entry },
        'index',
      );
      await assertRefused({ proof: swapped(proof, /\n([^\n]{43}=)\n\n/), entry }, 'hash');
      await assertRefused({ proof: proof.replace(/\n[^\n]{43}=\n\n/, '\n\n'), entry }, 'short path');
      await assertRefused({ proof: swapped(proof, / (\S+)\n$/), entry }, 'signature');
    }
    const first = await text(`/receipt/fr_0${'0'.repeat(25)}/proof`);
    assert.deepEqual(await verify({ proof: first, entry: sealOf(0).toString('base64') }), accepted);
  });

  test('accept that the log begins with an earlier checkpoint, and not with a forged one', async () => {
    const earlier = await text('/checkpoint');
    await receiptOf('A later one');
    const checkpoint = await text('/checkpoint');
    assert.notEqual(checkpoint, earlier);
    assert.deepEqual(await verify({ checkpoint, address, earlier }), accepted);
    // The log's own key signs another history.
    const seed = readFileSync(join(folder, 'log-key'), 'utf8').trim();
    const known = parseVerifierKey(vkey);
    const opened = known === undefined ? undefined : openCheckpoint(earlier, known);
    assert.ok(opened !== undefined && 'size' in opened);
    const forged = signCheckpoint({ ...opened, root: sealOf(3) }, logKey(Buffer.from(seed, 'hex')));
    assert.deepEqual(await verify({ checkpoint: forged }), accepted);
    await assertRefused({ checkpoint, address, earlier: forged }, 'history');
  });

  test('refuse a tile and entries with another bit', async () => {
    let bad = '';
    const proxy = createServer((request, response) => {
      void fetch(`${address}${request.url ?? ''}`).then(async (answer) => {
        const bytes = Buffer.from(await answer.arrayBuffer());
        if (request.url === bad) bytes[bytes.byteLength - 1] = (bytes.at(-1) ?? 0) ^ 1;
        response.writeHead(answer.status).end(bytes);
      });
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    after(() => proxy.close());
    const at = proxy.address();
    assert.ok(typeof at === 'object' && at !== null);
    const through = `http://127.0.0.1:${at.port}`;
    const checkpoint = await text('/checkpoint');
    const partial = Number(checkpoint.split('\n')[1]) - 512;
    assert.deepEqual(await verify({ checkpoint, address: through }), accepted);
    for (const path of ['0/000', '0/001', `0/002.p/${partial}`, '1/000.p/2', 'entries/000']) {
      bad = `/tile/${path}`;
      await assertRefused({ checkpoint, address: through }, path);
    }
    bad = `/tile/entries/002.p/${partial}`;
    await assertRefused({ checkpoint, address: through }, bad);
  });
});
