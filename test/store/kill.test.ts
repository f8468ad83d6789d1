/** SIGKILL at random moments: what several processes were told is done is there, once and whole. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../processes/run.js';
import { checkWorkload } from './invariants.js';
import { storeAt } from './open.js';

const workload = fileURLToPath(new URL('workload.js', import.meta.url));
const rounds = 20;

/** One process at work until it is killed; resolves to the names it was told are done. */
async function workUntilKilled(folder: string, prefix: string, lifeMs: number): Promise<string[]> {
  const child = spawn(process.execPath, [workload, folder, prefix, '100000', '8'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.on('data', (data) => (printed += String(data)));
  const ended = once(child, 'close');
  while (printed === '') await pause(1);
  await pause(lifeMs);
  child.kill('SIGKILL');
  await ended;
  return [...printed.matchAll(/^ACK (\w+)\n/gm)].map(([, name]) => name ?? '');
}

test(`three processes are killed in the middle of their writes, ${rounds} times`, async (context) => {
  const folder = join(temporaryFolder(), 'store');
  const acknowledged: string[] = [];
  let present = 0;
  for (let round = 0; round < rounds; round += 1) {
    const lifeMs = (round * 37) % 150;
    const names = ['x', 'y', 'z'].map((process) => `${process}${round.toString(36)}q`);
    const told = await Promise.all(names.map((name) => workUntilKilled(folder, name, lifeMs)));
    acknowledged.push(...told.flat());
    const store = await storeAt(`lmdb:${folder}`);
    present = await checkWorkload(store, acknowledged);
    await store.close();
  }
  assert.ok(acknowledged.length > rounds * 10, `${acknowledged.length} acknowledged`);
  const unacknowledged = present - acknowledged.length;
  context.diagnostic(
    `${acknowledged.length} units acknowledged and there; ${unacknowledged} there that nobody was told of`,
  );
});

test('a store that other processes open all the time loses nothing', async () => {
  const folder = join(temporaryFolder(), 'store');
  await (await storeAt(`lmdb:${folder}`)).close();
  const writer = workUntilKilled(folder, 'w', 4000);
  let opened = 0;
  const opening = async (): Promise<void> => {
    // LMDB sets the number of the last transaction when it opens: nothing may commit meanwhile.
    for (let again = true; again; opened += 1) {
      const store = await storeAt(`lmdb:${folder}`);
      await store.close();
      again = await Promise.race([writer.then(() => false), pause(1, true)]);
    }
  };
  await opening();
  assert.ok(opened > 50, `opened ${opened} times`);
  const store = await storeAt(`lmdb:${folder}`);
  const present = await checkWorkload(store, await writer);
  assert.ok(present > 100, `${present} units`);
  await store.close();
});
