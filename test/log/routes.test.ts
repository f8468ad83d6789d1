/** The log's routes on a served door: checkpoint, tiles, key and proofs, and what an audit finds. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditLog, type AuditParts } from '../../src/log/audit.js';
import {
  parseVerifierKey,
  openCheckpoint,
  signCheckpoint,
  verifierText,
  type VerifierKey,
} from '../../src/log/note.js';
import { originOf } from '../../src/log/origin.js';
import { verifyProof } from '../../src/log/proof.js';
import { signRound } from '../../src/log/signer.js';
import { parseTilePath, tilePath } from '../../src/log/tilePath.js';
import { native } from '../../src/native/addon.js';
import type { ReceiptResponse } from '../../src/contract/receipt.js';
import { acquireLease } from '../../src/store/leases.js';
import { writeTile } from '../../src/store/tables/receiptLog.js';
import type { Operation, Store } from '../../src/store/store.js';
import { systemClock } from '../../src/system/clock.js';
import { startDoor } from '../support/door.js';
import { exchange, head, type RawResponse } from '../support/raw.js';
import { openTestStore } from '../support/serving.js';
import { keyOf, MemoryFile, receiptUnit, sealOf } from './world.js';

const store = await openTestStore();
const door = await startDoor({ store });
const file = new MemoryFile();
const key: VerifierKey = { name: 'log.example', publicKey: keyOf(1).publicKey };
const lease = await acquireLease({ store, clock: systemClock }, 'receipt log', 'test', 1e9);
assert.ok(lease.kind === 'held');
const fence = { lease: 'receipt log', token: lease.lease.record.token };

function sign(): ReturnType<typeof signRound> {
  const parts = { store, clock: systemClock, tree: native, key: keyOf(1), origin: key.name, seen: file };
  return signRound(parts, fence);
}

function ask(path: string, fields: Readonly<Record<string, string>> = {}): Promise<RawResponse> {
  return exchange(door.port, head('GET', path, fields));
}

async function submitted(title: string): Promise<string> {
  const body = { title, content: `The content of ${title}.` };
  const answer = await door.post<{ receipt: string }>('/dream', body);
  assert.equal(answer.status, 200);
  return answer.body.receipt;
}

test('before the first checkpoint the log says so', async () => {
  for (const path of ['/checkpoint', '/log/vkey']) {
    const answer = await ask(path);
    assert.equal(answer.status, 503);
    assert.match(answer.body.toString(), /log_not_ready/);
    assert.equal(answer.headers.get('retry-after'), '1');
  }
  assert.equal((await ask('/tile/0/000.p/1')).status, 404);
});

test('a receipt has its place at once, and its proof with the next checkpoint', async () => {
  await submitted('The first one');
  const id = await submitted('Another one');
  const early = await door.get<ReceiptResponse>(`/receipt/${id}`);
  assert.deepEqual(early.body.log, { origin: null, index: 1, included_at: null });
  assert.equal((await ask(`/receipt/${id}/proof`)).status, 503);
  assert.equal((await sign()).kind, 'signed');
  const { body } = await door.get<ReceiptResponse>(`/receipt/${id}`);
  assert.equal(body.log?.origin, 'log.example');
  assert.equal(body.log.index, 1);
  assert.match(body.log.included_at ?? '', /^\d{4}-.*Z$/);
  const proof = await ask(`/receipt/${id}/proof`);
  assert.equal(proof.status, 200);
  const seal = Buffer.from(body.stored_envelope_sha256 ?? '', 'hex');
  const proven = verifyProof(proof.body.toString(), seal, key);
  assert.ok('index' in proven);
  assert.deepEqual([proven.index, proven.checkpoint.size], [1, 2]);
  const text = proof.body.toString();
  const other = verifyProof(text, sealOf(5), key);
  assert.ok('wrong' in other);
  const moved = verifyProof(text.replace('index 1', 'index 0'), seal, key);
  assert.ok('wrong' in moved);
  const forged = verifyProof(text, seal, { ...key, publicKey: keyOf(2).publicKey });
  assert.ok('wrong' in forged);
  for (const unknown of [
    'fr_00000000000000000000000000',
    'legacy-7',
    'a'.repeat(300),
    '%00',
    'é'.repeat(99),
  ]) {
    assert.equal((await ask(`/receipt/${encodeURI(unknown)}/proof`)).status, 404, unknown);
  }
});

test('checkpoint and key are those of the signed note', async () => {
  const vkey = (await ask('/log/vkey')).body.toString();
  assert.equal(vkey, `${verifierText(key)}\n`);
  assert.deepEqual(parseVerifierKey(vkey), { ...key, publicKey: Buffer.from(key.publicKey) });
  const note = (await ask('/checkpoint')).body.toString();
  assert.ok('size' in openCheckpoint(note, key));
  assert.ok('wrong' in openCheckpoint(note.replace('\n2\n', '\n3\n'), key));
  assert.ok('wrong' in openCheckpoint(note.slice(0, -1), key));
});

/** Puts receipts behind those that are there. */
async function grow(upTo: number): Promise<void> {
  for (let at = await store.last('fragments'); at < upTo; at += 1) {
    await store.commit(receiptUnit(at, sealOf(at)));
  }
  while ((await sign()).kind === 'signed');
}

