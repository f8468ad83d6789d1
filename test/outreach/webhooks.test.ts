/** Sending to webhooks: what is sent when and in which order, and that nothing is lost whatever is killed. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { bodyOf, readEvents } from '../../src/outreach/events.js';
import { webhookSecret } from '../../src/outreach/webhookMessage.js';
import { parseTarget, wrongAddress } from '../../src/outreach/webhookTarget.js';
import { webhookSender } from '../../src/compose/webhooks.js';
import { eraseEntries } from '../../src/store/entries.js';
import { insertKey, unlinked, type KeyRecord } from '../../src/store/tables/keys.js';
import { decodeLead, encodeLead } from '../../src/store/tables/leads.js';
import { encodeOrder } from '../../src/store/tables/order.js';
import { findWebhook, removeWebhook, waitingDeliveries } from '../../src/store/tables/webhooks.js';
import { parseNetwork } from '../../src/system/network.js';
import { Shop } from '../support/shop.js';
import { secrets, WebhookWorld } from './webhookWorld.js';

const messages = (world: WebhookWorld): unknown[] =>
  world.seen.map(({ body }) => (body.data as { message?: string }).message);

test('an event is sent within two seconds, signed as Standard Webhooks has it', async () => {
  const world = new WebhookWorld();
  await world.lead('lead_0', 'before the webhook');
  const webhook = await world.add('one');
  world.start();
  await world.clock.pass(1_000);
  await world.lead('lead_1', 'hello');
  await world.clock.pass(2_000);
  assert.deepEqual(messages(world), ['hello'], 'what was there before is not sent');
  const [{ head, body, atMs } = assert.fail('nothing was sent')] = world.seen;
  assert.equal(body.type, 'lead.received');
  assert.equal(body.data.id, 'lead_1');
  assert.equal(head['webhook-timestamp'], String(Math.floor(atMs / 1_000)));
  const secret = Buffer.from((webhookSecret(secrets, webhook) ?? '').replace('whsec_', ''), 'base64');
  assert.equal(secret.length, 32);
  const signed = `${head['webhook-id']}.${head['webhook-timestamp']}.${JSON.stringify(body)}`;
  const signature = createHmac('sha256', secret).update(signed).digest('base64');
  assert.equal(head['webhook-signature'], `v1,${signature}`);
  await world.clock.pass(600_000);
  assert.equal(world.seen.length, 1, 'it is sent once');
});

test('a webhook that this version cannot read is left out, and said once; others get theirs', async () => {
  const world = new WebhookWorld();
  await world.add('one');
  const key = Buffer.from((await world.add('later')).id);
  const record = Buffer.from((await world.store.get('webhooks', key)) ?? assert.fail());
  record[0] = 99;
  await world.store.commit([{ kind: 'put', space: 'webhooks', key, value: record }]);
  world.start();
  await world.clock.pass(1_000);
  await world.lead('lead_1', 'hello');
  await world.clock.pass(2_000);
  assert.deepEqual(messages(world), ['hello']);
  assert.deepEqual(world.warned, ['a webhook is left out: it gets no events']);
});

test('a refused message is sent again on the schedule, and given up after the tenth attempt', async () => {
  const world = await WebhookWorld.sending('one');
  world.reply = (_, { data }) => ({ status: data.id === 'lead_1' ? 503 : 200 });
  await world.lead('lead_1', 'never taken');
  await world.clock.pass(1_000);
  const pausesS = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
  for (const [at, pauseS] of pausesS.entries()) {
    assert.equal(world.seen.length, at + 1);
    world.clock.leap(Math.max(0, pauseS * 990 - 13_000));
    await world.clock.pass(500);
    assert.equal(world.seen.length, at + 1, `not before ${pauseS} s`);
    world.clock.leap(pauseS * 10);
    await world.clock.pass(14_000);
  }
  assert.equal(world.seen.length, 10);
  assert.equal(new Set(world.seen.map(({ head }) => head['webhook-id'])).size, 1, 'one id in all attempts');
  assert.ok(world.warned.some((line) => line.includes('75 hours')));
  world.clock.leap(200_000_000);
  await world.clock.pass(2_000);
  assert.equal(world.seen.length, 10);
  await world.lead('lead_1', 'the next of it');
  world.reply = () => ({ status: 204 });
  await world.clock.pass(2_000);
  assert.equal(messages(world).at(-1), 'the next of it');
});

test('Retry-After is obeyed, and a redirect is no success', async () => {
  const world = await WebhookWorld.sending('one');
  world.reply = () => ({ status: 302, retryAfterS: 600 });
  await world.lead('lead_1', 'later');
  await world.clock.pass(590_000);
  assert.equal(world.seen.length, 1);
  await world.clock.pass(20_000);
  assert.equal(world.seen.length, 2);
});

test('a pause that was planned while the clock was two days ahead ends with the clock', async () => {
  const world = await WebhookWorld.sending('one');
  const aheadMs = 2 * 86_400_000;
  world.clock.step(aheadMs);
  world.reply = () => ({ status: 503 });
  await world.lead('lead_1', 'late');
  await world.clock.pass(2_000);
  assert.equal(world.seen.length, 1);
  world.clock.step(-aheadMs);
  world.reply = () => ({ status: 200 });
  await world.clock.pass(2_000);
  assert.deepEqual(
    world.seen.map(({ status }) => status),
    [503, 200],
  );
});

test('410 stops that webhook only', async () => {
  const world = new WebhookWorld();
  await world.add('gone');
  await world.add('good');
  world.start();
  await world.clock.pass(1_000);
  world.reply = (url) => ({ status: url.includes('gone') ? 410 : 200 });
  await world.lead('lead_1', 'a');
  await world.clock.pass(2_000);
  await world.lead('lead_2', 'b');
  await world.clock.pass(400_000);
  assert.deepEqual(world.seen.map(({ url, status }) => `${new URL(url).hostname} ${status}`).sort(), [
    'gone.example 410',
    'good.example 200',
    'good.example 200',
  ]);
  const stopped = await findWebhook(world.store, 'wh_gone');
  assert.equal(stopped?.status, 'stopped');
  assert.match(stopped.reason ?? '', /410/);
});

test('events about one object keep their order; others do not wait for them', async () => {
  const world = await WebhookWorld.sending('one');
  let isDown = true;
  world.reply = (_, { data }) => ({ status: isDown && data.id === 'lead_1' ? 500 : 200 });
  await world.lead('lead_1', 'first');
  await world.clock.pass(1_500);
  await world.lead('lead_1', 'second');
  await world.lead('lead_2', 'other');
  await world.clock.pass(1_500);
  assert.deepEqual(messages(world), ['first', 'other']);
  isDown = false;
  await world.clock.pass(5_000);
  assert.deepEqual(messages(world), ['first', 'other', 'first', 'second']);
});

test('a webhook gets the types that it asked for', async () => {
  const world = await WebhookWorld.sending('keys', ['key.revoked']);
  await world.lead('lead_1', 'no');
  await world.store.commit(insertKey(keyRecord('key_1', null)));
  await world.happens('key.revoked', 'key_1');
  await world.clock.pass(2_000);
  assert.deepEqual(
    world.seen.map(({ body }) => [body.type, (body.data as unknown as { key_id: string }).key_id]),
    [['key.revoked', 'key_1']],
  );
});

function keyRecord(id: string, expiresAtMs: number | null): KeyRecord {
  return {
    ...{ hash: Buffer.alloc(32, id), id, tier: 'developer', hint: 'fg_…abcd', origin: 'operator' },
    ...{ issuedAtMs: 1, expiresAtMs, status: 'active', reason: null, changedAtMs: 1, ...unlinked },
  };
}

test('a paid order is told with its money, and without its key', async () => {
  const shop = await Shop.open();
  const { order } = await shop.make('card');
  await shop.happened(order.id, { kind: 'card paid', cents: 3_300n });
  const { events } = await readEvents(shop.book.store, 'events', 0, 10);
  assert.deepEqual(
    events.map(({ type, object }) => [type, object]),
    [['order.paid', order.id]],
  );
  const [event = assert.fail('nothing was told')] = events;
  const text = (await bodyOf(event)) ?? '';
  const { data } = JSON.parse(text) as { data: Record<string, unknown> };
  const { order_id: id, rail, amount, unit, tier } = data;
  assert.deepEqual([id, rail, amount, unit, tier], [order.id, 'card', 3_300, 'cent', order.tier]);
  assert.doesNotMatch(text, /fg_/);
});

test('interest in a delivery model is reported as a lead, with its own fields', async () => {
  const world = await WebhookWorld.sending('one');
  const atMs = world.clock.wallMs();
  await world.interest('interest_1', 'ada@example.com');
  await world.clock.pass(2_000);
  const [{ body } = assert.fail('nothing was sent')] = world.seen;
  assert.equal(body.type, 'lead.received');
  assert.deepEqual(body.data, {
    ...{ kind: 'interest', id: 'interest_1', received_at: new Date(atMs).toISOString() },
    ...{ email: 'ada@example.com', message: null, delivery_model: 'self_hosted', company: 'Ada & Co' },
    ...{ cloud: null, monthly_chars: null, timeline: null, compliance: null },
    ...{ source: null, segment: null, campaign: null, event_id: 'evt_mail' },
  });
});

test('an event about a record that this version cannot read waits, and delays nothing', async () => {
  const world = await WebhookWorld.sending('one');
  const shop = await Shop.open();
  const { order } = await shop.make('card');
  const key = Buffer.from(order.id);
  await world.store.commit([{ kind: 'put', space: 'orders', key, value: Buffer.of(99) }]);
  await world.happens('order.paid', order.id);
  await world.lead('lead_1', 'the next');
  await world.clock.pass(2_000);
  assert.deepEqual(messages(world), ['the next']);
  const waiting = await waitingDeliveries(world.store, 'wh_one');
  assert.deepEqual(
    waiting.map(({ object }) => object),
    [order.id],
  );
  assert.ok(world.warned.includes('an event waits'));
  // Here it is a later version that can read it.
  await world.store.commit([{ kind: 'put', space: 'orders', key, value: encodeOrder(order) }]);
  await world.clock.pass(60_000);
  assert.deepEqual(
    world.seen.map(({ body }) => body.type),
    ['lead.received', 'order.paid'],
  );
});

test('events of a later version are not passed over, and end no process', async () => {
  const world = await WebhookWorld.sending('one');
  await world.store.commit([{ kind: 'append', log: 'events', value: Buffer.of(99) }]);
  await world.clock.pass(2_000);
  assert.ok(world.warned.includes('events are sent to webhooks later'));
  await world.lead('lead_1', 'the next');
  await world.clock.pass(2_000);
  assert.deepEqual(messages(world), []);
});

test('erased events are not sent, neither at first nor again, and delay nothing', async () => {
  const world = await WebhookWorld.sending('one');
  world.reply = () => ({ status: 503 });
  await world.lead('lead_1', 'to be tried again');
  await world.clock.pass(1_500);
  assert.equal((await waitingDeliveries(world.store, 'wh_one')).length, 1);
  await eraseEntries(world.store, 'leads', () => true, encodeLead(undefined));
  world.reply = () => ({ status: 200 });
  await world.happens('key.revoked', 'key_of_nobody');
  await world.happens('order.paid', 'order_of_nobody');
  await world.lead('lead_2', 'the next');
  world.clock.leap(100_000);
  await world.clock.pass(10_000);
  assert.deepEqual(messages(world), ['to be tried again', 'the next']);
  assert.equal((await waitingDeliveries(world.store, 'wh_one')).length, 0);
});

test('a thousand events wait for a silent receiver, and the rest stay in their log', async () => {
  const world = await WebhookWorld.sending('one');
  world.reply = () => 'silence';
  const sent = Array.from({ length: 1_100 }, (_, number) => String(number));
  for (const number of sent) await world.lead(`lead_${number}`, number);
  await world.clock.pass(2_000);
  assert.equal((await waitingDeliveries(world.store, 'wh_one')).length, 1_000);
  const asked = world.seen.length;
  world.reply = () => ({ status: 200 });
  world.clock.leap(1_000_000);
  await world.clock.pass(5_000);
  assert.deepEqual(new Set(messages(world).slice(asked)), new Set(sent));
  assert.equal((await waitingDeliveries(world.store, 'wh_one')).length, 0);
});

test('of each log the next page is read while fewer than a thousand of its events wait', async () => {
  const ways: ((world: WebhookWorld, number: number) => Promise<void>)[] = [
    (world, number) => world.lead(`lead_${number}`, String(number)),
    (world, number) => world.interest(`interest_${number}`, 'ada@example.com'),
    (world) => world.happens('key.revoked', 'key_1'),
  ];
  for (const happens of ways) {
    const world = await WebhookWorld.sending('one');
    world.reply = () => ({ status: 503 });
    await world.store.commit(insertKey(keyRecord('key_1', null)));
    for (const [from, to, waiting] of [
      [0, 999, 999],
      [999, 1_099, 1_049],
    ] as const) {
      for (let number = from; number < to; number += 1) await happens(world, number);
      await world.clock.pass(2_000);
      assert.equal((await waitingDeliveries(world.store, 'wh_one')).length, waiting);
    }
  }
});

test('leads that a receiver refuses do not hold up what else happens', async () => {
  const world = await WebhookWorld.sending('one');
  world.reply = (_, { data }) => ({ status: data.id.startsWith('lead_') ? 503 : 200 });
  for (let number = 0; number < 1_100; number += 1) await world.lead(`lead_${number}`, String(number));
  await world.clock.pass(2_000);
  assert.equal((await waitingDeliveries(world.store, 'wh_one')).length, 1_000);
  await world.interest('interest_1', 'b@example.com');
  await world.clock.pass(2_000);
  assert.equal(world.seen.filter(({ status }) => status === 200).length, 1);
});

test('an event waits for a process that has the master secret of its webhook', async () => {
  const world = await WebhookWorld.sending('one', [], 'of a secret that another node made');
  await world.lead('lead_1', 'unsigned');
  await world.clock.pass(400_000);
  assert.equal(world.seen.length, 0);
  assert.equal((await findWebhook(world.store, 'wh_one'))?.status, 'active');
  assert.ok(world.warned.some((line) => line.includes('an event waits')));
  assert.equal((await waitingDeliveries(world.store, 'wh_one')).length, 1);
});

test('a message sent as the store went away is sent again once it is back, under the same id', async () => {
  const world = await WebhookWorld.sending('one');
  world.reply = () => {
    world.isStoreAway = true;
    return { status: 200 };
  };
  await world.lead('lead_1', 'a');
  await world.clock.pass(5_000);
  assert.deepEqual(messages(world), ['a']);
  assert.ok(world.warned.some((line) => line.includes('events are sent to webhooks later')));
  world.reply = () => ({ status: 200 });
  world.isStoreAway = false;
  await world.clock.pass(60_000);
  assert.deepEqual(messages(world), ['a', 'a']);
  assert.equal(new Set(world.seen.map(({ head }) => head['webhook-id'])).size, 1);
});

test('the end of a key is announced once, a week before it', async () => {
  const world = new WebhookWorld();
  await world.add('one');
  const day = 86_400_000;
  const nowMs = world.clock.wallMs();
  const keys = [
    keyRecord('key_near', nowMs + 6 * day),
    keyRecord('key_far', nowMs + 8 * day),
    keyRecord('key_over', nowMs - day),
    { ...keyRecord('key_revoked', nowMs + day), status: 'revoked' } as const,
    { ...keyRecord('key_replaced', nowMs + day), replacedBy: 'key_far' },
  ];
  for (const key of keys) await world.store.commit(insertKey(key));
  world.start();
  await world.clock.pass(5_000);
  const told = (): unknown[] =>
    world.seen.map(({ body }) => {
      const { key_id, expires_at } = body.data as unknown as Record<'key_id' | 'expires_at', string>;
      return [key_id, expires_at];
    });
  const near = ['key_near', new Date(nowMs + 6 * day).toISOString()];
  assert.deepEqual(told(), [near]);
  world.clock.leap(1.5 * day);
  await world.clock.pass(5_000);
  assert.deepEqual(told(), [near, ['key_far', new Date(nowMs + 8 * day).toISOString()]]);
});

test('a webhook that is removed gets nothing more, and leaves nothing behind', async () => {
  const world = await WebhookWorld.sending('one');
  world.reply = () => 'silence';
  await world.lead('lead_1', 'a');
  await world.clock.pass(2_000);
  assert.equal((await waitingDeliveries(world.store, 'wh_one')).length, 1);
  assert.equal(await removeWebhook(world.store, 'wh_one'), true);
  assert.equal(await removeWebhook(world.store, 'wh_one'), false);
  assert.equal((await waitingDeliveries(world.store, 'wh_one')).length, 0);
  const before = world.seen.length;
  await world.lead('lead_2', 'b');
  await world.clock.pass(400_000);
  assert.equal(world.seen.length, before);
});

/** A drawn course: what happens, and when which process is killed. */
const course = fc.record({
  steps: fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant('lead' as const), object: fc.integer({ min: 0, max: 3 }) }),
      fc.record({
        kind: fc.constant('kill' as const),
        calls: fc.integer({ min: 1, max: 14 }),
        effect: fc.boolean(),
      }),
      fc.record({ kind: fc.constant('pass' as const), seconds: fc.integer({ min: 0, max: 20 }) }),
    ),
    { minLength: 8, maxLength: 24 },
  ),
  replies: fc.array(fc.constantFrom<'silence' | number>(200, 200, 200, 204, 301, 429, 500, 'silence'), {
    minLength: 1,
    maxLength: 12,
  }),
});

