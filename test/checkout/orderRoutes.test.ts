/** Routes of orders: what a refusal has besides its reason, and what a code to scan costs. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { toString as qrCode } from 'qrcode';
import { createRoute, qrRoute, railUnavailable } from '../../src/checkout/orderRoutes.js';
import { privateFields } from '../../src/contract/route.js';
import { findOrder } from '../../src/store/tables/orders.js';
import { call, Shop, wish } from '../support/shop.js';

const shop = await Shop.open();

const bech32 = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';

/** Text of so many of bech32's characters. */
const letters = (count: number): string =>
  Array.from({ length: count }, (_, at) => bech32[(at * 7 + at * at) % 32]).join('');

/** The least processor time of some tries (ms). */
async function leastMs(work: () => Promise<unknown>): Promise<number> {
  let least = Infinity;
  for (let round = 0; round < 10; round += 1) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1_000);
  }
  return least;
}

const input = { tier: wish.tier, email: wish.email };

test('a refused order says when to try again, and the refusal is never cached', async () => {
  const order = () => Promise.resolve(railUnavailable('The node is away.'));
  const route = createRoute({ order, poll: () => Promise.resolve(undefined) });
  const { status, headers } = await call(route, { input });
  assert.deepEqual([status, headers], [503, { ...privateFields, 'retry-after': '30' }]);
});

describe('a code to scan', () => {
  const route = qrRoute(
    (id) => findOrder(shop.book.store, id),
    'order',
    ({ place }) => place,
  );
  const drawn = async (id: string) => call(route, { input: undefined, path: { order: id } });

  test('is drawn for an order that is not paid, is not cached and charges nothing', async () => {
    const { order } = await shop.make('lightning');
    const { status, body, headers, charge } = await drawn(order.id);
    assert.deepEqual([status, headers, charge], [200, privateFields, 0]);
    assert.ok('bytes' in body && String(body.bytes).startsWith('<svg '));
    assert.equal(body.type, 'image/svg+xml; charset=utf-8');
  });

  test('is refused once the order is paid, on whichever rail: no more money is to be sent', async () => {
    const settled = { kind: 'invoice', state: 'settled', paidSat: 50_000n, settledAtMs: 1 } as const;
    const { order: invoice } = await shop.make('lightning');
    await shop.happened(invoice.id, settled);
    const output = { txid: 'ab'.repeat(32), vout: 0, sat: 50_000n, atMs: null, height: 7, confirmations: 2 };
    const { order: onChain } = await shop.make('btc');
    await shop.happened(onChain.id, { kind: 'outputs', outputs: [output] });
    for (const { id } of [invoice, onChain]) assert.equal((await drawn(id)).status, 410);
  });

  test('is of the text as bytes, in the best of the masks up to 512 of them, else in the first', async () => {
    const { order } = await shop.make('lightning');
    for (const count of [512, 513]) {
      const text = '0123456789'.repeat(52).slice(0, count);
      const route = qrRoute(
        (id) => findOrder(shop.book.store, id),
        'order',
        () => text,
      );
      const { body } = await call(route, { input: undefined, path: { order: order.id } });
      const data = Buffer.from(text);
      const [best, first] = await Promise.all(
        [{}, { maskPattern: 0 } as const].map((mask) =>
          qrCode([{ data, mode: 'byte' }], { type: 'svg', margin: 4, ...mask }),
        ),
      );
      assert.notEqual(best, first);
      assert.equal('bytes' in body && String(body.bytes), count === 512 ? best : first);
    }
  });

  test('of a long invoice takes a fraction of the time of the best code, and is as large', async () => {
    // One with the hints of 20 channels, as LND makes it where no channel is announced.
    const invoice = `lnbc${letters(1_970)}`;
    const { order } = await shop.make('lightning');
    const long = qrRoute(
      (id) => findOrder(shop.book.store, id),
      'order',
      () => invoice,
    );
    const ofInvoice = async () => call(long, { input: undefined, path: { order: order.id } });
    const best = () => qrCode(invoice, { type: 'svg', margin: 4 });
    const sizeOf = (svg: unknown) => /viewBox="[\d ]+"/.exec(String(svg))?.[0];
    const { body } = await ofInvoice();
    assert.ok('bytes' in body);
    assert.equal(sizeOf(body.bytes), sizeOf(await best()));
    const [ours, others] = [await leastMs(ofInvoice), await leastMs(best)];
    assert.ok(ours < others / 3, `${ours} ms of ${others} ms`);
  });
});
