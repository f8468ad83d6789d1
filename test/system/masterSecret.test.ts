/** The master secret: derived as by Python's hmac, and a file that is made once, completely and safely. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  derive,
  masterSecretFile,
  parseSecrets,
  secretFingerprint,
  secretId,
  strengthBits,
} from '../../src/system/masterSecret.js';
import { systemRandomness } from '../../src/system/randomness.js';
import { makeSecretFile, readSecretFile } from '../../src/system/secretFile.js';
import { temporaryFolder } from '../support/run.js';

const secret = 'example-secret-0123456789-abcdefghij';

test('derived values are those of another implementation', () => {
  assert.equal(
    derive(secret, 'purpose', 'a', 'b\0c').toString('hex'),
    '90a1937cf726127867171378e5ba4d5d5a35e06441be5354b930cbbfe72b85f6',
  );
  assert.equal(secretId(secret), '821004975960');
  assert.equal(
    secretFingerprint(secret).toString('hex'),
    'a8bc6c7c8dbcf18545acafa946ee90ecb0e1a5e2d7489ac09d2cc46bee4ed3c6',
  );
  assert.throws(() => derive(secret, 'purpose', 'a\0b', 'c'), /NUL/);
});

test('the strength of a secret is its length by its alphabet, and low if it was typed', () => {
  const bits = (secret: string) => Math.floor(strengthBits(secret));
  assert.equal(bits('31415926535897932384626433832795'), 106, 'digits');
  assert.equal(bits('9f86d081884c7d659a2feaa0c55ad015'), 128);
  assert.equal(bits('qzkfwxhnvbrtgmcpjdylsaeuoikqwfzr'), 150, 'letters of one case');
  assert.equal(bits('qz7fwx3nvb1tgm9pjd0lsa4uoi8qwfz2'), 165, 'and digits');
  assert.equal(bits('qZkFwXhNvBrTgMcPjDyLsAeUoIkQwFzR'), 182, 'letters of both cases');
  assert.equal(strengthBits('qZ+FwX/NvB1TgM9PjD0LsA4UoI8QwFz='), 192, 'base64');
  assert.equal(bits('qZ+FwX/NvB1TgM9PjD0LsA4UoI8QwF!='), 209, 'all visible characters');
  assert.equal(bits('9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'), 256);
  assert.equal(bits('Xq7dK2mVt0YwLr9ZbNc4Ue8HgJs1PfAo'), 190);
  assert.equal(bits('Xq7dK2mVt0YwLr9Z'.repeat(2)), 95, 'what is repeated counts once');
  assert.equal(bits('password'.repeat(4)), 8);
  assert.equal(bits('x'.repeat(256)), 0);
  for (const weak of ['x'.repeat(256), 'password'.repeat(4), '0123456789abcdef'.repeat(2), 'ab'.repeat(50)]) {
    assert.ok(strengthBits(weak) < 128, weak);
  }
  assert.ok(strengthBits('abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ') < 128);
  assert.ok(strengthBits('31415926535897932384626433832795') < 128);
});

test('a secret counts as typed if it has at most seven characters, or if half follow neighbours', () => {
  const bits = (secret: string) => Math.floor(strengthBits(secret));
  assert.equal(bits('acegikmoocmagiekamgckoiegeoakmci'), 150, 'eight of them');
  assert.equal(bits('acegikmmocmagiekamgckmiegemakmci'.replaceAll('o', 'i')), 32, 'seven of them');
  const pairs = 'abmncdopefqrghstijuvklwx016723';
  assert.equal(bits(`${pairs}80`), 165, '15 of 32 follow the one before them');
  assert.equal(bits(`${pairs}89`), 32, '16 of 32 do');
  assert.equal(bits('acegikmoqsuwybdfhjlnprtvxz024680'), 165, 'the next but one is no neighbour');
  assert.equal(bits(`z${pairs}9`), 165, '15 of 32, none of which is the first or the last');
});

test('a random secret of 128 bits in hexadecimal is strong enough', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
      // Fewer than 8 different digits of 32, or neighbours alike in half of them, come once in 10^7.
      const text = Buffer.from(createHash('sha256').update(bytes).digest()).toString('hex', 0, 16);
      assert.ok(strengthBits(text) >= 128, text);
    }),
  );
});

test('secrets are 32 to 256 visible characters, each once', () => {
  const accepted = ['x'.repeat(32), 'x'.repeat(256), '!"#$%&\'()*+-./:;<=>?@[\\]^_`{|}~0A'];
  for (const text of accepted) assert.deepEqual(parseSecrets(text), { value: [text] });
  const refused = [
    '',
    'x'.repeat(31),
    'x'.repeat(257),
    `${'x'.repeat(31)} y`,
    `${'x'.repeat(32)},y`,
    'ü'.repeat(32),
  ];
  for (const text of refused) assert.ok('wrong' in parseSecrets(text), text);
  assert.deepEqual(parseSecrets(` ${'a'.repeat(32)} ,\r\n${'b'.repeat(32)}\n`), {
    value: ['a'.repeat(32), 'b'.repeat(32)],
  });
  const twice = ['a', 'b', 'a'].map((letter) => letter.repeat(32)).join(',');
  assert.deepEqual(parseSecrets(twice), { wrong: 'names a secret twice' });
});

describe('the file', () => {
  test('is made once, readable by its owner only, with 256 random bits', () => {
    const data = join(temporaryFolder(), 'not', 'yet');
    const file = masterSecretFile(data);
    assert.equal(readSecretFile(file), undefined);
    const made = makeSecretFile(file, systemRandomness);
    assert.ok('value' in made);
    assert.equal(Buffer.from(made.value[0], 'base64url').byteLength, 32);
    assert.equal(statSync(file.path).mode & 0o777, 0o600);
    assert.equal(readFileSync(file.path, 'utf8'), `${made.value[0]}\n`);
    assert.deepEqual(readSecretFile(file), made);
    assert.deepEqual(makeSecretFile(file, systemRandomness), made, 'the one that is there wins');
    assert.deepEqual(readdirSync(data), ['master-secret'], 'no draft is left');
  });

  test('is complete as soon as it exists, even if others look while it is made', () => {
    const file = masterSecretFile(temporaryFolder());
    let looks = 0;
    const lookingRandomness = (count: number): Buffer => {
      looks += 1;
      assert.equal(existsSync(file.path), false);
      return systemRandomness(count);
    };
    assert.ok('value' in makeSecretFile(file, lookingRandomness));
    assert.equal(looks, 2);
  });

  test('is refused when others can read it', () => {
    const file = masterSecretFile(temporaryFolder());
    makeSecretFile(file, systemRandomness);
    for (const mode of [0o640, 0o604, 0o660, 0o601]) {
      chmodSync(file.path, mode);
      const read = readSecretFile(file);
      assert.ok(read !== undefined && 'refused' in read);
      assert.match(read.refused, /can be read by others\. Run: chmod 600 /);
    }
    chmodSync(file.path, 0o400);
    assert.ok('value' in (readSecretFile(file) ?? {}));
  });

  test('is refused when it is malformed, without repeating any of it', () => {
    for (const text of ['', 'short-secret', '\0'.repeat(43)]) {
      const file = masterSecretFile(temporaryFolder());
      writeFileSync(file.path, text, { mode: 0o600 });
      const read = readSecretFile(file);
      assert.ok(read !== undefined && 'refused' in read);
      assert.match(read.refused, /must be secrets of 32 to 256.*Restore it from your copy/);
      assert.ok(!read.refused.includes('short-secret'));
    }
  });

  test('may hold several, the newest first', () => {
    const file = masterSecretFile(temporaryFolder());
    writeFileSync(file.path, `${'n'.repeat(32)}\n${'o'.repeat(32)}\n`, { mode: 0o600 });
    assert.deepEqual(readSecretFile(file), { value: ['n'.repeat(32), 'o'.repeat(32)] });
  });

  test('that cannot be made is reported', () => {
    const data = temporaryFolder();
    writeFileSync(join(data, 'file'), '');
    const made = makeSecretFile(masterSecretFile(join(data, 'file')), systemRandomness);
    assert.ok('refused' in made);
    assert.match(
      made.refused,
      /^The master secret .*master-secret cannot be read or made \((ENOTDIR|EEXIST)/,
    );
  });
});
