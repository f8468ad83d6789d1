/** The files of a signing machine: its key, and the newest checkpoint that it knows. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { keyPath, openKey, retireKey } from '../../src/log/keyFile.js';
import { logKey, type LogKey } from '../../src/log/note.js';
import { seenFile } from '../../src/log/seen.js';
import type { Randomness } from '../../src/system/randomness.js';
import type { SecretResult } from '../../src/system/secretFile.js';
import { temporaryFolder } from '../support/run.js';

/** Bytes that count up with each draw. */
function counting(): Randomness {
  let drawn = 0;
  return (count) => Buffer.alloc(count, (drawn += 1));
}

const modeOf = (path: string): number => statSync(path).mode & 0o777;

/** The public key, or why there is none. */
function told(result: SecretResult<LogKey>): string {
  return 'value' in result ? result.value.publicKey.toString('hex') : result.refused;
}

describe('a key file', () => {
  test('is made once, readable by its owner only, and stays the same from then on', () => {
    const folder = join(temporaryFolder(), 'data');
    const made = openKey(folder, counting());
    assert.ok('value' in made);
    assert.equal(modeOf(folder), 0o700);
    assert.deepEqual(readdirSync(folder), ['log-key'], 'no draft is left');
    const path = keyPath(folder);
    assert.equal(path, join(folder, 'log-key'));
    assert.equal(modeOf(path), 0o600);
    const seed = readFileSync(path, 'utf8');
    assert.match(seed, /^[0-9a-f]{64}\n$/);
    assert.equal(told(made), logKey(Buffer.from(seed.trim(), 'hex')).publicKey.toString('hex'));
    assert.equal(told(openKey(folder, () => assert.fail('nothing is drawn'))), told(made));
    const witness = openKey(folder, counting(), 'witness-key');
    assert.ok('value' in witness);
    assert.deepEqual(readdirSync(folder).sort(), ['log-key', 'witness-key']);
  });

  test('that another process makes meanwhile is the one that counts', () => {
    const folder = temporaryFolder();
    const seed = Buffer.alloc(32, 9);
    const late: Randomness = (count) => {
      if (count === 32) writeFileSync(keyPath(folder), `${seed.toString('hex')}\n`, { mode: 0o600 });
      return Buffer.alloc(count, 1);
    };
    assert.equal(told(openKey(folder, late)), logKey(seed).publicKey.toString('hex'));
    assert.deepEqual(readdirSync(folder), ['log-key']);
  });

  test('that others can read, or that is no key, is refused with what to do', () => {
    const folder = temporaryFolder();
    const path = keyPath(folder);
    const written = (text: string, mode = 0o600): string => {
      writeFileSync(path, text);
      chmodSync(path, mode);
      return told(openKey(folder, () => assert.fail('nothing is made over it')));
    };
    const good = 'ab'.repeat(32);
    for (const mode of [0o640, 0o604, 0o610, 0o601]) {
      const open = `The log's key ${path} can be read by others. Run: chmod 600 ${path}`;
      assert.equal(written(good, mode), open);
    }
    const damaged = `The log's key ${path} is damaged. Restore it from your copy.`;
    for (const text of ['', 'ab', good.slice(2), `${good}ab`, good.toUpperCase(), `${good.slice(1)}x`]) {
      assert.equal(written(text), damaged, text);
    }
    assert.equal(written(good), logKey(Buffer.from(good, 'hex')).publicKey.toString('hex'));
  });

  test('that cannot be read or made is refused with the reason', () => {
    const folder = temporaryFolder();
    mkdirSync(keyPath(folder), { mode: 0o700 });
    assert.match(
      told(openKey(folder, counting())),
      /^The log's key .*log-key cannot be read or made \(EISDIR/,
    );
    const file = join(temporaryFolder(), 'file');
    writeFileSync(file, '');
    assert.match(told(openKey(file, counting(), 'witness-key')), /^The witness's key /);
    assert.match(told(openKey(file, counting())), /cannot be read or made \(ENOTDIR/);
  });

  test('that is retired gets another name, and the next key is a new one', () => {
    const folder = temporaryFolder();
    const random = counting();
    const first = told(openKey(folder, random));
    retireKey(folder, 'old');
    assert.deepEqual(readdirSync(folder), ['log-key.old']);
    retireKey(folder, 'older');
    assert.deepEqual(readdirSync(folder), ['log-key.old'], 'there is none to retire');
    assert.notEqual(told(openKey(folder, random)), first);
    const file = join(folder, 'file');
    writeFileSync(file, '');
    assert.throws(() => retireKey(file, 'old'), /ENOTDIR/);
  });
});

describe('a file of the newest checkpoint', () => {
  const root = Buffer.alloc(32, 0xab);
  const text = `7 ${'ab'.repeat(32)}\n`;

  test('has what was written last, for its owner alone, and is gone when it is removed', async () => {
    const folder = temporaryFolder();
    const file = seenFile(folder, 'own');
    const path = join(folder, 'log-seen');
    assert.equal(file.read(), undefined);
    await file.write({ size: 7, root });
    assert.deepEqual(readdirSync(folder), ['log-seen'], 'no draft is left');
    assert.deepEqual([readFileSync(path, 'utf8'), modeOf(path)], [text, 0o600]);
    assert.deepEqual(file.read(), { size: 7, root });
    file.writeNow({ size: 8, root });
    assert.deepEqual([readdirSync(folder), modeOf(path)], [['log-seen'], 0o600]);
    assert.deepEqual(seenFile(folder, 'other').read(), { size: 8, root });
    file.remove();
    file.remove();
    assert.deepEqual([readdirSync(folder), file.read()], [[], undefined]);
    const named = seenFile(folder, 'own', 'other-name');
    named.writeNow({ size: 0, root });
    assert.deepEqual([readdirSync(folder), named.read()], [['other-name'], { size: 0, root }]);
  });

  test('is first written under a name of its own, so that two processes mix nothing', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'log-seen-own'));
    const file = seenFile(folder, 'own');
    await assert.rejects(file.write({ size: 1, root }), /EISDIR/);
    assert.throws(() => file.writeNow({ size: 1, root }), /EISDIR/);
    await seenFile(folder, 'other').write({ size: 2, root });
    assert.deepEqual(file.read(), { size: 2, root });
  });

  test('never goes back to a smaller one, when processes write at once', async () => {
    const folder = temporaryFolder();
    const [one, other] = [seenFile(folder, 'one'), seenFile(folder, 'other')];
    for (let size = 2; size < 200; size += 2) {
      await Promise.all([one.write({ size, root }), other.write({ size: size + 1, root })]);
      assert.deepEqual(one.read(), { size: size + 1, root });
    }
    assert.deepEqual(readdirSync(folder), ['log-seen']);
  });

  test('that is damaged is reported, and one that cannot be read is an error', () => {
    const folder = temporaryFolder();
    const path = join(folder, 'log-seen');
    const file = seenFile(folder, 'own');
    const other = [text.trim(), `0${text}`, `${text}\n`, ` ${text}`, `-${text}`, text.replace('ab', 'AB')];
    for (const wrong of ['', ...other, text.replace('ab', ''), `1${'0'.repeat(16)}${text.slice(1)}`]) {
      writeFileSync(path, wrong);
      assert.deepEqual(file.read(), { wrong: `${path} is damaged` }, wrong);
    }
    writeFileSync(path, text);
    assert.deepEqual(file.read(), { size: 7, root });
    const inFile = seenFile(path, 'own');
    assert.throws(() => inFile.read(), /ENOTDIR/);
    assert.throws(() => inFile.remove(), /ENOTDIR/);
  });
});
