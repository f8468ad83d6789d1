/** `fusegate receipts` and `fusegate fragments`, while a server runs. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { AsyncResource } from 'node:async_hooks';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { ReceiptResponse } from '../../src/contract/receipt.js';
import { exchange, head, post } from '../support/raw.js';
import { commandApart, run, temporaryFolder, type Running } from '../support/run.js';
import { until } from '../support/until.js';
import { here, type Ended } from '../support/here.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const folder = temporaryFolder();
const STORE_URL = `lmdb:${folder}/store`;
const json = { 'Content-Type': 'application/json' };

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** A receipt of the first contract, as such were kept. */
function legacy(receipt: string, more: Readonly<Record<string, unknown>> = {}): string {
  const fragment = { title: 'Arch', content: 'stones\u2028lean', kind: 'BRIDGE', visitor: 'Ada' };
  const content_sha256 = sha256(`${fragment.title}\n${fragment.content}`);
  return JSON.stringify({ receipt, content_sha256, ...fragment, confirmation_token: '0123456789', ...more });
}

describe('receipts and fragments', () => {
  let server: Running;
  let port = 0;
  let receipt = '';
  const launch = AsyncResource.bind(() => run(main, ['serve'], { STORE_URL, PORT: '0', WORKERS: '1' }));

  before(async () => {
    server = launch();
    port = Number((await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/))[1]);
    const body = JSON.stringify({ title: 'Truss', content: 'three struts', visitor: 'Ada' });
    const answer = await exchange(port, post('/dream', body, json));
    receipt = (JSON.parse(answer.body.toString()) as { receipt: string }).receipt;
  });

  /** Runs a command where the program is loaded already. */
  async function fusegate(...args: readonly string[]): Promise<{ code: Ended['code']; said: string }> {
    const { code, output } = await here(args, { STORE_URL });
    return { code, said: output };
  }

  /** The same in a process of its own. */
  async function program(...args: readonly string[]): Promise<{ code: Ended['code']; said: string }> {
    const { code, output } = await commandApart(args, { STORE_URL });
    return { code, said: output };
  }

  async function ask(id: string): Promise<ReceiptResponse> {
    const answer = await exchange(port, head('GET', `/receipt/${id}`));
    assert.equal(answer.status, 200, answer.body.toString());
    return JSON.parse(answer.body.toString()) as ReceiptResponse;
  }

  /** Answers of exploration, once each knows the fragment; three of them know no withheld one. */
  async function explored(hidden: boolean): Promise<string[]> {
    const texts: string[] = [];
    for (const path of [
      '/graph',
      '/graph/fragments',
      '/walk',
      '/focus',
      '/leaderboard',
      `/graph/near?text=struts`,
    ]) {
      let text = '';
      await until(async () => {
        const answer = await exchange(port, head('GET', path));
        assert.equal(answer.status, 200, path);
        text = answer.body.toString();
        if (path === '/leaderboard') return true;
        const leftOut = hidden && (path === '/walk' || path === '/focus' || path.startsWith('/graph/near'));
        return text.includes(receipt) !== leftOut;
      });
      texts.push(text);
    }
    return texts;
  }

  function file(name: string, ...lines: readonly string[]): string {
    const path = join(folder, name);
    writeFileSync(path, `${lines.join('\n')}\n`);
    return path;
  }

  test('legacy receipts are imported once, and served unchanged under their own contract', async () => {
    const path = file('legacy.jsonl', legacy('a1'), '', legacy('b2', { status: 'probe', source: 'old' }));
    assert.deepEqual(await program('receipts', 'import', path), {
      code: 0,
      said: 'Imported 2 receipts.\n',
    });
    assert.deepEqual(await fusegate('receipts', 'import', path), {
      code: 0,
      said: 'Imported 0 receipts. 2 receipts of the file were there.\n',
    });
    const found = await ask('a1');
    assert.deepEqual(
      [found.hash_contract, found.status, found.stored_fragment_identity.scope],
      ['fragment-receipt-hash-v1-legacy', 'quarantined', 'receipt-id-only-legacy'],
    );
    assert.deepEqual(
      [found.content_sha256, found.envelope, found.stored_envelope_sha256, found.fragment?.content],
      [sha256('Arch\nstones\u2028lean'), null, null, 'stones\u2028lean'],
    );
    const { verified, fields } = found.cryptographic_verification;
    assert.deepEqual([verified, fields], [true, { content_sha256: true }]);
    assert.equal((await ask('b2')).status, 'probe');
  });

  test('a file with any error in it is refused as a whole', async () => {
    const lines = [
      'x',
      '[]',
      legacy('a b'),
      legacy(receipt),
      legacy('c', { title: '' }),
      legacy('c', { content: 'another' }),
      legacy('c', { kind: 5 }),
      legacy('c', { status: 'duplicate' }),
      legacy('c', { confirmation_token: 'f'.repeat(64) }),
      legacy('c', { content_sha256: 'F'.repeat(64) }),
      legacy('c', { visitor: '\ud800' }),
      legacy('d'),
      legacy('d', { visitor: 'another' }),
    ];
    const { code, said } = await fusegate('receipts', 'import', file('wrong.jsonl', ...lines));
    assert.equal(code, 1);
    assert.deepEqual(said.trim().split('\n'), [
      'Line 1 is not JSON.',
      'Line 2 is not a JSON object.',
      'Line 3 has no receipt: 1 to 64 letters, digits, _ or -, and not of the present form.',
      'Line 4 has no receipt: 1 to 64 letters, digits, _ or -, and not of the present form.',
      'Line 5 has no title.',
      'Line 6 has a content_sha256 that is not the SHA-256 of title, LF, content.',
      'Line 7 has a kind that is no text.',
      'Line 8 has a status other than quarantined and probe.',
      'Line 9 has a confirmation_token that is not 10 hexadecimal digits.',
      'Line 10 has no content_sha256 of 64 hexadecimal digits.',
      'Line 11 has a visitor that is no text.',
      'Line 13 has receipt d once more.',
      'Nothing was imported.',
    ]);
    assert.equal((await exchange(port, head('GET', '/receipt/d'))).status, 404);
    const other = await fusegate('receipts', 'import', file('other.jsonl', legacy('a1', { visitor: 'Bob' })));
    assert.deepEqual(other, {
      code: 1,
      said: 'Receipt a1 is there already, with other content. Nothing was imported.\n',
    });
  });

  test('exported receipts verify, and altered ones do not', async () => {
    const { code, said } = await fusegate('receipts', 'export');
    assert.equal(code, 0);
    const lines = said.trim().split('\n');
    assert.deepEqual(
      lines.map((line) => (JSON.parse(line) as ReceiptResponse).receipt),
      [receipt, 'a1', 'b2'],
    );
    assert.deepEqual(JSON.parse(lines[0] ?? ''), await ask(receipt));
    const all = await fusegate('receipts', 'verify', file('all.jsonl', ...lines));
    assert.equal(all.code, 0, all.said);
    assert.match(all.said, new RegExp(`^${receipt}: verified\n {2}ok {9}content_sha256\n`));
    assert.match(all.said, /^3 receipts verified, 0 not\.$/m);
    const touched = file('touched.jsonl', (lines[0] ?? '').replace('three struts', 'four struts'));
    const bad = await fusegate('receipts', 'verify', touched);
    assert.equal(bad.code, 1);
    assert.match(bad.said, /: NOT VERIFIED\n {2}WRONG {6}content_sha256\n/);
    assert.match(bad.said, /^ {2}ok {9}stored_envelope_sha256$/m);
    const restated = file('restated.jsonl', (lines[0] ?? '').replace('"status":"', '"status":"un'));
    const other = await fusegate('receipts', 'verify', restated);
    assert.deepEqual(
      [other.code, /NOT VERIFIED/.test(other.said)],
      [1, true],
      'a status that was not sealed',
    );
    const pretty = file('pretty.json', JSON.stringify(JSON.parse(lines[0] ?? ''), undefined, 2));
    assert.equal((await fusegate('receipts', 'verify', pretty)).code, 0);
    const url = await fusegate('receipts', 'verify', '--json', `http://127.0.0.1:${port}/receipt/${receipt}`);
    assert.equal(url.code, 0, url.said);
    assert.equal((JSON.parse(url.said) as { receipt: string }).receipt, receipt);
  });

  test('a file that holds no receipt is reported', async () => {
    for (const [text, reason] of [
      ['{}', 'is no receipt'],
      ['nonsense', 'is not JSON'],
      ['{"receipt":"a","fragment":{"title":"a"}}', 'has no fragment of six texts'],
    ] as const) {
      const path = file('no-receipt', text);
      const expected = { code: 1, said: `Receipt 1 of ${path} ${reason}.\n` };
      assert.deepEqual(await fusegate('receipts', 'verify', path), expected);
    }
    assert.match((await fusegate('receipts', 'verify', join(folder, 'absent'))).said, /cannot be read/);
    assert.match((await fusegate('receipts', 'verify', file('empty', ''))).said, /has no receipt\.$/m);
  });

  test('a fragment is withheld and shown again while the server runs; its digests stay', async () => {
    for (const id of [receipt, 'a1']) {
      const before = await ask(id);
      const hide = await fusegate('fragments', 'hide', id, '--reason', 'It names a person.');
      assert.equal(hide.code, 0, hide.said);
      const hidden = await ask(id);
      if (id === receipt) assert.ok(!(await explored(true)).some((text) => text.includes('three struts')));
      assert.deepEqual(hidden, { ...before, fragment: null, withheld: 'It names a person.' });
      const path = file('hidden.json', JSON.stringify(hidden));
      const { code, said } = await fusegate('receipts', 'verify', path);
      assert.equal(code, id === receipt ? 0 : 1);
      assert.match(said, /undecided {2}content_sha256/);
      await fusegate('fragments', 'show', id, '--reason', 'Asked and allowed.');
      assert.deepEqual(await ask(id), before);
      if (id === receipt) assert.ok((await explored(false)).some((text) => text.includes('three struts')));
    }
    const unknown = await fusegate('fragments', 'hide', 'nobodys', '--reason', 'x');
    assert.deepEqual(unknown, { code: 1, said: 'There is no receipt nobodys.\n' });
    assert.match((await fusegate('fragments', 'hide', receipt)).said, /required option '--reason/);
  });
});
