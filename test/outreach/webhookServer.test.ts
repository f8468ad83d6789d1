/** Webhooks end to end: the compiled program sends to a receiver of this process, over HTTP. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { here } from '../support/here.js';
import { exchange, post } from '../support/raw.js';
import { commandApart, run, temporaryFolder } from '../support/run.js';
import { until } from '../support/until.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const environment = {
  STORE_URL: `lmdb:${temporaryFolder()}/store`,
  WEBHOOK_NETWORKS: '127.0.0.0/8',
  LOG_LEVEL: 'error',
};

/** What a receiver got. */
interface Got {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const got: Got[] = [];
let answer = 200;
const receiver = createServer((request, response) => {
  void text(request).then((body) => {
    got.push({ path: request.url ?? '', headers: request.headers, body });
    response.writeHead(answer, { location: '/elsewhere' }).end('thank you');
  });
});

/** Runs a command, where the program is loaded already. */
async function fusegate(...args: readonly string[]): Promise<string> {
  const { code, output } = await here(args, environment);
  assert.equal(code, 0, output);
  return output;
}

/** The same in a process of its own. */
async function program(...args: readonly string[]): Promise<string> {
  const { code, output } = await commandApart(args, environment);
  assert.equal(code, 0, output);
  return output;
}

async function added(...args: readonly string[]): Promise<{ readonly id: string; readonly secret: string }> {
  return JSON.parse(await program('webhooks', 'add', ...args, '--json')) as { id: string; secret: string };
}

/** True if a message was signed with a secret. */
function isSigned({ headers, body }: Got, secret: string): boolean {
  const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const mac = createHmac('sha256', key).update(signed).digest('base64');
  return headers['webhook-signature'] === `v1,${mac}`;
}

receiver.listen(0, '127.0.0.1');
await once(receiver, 'listening');
const origin = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
const server = run(main, ['serve'], { ...environment, PORT: '0', WORKERS: '2' });
const port = Number((await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/))[1]);

describe('a server with webhooks', () => {
  after(async () => {
    server.child.kill('SIGTERM');
    await server.ended();
    receiver.close();
    receiver.closeAllConnections();
  });

  async function lead(message: string): Promise<void> {
    const body = JSON.stringify({ email: 'ada@example.com', message });
    const response = await exchange(port, post('/v1/leads', body, { 'Content-Type': 'application/json' }));
    assert.equal(response.status, 200);
  }

  const messages = (path: string): unknown[] =>
    got
      .filter((each) => each.path === path)
      .map(({ body }) => (JSON.parse(body) as { data: { message?: string } }).data.message);

  test('leads and ends of keys are sent, signed, to the webhooks that asked for them', async () => {
    const leads = await added(`${origin}/leads`, '--event', 'lead.received');
    const keys = await added(`${origin}/keys`, '--event', 'key.revoked', 'order.paid');
    await lead('hello');
    await until(() => messages('/leads').includes('hello'));
    const made = JSON.parse(await fusegate('keys', 'create', '--tier', 'developer', '--json')) as {
      id: string;
    };
    await fusegate('keys', 'revoke', made.id, '--reason', 'for the test');
    await until(() => got.some(({ path }) => path === '/keys'));
    assert.deepEqual(messages('/leads'), ['hello']);
    const ofKey = got.find(({ path }) => path === '/keys') ?? assert.fail('nothing came');
    const told = JSON.parse(ofKey.body) as { type: string; data: Record<string, unknown> };
    assert.equal(told.type, 'key.revoked');
    assert.equal(told.data['key_id'], made.id);
    assert.equal(told.data['reason'], 'for the test');
    assert.ok(isSigned(ofKey, keys.secret), 'by its own secret');
    assert.ok(!isSigned(ofKey, leads.secret));
    for (const each of got.filter(({ path }) => path === '/leads')) assert.ok(isSigned(each, leads.secret));
    await fusegate('webhooks', 'remove', leads.id);
    await fusegate('webhooks', 'remove', keys.id);
  });

  test('a redirect is not followed, and a failed message is sent again', async () => {
    const { id } = await added(`${origin}/moved`);
    answer = 302;
    await lead('again');
    await until(() => messages('/moved').length === 1);
    answer = 200;
    await until(() => messages('/moved').length === 2);
    assert.deepEqual(messages('/moved'), ['again', 'again']);
    assert.deepEqual(messages('/elsewhere'), []);
    await fusegate('webhooks', 'remove', id);
  });

  test('list shows what waits and what was stopped, and test shows the answer', async () => {
    const { id } = await added(`${origin}/gone`);
    assert.match(await fusegate('webhooks', 'test', id), /answered 200 in \d+ ms and took the event/);
    answer = 410;
    await lead('nobody');
    await until(async () => (await fusegate('webhooks', 'list')).includes('stopped: It answered 410'));
    answer = 200;
    const [line] = (await fusegate('webhooks', 'list', '--json')).split('\n');
    const shown = JSON.parse(line ?? '') as Record<string, unknown>;
    assert.equal(shown['status'], 'stopped');
    assert.equal(shown['id'], id);
    assert.ok(!JSON.stringify(shown).includes('whsec_'));
    await fusegate('webhooks', 'remove', id);
    assert.match(await fusegate('webhooks', 'list'), /There is no webhook/);
  });

  test('a wrong URL or event is refused with the reason', async () => {
    for (const [args, reason] of [
      [['add', 'https://10.0.0.1/'], /is not public, and WEBHOOK_NETWORKS/],
      [
        ['add', 'https://example.com/', '--event', 'lead'],
        /There is no event lead\. The events are order\.paid/,
      ],
      [['remove', 'wh_1'], /There is no webhook wh_1/],
    ] as const) {
      const { code, output } = await here(['webhooks', ...args], environment);
      assert.equal(code, 1);
      assert.match(output, reason);
    }
  });
});
