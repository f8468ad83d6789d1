/** Timestamp files, block headers and paths to Merkle roots, on known blocks of Bitcoin. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { merkleSteps, readHeader } from '../../src/log/blockHeader.js';
import { applied, openTimestamp, sha256, writeTimestamp, type Step } from '../../src/log/timestampFile.js';

const genesis = Buffer.from(
  '01000000' +
    '00'.repeat(32) +
    '3ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a29ab5f49ffff001d1dac2b7c',
  'hex',
);

const reversed = (hex: string): Buffer => Buffer.from(hex, 'hex').reverse();

/** Block 100,000 of Bitcoin: its four transactions and its header. */
const txids = [
  '8c14f0db3df150123e6f3dbbf30f8b955a8249b62ac1d1ff16284aefa3d06d87',
  'fff2525b8931402dd09222c50775608f75787bd2b87e56995a7bdd30f79702c4',
  '6359f0868171b1d194cbee1af2f16ea598ae8fad666d9b012c8ed2b79a236ec4',
  'e9a66845e05d5abc0ad04ec80f774a7e585c6e8db975962d069a522137b80c1d',
].map(reversed);

const header = Buffer.concat([
  Buffer.of(1, 0, 0, 0),
  reversed('000000000002d01c1fccc21636b607dfd930d31d01c3a62104612a1719011250'),
  reversed('f3e94742aca4b5ef85488dc37c06c3282295ffec960994b2c0d5ac2a25a95766'),
  reversed('4d1b2237'),
  reversed('1b04864c'),
  reversed('10572b0f'),
]);

/** The root of a level by its definition. */
function naiveMerkleRoot(level: readonly Buffer[]): Buffer {
  const [only] = level;
  if (level.length === 1 && only !== undefined) return only;
  const next: Buffer[] = [];
  for (let at = 0; at < level.length; at += 2) {
    const pair = [level[at], level[at + 1] ?? level[at]];
    next.push(sha256(sha256(Buffer.concat(pair.filter((each) => each !== undefined)))));
  }
  return naiveMerkleRoot(next);
}

/** The steps behind the two that make a transaction's hash. */
const walk = (txid: Buffer, steps: readonly Step[]): Buffer =>
  steps.slice(2).reduce<Buffer>((message, step) => applied(message, step), txid);

test('a header is read, unless its hash is above its target', () => {
  const first = readHeader(genesis);
  assert.ok('hash' in first);
  assert.equal(first.hash, '000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f');
  assert.deepEqual([first.timeS, first.work], [1_231_006_505, 4_295_032_833n]);
  const later = readHeader(header);
  assert.ok('hash' in later);
  assert.equal(later.hash, '000000000003ba27aa200b1cecaad478d2b00432346c3f1f3986da1afd33e506');
  for (let at = 0; at < header.byteLength; at += 1) {
    const changed = Buffer.from(header);
    changed[at] = (changed[at] ?? 0) ^ 0x10;
    assert.ok('wrong' in readHeader(changed), `byte ${at}`);
  }
  for (const other of [header.subarray(1), Buffer.concat([header, Buffer.alloc(1)])])
    assert.deepEqual(readHeader(other), { wrong: 'is not of 80 bytes' });
  // Targets that are none: zero, negative, of more than 256 bits.
  for (const bits of ['00000000', '1d800001', '23000100', 'ff7fffff']) {
    const odd = Buffer.from(header);
    reversed(bits).copy(odd, 72);
    assert.ok('wrong' in readHeader(odd), bits);
  }
});

test('a target is below 2^256, and a target that half of all hashes meet counts as the work of one', () => {
  /** Headers with these bits, of which about half meet a target of 2^255. */
  const readWith = (bits: string) =>
    Array.from({ length: 64 }, (_, nonce) => {
      const odd = Buffer.from(header);
      reversed(bits).copy(odd, 72);
      odd.writeUInt32LE(nonce, 76);
      return readHeader(odd);
    }).filter((read) => 'hash' in read);
  for (const bits of ['21010000', '217fffff', '20ffffff', '01800000'])
    assert.deepEqual(readWith(bits), [], bits);
  const half = readWith('21008000');
  assert.ok(half.length > 16 && half.length < 48, `${half.length}`);
  for (const { work } of half) assert.equal(work, 1n);
});

