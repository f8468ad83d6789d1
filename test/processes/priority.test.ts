/** The lower priority of processes that start while others serve. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { getPriority } from 'node:os';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { mayGoBack, startLowered } from '../../src/processes/priority.js';

const status = (capabilities: string): string => `Name:\tnode\nCapEff:\t${capabilities}\nCapBnd:\t0\n`;
const limits = (soft: string): string =>
  `Limit                     Soft Limit           Hard Limit           Units\n` +
  `Max msgqueue size         819200               819200               bytes\n` +
  `Max nice priority         ${soft.padEnd(21)}${soft.padEnd(21)}\n`;

describe('a start at a lower priority', () => {
  test('is only made where the usual one can be had back: by the capability, or by the limit', () => {
    const none = status('0000000000000000');
    assert.equal(mayGoBack(status('000001ffffffffff'), limits('0'), 0), true);
    assert.equal(mayGoBack(status('0000000000800000'), limits('0'), 0), true);
    assert.equal(mayGoBack(status('000001ffff7fffff'), limits('0'), 0), false);
    assert.equal(mayGoBack(none, limits('0'), 0), false);
    // A limit of 20 is that of a niceness of 0, one of 15 that of 5 (setrlimit(2)).
    assert.equal(mayGoBack(none, limits('20'), 0), true);
    assert.equal(mayGoBack(none, limits('19'), 0), false);
    assert.equal(mayGoBack(none, limits('15'), 5), true);
    assert.equal(mayGoBack(none, limits('14'), 5), false);
    assert.equal(mayGoBack(none, limits('unlimited'), -20), true);
    assert.equal(mayGoBack('', '', 0), false);
  });

  test('lasts until all threads of the process go back; the one that starts it keeps its own', () => {
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

  test('ends for the one that starts when the start fails', () => {
    const own = getPriority();
    assert.throws(() =>
      startLowered(() => {
        throw new Error('no process');
      }),
    );
    assert.equal(getPriority(), own);
  });
});
