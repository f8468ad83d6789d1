/** `GET /receipt/{id}` in full: of the present contract in and out of the log, of the first one, withheld. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import type { DreamPreviewResponse, DreamResponse } from '../../src/contract/dream.js';
import { canonicalization, hashScope } from '../../src/contract/fragment.js';
import type { HarvestResponse } from '../../src/contract/harvest.js';
import type { ReceiptResponse } from '../../src/contract/receipt.js';
import { legacyBody, readLegacy } from '../../src/receipts/legacy.js';
import { receiptBody } from '../../src/receipts/receipt.js';
import { digestNames, implementation } from '../../src/receipts/verify.js';
import { keepLegacyReceipts } from '../../src/store/tables/legacyReceipts.js';
import { keepNotice } from '../../src/store/tables/notices.js';
import { startLog } from '../log/served.js';

const origin = 'fuse.example.com/fragments';
const served = await startLog(origin);
const { door, store } = served;
const given = { title: 'Truss', content: 'three struts', visitor: 'Ada' };

/** A line of the first contract. */
const lineOf = (receipt: string): string => {
  const content_sha256 = createHash('sha256').update('Arch\nstones').digest('hex');
  return JSON.stringify({ receipt, content_sha256, title: 'Arch', content: 'stones' });
};

describe('a receipt', () => {
  test('is answered in full, as it was stored, and later with its place in the log', async () => {
    const { body: stored } = await door.post<DreamResponse>('/dream', given);
    const { receipt, stored_envelope_sha256 } = stored;
    const identity = { receipt, stored_envelope_sha256, scope: 'receipt-id+envelope-seal-v2' };
    assert.deepEqual(stored.stored_fragment_identity, identity);
    assert.deepEqual(stored.canonicalization, canonicalization);
    const { envelope, log, ...shown } = await served.receipt(receipt);
    const fields = Object.fromEntries(digestNames.map((name) => [name, true]));
    assert.deepEqual(shown, {
      ...{ receipt, status: 'quarantined', hash_contract: 'fragment-receipt-hash-v2', hash_scope: hashScope },
      ...{ content_sha256: stored.content_sha256, stored_envelope_sha256 },
      submission_payload_sha256: stored.submission_payload_sha256,
      canonical_payload_sha256: stored.canonical_payload_sha256,
      ...{ canonicalization, stored_fragment_identity: identity },
      cryptographic_verification: { verified: true, fields, envelope: true, implementation },
      fragment: { ...given, mechanism: '', test: '', kind: '' },
    });
    assert.equal(envelope?.['receipt'], receipt);
    assert.deepEqual(log, { origin: null, index: 0, included_at: null });
    await served.sign();
    const later = await served.receipt(receipt);
    const { included_at, ...place } = later.log ?? {};
    assert.deepEqual(place, { origin, index: 0 });
    assert.match(included_at ?? '', /^\d{4}-\d{2}-\d{2}T.*Z$/);
  });

  test('from before places were stored has none until the log is signed again', async () => {
    const { body } = await door.post<DreamResponse>('/dream', { title: 'Old', content: 'text' });
    const key = Buffer.from(body.receipt);
    const from = await store.get('leafPlaces', key);
    assert.ok(from !== undefined);
    await store.commit([{ kind: 'replace', space: 'leafPlaces', key, from, to: undefined }]);
    const { log } = await served.receipt(body.receipt);
    assert.deepEqual(log, { origin, index: null, included_at: null });
  });

  test('that is withheld has a reason instead of its fragment, and is otherwise the same', async () => {
    const { body } = await door.post<DreamResponse>('/dream', { title: 'Hidden', content: 'text' });
    const before = await served.receipt(body.receipt);
    await keepNotice(store, body.receipt, { hidden: true, reason: 'names a person', atMs: 1 });
    const after: unknown = { ...before, fragment: null, withheld: 'names a person' };
    assert.deepEqual(await served.receipt(body.receipt), after);
  });

  test('of the first contract is answered as it was imported; a damaged one is an error', async () => {
    const line = lineOf('old-1');
    await keepLegacyReceipts(store, [
      { receipt: 'old-1', line },
      { receipt: 'old-2', line: '[]' },
    ]);
    const read = readLegacy(line);
    assert.ok('legacy' in read);
    const expected: ReceiptResponse = legacyBody(read.legacy);
    assert.deepEqual(await served.receipt('old-1'), expected);
    assert.equal(await receiptBody(store, 'old-3'), undefined);
    await assert.rejects(
      receiptBody(store, 'old-2'),
      /^Error: The imported receipt old-2 is not a JSON object$/,
    );
  });
});

test('a harvest stores each field of a marker, and names the field that is wrong', async () => {
  const marker = (fields: object): string => `<<SHARD>>${JSON.stringify(fields)}<</SHARD>>`;
  const whole = { title: 'Vault', content: 'ribs', mechanism: 'thrust', test: 'load it', kind: 'BRIDGE' };
  const text = [marker(whole), marker({ title: 'x', content: 7 })].join('\n');
  const { body } = await door.post<HarvestResponse>('/harvest', { text });
  const [first, second] = body.results;
  assert.deepEqual([first?.ok, second?.ok], [true, false]);
  const read = await served.receipt(first?.receipt ?? '');
  assert.deepEqual(read.fragment, { ...whole, visitor: '' });
  assert.equal(first?.canonical_payload_sha256, read.canonical_payload_sha256);
  const { error, ...nothing } = { ...second };
  assert.match(error ?? '', /^Marker 1 \(at character \d+\): content: /);
  const digests = { content_sha256: null, canonical_payload_sha256: null, stored_envelope_sha256: null };
  assert.deepEqual(nothing, { index: 1, ok: false, status: null, ...digests });
});

test('a preview warns of an unknown kind, and of no other', async () => {
  for (const [kind, warning] of [
    ['bridge', undefined],
    ['poem', /^kind "poem" is not one of .*; it is stored as HYPOTHESIS$/],
  ] as const) {
    const { body } = await door.get<DreamPreviewResponse>(`/dream_get?title=a&content=b&kind=${kind}`);
    if (warning === undefined) assert.equal(body.warning, undefined);
    else assert.match(body.warning ?? '', warning);
  }
});

test('a preview says how to confirm it: with its token, and the fields that are not empty', async () => {
  const path = '/dream_get?title=Dome&content=a+ring&test=';
  const { body } = await door.get<DreamPreviewResponse>(path);
  assert.deepEqual(body.send, {
    ...{ method: 'POST', path: '/dream_confirm', content_type: 'application/json' },
    body: { confirm: body.confirm, title: 'Dome', content: 'a ring' },
  });
});

test('the door serves its guide and its log, besides its receipts', async () => {
  assert.equal((await door.get('/how')).status, 200);
  await served.sign();
  assert.ok((await served.text('/checkpoint')).startsWith(`${origin}\n`));
});
