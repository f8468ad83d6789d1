/**
 * A checkpoint stamped by a real LND on btcd's chain, and the timestamp as python-opentimestamps, which was
 * not written here, reads it; btcd says whose block it is.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { exchange, head, post } from '../../support/raw.js';
import { run, temporaryFolder } from '../../support/run.js';
import { until } from '../../support/until.js';
import { startServer } from '../program.js';
import { findPython } from '../../support/python.js';
import { nodesSkip, PaymentNodes } from './nodes.js';

const main = fileURLToPath(new URL('../../../src/main.js', import.meta.url));
const finding =
  nodesSkip === false ? findPython(['opentimestamps', 'bitcoin'], 'test/peers/requirements.txt') : undefined;
const skip =
  nodesSkip !== false ? nodesSkip : finding !== undefined && 'missing' in finding && finding.missing;

/** Says the height and the time that a timestamp attests of a file by a header, or fails. */
const script = `
import sys
from bitcoin.core import CBlockHeader
from opentimestamps.core.notary import BitcoinBlockHeaderAttestation
from opentimestamps.core.serialize import BytesDeserializationContext
from opentimestamps.core.timestamp import DetachedTimestampFile
content, stamp = (open(path, "rb").read() for path in sys.argv[1:3])
header = CBlockHeader.deserialize(bytes.fromhex(open(sys.argv[3]).read()))
file = DetachedTimestampFile.deserialize(BytesDeserializationContext(stamp))
assert file.file_digest == file.file_hash_op(content), "another file"
[(root, attestation)] = file.timestamp.all_attestations()
assert isinstance(attestation, BitcoinBlockHeaderAttestation)
print(attestation.height, attestation.verify_against_blockheader(root, header))
`;

const folder = temporaryFolder();
const store = { STORE_URL: `lmdb:${folder}/store` };
const [checkpoint, timestamp, header] = ['checkpoint.txt', 'checkpoint.txt.ots', 'header.txt'].map((file) =>
  join(folder, file),
) as [string, string, string];
let nodes: PaymentNodes;
let address: URL;
let openers: readonly string[];

async function text(path: string): Promise<string> {
  const answer = await exchange(Number(address.port), head('GET', path));
  return answer.body.toString();
}

/** The macaroon that docs/log.md names. */
async function bake(): Promise<Buffer> {
  const permissions = ['info read', 'onchain read', 'onchain write'].map((each) => {
    const [entity, action] = each.split(' ');
    return { entity, action };
  });
  const { macaroon } = await nodes.buyer.call('POST', '/v1/macaroon', { permissions });
  return Buffer.from(String(macaroon), 'hex');
}

async function stamp(most = '20000'): Promise<string> {
  const running = run(main, ['log', 'stamp', ...openers, '--most-sat', most], store);
  await running.ended();
  return running.output;
}

function peer(): { readonly status: number | null; readonly said: string } {
  assert.ok(finding !== undefined && 'python' in finding);
  const told = spawnSync(
    finding.python,
    ['-I', '-W', 'ignore', '-c', script, checkpoint, timestamp, header],
    {
      encoding: 'utf8',
    },
  );
  return { status: told.status, said: told.stdout + told.stderr };
}

async function verify(...more: readonly string[]): Promise<readonly [number | null, string]> {
  const vkey = (await text('/log/vkey')).trim();
  const args = ['log', 'verify', checkpoint, timestamp, '--header', header, '--vkey', vkey, ...more];
  const running = run(main, args, {});
  const { code } = await running.ended();
  return [code, running.output];
}

async function transactions(): Promise<readonly { readonly label?: string }[]> {
  const { transactions: list } = await nodes.buyer.call('GET', '/v1/transactions');
  return (list as { label?: string }[]).filter(({ label = '' }) => label.startsWith('fusegate log stamp'));
}

describe('stamps', { skip, timeout: 600_000 }, () => {
  before(async () => {
    nodes = await PaymentNodes.start();
    address = new URL(await startServer(store));
    const body = JSON.stringify({ title: 'Truss', content: 'It carries.' });
    await exchange(Number(address.port), post('/dream', body, { 'Content-Type': 'application/json' }));
    await until(async () => (await text('/checkpoint')).split('\n')[1] === '1');
    const macaroon = join(folder, 'stamp.macaroon');
    writeFileSync(macaroon, await bake(), { mode: 0o600 });
    const { url, certificatePath } = nodes.buyer;
    openers = ['--lnd', url, '--cert', certificatePath, '--macaroon', macaroon];
  });
  after(() => nodes.stop());

  test('are paid for by a real wallet once a day, within the limit', async () => {
    assert.match(await stamp('50'), /would cost \d+ sat now, more than 50/);
    assert.deepEqual(await transactions(), []);
    assert.match(await stamp(), /: 1 receipt, published for \d+ sat\.\n$/);
    assert.match(await stamp(), /waits, 0 confirmations/);
    assert.equal((await transactions()).length, 1);
    await nodes.mine(3);
    assert.match(await stamp(), /waits, 3 confirmations/);
    await nodes.mine(3);
    assert.match(await stamp(), /complete, block \d+/);
    assert.equal((await transactions()).length, 1);
  });

  test('python-opentimestamps, btcd and the command agree on the block', async () => {
    const [, day = ''] = /\/log\/stamps\/([-\d]+)\//.exec(await text('/log')) ?? [];
    for (const path of [checkpoint, timestamp, header]) {
      const file = path.slice(folder.length + 1);
      const answer = await exchange(Number(address.port), head('GET', `/log/stamps/${day}/${file}`));
      assert.equal(answer.status, 200);
      writeFileSync(path, answer.body);
    }
    const { status, said } = peer();
    assert.equal(status, 0, said);
    const [height = '', time = ''] = said.trim().split(' ');
    const hash = await nodes.btcd('getblockhash', Number(height));
    assert.equal(await nodes.btcd('getblockheader', hash, false), readFileSync(header, 'utf8').trim());
    const [code, line] = await verify('--testing');
    assert.equal(code, 0, line);
    const moment = new Date(Number(time) * 1_000).toISOString().replace('.000Z', 'Z');
    assert.ok(line.includes(`before the block of ${moment}.`), line);
    assert.ok(line.includes(`block ${String(hash)}, at height ${height}.`), line);
    assert.equal((await verify())[0], 1, 'a block that costs nothing proves nothing');
  });

  test('both refuse another checkpoint, another path and another header', async () => {
    for (const path of [checkpoint, timestamp, header]) {
      const whole = readFileSync(path);
      const changed = Buffer.from(whole);
      const at = path === header ? 90 : Math.floor(changed.byteLength / 2);
      const other = path === header ? 0x01 : 0x04;
      changed[at] = (changed[at] ?? 0) ^ other;
      writeFileSync(path, changed);
      assert.notEqual(peer().status, 0, path);
      assert.equal((await verify('--testing'))[0], 1, path);
      writeFileSync(path, whole);
    }
    assert.equal(peer().status, 0);
  });
});
