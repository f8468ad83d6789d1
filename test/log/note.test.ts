/** Checkpoints and keys as text: what was written can be read, and nothing else. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import {
  fromBase64,
  isSignedBy,
  noteParts,
  openCheckpoint,
  parseVerifierKey,
  signatureOf,
  signCheckpoint,
  signedLine,
  verifierText,
  type KeyKind,
} from '../../src/log/note.js';
import { keyOf } from './world.js';

const root = createHash('sha256').update('root').digest();
const log = { name: 'log.example', publicKey: keyOf(1).publicKey };
const other = { name: 'log.example', publicKey: keyOf(2).publicKey };

/** The id of a key by its definition (C2SP signed-note). */
function idOf(name: string, type: number, publicKey: Uint8Array): Buffer {
  const bytes = Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(type), publicKey]);
  return createHash('sha256').update(bytes).digest().subarray(0, 4);
}

describe('a verifier key', () => {
  test('is its name, its id and its type with the key, and can be read again', () => {
    for (const [kind, type] of [
      ['log', 1],
      ['witness', 4],
    ] as const) {
      const id = idOf(log.name, type, log.publicKey).toString('hex');
      const encoded = Buffer.concat([Buffer.of(type), log.publicKey]).toString('base64');
      const text = verifierText(log, kind);
      assert.equal(text, `log.example+${id}+${encoded}`);
      assert.deepEqual(parseVerifierKey(` ${text}\n`, kind), log);
    }
    assert.equal(verifierText(log), verifierText(log, 'log'));
    assert.deepEqual(parseVerifierKey(verifierText(log)), log);
  });

  test('of another kind, id, length or form is refused', () => {
    const text = verifierText(log);
    const [name = '', id = '', encoded = ''] = text.split('+');
    /** A key of other bytes under the id that they would have. */
    const withBytes = (bytes: Buffer): string => {
      const digest = createHash('sha256').update(`${name}\n`).update(bytes).digest();
      return `${name}+${digest.subarray(0, 4).toString('hex')}+${bytes.toString('base64')}`;
    };
    const plain = Buffer.concat([Buffer.of(1), log.publicKey]);
    assert.deepEqual(parseVerifierKey(withBytes(plain)), log);
    const wrong = [
      ...['', 'mutated', name, `${name}+${id}`, `${name}+${id}+`, `+${id}+${encoded}`, `${text} x`],
      ...[`${name} x+${id}+${encoded}`, `${name}+${id.toUpperCase()}+${encoded}`, `${text}=`, `${text}!`],
      ...[`${name}+00000000+${encoded}`, `other.example+${id}+${encoded}`],
      ...[plain.subarray(0, 32), Buffer.concat([plain, Buffer.of(0)]), Buffer.alloc(0)].map(withBytes),
      ...[2, 4].map((type) => withBytes(Buffer.concat([Buffer.of(type), log.publicKey]))),
    ];
    for (const each of wrong) assert.equal(parseVerifierKey(each), undefined, each);
    assert.equal(parseVerifierKey(text, 'witness'), undefined);
    assert.equal(parseVerifierKey(verifierText(log, 'witness')), undefined);
  });
});

test('base64 is strict: the same bytes have only one text', () => {
  assert.deepEqual(fromBase64('AAE='), Buffer.of(0, 1));
  for (const text of ['AAE', 'AAE==', 'AAF=', 'AA E=', 'AAE=\n', '_-8=', '!']) {
    assert.equal(fromBase64(text), undefined, text);
  }
});

test('a note is a text, a blank line and signature lines, each with its line feed', () => {
  assert.deepEqual(noteParts('a\nb\n\nc\nd\n'), { text: 'a\nb\n', lines: ['c', 'd'] });
  assert.deepEqual(noteParts('a\n\nb\n\nc\n'), { text: 'a\n\nb\n', lines: ['c'] });
  assert.deepEqual(noteParts('\n\nc\n'), { text: '\n', lines: ['c'] });
  for (const wrong of ['', 'a', 'a\nb\n', 'a\n\nb', 'x\n']) assert.equal(noteParts(wrong), undefined, wrong);
});

