/** The listening sockets of a worker: its own, and those that another process left. */
import assert from 'node:assert/strict';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Listening } from '../../src/http/listening.js';
import { loadUws, type ListenSocket, type TemplatedApp } from '../../src/http/uws.js';
import { native } from '../../src/native/addon.js';
import { temporaryFolder } from '../support/run.js';
import { patientMs } from '../support/until.js';

const uws = loadUws();
const host = '127.0.0.1';
/** An address that no machine has (RFC 5737). */
const nowhere = '192.0.2.1';
const skip = { skip: process.platform !== 'linux' && 'descriptors are passed on Linux alone' };
const folder = temporaryFolder();

const greeter = (greeting: string): TemplatedApp =>
  uws.App().get('/', (response) => void response.end(greeting));

/** What a new connection to a port is answered; undefined if nobody listens there. */
async function answered(port: number): Promise<string | undefined> {
  const url = `http://${host}:${port}/`;
  const answer = await fetch(url, { headers: { connection: 'close' } }).catch(() => undefined);
  return answer?.text();
}

/** A server of Node that listens, as the process that leaves its sockets. */
async function leaving(): Promise<{ server: Server; port: number }> {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return { server, port: (server.address() as AddressInfo).port };
}

/** Descriptors of the same sockets, as another process gets them. */
async function passed(ports: readonly number[]): Promise<number[]> {
  const path = join(folder, 'inbox');
  const inbox = new native.Inbox(path);
  const own = ports.flatMap((port) => native.listeningOn(port));
  native.sendDescriptors(path, 'sockets', own);
  const delivery = await inbox.receive(patientMs);
  assert.equal(delivery?.descriptors.length, ports.length);
  return delivery.descriptors;
}

describe('a worker that opens its own socket', () => {
  test('serves there until it closes the socket', async () => {
    const listening = new Listening(uws);
    const port = await listening.on(greeter('own'), host, 0, []);
    assert.ok(port !== undefined && port > 0);
    assert.equal(await answered(port), 'own');
    listening.close();
    assert.equal(await answered(port), undefined);
    listening.close();
  });

  test('closes all that it opened', async () => {
    const listening = new Listening(uws);
    const ports = [
      await listening.on(greeter('first'), host, 0, []),
      await listening.on(greeter('second'), host, 0, []),
    ];
    for (const [at, port = 0] of ports.entries()) {
      assert.equal(await answered(port), at === 0 ? 'first' : 'second');
    }
    listening.close();
    for (const port of ports) assert.equal(await answered(port ?? 0), undefined);
  });

  test('is told if it cannot', async () => {
    assert.equal(await new Listening(uws).on(greeter(''), nowhere, 0, []), undefined);
  });
});

describe('sockets that another process left', skip, () => {
  test('are served on their port once that process has closed its own', async () => {
    const { server, port } = await leaving();
    const left = await passed([port]);
    server.close();
    const listening = new Listening(uws);
    assert.equal(await listening.on(greeter('new'), host, 0, left), port);
    assert.equal(await answered(port), 'new');
    assert.equal(native.listeningOn(port).length, 1);
    listening.close();
    assert.equal(await answered(port), undefined);
  });

  test('stay open for other processes when one closes its own', async () => {
    const { server, port } = await leaving();
    const listening = new Listening(uws);
    await listening.on(greeter('new'), host, 0, await passed([port]));
    listening.close();
    assert.equal(native.listeningOn(port).length, 1);
    server.close();
  });

  test('are all served by one app, whose port is that of the first', async () => {
    const [first, second] = [await leaving(), await leaving()];
    const left = await passed([first.port, second.port]);
    first.server.close();
    second.server.close();
    const listening = new Listening(uws);
    assert.equal(await listening.on(greeter('both'), host, 0, left), first.port);
    assert.equal(await answered(first.port), 'both');
    assert.equal(await answered(second.port), 'both');
    listening.close();
    assert.equal(await answered(first.port), undefined);
    assert.equal(await answered(second.port), undefined);
  });

  test('are not served if one of them cannot be taken', async () => {
    const [first, second] = [await leaving(), await leaving()];
    const left = await passed([first.port, second.port]);
    first.server.close();
    second.server.close();
    const app = greeter('first');
    const asked: number[] = [];
    const listen = (at: string, port: number, told: (socket: ListenSocket | false) => void): void => {
      if (asked.push(port) === 1) app.listen(at, port, told);
      else told(false);
    };
    const listening = new Listening(uws);
    assert.equal(await listening.on({ listen } as unknown as TemplatedApp, host, 0, left), undefined);
    assert.deepEqual(asked, [0, 0], 'each replaces one on any free port');
    listening.close();
    assert.equal(await answered(first.port), undefined);
  });
});
