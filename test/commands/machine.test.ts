/** The doctor's findings about the machine: Node, clock, open files, and who holds the data folder. */
import assert from 'node:assert/strict';
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { clockFinding, filesFinding, holderOf, nodeFinding } from '../../src/commands/machine.js';
import { native } from '../../src/native/addon.js';
import { loadUws } from '../../src/http/uws.js';
import { temporaryFolder } from '../support/run.js';

describe('the machine', () => {
  test('a Node without a matching build of the HTTP server is a problem, tested or not', () => {
    const found = nodeFinding('24.1.0', () => loadUws(['no-such-build']));
    assert.equal(found.level, 'problem');
    assert.match(found.text, /^No build of uWebSockets\.js fits Node .+Fusegate needs/);
    assert.equal(nodeFinding('24.1.0', () => loadUws()).level, 'ok');
    assert.equal(nodeFinding('21.0.0', () => loadUws()).level, 'note');
  });

  test('a clock behind what was written is a problem', () => {
    const folder = temporaryFolder();
    const nowMs = 1_800_000_000_000;
    const store = join(folder, 'store');
    mkdirSync(store);
    utimesSync(store, nowMs / 1_000, nowMs / 1_000);
    utimesSync(folder, nowMs / 1_000, nowMs / 1_000);
    assert.equal(clockFinding(folder, nowMs).level, 'ok');
    assert.equal(clockFinding(folder, nowMs - 30_000).level, 'ok');
    const found = clockFinding(folder, nowMs - 3_600_000);
    assert.equal(found.level, 'problem');
    assert.match(found.text, /2027-01-15T07:00:00\.000Z, and .+ at 2027-01-15T08:00:00\.000Z/);
    assert.equal(clockFinding(join(folder, 'none'), 0).level, 'ok');
  });

  test('the limit of open files limits the connections', () => {
    assert.match(filesFinding(1_024, 8_192).text, /^Only 1024 .+ Allow 8448\.$/);
    assert.equal(filesFinding(1_024, 8_192).level, 'note');
    assert.equal(filesFinding(8_448, 8_192).level, 'ok');
    assert.equal(filesFinding(Infinity, 8_192).level, 'ok');
  });

  test('the holder of a data folder is the process that holds its lock', { skip: !isLinux() }, () => {
    const folder = temporaryFolder();
    assert.equal(holderOf(folder), null);
    writeFileSync(join(folder, 'lock'), '4711');
    assert.equal(holderOf(folder), null, 'a lock of a server that ended');
    assert.equal(native.lockFile(join(folder, 'lock'), String(process.pid)), null);
    assert.equal(holderOf(folder), String(process.pid));
    const unreadable = (): string => {
      throw new Error('no such file');
    };
    assert.equal(holderOf(folder, unreadable), undefined);
  });
});

function isLinux(): boolean {
  return process.platform === 'linux';
}
