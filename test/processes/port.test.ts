/** The ports that servers get for 0: free ones that no outgoing connection takes meanwhile. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { probePort } from '../../src/processes/port.js';

const host = '127.0.0.1';

/** The least port that this system gives to outgoing connections, where it tells; macOS has 49152. */
function leastOutgoing(): number {
  const range = '/proc/sys/net/ipv4/ip_local_port_range';
  return existsSync(range) ? Number(readFileSync(range, 'utf8').split(/\s/, 1)[0]) : 49_152;
}

test('port 0 is a port below those of outgoing connections, a different one each time', async () => {
  const found = await Promise.all(Array.from({ length: 40 }, () => probePort(host, 0)));
  const ports = found.map((each) => ('port' in each ? each.port : assert.fail(each.refused)));
  assert.ok(
    ports.every((port) => port >= 1_024 && port < leastOutgoing()),
    ports.join(' '),
  );
  assert.ok(new Set(ports).size > 30, ports.join(' '));
});

test('processes that look for a port at the same time find different ones', async () => {
  const program = `
    import { probePort } from ${JSON.stringify(new URL('../../src/processes/port.js', import.meta.url).href)};
    const found = [await probePort('${host}', 0), await probePort('${host}', 0)];
    console.log(found.map(({ port }) => port).join(' '));
  `;
  const processes = Array.from({ length: 12 }, async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
    return stdout.trim().split(' ');
  });
  const ports = (await Promise.all(processes)).flat();
  assert.deepEqual([ports.length, new Set(ports).size], [24, 24], ports.join(' '));
});

test('a port in use is refused by a sentence, and so is an address of another machine', async () => {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const inUse = `Port ${port} on ${host} is in use. Stop the program that has it, or set DOOR_PORT to `;
  assert.deepEqual(await probePort(host, port, 'DOOR_PORT'), { refused: `${inUse}a free one.` });
  server.close();
  await once(server, 'close');
  assert.deepEqual(await probePort(host, port), { port });
  const elsewhere = 'HOST 192.0.2.1 is not an address of this machine. Set HOST to one, such as 127.0.0.1.';
  assert.deepEqual(await probePort('192.0.2.1', 0), { refused: elsewhere });
});
