/** The address in the door's description: the configured one, or the one that a request was sent to. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Answer, RouteRequest } from '../../src/contract/exchange.js';
import { how } from '../../src/receipts/how.js';
import { describedDoor, doorOpenapi, type DoorAddress } from '../../src/receipts/openapi.js';
import { requestWith } from '../support/embedding.js';

/** An IPv4 peer as a socket for both families names it. */
const mapped = (...bytes: number[]): Uint8Array => Uint8Array.from([...Buffer.alloc(10), 255, 255, ...bytes]);

function sent(
  fields: Readonly<Record<string, string>>,
  peer: Uint8Array = Uint8Array.of(192, 0, 2, 7),
): RouteRequest {
  const request = requestWith(Buffer.alloc(0));
  return { ...request, header: (name) => fields[name] ?? '', peer: () => peer };
}

async function answerOf(address: Partial<DoorAddress>, request: RouteRequest): Promise<Answer> {
  return doorOpenapi({ publicUrl: null, trustedProxies: [], ...address })(request);
}

function textOf({ body }: Answer): string {
  return 'bytes' in body && typeof body.bytes === 'string' ? body.bytes : assert.fail('no text');
}

/** The address that the description names to a request. */
async function urlOf(
  fields: Readonly<Record<string, string>>,
  trustedProxies: readonly string[] = [],
  peer?: Uint8Array,
): Promise<string | undefined> {
  const answer = await answerOf({ trustedProxies }, sent(fields, peer));
  const { servers } = JSON.parse(textOf(answer)) as { servers: { url: string }[] };
  return servers.length === 1 ? servers[0]?.url : undefined;
}

describe('the description of the door', () => {
  test('names any host that is valid in a URL, and otherwise the root', async () => {
    const hosts = [
      'door.example',
      'Door.example:8443',
      'a',
      'my_door-1',
      '192.0.2.1:1',
      '[::1]',
      '[2001:DB8::a]:80',
    ];
    for (const host of hosts) assert.equal(await urlOf({ host }), `http://${host}`);
    const others = [
      '',
      'a"b',
      'a/b',
      'a b',
      'me@door',
      'a:',
      'a:port',
      'a:123456',
      '[::1',
      '::1',
      '[]',
      '[g]',
      'dóor',
    ];
    for (const host of others) assert.equal(await urlOf({ host }), '/', host);
  });

  test('believes only a trusted proxy, and of a list the entry nearest the client', async () => {
    const fields = {
      host: 'inner',
      'x-forwarded-host': ' door.example , other',
      'x-forwarded-proto': 'HTTPS, http',
    };
    const from = (proxies: string[], peer?: Uint8Array) => urlOf(fields, proxies, peer);
    assert.equal(await from([]), 'http://inner');
    assert.equal(await from(['192.0.2.8']), 'http://inner');
    assert.equal(await from(['192.0.2.7']), 'https://door.example');
    assert.equal(await from(['not a network', '192.0.2.7']), 'https://door.example');
    assert.equal(await from(['198.51.100.0/24', '192.0.2.0/24']), 'https://door.example');
    assert.equal(await from(['192.0.2.0/24'], mapped(192, 0, 2, 9)), 'https://door.example');
    assert.equal(await from(['192.0.2.0/24'], mapped(192, 0, 3, 9)), 'http://inner');
  });

  test('takes what a trusted proxy leaves out from the request, and https only if it says so', async () => {
    const trusted = ['192.0.2.7'];
    const proto = (scheme: string) => urlOf({ host: 'inner', 'x-forwarded-proto': scheme }, trusted);
    assert.equal(await proto('https'), 'https://inner');
    for (const scheme of ['', 'http', 'wss', 'https2', 'http, https']) {
      assert.equal(await proto(scheme), 'http://inner', scheme);
    }
    assert.equal(await urlOf({ host: 'inner', 'x-forwarded-host': 'a"b' }, trusted), '/');
  });

  test('is the same for everybody where the address is configured', async () => {
    const request = sent({ host: 'inner', 'x-forwarded-host': 'other' });
    const configured = { publicUrl: 'https://door.example', trustedProxies: ['192.0.2.7'] };
    const answer = await answerOf(configured, request);
    const { servers } = JSON.parse(textOf(answer)) as { servers: unknown };
    assert.deepEqual(servers, [{ url: 'https://door.example' }]);
    assert.equal(textOf(answer), JSON.stringify(describedDoor('https://door.example')));
    assert.deepEqual({ ...answer, body: null }, { status: 200, body: null, headers: {}, charge: 0 });
    assert.equal('bytes' in answer.body && answer.body.type, 'application/json');
  });

  test('differs by host, and must not be cached', async () => {
    const answer = await answerOf({}, sent({ host: 'inner' }));
    assert.equal(textOf(answer), JSON.stringify(describedDoor('http://inner')));
    assert.ok(textOf(answer).includes(JSON.stringify(how)));
    const headers = { 'cache-control': 'no-store', vary: 'Host' };
    assert.deepEqual({ ...answer, body: null }, { status: 200, body: null, headers, charge: 0 });
  });

  test('contains only what is served', async () => {
    for (const publicUrl of ['http://inner', null]) {
      const answer = await answerOf({ publicUrl, serve: ['door'] }, sent({ host: 'inner' }));
      assert.equal(textOf(answer), JSON.stringify(describedDoor('http://inner', ['door'])));
      assert.notEqual(textOf(answer), JSON.stringify(describedDoor('http://inner')));
    }
  });
});