test('steps lead from a transaction to the Merkle root', () => {
  const read = readHeader(header);
  assert.ok('hash' in read);
  for (const [at, txid] of txids.entries()) {
    assert.deepEqual(walk(txid, merkleSteps(txids, at)), read.merkleRoot);
  }
  for (let count = 1; count <= 18; count += 1) {
    const many = Array.from({ length: count }, (_, at) => sha256(Buffer.of(at)));
    const root = naiveMerkleRoot(many);
    for (const [at, txid] of many.entries()) assert.deepEqual(walk(txid, merkleSteps(many, at)), root);
  }
});

const content = Buffer.from('a checkpoint\n');
const steps: readonly Step[] = [
  { kind: 'prepend', bytes: Buffer.alloc(300, 1) },
  { kind: 'append', bytes: Buffer.alloc(7, 2) },
  ...merkleSteps(txids, 2),
];
const root = steps.reduce<Buffer>((message, step) => applied(message, step), sha256(content));
const timestamp = writeTimestamp(content, steps, 958_000);

test('a timestamp leads its file, and no other, to a root and a height', () => {
  assert.deepEqual(openTimestamp(timestamp, content), [{ root, height: 958_000 }]);
  assert.deepEqual(openTimestamp(timestamp, Buffer.from('another')), { wrong: 'is of another file' });
});

test('a timestamp that has a changed bit, is cut off or is too long proves nothing', () => {
  for (let at = 0; at < timestamp.byteLength; at += 1) {
    for (const bit of [1, 0x80]) {
      const changed = Buffer.from(timestamp);
      changed[at] = (changed[at] ?? 0) ^ bit;
      const opened = openTimestamp(changed, content);
      const believed = 'wrong' in opened ? [] : opened;
      const isSame = believed.some((each) => each.root.equals(root) && each.height === 958_000);
      assert.ok(!isSame, `byte ${at}`);
    }
    assert.ok('wrong' in openTimestamp(timestamp.subarray(0, at), content));
  }
  assert.ok('wrong' in openTimestamp(Buffer.concat([timestamp, Buffer.of(0)]), content));
});

test('timestamps of calendars are read: branches, other attestations, and unknown ones', () => {
  const [head, digest] = [timestamp.subarray(0, 33), sha256(content)];
  const pending = Buffer.concat([
    Buffer.of(0),
    Buffer.from('83dfe30d2ef90c8e', 'hex'),
    Buffer.from('0c0b68747470733a2f2f612e62', 'hex'),
  ]);
  const bitcoin = Buffer.concat([
    Buffer.of(0),
    Buffer.from('0588960d73d71901', 'hex'),
    Buffer.of(3, 0xb0, 0xbc, 0x3a),
  ]);
  const branched = Buffer.concat([
    ...[head, digest, Buffer.of(0xff), pending],
    ...[Buffer.of(0xff, 0xf0, 1, 9, 8), bitcoin, Buffer.of(8), pending],
  ]);
  const nonced = sha256(Buffer.concat([digest, Buffer.of(9)]));
  assert.deepEqual(openTimestamp(branched, content), [{ root: nonced, height: 958_000 }]);
  assert.deepEqual(openTimestamp(Buffer.concat([head, digest, pending]), content), []);
  const unknown = openTimestamp(Buffer.concat([head, digest, Buffer.of(0x67), bitcoin]), content);
  assert.deepEqual(unknown, { wrong: 'has the operation 0x67, which is not known here' });
  const deep = Buffer.concat([head, digest, Buffer.alloc(300, 8), bitcoin]);
  assert.deepEqual(openTimestamp(deep, content), { wrong: 'is nested too deeply' });
  const long = Buffer.concat([head, digest, Buffer.of(0xf0, 0x80, 0x20), Buffer.alloc(4_096), bitcoin]);
  assert.deepEqual(openTimestamp(long, content), { wrong: 'has a message that is too long' });
  assert.deepEqual(openTimestamp(Buffer.alloc(70_000), content), { wrong: 'is too large' });
});

