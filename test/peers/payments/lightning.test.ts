/** Keys sold over Lightning, paid on real nodes; and what the rail does when its node fails. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type {
  LightningCapacityResponse,
  LightningOrder,
  LightningOrderCreated,
} from '../../../src/contract/lightning.js';
import { exchange, head } from '../../support/raw.js';
import { findOrderAt } from '../../../src/store/tables/orders.js';
import { storeAt } from '../../support/openStore.js';
import { run, temporaryFolder } from '../../support/run.js';
import { until } from '../../support/until.js';
import { bodyOf, Gateway, main } from './gateway.js';
import { nodesSkip, PaymentNodes } from './nodes.js';

const path = '/v1/checkout/lightning';
const data = temporaryFolder();

describe('Lightning', { skip: nodesSkip, timeout: 900_000 }, () => {
  let nodes: PaymentNodes;
  const gateway = new Gateway(() => ({
    STORE_URL: `lmdb:${data}/store`,
    WORKERS: '2',
    BTC_NETWORK: 'regtest',
    LND_REST_URL: nodes.merchant.url,
    LND_TLS_CERT: nodes.merchant.certificatePath,
    LND_MACAROON_HEX: nodes.macaroon,
  }));

  before(async () => {
    nodes = await PaymentNodes.start();
    await gateway.start();
  });
  after(() => nodes.stop());

  async function order(tier = 'developer'): Promise<LightningOrderCreated> {
    return bodyOf(await gateway.post(path, JSON.stringify({ tier }))) as LightningOrderCreated;
  }

  async function poll(hash: string, fields: Readonly<Record<string, string>> = {}): Promise<LightningOrder> {
    return bodyOf(await gateway.get(`${path}/${hash}`, fields)) as LightningOrder;
  }

  async function settled(
    hash: string,
    fields: Readonly<Record<string, string>> = {},
  ): Promise<LightningOrder> {
    let last: LightningOrder | undefined;
    await until(async () => (last = await poll(hash, fields)).status === 'settled', 20_000);
    assert.ok(last !== undefined);
    return last;
  }

  async function capacity(): Promise<LightningCapacityResponse> {
    return bodyOf(await gateway.get(`${path}/capacity`)) as LightningCapacityResponse;
  }

  test('says what the node can receive, and sells no more', async () => {
    const found = await capacity();
    assert.deepEqual([found.configured, found.ready, found.network], [true, true, 'regtest']);
    // The buyer's side of the channel, less its reserve (1 %) and the fees of the commitment.
    assert.ok(found.inbound_sat !== null && found.inbound_sat > 8_890_000 && found.inbound_sat < 8_900_000);
    assert.ok(found.tiers.every(({ can_receive }) => can_receive));
  });

  test('an invoice that is paid gives a key, once', async () => {
    const made = await order();
    assert.match(made.bolt11, /^lnbcrt500u1/);
    assert.deepEqual(
      [made.status, made.api_key, made.key_status, made.missing_sat],
      ['pending', null, 'none', 50_000],
    );
    assert.equal((await poll(made.payment_hash)).status, 'pending');
    await nodes.payInvoice(made.bolt11);
    await until(async () => {
      // HEAD acts as little as a prefetch does: neither takes the key away.
      const quiet = await exchange(gateway.port, head('HEAD', `${path}/${made.payment_hash}`));
      const prefetch = await poll(made.payment_hash, { 'Sec-Purpose': 'prefetch' });
      assert.deepEqual([quiet.status, prefetch.api_key], [200, null]);
      return prefetch.status === 'settled';
    }, 20_000);
    const first = await poll(made.payment_hash);
    assert.deepEqual(
      [first.status, first.key_status, first.received_sat],
      ['settled', 'revealed_now', 50_000],
    );
    assert.equal(await gateway.statusWith(first.api_key ?? ''), 200);
    const second = await poll(made.payment_hash);
    assert.deepEqual([second.api_key, second.key_status], [null, 'already_revealed']);
    const paid = await gateway.get(`${path}/${made.payment_hash}/qr.svg`);
    assert.equal(paid.status, 410);
    assert.equal((bodyOf(paid, 410) as { code: string }).code, 'order_paid');
    assert.equal(second.bolt11, null);
    const unpaid = await order();
    const code = await gateway.get(`${path}/${unpaid.payment_hash}/qr.svg`);
    assert.match(code.body.toString(), /^<svg /);
  });

  test('1,000 simultaneous first polls over two workers: one carries the key', async () => {
    const made = await order();
    await nodes.payInvoice(made.bolt11);
    const polls: LightningOrder[] = [];
    while (!polls.some(({ status }) => status === 'settled')) {
      polls.push(...(await Promise.all(Array.from({ length: 1_000 }, () => poll(made.payment_hash)))));
    }
    assert.equal(polls.filter(({ api_key }) => api_key !== null).length, 1);
  });

  test('the payment hash alone is not enough once the claim token was shown', async () => {
    const made = await order();
    const claim = { 'X-Claim-Token': made.claim_token };
    await poll(made.payment_hash, claim);
    await nodes.payInvoice(made.bolt11);
    const seen = await settled(made.payment_hash);
    assert.deepEqual([seen.api_key, seen.key_status], [null, 'claim_required']);
    const query = `${path}/${made.payment_hash}?claim=${made.claim_token}`;
    const claimed = bodyOf(await gateway.get(query)) as LightningOrder;
    assert.equal(claimed.key_status, 'revealed_now');
  });

  test('a payment while Fusegate is down is found when it starts again', async () => {
    const made = await order();
    await gateway.stop();
    await nodes.payInvoice(made.bolt11);
    await gateway.start();
    assert.equal((await settled(made.payment_hash)).key_status, 'revealed_now');
  });

  test('a payment is found even if nobody polls', async () => {
    const made = await order();
    await gateway.stop();
    await nodes.payInvoice(made.bolt11);
    await gateway.start({ LOG_LEVEL: 'debug' });
    await gateway.server.prints(/open orders were looked up/);
    await gateway.stop();
    const store = await storeAt(`lmdb:${data}/store`);
    const found = await findOrderAt(store, 'lightning', made.payment_hash);
    await store.close();
    assert.equal(found?.status, 'settled');
    await gateway.start();
  });

  test('a node that hangs: an honest 503, ready: false, and no settlement lost', async () => {
    const made = await order();
    await nodes.payInvoice(made.bolt11);
    nodes.merchant.signal('SIGSTOP');
    await pause(3_100);
    const found = await capacity();
    assert.deepEqual([found.ready, found.reason], [false, 'The Lightning node does not answer.']);
    const refused = bodyOf(await gateway.post(path, '{"tier":"developer"}'), 503);
    assert.equal((refused as { code: string }).code, 'rail_unavailable');
    assert.equal((await poll(made.payment_hash)).status, 'pending');
    nodes.merchant.signal('SIGCONT');
    assert.equal((await settled(made.payment_hash)).status, 'settled');
  });

  test('a node may be killed between invoice and payment', async () => {
    const made = await order();
    await nodes.merchant.kill();
    assert.equal((await poll(made.payment_hash)).status, 'pending');
    nodes.merchant.start();
    await nodes.merchant.reaches('SERVER_ACTIVE');
    await nodes.channelOf(nodes.merchant);
    await nodes.channelOf(nodes.buyer);
    await nodes.payInvoice(made.bolt11);
    assert.equal((await settled(made.payment_hash)).status, 'settled');
  });

  test('a node of another network, or with another certificate, is not used', async () => {
    await gateway.stop();
    await gateway.start({ BTC_NETWORK: 'testnet' });
    const other = await capacity();
    assert.deepEqual(
      [other.ready, other.reason],
      [false, 'The Lightning node is on regtest, not on testnet.'],
    );
    bodyOf(await gateway.post(path, '{"tier":"developer"}'), 503);
    await gateway.stop();
    await gateway.start({ LND_TLS_CERT: nodes.buyer.certificatePath });
    const foreign = await capacity();
    assert.deepEqual([foreign.ready, foreign.reason], [false, 'The Lightning node does not answer.']);
    await gateway.stop();
    await gateway.start({ LND_MACAROON_HEX: 'ab'.repeat(40) });
    assert.equal((await capacity()).ready, false);
    await gateway.stop();
    await gateway.start();
  });

  test('LIGHTNING_CLAIM=required: no key without the token', async () => {
    await gateway.stop();
    await gateway.start({ LIGHTNING_CLAIM: 'required' });
    const made = await order();
    await nodes.payInvoice(made.bolt11);
    assert.equal((await settled(made.payment_hash)).api_key, null);
    const claimed = await settled(made.payment_hash, { 'X-Claim-Token': made.claim_token });
    assert.equal(claimed.key_status, 'revealed_now');
    await gateway.stop();
    await gateway.start();
  });

  test('the operator sees the orders, and makes a lost key anew', async () => {
    const made = await order();
    await nodes.payInvoice(made.bolt11);
    const { api_key: lost } = await settled(made.payment_hash);
    assert.equal(await gateway.statusWith(lost ?? ''), 200);
    const list = await fusegate('orders', 'list', '--status', 'settled');
    assert.match(list, new RegExp(`^${made.order_id} +lightning +developer +settled +50000 .+ active`, 'm'));
    const shown = await fusegate('orders', 'show', made.order_id);
    assert.match(shown, /^status +settled$/m);
    assert.match(shown, /^ledger +\S+ \+50000 sat, settled$/m);
    assert.match(await fusegate('orders', 'reconcile'), /^lightning: \d+ open orders? looked up$/m);
    const said = await fusegate('keys', 'reissue', '--order', made.order_id, '--claim', made.claim_token);
    const again = said.trim().split('\n').at(-1) ?? '';
    assert.equal(await gateway.statusWith(again), 200);
    await until(async () => (await gateway.statusWith(lost ?? '')) === 401, 5_000);
  });

  async function fusegate(...args: readonly string[]): Promise<string> {
    const command = run(main, args, gateway.environment());
    assert.equal((await command.ended()).code, 0, command.output);
    return command.output;
  }

  test('no raw key lies in the data folder or the log', async () => {
    const made = await order('growth');
    await nodes.payInvoice(made.bolt11);
    await until(
      async () => (await poll(made.payment_hash, { 'Sec-Purpose': 'prefetch' })).status === 'settled',
      20_000,
    );
    const { api_key: key } = await settled(made.payment_hash);
    assert.ok(key !== null);
    await gateway.stop();
    const files = readdirSync(data, { recursive: true, encoding: 'utf8' }).map((name) => join(data, name));
    for (const file of files.filter((name) => statSync(name).isFile())) {
      assert.ok(!readFileSync(file).includes(key), file);
    }
    assert.ok(!gateway.server.output.includes(key) && !gateway.server.output.includes(nodes.macaroon));
    await gateway.start();
  });
});
