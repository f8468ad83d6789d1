/** A data folder on a full disk: a server that has run there before starts. */
import assert from 'node:assert/strict';
import { existsSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { makeWithRoom } from '../../src/compose/folder.js';
import { native } from '../../src/native/addon.js';
import { tryDataFolder, type LockFile } from '../../src/processes/folder.js';
import { isNoRoom } from '../../src/system/reason.js';
import { temporaryFolder } from '../support/run.js';

/** The error of the native module. */
const noRoom = (): never => {
  throw new Error('No space left on device (os error 28)');
};
const nothing = (): void => undefined;

/** A path at which the next file cannot be made: its draft is on a full device. */
function fullAt(): string {
  const path = join(temporaryFolder(), 'limits');
  symlinkSync('/dev/full', `${path}.new`);
  return path;
}

describe('a full disk', () => {
  test('is known by the errors of Node and of the native module', () => {
    assert.throws(() => writeFileSync('/dev/full', 'x'), isNoRoom);
    assert.throws(() => native.createLimits(fullAt(), Buffer.alloc(16)), isNoRoom);
    for (const other of [new Error('os error 280'), new Error('EACCES'), 'full']) {
      assert.equal(isNoRoom(other), false);
    }
  });

  test('has no room for the process id, and the folder is locked without it', () => {
    const texts: string[] = [];
    const lockFile: LockFile = (_, text) => {
      texts.push(text);
      return text === '' ? null : noRoom();
    };
    assert.deepEqual(tryDataFolder(temporaryFolder(), lockFile, nothing), { kind: 'taken' });
    assert.deepEqual(texts, [String(process.pid), '']);
  });

  test('is never a reason to set another folder', () => {
    const folder = temporaryFolder();
    const said = (fail: () => never): string => {
      const outcome = tryDataFolder(folder, () => null, fail);
      return outcome.kind === 'unusable' ? outcome.reason : '';
    };
    assert.match(said(noRoom), /\(os error 28\)\)\. Make room on its disk, and start again\.$/);
    const denied = (): never => {
      throw new Error('Permission denied (os error 13)');
    };
    assert.match(said(denied), /\(os error 13\)\)\. Set STORE_URL to one that can\.$/);
    assert.match(
      JSON.stringify(tryDataFolder(folder, () => denied(), nothing)),
      /Set STORE_URL to one that can/,
    );
  });

  test('gives the room of a file that is emptied to the new one', () => {
    const path = fullAt();
    writeFileSync(path, 'of the last start');
    const make = (): void => native.createLimits(path, Buffer.alloc(16));
    makeWithRoom({ path, make, isEmptied: true }, { error: () => assert.fail('it was made') });
    assert.ok(statSync(path).size > 1_000);
  });

  test('leaves other files as they are, and the log says so', () => {
    const path = join(temporaryFolder(), 'vectors');
    writeFileSync(path, 'v');
    const said: unknown[] = [];
    const log = { error: (fields: object, text: string) => void said.push([fields, text]) };
    makeWithRoom({ path, make: noRoom, isEmptied: false }, log);
    assert.ok(existsSync(path));
    makeWithRoom({ path, make: noRoom, isEmptied: true }, log);
    assert.ok(!existsSync(path));
    const reason = 'No space left on device (os error 28)';
    const line = [{ file: path, reason }, 'a mapped file cannot be made: the disk is full'];
    assert.deepEqual(said, [line, line]);
    const broken = (): never => {
      throw new Error('broken');
    };
    assert.throws(() => makeWithRoom({ path, make: broken, isEmptied: true }, log), /broken/);
  });
});
