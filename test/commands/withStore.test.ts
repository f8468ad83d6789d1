/** Commands on a store: what they say of records that this version cannot read. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withStore, type CommandParts } from '../../src/commands/withStore.js';
import { StoreUnavailable } from '../../src/store/store.js';
import { integer, table } from '../../src/store/table.js';
import { systemClock } from '../../src/system/clock.js';
import { openTestStore } from '../support/serving.js';

const sized = table('size', { bytes: integer });

test('a command that meets such a record says so in one sentence, and ends with 1', async () => {
  const store = await openTestStore();
  const said: string[] = [];
  const parts = {
    ...{
      environment: {},
      machine: { cores: 1, memory: 1 << 30 },
      clock: systemClock,
      called: () => undefined,
    },
    openStore: () => Promise.resolve({ store, secrets: [] }),
    printError: (line: string) => void said.push(line),
  } as unknown as CommandParts;
  const failing = [
    () => sized.decode(Buffer.from('\u0002{"bytes":1}')),
    () => sized.decode(Buffer.from('\u0001{"bytes":"1"}')),
    () => {
      throw new StoreUnavailable('it is away');
    },
  ];
  for (const fail of failing) {
    assert.equal(await withStore(parts, async () => Promise.resolve(fail()).then(() => 0)), 1);
  }
  assert.deepEqual(said.slice(0, 2), [
    'A size record of the store cannot be read: this version does not know format 2; a later one may.',
    'A size record of the store cannot be read: it is damaged (its bytes is not an integer).',
  ]);
  assert.match(said[2] ?? '', /it is away/);
});
