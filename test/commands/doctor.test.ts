/** `fusegate doctor`: what it says about a new folder, a running server, and each problem. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { spawnSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readAccount } from '../../src/checkout/onchain/addresses.js';
import { takeIndexes } from '../../src/store/tables/addressIndexes.js';
import { unfinishedCopyKey } from '../../src/store/open.js';
import { closedPort } from '../support/ports.js';
import { run, temporaryFolder } from '../support/run.js';
import { engineAt, storeAt } from '../support/openStore.js';
import { here } from '../support/here.js';

/** Where nothing answers: the doctor asks the port of the settings, where another program may be. */
const closed = String(await closedPort());

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));

/** A server's environment with a folder of its own. */
function fresh(): { STORE_URL: string; folder: string } {
  const folder = temporaryFolder();
  return { STORE_URL: `lmdb:${folder}/store`, folder };
}

interface Report {
  readonly ready: boolean;
  readonly findings: readonly { readonly level: string; readonly subject: string; readonly text: string }[];
}

/** What the doctor says, by subject, as `level: text`. */
async function doctor(environment: Readonly<Record<string, string>>): Promise<Map<string, string>> {
  const { code, output } = await here(['doctor', '--json'], { PORT: closed, ...environment });
  const { ready, findings } = JSON.parse(output) as Report;
  assert.equal(code, ready ? 0 : 1);
  assert.equal(
    ready,
    findings.every(({ level }) => level !== 'problem'),
  );
  return new Map(findings.map(({ level, subject, text }) => [subject, `${level}: ${text}`]));
}

/** Serves until `use` is done. */
async function serving(
  environment: Readonly<Record<string, string>>,
  use: (port: string) => Promise<void>,
): Promise<void> {
  const server = run(main, ['serve'], { ...environment, PORT: '0', WORKERS: '1' });
  const [, port = ''] = await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
  await use(port);
  server.child.kill('SIGTERM');
  await server.ended();
}

test('before the first start, while it serves, and after', async () => {
  const { STORE_URL } = fresh();
  const early = await doctor({ STORE_URL });
  assert.equal(early.get('index'), undefined, 'nothing of it is optional');
  assert.match(early.get('models') ?? '', /^ok: .*; all-MiniLM-L6-v2 for requests that name none, tried\.$/);
  assert.match(early.get('store') ?? '', /^note: There is no store in .+ The first start makes it\.$/);
  assert.match(
    early.get('server') ?? '',
    new RegExp(`^note: Nothing answers at http://127\\.0\\.0\\.1:${closed}: it does not run\\.$`),
  );
  await serving({ STORE_URL }, async (PORT) => {
    const found = await doctor({ STORE_URL, PORT, HOST: '0.0.0.0', PUBLIC_URL: 'https://example.com' });
    assert.equal(found.get('server'), `ok: It answers at http://127.0.0.1:${PORT} and is ready.`);
    assert.match(
      found.get('store') ?? '',
      /^ok: \d+ records in the store in .+; a synced write took [\d.]+ ms\.$/,
    );
    assert.match(found.get('secret') ?? '', /^ok: The master secret in .+ fits the store/);
    assert.match(
      found.get('keys') ?? '',
      /^note: 0 active, 0 ended or suspended\. Make one: fusegate keys create/,
    );
    assert.match(found.get('address') ?? '', /^note: It listens on 0\.0\.0\.0 in plain HTTP/);
    assert.equal(found.get('btc'), 'note: On-chain payments are not configured on this server.');
    assert.match(found.get('proxies') ?? '', /^note: TRUSTED_PROXIES is not set/);
    await here(['keys', 'create', '--tier', 'developer'], { STORE_URL });
    assert.equal((await doctor({ STORE_URL })).get('keys'), 'ok: 1 active, 0 ended or suspended.');
  });
  assert.match((await doctor({ STORE_URL })).get('server') ?? '', /^note: Nothing answers/);
});

