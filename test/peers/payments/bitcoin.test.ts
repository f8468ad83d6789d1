/** Keys sold on chain, paid on a real node: every course that a payment can take. */
import type { OrderRecord } from '../../../src/store/tables/order.js';
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { BitcoinOrder, BitcoinOrderCreated } from '../../../src/contract/bitcoin.js';
import type { LightningOrderCreated } from '../../../src/contract/lightning.js';
import type { ReadyResponse } from '../../../src/contract/info.js';
import { readAccount } from '../../../src/checkout/onchain/addresses.js';
import { allOrders } from '../../../src/store/tables/orders.js';
import { storeAt } from '../../support/openStore.js';
import type { RawResponse } from '../../support/raw.js';
import { processesOf, run, temporaryFolder } from '../../support/run.js';
import { until } from '../../support/until.js';
import { bodyOf, Gateway, main } from './gateway.js';
import { nodesSkip, PaymentNodes } from './nodes.js';
import { collect } from '../../support/collect.js';

const path = '/v1/checkout/btc';
const data = temporaryFolder();
const temporary = temporaryFolder();
const price = 50_000;

interface Vector {
  readonly network: string;
  readonly account_public: string;
  readonly receive: readonly { readonly address: string }[];
}

const { vectors } = JSON.parse(readFileSync('test/vectors/payments/bip84.json', 'utf8')) as {
  readonly vectors: readonly Vector[];
};
const account = vectors.find(({ network }) => network !== 'mainnet')?.account_public ?? '';

