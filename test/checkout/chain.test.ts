/** A node that answers for one address at a time is asked for a few at once, and once for each of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { usedEach } from '../../src/checkout/onchain/chain.js';
import type { Failed } from '../../src/checkout/nodeAnswer.js';

/** Asks for so many addresses, of which every third has a history; how many were asked for at once. */
async function ask(count: number, fails = -1) {
  const addresses = Array.from({ length: count }, (_, at) => `address ${at}`);
  const asked: string[] = [];
  const together: number[] = [];
  let under = 0;
  const answer = await usedEach(addresses, async (address): Promise<boolean | Failed> => {
    asked.push(address);
    under += 1;
    await new Promise(setImmediate);
    if (under > 0) together.push(under);
    under = 0;
    const at = addresses.indexOf(address);
    return at === fails ? { kind: 'failed', reason: 'it sleeps' } : at % 3 === 0;
  });
  return { addresses, asked, together, answer };
}

test('eight addresses are asked for at a time, each of them once', async () => {
  const { addresses, asked, together, answer } = await ask(20);
  assert.deepEqual(asked, addresses);
  assert.deepEqual(together, [8, 8, 4]);
  assert.deepEqual(answer, { kind: 'answer', value: new Set(addresses.filter((_, at) => at % 3 === 0)) });
  assert.deepEqual((await ask(0)).answer, { kind: 'answer', value: new Set() });
});

test('a node that fails for one address counts as not answering, and is asked no further', async () => {
  const { asked, answer } = await ask(20, 9);
  assert.deepEqual(answer, { kind: 'failed', reason: 'it sleeps' });
  assert.equal(asked.length, 16);
});