test('names everything that keeps the server from working', async () => {
  const { STORE_URL, folder } = fresh();
  await serving({ STORE_URL }, () => Promise.resolve());
  const expect = async (
    environment: Readonly<Record<string, string>>,
    subject: string,
    expected: RegExp,
  ): Promise<void> => {
    assert.match((await doctor({ STORE_URL, ...environment })).get(subject) ?? '', expected);
  };
  const loop = join(folder, 'loop');
  symlinkSync(loop, loop);
  const unreadable = { STORE_URL: `lmdb:${loop}/store` };
  await expect(unreadable, 'store', /^problem: The store in .+ cannot be read \(ELOOP\)/);
  await expect(unreadable, 'data folder', /^problem: .+ cannot be written/);
  await expect({ PORT: 'http' }, 'settings', /^problem: PORT must be a whole number/);
  const account = { BTC_XPUB: 'abc', BTC_CHAIN: `esplora+http://127.0.0.1:${closed}` };
  await expect(account, 'settings', /^problem: BTC_XPUB must be an extended public key/);
  await expect({ TIERS_FILE: join(folder, 'none') }, 'tiers', /^problem: TIERS_FILE .+ cannot be read/);
  const postgres = {
    STORE_URL: `postgres://nobody@127.0.0.1:${closed}/none`,
    MASTER_SECRET: 'a-secret-of-the-tests-that-opens-nothing',
  };
  await expect(
    postgres,
    'store',
    new RegExp(`^problem: PostgreSQL at 127\\.0\\.0\\.1:${closed} does not answer`),
  );
  await expect(
    { MASTER_SECRET: 'a-secret-of-the-tests-that-opens-nothing' },
    'secret',
    /^problem: .+ put your copy into MASTER_SECRET\.$/,
  );
  await expect({ STORE_URI: 'x' }, 'settings', /^ok: Every variable can be used/);
  const secret = join(folder, 'master-secret');
  chmodSync(secret, 0o644);
  await expect({}, 'secret', /^problem: .+ can be read by others/);
  const kept = readFileSync(secret);
  writeFileSync(secret, 'short');
  chmodSync(secret, 0o600);
  await expect({}, 'secret', /^problem: .+ must be secrets of 32 to 256/);
  writeFileSync(secret, kept);
  const store = await storeAt(STORE_URL);
  const [key, value] = [Buffer.from('of a later version'), Buffer.of(99)];
  await store.commit([
    { kind: 'put', space: 'keys', key, value },
    { kind: 'put', space: 'keysById', key, value: key },
  ]);
  await store.close();
  await expect({}, 'keys', /^problem: A record of the store \(key\) cannot be read: .+ format 99; /);
  const engine = await engineAt(STORE_URL);
  await engine.transact(
    () => [],
    () => [{ key: unfinishedCopyKey, value: Buffer.of(1) }],
  );
  await engine.close();
  await expect({}, 'store', /^problem: In the store in .+ is an unfinished copy or restore/);
});