/** The attestation by block 958,000, in hexadecimal. */
const block = '000588960d73d7190103b0bc3a';

test('a timestamp is written in its format', () => {
  const written = writeTimestamp(
    content,
    [
      ...[127, 128, 300].map((count): Step => ({ kind: 'append', bytes: Buffer.alloc(count, 9) })),
      { kind: 'prepend', bytes: Buffer.of(7) },
      { kind: 'sha256' },
    ],
    958_000,
  );
  const sizes = [
    ['f07f', 127],
    ['f08001', 128],
    ['f0ac02', 300],
  ] as const;
  const appended = sizes.map(([start, count]) => start + '09'.repeat(count));
  const digest = sha256(content).toString('hex');
  const magic = '004f70656e54696d657374616d7073000050726f6f6600bf89e2e884e8929401';
  assert.equal(written.toString('hex'), [magic, '08', digest, ...appended, 'f10107', '08', block].join(''));
});

/** A timestamp of `content` with these bytes after its digest. */
const following = (...bytes: (Uint8Array | string)[]): Buffer => {
  const parts = bytes.map((each) => (typeof each === 'string' ? Buffer.from(each, 'hex') : each));
  return Buffer.concat([timestamp.subarray(0, 33), sha256(content), ...parts]);
};

test('a timestamp may be as large as its limits, and no larger', () => {
  const opens = (bytes: Buffer): string => {
    const opened = openTimestamp(bytes, content);
    return 'wrong' in opened ? opened.wrong : `${opened.length} blocks`;
  };
  const big = 'has a number that is too large';
  // A message of 4,096 bytes: the digest and what is appended.
  assert.equal(opens(following('f0e01f', Buffer.alloc(4_064), block)), '1 blocks');
  assert.equal(opens(following('f0e11f', Buffer.alloc(4_065), block)), 'has a message that is too long');
  assert.equal(opens(following('f08120', Buffer.alloc(4_097), block)), big);
  assert.equal(opens(following('f080808000', block)), big, 'a number of more bytes than it needs');
  // 255 operations and the attestation.
  assert.equal(opens(following(Buffer.alloc(255, 8), block)), '1 blocks');
  assert.equal(opens(following(Buffer.alloc(256, 8), block)), 'is nested too deeply');
  const other = '0083dfe30d2ef90c8e';
  assert.equal(opens(following(other, '8040', Buffer.alloc(8_192))), '0 blocks');
  assert.equal(opens(following(other, '8140', Buffer.alloc(8_193))), big);
  // Heights to 2^32.
  const at = (height: string): string => opens(following('000588960d73d71901', '05', height));
  assert.deepEqual(['8080808010', '8180808010'].map(at), ['1 blocks', big]);
  // 65,536 bytes: seven payloads, and one that fills it.
  const start = following();
  const payload = Buffer.concat([Buffer.from(`ff${other}8040`, 'hex'), Buffer.alloc(8_192)]);
  const full = Buffer.concat([start, ...Array<Buffer>(7).fill(payload)]);
  const left = 65_536 - full.byteLength - 11 - block.length / 2 - 1;
  const size = Buffer.of((left & 0x7f) | 0x80, left >> 7);
  const filled = [Buffer.from(`ff${other}`, 'hex'), size, Buffer.alloc(left), Buffer.from(block, 'hex')];
  const whole = Buffer.concat([full, ...filled]);
  assert.deepEqual([whole.byteLength, opens(whole)], [65_536, '1 blocks']);
  assert.equal(opens(Buffer.concat([whole, Buffer.of(0)])), 'is too large');
});
