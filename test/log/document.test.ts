/** The script of docs/log.md: at most 60 lines of Python that verify a proof by hashes only. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ReceiptResponse } from '../../src/contract/receipt.js';
import { verifierText } from '../../src/log/note.js';
import { findPython } from '../support/python.js';
import { temporaryFolder } from '../support/run.js';
import { startLog } from './served.js';
import { keyOf } from './world.js';

const page = readFileSync('docs/log.md', 'utf8');
const [, script = ''] = /```python\n([^]*?)```/.exec(page) ?? [];
const found = findPython(['hashlib'], 'no requirements');
const skip = 'missing' in found ? found.missing : false;
const python = 'python' in found ? found.python : '';

const origin = 'log.example/fragments';
const log = await startLog(origin);
const { vkey } = log;
const folder = temporaryFolder();
const file = join(folder, 'verify.py');
writeFileSync(file, script);

/** Receipts with their proofs, each in a log of another size. */
const proven: { readonly answer: ReceiptResponse; readonly proof: string }[] = [];
for (const size of [1, 2, 5, 7, 256, 300]) {
  await log.fill(size - 1);
  const title = `Title ${size}`;
  const id = await log.submit({ title, content: 'One “strut” less.\n\\ "\t', kind: 'test_design' });
  await log.sign();
  proven.push({ answer: await log.receipt(id), proof: await log.text(`/receipt/${id}/proof`) });
}
const last = proven.at(-1);
assert.ok(last !== undefined);

function run(answer: unknown, proof: string, key = vkey): { status: number | null; said: string } {
  const places = ['receipt.json', 'receipt.tlog-proof'].map((name) => join(folder, name));
  writeFileSync(places[0] ?? '', JSON.stringify(answer));
  writeFileSync(places[1] ?? '', proof);
  const { status, stdout, stderr } = spawnSync(python, ['-I', file, ...places, key], { encoding: 'utf8' });
  return { status, said: stdout + stderr };
}

test('it has at most 60 lines, and imports what every Python has', () => {
  assert.ok(script.trimEnd().split('\n').length <= 60);
  assert.deepEqual(script.match(/^(?:import|from) .*$/gm), ['import base64, hashlib, json, sys']);
});

for (const { answer, proof } of proven) {
  const size = (answer.log?.index ?? 0) + 1;
  test(`accepts leaf ${size - 1} of ${size}`, { skip }, () => {
    const words = `${answer.receipt} is leaf ${size - 1} of ${size} in the log ${origin}.\n`;
    assert.deepEqual(run(answer, proof), { status: 0, said: words });
  });
}

test('accepts a receipt whose fragment is withheld, and a proof with more signatures', { skip }, () => {
  assert.equal(run({ ...last.answer, fragment: null }, last.proof).status, 0);
  const other = `\u2014 witness.example ${Buffer.alloc(76, 7).toString('base64')}\n`;
  assert.equal(run(last.answer, last.proof + other).status, 0);
});

const { answer, proof } = last;
const { envelope, fragment } = answer;
const hash = Buffer.alloc(32, 5).toString('base64');
const others: readonly (readonly [string, unknown, string, string?])[] = [
  ['another fragment', { ...answer, fragment: { ...fragment, content: 'Another.' } }, proof],
  ['another envelope', { ...answer, envelope: { ...envelope, received_at: 'earlier' } }, proof],
  ['another id', { ...answer, receipt: 'fr_00000000000000000000000000' }, proof],
  ['another leaf', answer, proof.replace('index 299', 'index 298')],
  ['a leaf beyond the log', answer, proof.replace('index 299', 'index 300')],
  ['a path that is too long', answer, proof.replace('\n\n', `\n${hash}\n\n`)],
  ['a path that is too short', answer, proof.replace(/\n[^\n]+\n\n/, '\n\n')],
  ['another hash', answer, proof.replace(/\n[^\n]+\n\n/, `\n${hash}\n\n`)],
  ['another size', answer, proof.replace('\n300\n', '\n301\n')],
  ['another root', answer, proof.replace(/(\n300\n).*/, `$1${hash}`)],
  ['another log', answer, proof.replaceAll(origin, 'log.example/others')],
  [
    'another signature',
    answer,
    proof.replace(/(.)(.{9})\n$/, (_, one, rest: string) => {
      return `${one === 'A' ? 'B' : 'A'}${rest}\n`;
    }),
  ],
  ['another key', answer, proof, verifierText({ name: origin, publicKey: keyOf(2).publicKey })],
];
for (const [what, given, text, key] of others) {
  test(`refuses ${what}`, { skip }, () => {
    assert.ok(text !== proof || given !== answer || key !== undefined);
    const { status, said } = run(given, text, key);
    assert.equal(status, 1, said);
    assert.match(said, /^WRONG: /);
  });
}
