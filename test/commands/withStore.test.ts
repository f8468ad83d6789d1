/** Commands on a store: records that this version cannot read, and output that nobody reads. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { withStore, type CommandParts } from '../../src/commands/withStore.js';
import { StoreUnavailable } from '../../src/store/store.js';
import { integer, table } from '../../src/store/table.js';
import { systemClock } from '../../src/system/clock.js';
import { memoryFolder } from '../support/run.js';
import { storeAt } from '../support/openStore.js';
import { openTestStore } from '../support/serving.js';

const sized = table('size', { bytes: integer });

test('a command that meets such a record says so in one sentence, and ends with 1', async () => {
  const store = await openTestStore();
  const said: string[] = [];
  const parts = {
    ...{
      environment: {},
      machine: { cores: 1, memory: 1 << 30 },
      clock: systemClock,
      called: () => undefined,
    },
    openStore: () => Promise.resolve({ store, secrets: [] }),
    printError: (line: string) => void said.push(line),
  } as unknown as CommandParts;
  const failing = [
    () => sized.decode(Buffer.from('\u0002{"bytes":1}')),
    () => sized.decode(Buffer.from('\u0001{"bytes":"1"}')),
    () => {
      throw new StoreUnavailable('it is away');
    },
  ];
  for (const fail of failing) {
    assert.equal(await withStore(parts, async () => Promise.resolve(fail()).then(() => 0)), 1);
  }
  assert.deepEqual(said.slice(0, 2), [
    'A record of the store (size) cannot be read: this version does not know format 2; a later one may.',
    'A record of the store (size) cannot be read: it is damaged (its bytes is not an integer).',
  ]);
  assert.match(said[2] ?? '', /it is away/);
});

/** Runs `fusegate` in a shell on a store of its own. */
async function shell() {
  const STORE_URL = `lmdb:${memoryFolder()}/store`;
  await (await storeAt(STORE_URL)).close();
  const MASTER_SECRET = 'a-secret-of-the-tests-that-opens-nothing-at-all';
  const env = { PATH: process.env['PATH'], STORE_URL, MASTER_SECRET };
  const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
  return (line: string) => {
    const script = `fusegate() { "${process.execPath}" "${main}" "$@"; }; ${line}`;
    const { status, stdout, stderr } = spawnSync('bash', ['--norc', '-c', script], { env, encoding: 'utf8' });
    return { code: status, text: stdout, said: stderr };
  };
}

test('a secret that nobody would see is not made', async () => {
  const run = await shell();
  const unseen = /^Nobody would see the secret, as standard output .*\. Nothing was changed\.\n$/;
  for (const command of ['keys create --tier growth', 'webhooks add https://example.com/events --json']) {
    for (const output of ['| true; exit ${PIPESTATUS[0]}', '1>&-', '>/dev/null']) {
      const { code, said } = run(`fusegate ${command} ${output}`);
      assert.equal(code, 1, `${command} ${output}`);
      assert.match(said, unseen);
    }
  }
  assert.equal(run('fusegate keys list --json').text, '');
  const { id } = JSON.parse(run('fusegate keys create --tier growth --json').text) as { id: string };
  assert.match(run(`fusegate keys reissue ${id} | true; exit \${PIPESTATUS[0]}`).said, unseen);
  assert.match(run(`fusegate keys reissue ${id}`).text, new RegExp(`^Key ${id} is revoked\\.\nKey key_`));
  assert.match(run('fusegate history').text, /failed +keys create\n.*failed +keys create\n/);
});

test('a command whose output is lost ends with 1 if it changes something, else with 0', async () => {
  const run = await shell();
  const lost = run('fusegate keys revoke none --reason x | true; fusegate forget a@b.example --yes | true');
  assert.match(lost.said, /There is no key none/);
  assert.match(lost.said, /The changes are made, but the output could not be written: .*fusegate history\n$/);
  assert.match(run('fusegate history').text, /failed +forget\n$/);
  const read = run('fusegate history | true; exit ${PIPESTATUS[0]}');
  assert.deepEqual([read.code, read.said], [0, '']);
  assert.equal(run('fusegate keys show none 2> >(true)').code, 1);
});