test('a data folder on a full disk is a problem', async (context) => {
  const { STORE_URL, folder } = fresh();
  const small = ['-t', 'tmpfs', '-o', 'size=65536', 'tmpfs', folder];
  if (spawnSync('mount', small).status !== 0) {
    context.skip('only root may mount a small file system');
    return;
  }
  const said = async (): Promise<string> => (await doctor({ STORE_URL })).get('data folder') ?? '';
  const ballast = join(folder, 'ballast');
  try {
    assert.match(await said(), /^note: .+ can be written, but has only 0\.0 GB free\. Make room\.$/);
    assert.throws(() => writeFileSync(ballast, Buffer.alloc(131_072)), { code: 'ENOSPC' });
    assert.match(await said(), /^problem: .+ cannot be written \(ENOSPC/);
    rmSync(ballast);
    assert.match(await said(), /^note: .+ can be written/);
    assert.deepEqual(readdirSync(folder), [], 'it leaves nothing there');
  } finally {
    spawnSync('umount', ['-l', folder]);
  }
});

test('another server on the port is not mistaken for this one', async () => {
  const [ours, theirs] = [fresh(), fresh()];
  await serving({ STORE_URL: theirs.STORE_URL }, async (PORT) => {
    const found = await doctor({ STORE_URL: ours.STORE_URL, PORT });
    assert.match(found.get('server') ?? '', /^problem: The Fusegate that answers at .+ is another one/);
    const elsewhere = await doctor({ STORE_URL: theirs.STORE_URL });
    assert.match(elsewhere.get('server') ?? '', /^note: Nothing answers .+, and process \d+ holds .+\./);
  });
  const stranger = createServer((_, answer) => void answer.end('hello')).listen(0, '127.0.0.1');
  await once(stranger, 'listening');
  const { port } = stranger.address() as AddressInfo;
  const found = await doctor({ STORE_URL: ours.STORE_URL, PORT: String(port) });
  assert.match(found.get('server') ?? '', /^problem: Another program than Fusegate answers at /);
  stranger.closeAllConnections();
  stranger.close();
});

test('a server that is too busy for its own checks is asked again', async () => {
  const { STORE_URL } = fresh();
  const check = { check: 'store', ok: false, code: 'no_answer', reason: 'The check did not finish.' };
  const failed = { ...check, code: 'store_unwritable', reason: 'The store cannot be written.' };
  const answers = [
    [503, { ready: false, checks: [check], warnings: [] }],
    [503, { ready: false, checks: [check], warnings: [] }],
    [200, { ready: true, checks: [], warnings: ['A warning.'] }],
    [503, { ready: false, checks: [failed], warnings: [] }],
  ] as const;
  const asked: string[] = [];
  const busy = createServer(({ url = '' }, answer) => {
    if (url !== '/ready') return void answer.end('{"rails":[]}');
    const [status, body] = answers[asked.length] ?? assert.fail('asked too often');
    asked.push(url);
    answer.writeHead(status).end(JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(busy, 'listening');
  const { port } = busy.address() as AddressInfo;
  await serving({ STORE_URL }, async () => {
    const found = await doctor({ STORE_URL, PORT: String(port) });
    assert.deepEqual([asked.length, found.get('server')], [3, 'note: A warning.']);
    const refused = await doctor({ STORE_URL, PORT: String(port) });
    assert.equal(asked.length, 4, 'a failed check is not asked for again');
    assert.match(refused.get('server') ?? '', /^problem: .+ answers 503: .+store_unwritable/);
  });
  busy.closeAllConnections();
  busy.close();
});

test('people get a table and a verdict', async () => {
  const { STORE_URL } = fresh();
  const command = run(main, ['doctor'], { STORE_URL, STORE_URI: 'x', PORT: closed });
  assert.equal((await command.ended()).code, 0);
  assert.match(command.output, /^ok {7}program {6}Fusegate \d/m);
  assert.match(command.output, /^note {5}settings {5}STORE_URI is not read; did you mean STORE_URL\?$/m);
  assert.match(command.output, /\nFusegate is ready to serve\.\n$/);
});

test('the addresses of on-chain orders are reported', async () => {
  const { STORE_URL } = fresh();
  const { vectors } = JSON.parse(readFileSync('test/vectors/payments/bip84.json', 'utf8')) as {
    readonly vectors: readonly { readonly network: string; readonly account_public: string }[];
  };
  const BTC_XPUB = vectors.find(({ network }) => network === 'mainnet')?.account_public ?? '';
  const url = fresh().STORE_URL;
  const onChain = { BTC_XPUB, BTC_CHAIN: 'esplora+https://esplora.invalid/api' };
  await serving({ STORE_URL }, async () => {
    const found = await doctor({ STORE_URL, PORT: '0', ...onChain });
    assert.match(found.get('addresses') ?? '', /^ok: No on-chain address was given out yet; the first start/);
    assert.equal((await doctor({ STORE_URL, PORT: '0' })).get('addresses'), undefined);
  });
  const store = await storeAt(url);
  const read = readAccount(BTC_XPUB, 'mainnet');
  assert.ok('account' in read);
  const step = takeIndexes(read.account.digest, { bytes: undefined, passedOver: 1 }, 7);
  assert.equal((await store.commit([step])).kind, 'done');
  await store.close();
  const after = await doctor({ STORE_URL: url, PORT: '0', ...onChain });
  const said = 'ok: The next on-chain order gets the address of index 7. ';
  assert.equal(after.get('addresses'), `${said}One address was skipped because of earlier payments.`);
});
