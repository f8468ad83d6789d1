/** The lower priority of processes that start while others serve. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import os, { getPriority } from 'node:os';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { lowerPriority, mayGoBack, startLowered, takeLowestPriority } from '../../src/processes/priority.js';

const first = '         0          0 4294967295\n';

/** Rights by the capabilities, the limit and the users that a namespace maps. */
const rights = (capabilities: string, limit: string, users = first) => ({
  status: `Name:\tnode\nCapEff:\t${capabilities}\nCapBnd:\t0\n`,
  limits:
    `Limit                     Soft Limit           Hard Limit           Units\n` +
    `Max msgqueue size         819200               819200               bytes\n` +
    `Max nice priority         ${limit.padEnd(21)}${limit.padEnd(21)}\n`,
  uid_map: users,
});

const none = '0000000000000000';

describe('a start at a lower priority', () => {
  test('is only used if the usual priority can be restored, by the capability or by the limit', () => {
    assert.equal(mayGoBack(rights('000001ffffffffff', '0'), 0), true);
    assert.equal(mayGoBack(rights('0000000000800000', '0'), 0), true);
    assert.equal(mayGoBack(rights('000001ffff7fffff', '0'), 0), false);
    assert.equal(mayGoBack(rights(none, '0'), 0), false);
    // A limit of 20 is that of a niceness of 0, one of 15 that of 5 (setrlimit(2)).
    assert.equal(mayGoBack(rights(none, '20'), 0), true);
    assert.equal(mayGoBack(rights(none, '19'), 0), false);
    assert.equal(mayGoBack(rights(none, '15'), 5), true);
    assert.equal(mayGoBack(rights(none, '14'), 5), false);
    assert.equal(mayGoBack(rights(none, 'unlimited'), -20), true);
    assert.equal(mayGoBack({ status: '', limits: '', uid_map: '' }, 0), false);
  });

  test('counts no capability of a container with users of its own', () => {
    const container = '         0     100000      65536\n';
    assert.equal(mayGoBack(rights('000001ffffffffff', '0', container), 0), false);
    assert.equal(mayGoBack(rights('000001ffffffffff', '20', container), 0), true);
  });

  test('lasts until all threads of the process go back, and does not affect the one that starts it', () => {
    const module = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
    const program = `
      import { goBackTo } from ${JSON.stringify(module('../../src/processes/priority.js'))};
      import { nicenessOf } from ${JSON.stringify(module('./threads.js'))};
      const before = nicenessOf('self');
      goBackTo(process.argv[1] === 'undefined' ? undefined : Number(process.argv[1]));
      console.log(JSON.stringify({ before, after: nicenessOf('self') }));`;
    const own = getPriority();
    const { printed, niceness } = startLowered((back) => ({
      printed: execFileSync(process.execPath, ['--input-type=module', '-e', program, String(back)]),
      niceness: back,
    }));
    const { before, after } = JSON.parse(printed.toString()) as { before: number[]; after: number[] };
    const lowered = niceness === undefined ? own : Math.min(19, own + 5);
    assert.deepEqual(new Set(before), new Set([lowered]));
    assert.deepEqual(new Set(after), new Set([own]));
    assert.ok(after.length > 1);
    assert.equal(getPriority(), own);
  });

  for (const code of ['EPERM', 'EACCES', 'ENOSYS'] as const) {
    test(`is a usual start where the system refuses other priorities with ${code}`, (context) => {
      const own = getPriority();
      const refused = Object.assign(new Error(`${code}: setpriority`), { code });
      const { mock } = context.mock.method(os, 'setPriority', () => {
        throw refused;
      });
      syncBuiltinESMExports();
      try {
        const given = startLowered((niceness) => ({ niceness }));
        assert.deepEqual(given, { niceness: undefined });
        // Where it could not go back, it does not even ask.
        assert.ok(mock.callCount() <= 1);
        takeLowestPriority();
        lowerPriority();
        assert.ok(mock.callCount() > 1);
      } finally {
        mock.restore();
        syncBuiltinESMExports();
      }
      assert.equal(getPriority(), own);
    });
  }

  test('applies to every thread of a command that runs beside a server', () => {
    const module = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
    const program = `
      import { lowerPriority } from ${JSON.stringify(module('../../src/processes/priority.js'))};
      import { nicenessOf } from ${JSON.stringify(module('./threads.js'))};
      lowerPriority();
      console.log(JSON.stringify(nicenessOf('self')));`;
    const printed = execFileSync(process.execPath, ['--input-type=module', '-e', program]);
    const niceness = JSON.parse(printed.toString()) as number[];
    assert.deepEqual(new Set(niceness), new Set([Math.min(19, getPriority() + 5)]));
    assert.ok(niceness.length > 1);
  });

  test('does not affect the one that starts if the start fails', () => {
    const own = getPriority();
    assert.throws(() =>
      startLowered(() => {
        throw new Error('no process');
      }),
    );
    assert.equal(getPriority(), own);
  });
});
