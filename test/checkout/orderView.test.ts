/** Orders as buyers see them: what was received for them, and what is shown about their key. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { viewLightning } from '../../src/checkout/lightning/lightningView.js';
import { onRail, Shop } from '../support/shop.js';
import type { LightningOrder as LightningView } from '../../src/contract/lightning.js';

const shop = await Shop.open();

/** A Lightning order for which so much came. */
async function paidWith(paidSat: bigint): Promise<{ readonly id: string; readonly claim: string }> {
  const { order, claimToken } = await shop.make('lightning');
  await shop.happened(order.id, { kind: 'invoice', state: 'settled', paidSat, settledAtMs: 1 });
  return { id: order.id, claim: claimToken };
}

/** The order as a poll shows it. */
async function viewOf(id: string, more: Parameters<Shop['polled']>[1] = {}): Promise<LightningView> {
  const polled = await shop.polled(id, more);
  return viewLightning({ ...polled, order: onRail(polled.order, 'lightning') });
}

describe('an order', () => {
  test('that is settled no longer shows its invoice, so that nobody pays it again', async () => {
    const { order } = await shop.make('lightning');
    assert.equal((await viewOf(order.id)).bolt11, order.bolt11);
    const { id } = await paidWith(50_000n);
    assert.equal((await viewOf(id)).bolt11, null);
  });

  test('shows what was received, what is missing and what is too much', async () => {
    const moneyOf = async (id: string): Promise<readonly number[]> => {
      const { sat, received_sat, missing_sat, overpaid_sat } = await viewOf(id);
      return [sat, received_sat, missing_sat, overpaid_sat];
    };
    const { order } = await shop.make('lightning');
    assert.deepEqual(await moneyOf(order.id), [50_000, 0, 50_000, 0]);
    assert.deepEqual(await moneyOf((await paidWith(50_000n)).id), [50_000, 50_000, 0, 0]);
    assert.deepEqual(await moneyOf((await paidWith(50_007n)).id), [50_000, 50_007, 0, 7]);
  });

  test('whose key waits for its claim token says so; others have nothing to say', async () => {
    const { id, claim } = await paidWith(50_000n);
    const waiting = await viewOf(id, { claimRequired: true });
    assert.deepEqual([waiting.api_key, waiting.key_status], [null, 'claim_required']);
    assert.match(waiting.key_detail ?? '', /X-Claim-Token/);
    const shown = await viewOf(id, { claimRequired: true, claim });
    assert.deepEqual([shown.key_status, shown.key_detail], ['revealed_now', null]);
  });

  test('shows when its key expires, once there is one', async () => {
    const { order } = await shop.make('lightning');
    assert.equal((await viewOf(order.id)).key_expires_at, null);
    const { id } = await paidWith(50_000n);
    const [key] = await shop.keys(id);
    assert.ok(key?.expiresAtMs != null);
    assert.equal((await viewOf(id)).key_expires_at, new Date(key.expiresAtMs).toISOString());
  });
});