test('whatever is killed when, every event is delivered, and those about one object in order', async () => {
  let kills = 0;
  await fc.assert(
    fc.asyncProperty(course, async ({ steps, replies }) => {
      const world = new WebhookWorld();
      for (const name of ['one', 'two']) await world.add(name);
      let asked = 0;
      world.reply = () => {
        const reply = replies[(asked += 1) - 1] ?? 200;
        return reply === 'silence' ? reply : { status: reply };
      };
      let effect = true;
      let process = world.start(() => effect);
      let sent = 0;
      for (const step of steps) {
        if (step.kind === 'lead') await world.lead(`lead_${step.object}`, String((sent += 1)));
        else if (step.kind === 'pass') await world.clock.pass(step.seconds * 1_000);
        else {
          kills += 1;
          effect = step.effect;
          process.kill(step.calls);
          await world.clock.pass(2_000);
          process.kill(0);
          process = world.start(() => effect);
        }
      }
      world.reply = () => ({ status: 200 });
      for (let failed = 0; failed < 3; failed += 1) {
        world.clock.leap(100_000_000);
        await world.clock.pass(20_000);
      }
      for (const name of ['one', 'two']) {
        assert.equal((await waitingDeliveries(world.store, `wh_${name}`)).length, 0, 'nothing waits');
        const taken = world.seen.filter(
          ({ url, status }) => url.includes(name) && status >= 200 && status < 300,
        );
        const first = new Map<string, string[]>();
        for (const { body } of taken) {
          const { id, message } = body.data as { id: string; message: string };
          const list = first.get(id) ?? [];
          if (!list.includes(message)) first.set(id, [...list, message]);
        }
        const all = [...first.values()].flat();
        assert.equal(all.length, sent, `${name} has every event`);
        for (const list of first.values()) {
          assert.deepEqual(
            list,
            list.toSorted((a, b) => Number(a) - Number(b)),
            'in order',
          );
        }
      }
    }),
    { numRuns: 250, seed: 7 },
  );
  assert.ok(kills >= 1_000, `${kills} kills`);
});

