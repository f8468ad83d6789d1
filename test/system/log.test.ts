/** The log of a process whose lines cannot be written. */
import assert from 'node:assert/strict';
import { closeSync, existsSync, openSync } from 'node:fs';
import { test } from 'node:test';
import { createLog } from '../../src/system/log.js';

const full = '/dev/full';

test(
  'a full disk ends nothing, and what cannot be written takes little memory',
  {
    skip: existsSync(full) ? false : `${full} is not there`,
  },
  () => {
    const descriptor = openSync(full, 'w');
    const fields = { text: 'x'.repeat(1_000) };
    for (const format of ['json', 'text'] as const) {
      const log = createLog('info', { descriptor, format });
      for (let line = 0; line < 100; line += 1) log.error(fields, 'cannot be written');
      global.gc?.();
      const before = process.memoryUsage().heapUsed;
      for (let line = 0; line < 20_000; line += 1) log.info(fields, 'cannot be written');
      const grown = process.memoryUsage().heapUsed - before;
      assert.ok(grown < 32 << 20, `${format}: ${grown} bytes`);
    }
    closeSync(descriptor);
  },
);
