/** `fusegate log stamp|verify`: stamped while a server runs, served, verified; killed at every step. */
import assert from 'node:assert/strict';
import { chmodSync, cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { LndWalletServer } from '../checkout/lndWalletServer.js';
import { exchange, head, post } from '../support/raw.js';
import { run, temporaryFolder, type Running } from '../support/run.js';
import { until } from '../support/until.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const macaroon = Buffer.alloc(40, 0xab);

async function serve(folder: string): Promise<{ readonly server: Running; readonly port: number }> {
  const environment = { STORE_URL: `lmdb:${folder}/store`, PORT: '0', WORKERS: '1' };
  const server = run(main, ['serve'], environment);
  const [, port] = await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
  return { server, port: Number(port) };
}

/** Submits a fragment, and waits until a checkpoint has it. */
async function logged(port: number): Promise<void> {
  const body = JSON.stringify({ title: 'Truss', content: 'It carries.' });
  await exchange(port, post('/dream', body, { 'Content-Type': 'application/json' }));
  const size = async (): Promise<string | undefined> =>
    (await exchange(port, head('GET', '/checkpoint'))).body.toString().split('\n')[1];
  await until(async () => (await size()) === '1');
}

/** Files by which the command opens the wallet. */
function openers(folder: string, node: LndWalletServer): string[] {
  const [cert, file] = [join(folder, 'tls.cert'), join(folder, 'stamp.macaroon')];
  writeFileSync(cert, node.place.certificate);
  writeFileSync(file, macaroon, { mode: 0o600 });
  return ['--lnd', node.place.url, '--cert', cert, '--macaroon', file];
}

function start(folder: string, node: LndWalletServer, most = '250'): Running {
  const args = ['log', 'stamp', ...openers(folder, node), '--most-sat', most];
  return run(main, args, { STORE_URL: `lmdb:${folder}/store` });
}

async function said(running: Running): Promise<readonly [number | null, string]> {
  const { code } = await running.ended();
  return [code, running.output];
}

test('a stamp is made, served, shown and verified offline', async () => {
  const folder = temporaryFolder();
  const node = await LndWalletServer.start(macaroon.toString('hex'));
  const { server, port } = await serve(folder);
  await logged(port);
  const [dear, reason] = await said(start(folder, node, '249'));
  assert.deepEqual([dear, /would cost 250 sat now, more than 249/.test(reason)], [1, true]);
  const [made, words] = await said(start(folder, node));
  const [, day = ''] = /^(\S+): 1 receipt, published for 250 sat\.\n$/.exec(words) ?? [];
  assert.deepEqual([made, day.length], [0, 10], words);
  const get = (file: string) => exchange(port, head('GET', `/log/stamps/${day}/${file}`));
  assert.equal((await get('checkpoint.txt')).status, 404, 'not before its block is deep enough');
  const page = async (): Promise<string> => (await exchange(port, head('GET', '/log'))).body.toString();
  assert.match(await page(), new RegExp(`${day}: one receipt, waiting for its block`));
  node.mine(6);
  assert.deepEqual(await said(start(folder, node)), [0, `${day}: complete, block 800001.\n`]);
  assert.match(await page(), new RegExp(`${day}: one receipt, block 800001 .*header\\.txt`));
  const paths = await Promise.all(
    ['checkpoint.txt', 'checkpoint.txt.ots', 'header.txt'].map(async (file) => {
      const answer = await get(file);
      assert.equal(answer.status, 200);
      assert.match(answer.headers.get('cache-control') ?? '', /immutable/);
      writeFileSync(join(folder, file), answer.body);
      return join(folder, file);
    }),
  );
  assert.equal((await get('other')).status, 404);
  const vkey = (await exchange(port, head('GET', '/log/vkey'))).body.toString().trim();
  const [checkpoint = '', timestamp = '', header = ''] = paths;
  const verify = (...more: readonly string[]) =>
    said(run(main, ['log', 'verify', checkpoint, timestamp, ...more], {}));
  const whole = ['--vkey', vkey, '--header', header] as const;
  const [good, line] = await verify(...whole, '--testing');
  assert.equal(good, 0, line);
  assert.match(
    line,
    /fusegate\.invalid: 1 receipt, signed before the block of \S+Z\.\n.*at height 800001\.\n/,
  );
  for (const [more, expected] of [
    [whole, /any computer can make such a block/],
    [['--vkey', vkey], /names block 800001: give its header/],
    [['--header', header], /Give the verifier key/],
  ] as const) {
    const [code, words] = await verify(...more);
    assert.deepEqual([code, expected.test(words)], [1, true], words);
  }
  writeFileSync(checkpoint, readFileSync(checkpoint, 'utf8').replace('\n1\n', '\n2\n'));
  assert.match((await verify(...whole, '--testing'))[1], /not signed by the key/);
  server.child.kill('SIGTERM');
  await server.ended();
  const opener = openers(folder, node);
  chmodSync(opener.at(-1) ?? '', 0o644);
  const args = ['log', 'stamp', ...opener, '--most-sat', '9'];
  const [open, told] = await said(run(main, args, { STORE_URL: `lmdb:${folder}/store` }));
  assert.deepEqual([open, /can be read by others/.test(told)], [1, true]);
});

test('after a kill at any step, the next run finishes the stamp, and the day is paid for once', async () => {
  const origin = temporaryFolder();
  const { server, port } = await serve(origin);
  await logged(port);
  server.child.kill('SIGTERM');
  await server.ended();
  const steps = [
    ...['/v1/getinfo', '/v2/wallet/psbt/fund', '/v2/wallet/psbt/finalize', '/v2/wallet/tx'],
    // The second time it is asked, the store has the stamp.
    'stored',
  ];
  for (const step of steps) {
    const folder = temporaryFolder();
    cpSync(origin, folder, { recursive: true });
    const node = await LndWalletServer.start(macaroon.toString('hex'));
    const killed = start(folder, node);
    node.onEffect = (path) => {
      const lists = node.asked.filter((each) => each === '/v1/transactions').length;
      if (path === step || (step === 'stored' && lists === 2)) killed.child.kill('SIGKILL');
    };
    const { signal } = await killed.ended();
    assert.equal(signal, 'SIGKILL', step);
    node.onEffect = () => undefined;
    await said(start(folder, node));
    const labels = [...node.published.values()].map(({ label }) => label);
    assert.ok(labels.length > 0, step);
    assert.equal(new Set(labels).size, labels.length, `${step}: a day is paid twice`);
    node.mine(6);
    assert.match((await said(start(folder, node)))[1], /complete, block 800001/, step);
  }
});