test('nothing is sent to private addresses or over http, unless the operator names the network', () => {
  const networks = [parseNetwork('10.1.0.0/16') ?? assert.fail()];
  for (const address of [
    ...['127.0.0.1', '10.0.0.1', '169.254.169.254', '192.168.1.1', '100.64.0.1', '0.0.0.0', '::1', 'fe80::1'],
    ...[
      'fd00::1',
      '::ffff:127.0.0.1',
      '::7f00:1',
      '64:ff9b::7f00:1',
      '2002:7f00:1::',
      '224.0.0.1',
      '192.0.2.1',
    ],
  ]) {
    assert.match(wrongAddress(address, 'https:', networks) ?? '', /is not public/, address);
  }
  assert.equal(wrongAddress('10.1.2.3', 'http:', networks), undefined);
  assert.equal(wrongAddress('8.8.8.8', 'https:', []), undefined);
  assert.equal(wrongAddress('2001:4860:4860::8888', 'https:', []), undefined);
  assert.match(wrongAddress('8.8.8.8', 'http:', networks) ?? '', /http is spoken/);
  for (const url of [
    ...['ftp://example.com/', 'no url', 'https://user:pw@example.com/', 'https://example.com/#a'],
    ...[
      'https://127.0.0.1/',
      'https://2130706433/',
      'https://[::1]/',
      `https://example.com/${'a'.repeat(2_000)}`,
    ],
  ]) {
    assert.ok('wrong' in parseTarget(url, networks), url);
  }
  assert.ok('wrong' in parseTarget('http://example.com/', []));
  assert.ok('url' in parseTarget('http://10.1.0.1:99/', networks));
  assert.ok('url' in parseTarget('https://example.com/events?a=b', []));
});

