/** After a restore: Lightning payments for orders that the backup does not have are reported. */
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { newOrderId } from '../../src/checkout/order/book.js';
import { Lightning } from '../../src/checkout/lightning/lightning.js';
import { Lnd } from '../../src/checkout/lnd.js';
import { recoverOrders } from '../../src/checkout/recover.js';
import { systemRandomness } from '../../src/system/randomness.js';
import { LndServer } from '../support/lndServer.js';
import { pricedWish, Shop } from '../support/shop.js';

const hourMs = 3_600_000;

const shop = await Shop.open();
const node = await LndServer.start(() => shop.time.nowMs);
const lnd = (): Lnd => new Lnd(node.place, shop.book.clock);

beforeEach(() => {
  // Nodes count whole seconds. What a test pays is days old for the next.
  shop.time.nowMs = Math.ceil(shop.time.nowMs / 1_000) * 1_000 + 48 * hourMs;
});

/** What the operator is told to be lost, of a backup that was made now. */
async function lost(): Promise<readonly string[]> {
  const none = { chain: undefined, progress: () => undefined };
  const told = await recoverOrders({ ...shop.book, ...none, lnd: lnd(), madeAtMs: shop.time.nowMs });
  return told.lost;
}

const memoOf = (orderId: string): string => `Fusegate growth, order ${orderId}`;

describe('after a restore', () => {
  test('a paid invoice without its order is reported, with its amount, hash and order', async () => {
    const id = newOrderId(systemRandomness);
    const hash = node.paid(memoOf(id), 250_000n);
    assert.deepEqual(await lost(), [
      `250000 sat came by Lightning (${hash}) for order ${id}, made after the backup.`,
    ]);
  });

  test('invoices of known orders, unpaid ones and those of others are not reported', async () => {
    const rail = new Lightning({ ...shop.book, lnd: lnd(), network: 'regtest', log: shop.log });
    const made = await rail.create(pricedWish);
    assert.ok(made.kind === 'made');
    node.settle(made.order.place);
    const unpaid = await lnd().addInvoice(1_000n, memoOf(newOrderId(systemRandomness)), 900);
    assert.equal(unpaid.kind, 'answer');
    const id = newOrderId(systemRandomness);
    for (const memo of ['coffee', '', memoOf('short'), `${memoOf(id)} and more`, `No ${memoOf(id)}`]) {
      node.paid(memo, 9n);
    }
    assert.deepEqual(await lost(), []);
  });

  test('invoices of the hour before the backup count too, as their orders may be later', async () => {
    const id = newOrderId(systemRandomness);
    const hash = node.paid(memoOf(id), 1n, shop.time.nowMs - hourMs);
    node.paid(memoOf(newOrderId(systemRandomness)), 2n, shop.time.nowMs - hourMs - 1_000);
    assert.deepEqual(await lost(), [
      `1 sat came by Lightning (${hash}) for order ${id}, made after the backup.`,
    ]);
  });

  test('none is missed if there are more than the node lists at once', async () => {
    for (let count = 0; count < 1_000; count += 1) node.paid('coffee', 3n);
    assert.deepEqual(await lost(), []);
    const ids = [newOrderId(systemRandomness), newOrderId(systemRandomness)];
    for (const id of ids) node.paid(memoOf(id), 5n);
    const told = await lost();
    assert.equal(told.length, 2);
    for (const [at, id] of ids.entries()) assert.match(told[at] ?? '', new RegExp(`^5 sat .* order ${id},`));
  });

  test('if the node does not answer, the report says that nothing was looked up', async () => {
    node.up = false;
    const [sentence, ...more] = await lost();
    assert.match(sentence ?? '', /^Paid invoices of lost orders could not be looked for: .+\.$/);
    assert.deepEqual(more, []);
  });
});