test('tiles are immutable, partial ones too, and a client that has one gets no copy', async () => {
  await grow(600);
  const full = await ask('/tile/0/000');
  assert.equal(full.status, 200);
  assert.equal(full.body.byteLength, 8_192);
  assert.equal(full.headers.get('cache-control'), 'public, max-age=31536000, immutable');
  const etag = full.headers.get('etag') ?? '';
  const known = await ask('/tile/0/000', { 'If-None-Match': etag });
  assert.equal(known.status, 304);
  assert.equal(known.body.byteLength, 0);
  const part = await ask('/tile/0/002.p/88');
  assert.equal(part.body.byteLength, 88 * 32);
  assert.deepEqual((await ask('/tile/0/000.p/7')).body, full.body.subarray(0, 7 * 32));
  assert.equal((await ask('/tile/1/000.p/2')).body.byteLength, 64);
  const entries = (await ask('/tile/entries/002.p/88')).body;
  assert.equal(entries.byteLength, 88 * 34);
  assert.deepEqual(entries.subarray(-32), sealOf(599));
  for (const path of ['0/002', '0/002.p/89', '1/000', '2/000.p/1', '0/0', '6/000', 'x/000', '0/003.p/1']) {
    assert.equal((await ask(`/tile/${path}`)).status, 404, path);
  }
});

test('paths of tiles follow the specification, in both directions', () => {
  for (const [path, level, index, width] of [
    ['0/000', 0, 0, 256],
    ['0/999.p/1', 0, 999, 1],
    ['3/x001/x234/067', 3, 1_234_067, 256],
    ['entries/x001/000.p/255', 'entries', 1_000, 255],
  ] as const) {
    const parsed = parseTilePath(path.split('/'));
    assert.deepEqual(parsed, { level, index, width });
    assert.equal(tilePath({ level, index, width }), path);
  }
  for (const path of ['0/x000/001', '0/1000', '0/001.p/0', '0/001.p/256', '0/', '', '0/001.p', '0/001\n']) {
    assert.equal(parseTilePath(path.split('/')), undefined, path);
  }
});

function auditing(): AuditParts {
  const fetch = async (path: string): Promise<Buffer> => {
    const answer = await ask(`/${path}`);
    if (answer.status !== 200) throw new Error(`status ${answer.status} of ${path}`);
    return answer.body;
  };
  return { tree: native, fetch, progress: () => undefined };
}

async function audited(): Promise<string> {
  try {
    const outcome = await auditLog(auditing(), key);
    return 'wrong' in outcome ? outcome.wrong : 'right';
  } catch (error) {
    return String(error);
  }
}

test('an audit passes, also when it starts from a saved checkpoint', async () => {
  const kept = (await ask('/checkpoint')).body.toString();
  assert.equal(await audited(), 'right');
  await grow(700);
  const outcome = await auditLog(auditing(), key, kept);
  assert.ok('checkpoint' in outcome);
  assert.equal(outcome.checkpoint.size, 700);
  const forked = await auditLog(auditing(), { ...key, publicKey: keyOf(3).publicKey });
  assert.ok('wrong' in forked);
});

/** One byte of a value changed by a seed. */
function damaged(value: Uint8Array, seed: number): Buffer {
  const bytes = Buffer.from(value);
  const at = (seed * 7_919) % bytes.byteLength;
  bytes[at] = (bytes[at] ?? 0) ^ (1 + (seed % 255));
  return bytes;
}

/** A record of the log: where it is, and how it is written back. */
async function victim(
  from: Store,
  seed: number,
): Promise<{ value: Uint8Array; write: (to: Uint8Array) => Operation }> {
  if (seed % 2 === 0) {
    const tiles = await from.scan('logTiles', { limit: 99 });
    const { key: place, value } = tiles[seed % tiles.length] ?? {
      key: Buffer.alloc(9),
      value: Buffer.alloc(0),
    };
    const [level = 0] = place;
    const index = Number(Buffer.from(place).readBigUInt64BE(1));
    return { value, write: (hashes) => writeTile({ level, index, hashes }) };
  }
  const position = 3 + ((seed * 31) % 690);
  const [entry] = await from.read('fragments', { after: position - 1, limit: 1 });
  const value = entry?.value ?? Buffer.alloc(0);
  // The seal stands at the end, in base64url.
  return { value, write: (to) => ({ kind: 'amend', log: 'fragments', position, from: value, to }) };
}

