/** `fusegate keys`: sold keys, which are replaced through their order and its claim token. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { here } from '../support/here.js';
import { memoryFolder } from '../support/run.js';
import { storeAt } from '../support/openStore.js';
import { Shop } from '../support/shop.js';

const MASTER_SECRET = 'a-secret-of-the-tests-that-opens-nothing';

test('a sold key can be replaced only through its order, with the claim token or by force', async () => {
  const STORE_URL = `lmdb:${memoryFolder()}/store`;
  const store = await storeAt(STORE_URL);
  const shop = await Shop.open(store);
  const { order, claimToken: claim } = await shop.make('card');
  await shop.happened(order.id, { kind: 'card paid', cents: 3_300n });
  const unpaid = await shop.make('card');
  const [key = assert.fail('no key was made')] = await shop.keys(order.id);
  await store.close();
  const keys = (...args: string[]) => here(['keys', ...args], { STORE_URL, MASTER_SECRET }, shop.book.clock);

  const direct = await keys('reissue', key.id);
  assert.equal(direct.code, 1);
  assert.ok(direct.said.includes(`was sold: fusegate keys reissue --order ${order.id} --claim TOKEN.`));
  const stranger = await keys('reissue', '--order', order.id, '--claim', 'ct_of_somebody_else');
  assert.deepEqual([stranger.code, stranger.text], [1, '']);
  assert.match(stranger.said, /There is no such order with this claim token\./);
  const without = await keys('reissue', '--order', unpaid.order.id, '--claim', unpaid.claimToken);
  assert.equal(without.code, 1);
  assert.match(without.said, /is open and has no key in use\./);

  const claimed = await keys('reissue', '--order', order.id, '--claim', claim);
  assert.equal(claimed.code, 0);
  assert.match(claimed.text, /^The key of order \S+ so far is revoked\.$/m);
  const forced = await keys('reissue', '--order', order.id, '--force', '--json');
  const made = JSON.parse(forced.text) as { readonly id: string; readonly key: string };
  assert.ok(!claimed.text.includes(made.key));

  const listed = (await keys('list', '--json')).text.trim().split('\n');
  const statuses = listed.map((line) => JSON.parse(line) as { readonly id: string; readonly status: string });
  assert.deepEqual(
    statuses.filter(({ status }) => status === 'active').map(({ id }) => id),
    [made.id],
  );
  assert.equal(statuses.length, 3);
  const revoked = JSON.parse((await keys('revoke', made.id, '--reason', 'leaked', '--json')).text) as {
    readonly id: string;
    readonly status: string;
  };
  assert.deepEqual([revoked.id, revoked.status], [made.id, 'revoked']);
  const again = await keys('revoke', made.id, '--reason', 'leaked');
  assert.equal(again.text, `Key ${made.id} was revoked before.\n`);
  const gone = await keys('reissue', '--order', order.id, '--force');
  assert.match(gone.said, /has no key in use\./);
});

test('a key whose term is over is not replaced, and nothing is printed of another', async () => {
  const STORE_URL = `lmdb:${memoryFolder()}/store`;
  const store = await storeAt(STORE_URL);
  const shop = await Shop.open(store);
  const { order } = await shop.make('card');
  await shop.happened(order.id, { kind: 'card paid', cents: 3_300n });
  await store.close();
  const keys = (...args: string[]) => here(['keys', ...args], { STORE_URL, MASTER_SECRET }, shop.book.clock);
  const created = await keys('create', '--tier', 'developer', '--term-days', '1', '--json');
  const { id } = JSON.parse(created.text) as { readonly id: string };
  shop.time.nowMs += 366 * 86_400_000;
  const sold = await keys('reissue', '--order', order.id, '--force');
  assert.deepEqual([sold.code, sold.text], [1, '']);
  assert.match(sold.said, /has no key in use\./);
  const direct = await keys('reissue', id);
  assert.deepEqual([direct.code, direct.text], [1, '']);
  assert.match(direct.said, /is expired and cannot be reissued\. Create another: fusegate keys create/);
});