describe('Bitcoin', { skip: nodesSkip, timeout: 900_000 }, () => {
  let nodes: PaymentNodes;
  /** Raw keys that polls carried. */
  const handedOut: string[] = [];

  const gateway = new Gateway(() => ({
    STORE_URL: `lmdb:${data}/store`,
    WORKERS: '2',
    BTC_NETWORK: 'regtest',
    BTC_XPUB: account,
    BTC_CHAIN: nodes.chain,
  }));

  before(async () => {
    nodes = await PaymentNodes.start();
    await gateway.start();
    // A fresh store first searches the account for earlier payments.
    const priced = async () => (await gateway.get('/v1/pricing')).body.toString();
    await until(async () => /"rail":"btc","ready":true/.test(await priced()), 60_000);
  });
  after(() => nodes.stop());

  function create(): Promise<RawResponse> {
    return gateway.post(path, '{"tier":"developer"}');
  }

  async function order(): Promise<BitcoinOrderCreated> {
    return bodyOf(await create()) as BitcoinOrderCreated;
  }

  /** Polls without acting, so that the key stays. */
  async function look({ order_id: id }: BitcoinOrder): Promise<BitcoinOrder> {
    return bodyOf(await gateway.get(`${path}/${id}`, { 'Sec-Purpose': 'prefetch' })) as BitcoinOrder;
  }

  async function poll({ order_id: id }: BitcoinOrder): Promise<BitcoinOrder> {
    const polled = bodyOf(await gateway.get(`${path}/${id}`)) as BitcoinOrder;
    if (polled.api_key !== null) handedOut.push(polled.api_key);
    return polled;
  }

  async function becomes(made: BitcoinOrder, status: string): Promise<BitcoinOrder> {
    let last = await look(made);
    await until(async () => (last = await look(made)).status === status, 60_000).catch((error: unknown) => {
      throw new Error(`it is ${JSON.stringify(last)}`, { cause: error });
    });
    return last;
  }

  test('the first addresses are the account’s, in order', async () => {
    const expected = vectors.find(({ account_public: key }) => key === account)?.receive ?? [];
    assert.ok(expected.length > 0);
    const made = await order();
    assert.equal(made.bip21, `bitcoin:${made.address}?amount=0.00050000`);
    assert.match(made.address, /^bcrt1q/);
    // The vectors are of testnet: the witness program is the same, the prefix and the checksum are not.
    assert.equal(made.address.slice('bcrt1'.length, -6), expected[0]?.address.slice('tb1'.length, -6));
    const code = await gateway.get(`${path}/${made.order_id}/qr.svg`);
    assert.match(code.body.toString(), /^<svg /);
  });

  test('seen unconfirmed, confirmed at the required depth: a key, once', async () => {
    const made = await order();
    assert.deepEqual([made.status, made.missing_sat, made.confirmations_required], ['pending', price, 2]);
    await nodes.payAddress(made.address, price);
    const seen = await becomes(made, 'seen');
    assert.deepEqual([seen.received_sat, seen.missing_sat, seen.confirmations], [price, 0, 0]);
    await nodes.mine(1);
    await pause(600);
    assert.deepEqual([(await look(made)).status, (await look(made)).confirmations], ['seen', 1]);
    await nodes.mine(1);
    const confirmed = await becomes(made, 'confirmed');
    assert.deepEqual([confirmed.confirmations, confirmed.late, confirmed.key_status], [2, false, 'none']);
    const first = await poll(made);
    assert.equal(first.key_status, 'revealed_now');
    assert.equal(await gateway.statusWith(first.api_key), 200);
    assert.deepEqual([(await poll(made)).api_key, (await poll(made)).key_status], [null, 'already_revealed']);
  });

  test('underpaid, topped up, and overpaid', async () => {
    const made = await order();
    await nodes.payAddress(made.address, price - 1_000);
    const short = await becomes(made, 'underpaid');
    assert.equal(short.missing_sat, 1_000);
    await nodes.payAddress(made.address, 3_000);
    const seen = await becomes(made, 'seen');
    assert.deepEqual([seen.missing_sat, seen.overpaid_sat], [0, 2_000]);
    await nodes.mine(2);
    assert.equal((await becomes(made, 'confirmed')).overpaid_sat, 2_000);
  });

  test('a reorganisation suspends the key until the payment is confirmed again', async () => {
    const made = await order();
    const sent = await nodes.payAddress(made.address, price);
    const payment = await nodes.btcd('getrawtransaction', sent);
    await nodes.mine(1);
    const height = Number(await nodes.btcd('getblockcount'));
    const block = await nodes.btcd('getblockhash', height);
    await nodes.mine(1);
    await becomes(made, 'confirmed');
    const { api_key: key } = await poll(made);
    assert.equal(await gateway.statusWith(key), 200);
    await nodes.btcd('invalidateblock', block);
    // Its sender sends it again; a node that took it back into its pool refuses that.
    await nodes.btcd('sendrawtransaction', payment).catch(() => undefined);
    const back = await becomes(made, 'seen');
    assert.equal(back.key_status, 'suspended');
    await until(async () => (await gateway.statusWith(key)) === 401, 5_000);
    await nodes.btcd('generate', 3);
    assert.equal((await becomes(made, 'confirmed')).key_status, 'already_revealed');
    await until(async () => (await gateway.statusWith(key)) === 200, 5_000);
  });

  test('a payment is found without a poll', async () => {
    const made = await order();
    await nodes.payAddress(made.address, price);
    // The store is read, which asks no node; `npm run bench -- checkout` says how soon the watcher finds one.
    const seen = async (): Promise<boolean> =>
      (await orders()).some(({ id, status }) => id === made.order_id && status === 'seen');
    await until(seen, 30_000);
    await nodes.mine(2);
    await becomes(made, 'confirmed');
  });

  test('a payment while Fusegate is down is found without a poll', async () => {
    const made = await order();
    await gateway.stop();
    await nodes.payAddress(made.address, price);
    await nodes.btcd('generate', 2);
    await gateway.start({ LOG_LEVEL: 'debug' });
    await gateway.server.prints(/"rail":"btc","looked":\d+/);
    assert.equal((await look(made)).status, 'confirmed');
  });

  test('a node that hangs: an honest 503, and the payment is found when it is back', async () => {
    const made = await order();
    await nodes.payAddress(made.address, price);
    nodes.signalBtcd('SIGSTOP');
    await pause(3_100);
    assert.equal((bodyOf(await create(), 503) as { code: string }).code, 'rail_unavailable');
    assert.ok(['pending', 'seen'].includes((await look(made)).status));
    nodes.signalBtcd('SIGCONT');
    await becomes(made, 'seen');
  });

  test('at most MAX_UNPAID_ORDERS wait, over all workers', async () => {
    await gateway.stop();
    const open = (await unpaid()).length;
    await gateway.start({ MAX_UNPAID_ORDERS: String(open + 20) });
    const answers = await Promise.all(Array.from({ length: 60 }, create));
    const counts = new Map<number, number>();
    for (const { status } of answers) counts.set(status, (counts.get(status) ?? 0) + 1);
    assert.deepEqual([counts.get(200), counts.get(503)], [20, 40]);
    const busy = answers.find(({ status }) => status === 503);
    assert.equal((JSON.parse(busy?.body.toString() ?? '') as { code: string }).code, 'rail_busy');
    await gateway.stop();
    await gateway.start({ MAX_UNPAID_ORDERS: '0' });
  });

  test('4 processes, with kills between, give out every index once', async () => {
    const addresses = new Set<string>();
    for (let round = 0; round < 5; round += 1) {
      await gateway.stop();
      await gateway.start({ MAX_UNPAID_ORDERS: '0', WORKERS: '4' });
      const processes = processesOf(gateway.server);
      const asked = Array.from({ length: 64 }, () => create().catch(() => undefined));
      if (round % 2 === 1) {
        await Promise.race(asked);
        for (const each of processes) process.kill(each, 'SIGKILL');
        await gateway.server.ended();
        await gateway.start({ MAX_UNPAID_ORDERS: '0', WORKERS: '4' });
      }
      for (const answer of await Promise.all(asked)) {
        if (answer?.status !== 200) continue;
        const { address } = JSON.parse(answer.body.toString()) as BitcoinOrder;
        assert.ok(!addresses.has(address), 'given out twice');
        addresses.add(address);
      }
    }
    assert.ok(addresses.size >= 3 * 64);
    await gateway.stop();
    const given = (await indexes()).sort((a, b) => a - b);
    assert.deepEqual(
      given,
      given.map((_, at) => at),
    );
    await gateway.start();
  });

  test('the operator is warned of a wallet’s gap limit, and addresses can be looked up again', async () => {
    const warned = async (): Promise<readonly string[]> => {
      for (;;) {
        const { body } = await gateway.get('/ready');
        const { ready, checks, warnings } = JSON.parse(body.toString()) as ReadyResponse;
        if (ready) return warnings;
        // On a busy machine a check may take longer than /ready waits for it; nothing else may be wrong.
        assert.ok(
          checks.every((check) => check.ok || check.code === 'no_answer'),
          body.toString(),
        );
        await pause(100);
      }
    };
    assert.match((await warned())[0] ?? '', /^More than 15 on-chain addresses in a row were not paid to/);
    const settings = { PORT: String(gateway.port), MAX_UNPAID_ORDERS: '0' };
    const doctor = run(main, ['doctor'], gateway.environment(settings));
    await doctor.ended();
    assert.match(doctor.output, /^note +server +More than 15 on-chain addresses/m);
    const last = await order();
    await nodes.payAddress(last.address, price);
    await becomes(last, 'seen');
    // What /ready found is reported again for a second.
    await until(async () => (await warned()).length === 0, 20_000);
    await gateway.stop();
    const read = readAccount(account, 'regtest');
    assert.ok('account' in read);
    const given = await indexes();
    const beyond = Math.max(...given) + 3;
    await nodes.payAddress(read.account.address(beyond), 7_000);
    await nodes.mine(2);
    const rescan = run(main, ['orders', 'rescan', '--from', '1'], gateway.environment());
    assert.equal((await rescan.ended()).code, 0, rescan.output);
    assert.match(
      rescan.output,
      new RegExp(`^${Math.max(...given) + 20} addresses looked up, [1-9]\\d* orders changed`, 'm'),
    );
    assert.match(
      rescan.output,
      new RegExp(`^7000 sat came to \\w+ \\(index ${beyond}\\), which no order has`, 'm'),
    );
    await gateway.start();
    assert.equal((await look(last)).status, 'confirmed');
  });

  test('a restored store gives out no address twice, and reports what was paid for lost orders', async () => {
    const lightning = {
      LND_REST_URL: nodes.merchant.url,
      LND_TLS_CERT: nodes.merchant.certificatePath,
      LND_MACAROON_HEX: nodes.macaroon,
      MAX_UNPAID_ORDERS: '0',
    };
    const fusegate = async (target: string, ...args: readonly string[]): Promise<string> => {
      const command = run(main, args, {
        ...gateway.environment(lightning),
        ...(target === '' ? {} : { STORE_URL: target }),
      });
      assert.equal((await command.ended()).code, 0, command.output);
      return command.output;
    };
    await gateway.stop();
    await gateway.start(lightning);
    const before = await order();
    const folder = `${temporary}/backup`;
    await fusegate('', 'backup', folder);
    const [lost, unpaidOne] = [await order(), await order()];
    await nodes.payAddress(before.address, price);
    await nodes.payAddress(lost.address, price);
    const asked = await gateway.post('/v1/checkout/lightning', '{"tier":"developer"}');
    const invoice = bodyOf(asked) as LightningOrderCreated;
    await nodes.payInvoice(invoice.bolt11);
    await nodes.mine(2);
    await gateway.stop();
    mkdirSync(`${temporary}/restored`);
    copyFileSync(`${data}/master-secret`, `${temporary}/restored/master-secret`);
    const target = `lmdb:${temporary}/restored/store`;
    const said = await fusegate(target, 'restore', folder);
    assert.match(said, new RegExp(`^50000 sat came to ${lost.address}, whose order was made after`, 'm'));
    assert.match(said, new RegExp(`${invoice.payment_hash}.* for order ${invoice.order_id}, made after`));
    assert.match(said, /^The address index was moved on, past 1000 addresses\.$/m);
    assert.match(await fusegate(target, 'orders', 'show', before.order_id), /^status +confirmed$/m);
    await gateway.start({ ...lightning, STORE_URL: target });
    const next = await order();
    assert.ok(![before, lost, unpaidOne].some(({ address }) => address === next.address));
    assert.equal((await poll(before)).key_status, 'revealed_now');
    await gateway.stop();
    await gateway.start();
  });

  test('no key that was handed out is anywhere on the disk or in a log', async () => {
    assert.ok(handedOut.length >= 3);
    await gateway.stop();
    const logs = gateway.servers.map(({ output }) => output).join('');
    const files = [data, temporary].flatMap((folder) =>
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => readFileSync(join(entry.parentPath, entry.name))),
    );
    assert.ok(files.length > 2 && logs.length > 1_000);
    for (const key of handedOut) {
      const secret = Buffer.from(key.slice('fg_'.length, -6), 'base64url');
      for (const shape of [Buffer.from(key), secret, Buffer.from(secret.toString('hex'))]) {
        assert.ok(!logs.includes(shape.toString()));
        assert.ok(files.every((bytes) => !bytes.includes(shape)));
      }
    }
    await gateway.start();
  });

  test('malformed, unknown and foreign ids get the same 404', async () => {
    for (const id of ['x', 'a'.repeat(26), 'A'.repeat(26), '%00', 'a'.repeat(300)]) {
      const response = await gateway.get(`${path}/${id}`);
      assert.deepEqual(
        [response.status, response.body.toString()],
        [404, '{"detail":"There is no such order.","code":"order_not_found","docs":"/docs/guides/checkout"}'],
      );
    }
  });
});

async function orders(): Promise<OrderRecord[]> {
  const store = await storeAt(`lmdb:${data}/store`);
  const found = await collect(allOrders(store));
  await store.close();
  return found;
}

/** The indexes of the addresses that orders have. */
async function indexes(): Promise<number[]> {
  return (await orders()).flatMap((order) => (order.rail === 'btc' ? [order.addressIndex] : []));
}

async function unpaid(): Promise<OrderRecord[]> {
  return (await orders()).filter(({ status }) => status === 'pending' || status === 'underpaid');
}