describe('a checkpoint', () => {
  const note = signCheckpoint({ origin: log.name, size: 7, root }, keyOf(1));
  const text = `log.example\n7\n${root.toString('base64')}\n`;
  const sentence = (opened: ReturnType<typeof openCheckpoint>): string =>
    'wrong' in opened ? opened.wrong : 'is good';
  /** A note of any text, signed by the log's key. */
  const signed = (of: string): string => {
    const line = note.slice(note.lastIndexOf('\n\n') + 2);
    assert.ok(signatureOf(line.trimEnd(), log, 'log') !== undefined);
    return `${of}\n${line}`;
  };

  test('is opened by the key that signed it, whoever else has signed it', () => {
    const checkpoint = { origin: log.name, size: 7, root };
    assert.ok(note.startsWith(`${text}\n\u2014 log.example `));
    assert.deepEqual(openCheckpoint(note, log), checkpoint);
    const more = signedLine(other, 'log', Buffer.alloc(64, 1));
    const witness = signedLine({ name: 'w', publicKey: log.publicKey }, 'witness', Buffer.alloc(72));
    const head = note.slice(0, note.lastIndexOf('\n\n') + 2);
    assert.deepEqual(openCheckpoint(`${head}${more}${witness}${note.slice(head.length)}`, log), checkpoint);
    assert.equal(sentence(openCheckpoint(`${head}${more}${witness}`, log)), 'is not signed by the key');
    assert.equal(
      sentence(openCheckpoint(head + signedLine(log, 'log', Buffer.alloc(64, 1)), log)),
      'is not signed by the key',
    );
  });

  test('of another key, log or text is refused with the reason', () => {
    assert.equal(sentence(openCheckpoint(note, other)), 'is not signed by the key');
    const elsewhere = { ...log, name: 'other.example' };
    assert.equal(sentence(openCheckpoint(note, elsewhere)), 'is of another log, log.example');
    const changed = signed(text.replace('7', '8'));
    assert.equal(sentence(openCheckpoint(changed, log)), 'is not signed by the key');
    const encoded = root.toString('base64');
    for (const form of [
      ...['', 'log.example\n', `log.example\n7\n`, `\n7\n${encoded}\n`, `log.example\n07\n${encoded}\n`],
      ...[`log.example\n-7\n${encoded}\n`, `log.example\n7\n${encoded.slice(1)}\n`, `${text}\nmore\n`],
      ...[`log.example\n9007199254740992\n${encoded}\n`, `log.example\n${'1'.repeat(17)}\n${encoded}\n`],
      // The bits after the root's last byte are not zero.
      `log.example\n7\n${encoded.slice(0, 42)}${encoded[42] === 'B' ? 'C' : 'B'}=\n`,
    ]) {
      const wrong = sentence(openCheckpoint(signed(form), log));
      assert.equal(wrong, 'is not a checkpoint', form);
    }
    assert.equal(sentence(openCheckpoint('no note', log)), 'is not a checkpoint');
    // Lines after the root are part of the text, and are signed with it.
    assert.equal(sentence(openCheckpoint(signed(`${text}more\n`), log)), 'is not signed by the key');
  });
});

test('a signature line fits one key, kind and length', () => {
  const signature = Buffer.alloc(64, 5);
  const line = (kind: KeyKind, bytes = signature): string => signedLine(log, kind, bytes).trimEnd();
  assert.deepEqual(signatureOf(line('log'), log, 'log'), signature);
  assert.deepEqual(
    signatureOf(line('witness', Buffer.alloc(72, 5)), log, 'witness', 72),
    Buffer.alloc(72, 5),
  );
  assert.equal(signatureOf(line('log'), other, 'log'), undefined);
  assert.equal(signatureOf(line('log'), log, 'witness'), undefined);
  assert.equal(signatureOf(line('log'), { ...log, name: 'other.example' }, 'log'), undefined);
  assert.equal(signatureOf(line('log').replace('log.example', 'other.example'), log, 'log'), undefined);
  for (const length of [0, 63, 65]) {
    assert.equal(signatureOf(line('log', Buffer.alloc(length, 5)), log, 'log'), undefined);
  }
  const good = line('log');
  for (const wrong of ['', 'x', good.slice(2), `${good} x`, good.replace('\u2014', '-'), `${good}!`]) {
    assert.equal(signatureOf(wrong, log, 'log'), undefined, wrong);
  }
  assert.equal(isSignedBy('a message', log, signature), false);
});
