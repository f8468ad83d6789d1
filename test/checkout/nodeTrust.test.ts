/**
 * Which answers of a node take payments from an order: those of a chain that was reorganised, and not those
 * of a node that lacks blocks, or that never knew the payment.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { NodeAnswer } from '../../src/checkout/nodeAnswer.js';
import { lookUpOrder } from '../../src/checkout/onchain/lookUp.js';
import { doubtOf, nodeFault, type NodeTrustParts } from '../../src/checkout/onchain/nodeTrust.js';
import type { BtcOrder, FoundOutput } from '../../src/store/tables/bitcoinOrder.js';
import { account, Shop } from '../support/shop.js';

const price = 50_000n;
const createdHeight = 100;
const failed = { kind: 'failed', reason: 'it sleeps' } as const;

const answer = <Value>(value: Value): Promise<NodeAnswer<Value>> =>
  Promise.resolve({ kind: 'answer', value });

/** A payment in the block at `height`, as a node at block `tip` tells of it; without a height in none. */
function paid(tip: number, height: number | null, vout = 0): FoundOutput {
  const confirmations = height === null ? 0 : tip - height + 1;
  return { txid: 'ab'.repeat(32), vout, sat: price, confirmations, atMs: null, height };
}

/** A node, and a shop with an order that was made at block 100. */
class Node {
  tip = createdHeight;
  network = 'mainnet';
  tipAtMs: number;
  found: readonly FoundOutput[] = [];
  silent: 'network' | 'tip' | 'tipAtMs' | undefined;
  /** What it was asked. */
  readonly asked: string[] = [];

  private constructor(
    readonly shop: Shop,
    readonly order: BtcOrder,
    private readonly more: Partial<NodeTrustParts>,
  ) {
    this.tipAtMs = shop.time.nowMs;
  }

  static async open(more: Partial<NodeTrustParts> = {}): Promise<Node> {
    const shop = await Shop.open();
    const place = account.address(0);
    const made = { place, addressIndex: 0, createdHeight, confirmationsRequired: 2 };
    const { order } = await shop.make('btc', made);
    return new Node(shop, order, more);
  }

  get parts(): NodeTrustParts {
    const told = <Value>(what: 'network' | 'tip' | 'tipAtMs', value: Value): Promise<NodeAnswer<Value>> => {
      this.asked.push(what);
      return this.silent === what ? Promise.resolve(failed) : answer(value);
    };
    const chain = {
      network: () => told('network', this.network),
      tip: () => told('tip', this.tip),
      tipAtMs: () => told('tipAtMs', this.tipAtMs),
      used: () => answer(new Set<string>()),
      lookup: () => answer(this.found),
      close: () => undefined,
    };
    return { chain, account, clock: this.shop.book.clock, ...this.more };
  }

  async stored(): Promise<BtcOrder> {
    const order = await this.shop.stored(this.order.id);
    return order.rail === 'btc' ? order : assert.fail(order.rail);
  }

  /** Looks the order up; the reason if nothing was applied. */
  async look(): Promise<string | undefined> {
    const outcome = await lookUpOrder({ ...this.parts, ...this.shop.book }, await this.stored());
    return 'reason' in outcome ? `${outcome.kind}: ${outcome.reason}` : undefined;
  }

  /** The order is paid at a height, and looked up by a node at another one. */
  async payAt(height: number, tip: number): Promise<void> {
    this.tip = tip;
    this.found = [paid(tip, height)];
    assert.equal(await this.look(), undefined);
  }

  async state(): Promise<readonly [string, string]> {
    const { status, key } = await this.stored();
    return [status, key];
  }
}

test('a node is asked for the time of its last block where it tells it, and not on regtest', async () => {
  const node = await Node.open();
  node.tipAtMs = 0;
  assert.equal(await nodeFault(node.parts), 'The Bitcoin node is catching up with the chain.');
  const { network, tip, used, lookup, close } = node.parts.chain;
  const chain = { network, tip, used, lookup, close };
  assert.equal(await nodeFault({ ...node.parts, chain }), undefined);
  node.network = 'regtest';
  node.asked.length = 0;
  assert.equal(await nodeFault({ ...node.parts, account: { network: 'regtest' } }), undefined);
  assert.deepEqual(node.asked, ['network']);
});

