/** The offer of a running server to hand over: whatever the other side does, this one goes on serving. */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { offerHandover, type Offer } from '../../src/processes/handover.js';
import { withSocketPath } from '../../src/processes/sockets.js';
import { temporaryFolder } from '../support/run.js';
import { until } from '../support/until.js';

const skip = process.platform === 'linux' ? false : 'only Linux has takeovers';
const ports = { port: 0, doorPort: 0, metricsPort: 0 };
const goesOn = 'the server that was to take over has ended, and this one goes on serving';

/** An offer in a folder of its own, and what was logged. */
function offered(): { readonly offer: Offer; readonly folder: string; readonly told: string[] } {
  const folder = temporaryFolder();
  const told: string[] = [];
  const say = (_: object, text: string): void => void told.push(text);
  const offer = offerHandover({
    ...{ folder, store: 'lmdb:a', host: '127.0.0.1', ports },
    handOver: () => Promise.resolve({ failed: 'a worker ended' }),
    log: { info: say, warn: say },
  });
  return { offer, folder, told };
}

async function opened(folder: string): Promise<Socket> {
  const socket = withSocketPath(folder, 'handover', (path) => connect(path));
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  return socket;
}

test('a server that says something else, or nothing, takes nothing over', { skip }, async (context) => {
  const { offer, folder, told } = offered();
  context.after(() => offer.close());
  for (const said of ['', 'nothing\n', '{"kind":"take","protocol":1,"store":"lmdb:a","pid":1}\n']) {
    told.splice(0);
    const socket = await opened(folder);
    socket.on('error', () => undefined);
    socket.end(said);
    await until(() => told.includes(goesOn) && !offer.isUnderWay());
    assert.equal(told.at(-1), goesOn, said);
    socket.destroy();
  }
});

test('a server that ends before it has read the answer takes nothing over', { skip }, async (context) => {
  const { offer, folder, told } = offered();
  context.after(() => offer.close());
  const socket = await opened(folder);
  socket.pause();
  socket.write('{"kind":"take","protocol":0,"store":"lmdb:a","pid":1}\n');
  await until(() => told.length === 2);
  assert.equal(told[1], 'the other server cannot take over, and this one goes on serving');
  socket.destroy();
  await until(() => !offer.isUnderWay());
  // Another one is heard.
  told.splice(0);
  const next = await opened(folder);
  next.end('nothing\n');
  await until(() => told.includes(goesOn));
});