test('a host name that resolves to a private address is refused when it is looked up', async () => {
  const { signal } = new AbortController();
  await assert.rejects(
    webhookSender([])('https://localhost/', {}, '', signal),
    /Nothing is sent to localhost/,
  );
  await assert.rejects(webhookSender([])('https://127.0.0.1/', {}, '', signal), /Nothing is sent to 127/);
});

test('a receiver that closes the connection instead of answering has not taken it', async (context) => {
  // Node's client reports neither an answer nor an error after a change of protocols that it did not ask for.
  const head = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n';
  const receiver = createServer((socket) => socket.on('error', () => undefined).write(head));
  context.after(() => receiver.close());
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const { port } = receiver.address() as AddressInfo;
  const { signal } = new AbortController();
  await assert.rejects(
    webhookSender(['127.0.0.0/8'])(`http://127.0.0.1:${port}/`, {}, '{}', signal),
    /closed before an answer/,
  );
});

test('the data of a lead are read when it is sent: of one that was erased meanwhile nothing is', async () => {
  const world = new WebhookWorld();
  await world.lead('lead_1', 'erased while others were sent');
  await world.lead('lead_2', 'stays');
  const { events } = await readEvents(world.store, 'leads', 0, 9);
  const isFirst = (value: Uint8Array): boolean => decodeLead(value)?.id === 'lead_1';
  await eraseEntries(world.store, 'leads', isFirst, encodeLead(undefined));
  const data = await Promise.all(events.map((event) => event.data()));
  assert.deepEqual(
    data.map((each) => (each as { message?: string } | undefined)?.message),
    [undefined, 'stays'],
  );
});