describe('a confirmed payment', () => {
  test('is taken away by a chain that was reorganised and is as long', async () => {
    for (const found of [[], [paid(105, null)], [paid(105, 105)]]) {
      const node = await Node.open();
      await node.payAt(103, 105);
      assert.deepEqual(await node.state(), ['confirmed', 'active']);
      node.found = found;
      assert.equal(await node.look(), undefined);
      assert.deepEqual(await node.state(), [found.length === 0 ? 'pending' : 'seen', 'suspended']);
    }
  });

  test('is not taken away by a node that has fewer blocks than it had', async () => {
    const node = await Node.open();
    await node.payAt(103, 105);
    // An answer that has no block says nothing of the chain.
    assert.equal(
      await doubtOf(node.parts, { ...(await node.stored()), outputs: [] }, [paid(105, null)]),
      undefined,
    );
    for (const found of [[], [paid(104, null)]]) {
      [node.tip, node.found] = [104, found];
      assert.equal(await node.look(), 'doubted: it is behind, at block 104: the payment was seen at 105');
    }
    // The block of the answer counts, not one that another node behind the same name has.
    [node.tip, node.found] = [105, [paid(103, 103)]];
    assert.equal(await node.look(), 'doubted: it is behind, at block 103: the payment was seen at 105');
    assert.deepEqual(await node.state(), ['confirmed', 'active']);
    [node.tip, node.found] = [105, []];
    assert.equal(await node.look(), undefined);
    assert.deepEqual(await node.state(), ['pending', 'suspended']);
  });

  test('is not taken away by another process, or a later one, whose node has fewer blocks', async () => {
    for (const [height, tip] of [
      [101, 105],
      [105, 106],
    ] as const) {
      const node = await Node.open();
      await node.payAt(height, tip);
      for (const found of [[], [paid(tip - 1, height)]]) {
        [node.tip, node.found] = [tip - 1, found];
        const doubt = `doubted: it is behind, at block ${tip - 1}: the payment was seen at ${tip}`;
        assert.equal(await node.look(), doubt);
      }
      [node.tip, node.found] = [tip, []];
      assert.equal(await node.look(), undefined);
      assert.deepEqual(await node.state(), ['pending', 'suspended']);
    }
  });

  test('of one block is one, and of several the deepest counts', async () => {
    const node = await Node.open();
    await node.payAt(105, 105);
    node.found = [];
    node.tip = 104;
    assert.equal(await node.look(), 'doubted: it is behind, at block 104: the payment was seen at 105');
    node.tip = 106;
    node.found = [paid(106, 106), paid(106, 102, 1)];
    assert.equal(await node.look(), undefined);
    node.found = [];
    node.tip = 104;
    assert.equal(await node.look(), 'doubted: it is behind, at block 104: the payment was seen at 106');
  });

  test('is taken away after a wrong height: one above all that a node can lack is not believed', async () => {
    const node = await Node.open();
    await node.payAt(103, 105);
    const stored = { ...(await node.stored()), seenHeight: 1_000 };
    node.found = [];
    const reason = 'it is behind, at block 928: the payment was seen at 1000';
    node.tip = 1_000 - 72;
    assert.deepEqual(await doubtOf(node.parts, stored, []), { kind: 'doubted', reason });
    node.tip -= 1;
    assert.equal(await doubtOf(node.parts, stored, []), undefined);
    // What another order was told of is nothing to this one.
    await doubtOf(node.parts, { ...stored, seenHeight: 110 }, [paid(999_999, 999_998)]);
    node.tip = 105;
    assert.equal(await node.look(), undefined);
    assert.deepEqual(await node.state(), ['pending', 'suspended']);
  });

  test('of a record without that height was in a block after the order', async () => {
    const node = await Node.open();
    await node.payAt(103, 105);
    node.found = [];
    const doubt = (order: BtcOrder) => doubtOf(node.parts, order, []);
    const older = { ...(await node.stored()), seenHeight: null };
    const reason = 'it is behind, at block 102: the payment was seen at 103';
    node.tip = 102;
    assert.deepEqual(await doubt(older), { kind: 'doubted', reason });
    node.tip = 103;
    assert.equal(await doubt(older), undefined);
    node.tip = 1;
    assert.equal(await doubt({ ...older, createdHeight: null }), undefined);
  });

  test('is not taken away by a node that cannot be relied on', async () => {
    const node = await Node.open();
    await node.payAt(103, 105);
    node.found = [];
    for (const silent of ['network', 'tip', 'tipAtMs'] as const) {
      node.silent = silent;
      assert.equal(await node.look(), 'failed: it sleeps');
    }
    node.silent = undefined;
    node.network = 'testnet';
    assert.equal(await node.look(), 'failed: The Bitcoin node is on testnet, not on mainnet.');
    node.network = 'mainnet';
    const hour = 3_600_000;
    node.tipAtMs = node.shop.time.nowMs - 2 * hour - 1;
    assert.equal(await node.look(), 'failed: The Bitcoin node is catching up with the chain.');
    assert.deepEqual(await node.state(), ['confirmed', 'active']);
    node.tipAtMs = node.shop.time.nowMs - 2 * hour;
    assert.equal(await node.look(), undefined);
    assert.deepEqual(await node.state(), ['pending', 'suspended']);
  });

  test('that was final stays, whatever a node says', async () => {
    const node = await Node.open();
    await node.payAt(101, 106);
    assert.equal((await node.stored()).open, false);
    node.tip = 1_000;
    for (const found of [[], [paid(1_000, null)], [paid(1_000, 1_000)]]) {
      node.found = found;
      assert.equal(await node.look(), 'doubted: it does not know a payment that was final');
    }
    node.found = [paid(1_000, 101)];
    assert.equal(await node.look(), undefined);
    assert.deepEqual(await node.state(), ['confirmed', 'active']);
  });

  test('that was final stays, also beside one that was not', async () => {
    const node = await Node.open();
    node.tip = 106;
    node.found = [paid(106, 101), paid(106, 106, 1)];
    assert.equal(await node.look(), undefined);
    node.found = [];
    assert.equal(await node.look(), 'doubted: it does not know a payment that was final');
  });

  test('on regtest, where blocks are taken back by hand, goes as the node says', async () => {
    const node = await Node.open({ account: { network: 'regtest' } });
    await node.payAt(103, 105);
    [node.tip, node.found] = [102, []];
    assert.equal(await node.look(), undefined);
    assert.deepEqual(await node.state(), ['pending', 'suspended']);
  });
});

test('a payment in no block, or with as many over it, costs no further question', async () => {
  const node = await Node.open();
  await node.payAt(103, 105);
  node.found = [paid(105, 103), paid(105, null, 1)];
  assert.equal(await node.look(), undefined);
  node.found = [paid(106, 103)];
  assert.equal(await node.look(), undefined, 'the other one was replaced');
  assert.deepEqual(node.asked, []);
  assert.equal((await node.stored()).outputs.length, 1);
});
