/** `fusegate orders`: what strangers wrote into an order is shown, not obeyed. */
import type { OrderRecord } from '../../src/store/tables/order.js';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { printable } from '../../src/commands/printable.js';
import { insertOrder } from '../../src/store/tables/orders.js';
import { run, memoryFolder } from '../support/run.js';
import { storeAt } from '../support/openStore.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const MASTER_SECRET = 'a-secret-of-the-tests-that-opens-nothing';

const hostile: OrderRecord = {
  id: 'hq5vbd2gkzx3yodu7rnwtc4maq',
  rail: 'card',
  tier: 'growth',
  sat: 250_000n,
  cents: 16_500n,
  rateCents: 6_000_000n,
  termDays: 30,
  createdAtMs: 0,
  expiresAtMs: 1_860_000,
  email: '\u001b]0;mine\u0007\u001b[2K\nforged@example.com',
  source: '\u009b31m',
  segment: '\u202ecod.',
  campaign: '\u007f',
  eventId: '\u2028x',
  place: 'cs_1',
  intent: null,
  status: 'open',
  late: false,
  paidCents: 0n,
  refundedCents: 0n,
  key: 'none',
  keyId: null,
  keyGeneration: 0,
  seed: new Uint8Array(32),
  revealedAtMs: null,
  secretId: 'secret',
  claimHash: new Uint8Array(32),
  claimed: false,
  open: true,
};

async function output(STORE_URL: string, ...args: string[]): Promise<string> {
  const command = run(main, ['orders', ...args], { STORE_URL, MASTER_SECRET });
  assert.equal((await command.ended()).code, 0, command.output);
  return command.output;
}

test('control characters of stored text are shown as \\u…', async () => {
  const url = `lmdb:${memoryFolder()}/store`;
  const store = await storeAt(url);
  const committed = await store.commit(insertOrder(hostile));
  assert.equal(committed.kind, 'done');
  await store.close();
  const list = await output(url, 'list');
  assert.equal(list.split('\n').length, 3, 'a heading, a row, the last line end');
  assert.ok(list.includes('\\u001b]0;mine\\u0007\\u001b[2K\\u000aforged@example.com\n'));
  const shown = await output(url, 'show', hostile.id);
  for (const text of ['\\u009b31m', '\\u202ecod.', '\\u007f', '\\u2028x'])
    assert.ok(shown.includes(text), text);
  assert.equal(printable(list.replaceAll('\n', '')), list.replaceAll('\n', ''));
  const json = JSON.parse(await output(url, 'list', '--json')) as { readonly email: string };
  assert.equal(json.email, hostile.email);
});

test('what is no control character stays as it is', () => {
  const text = 'Ada Lovelace <ada@example.com> – שלום, привет, 你好, 👩‍💻';
  assert.equal(printable(text), text);
});