test('an audit refuses bundles that are cut off, too long, or of entries of another length', async () => {
  const changes: readonly ((bytes: Buffer) => Buffer)[] = [
    (bytes) => bytes.subarray(1),
    (bytes) => Buffer.concat([bytes, Buffer.alloc(34)]),
    (bytes) => Buffer.concat([Buffer.of(0, 31), bytes.subarray(2)]),
    () => Buffer.alloc(0),
  ];
  for (const change of changes) {
    const { fetch, ...parts } = auditing();
    const changed = async (path: string): Promise<Buffer> => {
      const bytes = await fetch(path);
      return path.includes('entries/001') ? change(Buffer.from(bytes)) : bytes;
    };
    const outcome = await auditLog({ ...parts, fetch: changed }, key);
    assert.ok('wrong' in outcome);
    assert.match(outcome.wrong, /tile\/entries\/001 is no bundle of 256 entries of 32 bytes/);
  }
});

test('an audit finds all of 100 seeded corruptions of the stored log', async () => {
  const missed: number[] = [];
  for (let seed = 0; seed < 100; seed += 1) {
    const { value, write } = await victim(store, seed);
    const bad = seed % 2 === 0 ? damaged(value, seed) : swapped(value, seed);
    await store.commit([write(bad)]);
    if ((await audited()) === 'right') missed.push(seed);
    const back = write(value);
    await store.commit([back.kind === 'amend' ? { ...back, from: bad, to: value } : back]);
  }
  assert.deepEqual(missed, []);
  assert.equal(await audited(), 'right', 'all was put back');
});

/** Writes entries of the log over others, each given by its position, old and new bytes. */
async function amend(changes: readonly (readonly [number, Uint8Array, Uint8Array | undefined])[]) {
  const log = 'fragments';
  await store.commit(
    changes.map(([position, from, to]) => ({ kind: 'amend', log, position, from, to }) as const),
  );
}

test('an audit finds all of 50 seeded pairs and runs of leaves in the wrong places', async () => {
  const missed: number[] = [];
  for (let seed = 0; seed < 50; seed += 1) {
    // A run of leaves whose first becomes its last; of two they are swapped.
    const entries = await store.read('fragments', { after: 2 + ((seed * 37) % 600), limit: 2 + (seed % 7) });
    const moved = entries.map(({ position, value }, at) => {
      return [position, value, entries[(at + 1) % entries.length]?.value ?? value] as const;
    });
    await amend(moved);
    if ((await audited()) === 'right') missed.push(seed);
    await amend(moved.map(([position, from, to]) => [position, to, from] as const));
  }
  assert.deepEqual(missed, []);
  assert.equal(await audited(), 'right', 'all was put back');
});

test('a log that went back, and a forked one, contradict a saved checkpoint', async () => {
  const kept = (await ask('/checkpoint')).body.toString();
  const [, size = ''] = kept.split('\n');
  await grow(Number(size) + 20);
  const newer = (await ask('/checkpoint')).body.toString();
  const parts = auditing();
  const old: AuditParts = {
    ...parts,
    fetch: (path) => (path === 'checkpoint' ? Promise.resolve(Buffer.from(kept)) : parts.fetch(path)),
  };
  assert.deepEqual(await auditLog(old, key, newer), {
    wrong: `The log went back: it had ${Number(size) + 20} entries and has ${size}.`,
  });
  // The log's own key signed it, for somebody else.
  const forked = signCheckpoint({ origin: key.name, size: 500, root: sealOf(0, 'other') }, keyOf(1));
  assert.deepEqual(await auditLog(parts, key, forked), {
    wrong: "The log's first 500 entries do not have the root of the checkpoint to compare with.",
  });
  assert.ok('checkpoint' in (await auditLog(parts, key, newer)));
});

test('a leaf that is removed is found', async () => {
  const [entry] = await store.read('fragments', { after: 300, limit: 1 });
  assert.ok(entry !== undefined);
  await amend([[entry.position, entry.value, undefined]]);
  assert.match(await audited(), /status 500 of tile\/entries/);
});

/** A log entry with another seal. */
function swapped(value: Uint8Array, seed: number): Buffer {
  const text = Buffer.from(value).toString('latin1');
  const other = sealOf(seed, 'other').toString('base64url');
  return Buffer.from(text.replace(/"seal":"[^"]*"/, `"seal":"${other}"`), 'latin1');
}

test('the log is named after the door’s address', () => {
  const none = { publicUrl: null, publicDoorUrl: null, doorPort: null };
  assert.equal(originOf(none), 'fusegate.invalid');
  assert.equal(originOf({ ...none, publicUrl: 'https://fuse.example.com' }), 'fuse.example.com');
  const apart = { publicUrl: 'https://fuse.example.com', doorPort: 8081 };
  assert.equal(originOf({ ...none, ...apart }), 'fusegate.invalid');
  assert.equal(originOf({ ...apart, publicDoorUrl: 'https://door.example.com:9/' }), 'door.example.com:9');
});
