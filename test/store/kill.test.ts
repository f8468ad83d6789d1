/** SIGKILL at random moments: what several processes were told is done is there, once and whole. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../support/run.js';
import { checkWorkload } from './invariants.js';
import { storeAt } from '../support/openStore.js';
import { workUntilKilled } from './processesAtWork.js';

const rounds = 20;

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
