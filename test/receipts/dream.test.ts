/** POST /dream and GET /receipt/{id} through HTTP: receipts, duplicates, keys, bounds, a thousand at once. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DreamResponse } from '../../src/contract/dream.js';
import type { ReceiptResponse } from '../../src/contract/receipt.js';
import { canonicalJson } from '../../src/receipts/verify.js';
import { native } from '../../src/native/addon.js';
import { entriesAfter } from '../../src/store/entries.js';
import { decodeReceipt } from '../../src/store/tables/fragments.js';
import { bodyShape } from '../support/routeTypes.js';
import { openTestStore } from '../support/serving.js';
import { digestNames as namesWithoutBytes } from './digestNames.js';
import { placesOf, startDoor, type DoorAnswer } from '../support/door.js';
import { collect } from '../support/collect.js';

const store = await openTestStore();
const door = await startDoor({ store });

let count = 0;

/** A fragment that no other test sends. */
function fresh(more: Readonly<Record<string, unknown>> = {}): { title: string; content: string } {
  count += 1;
  return { title: `Fragment ${count}`, content: `What the ${count}th one says.`, ...more };
}

const send = (body: unknown, fields: Readonly<Record<string, string>> = {}) =>
  door.post<DreamResponse>('/dream', body, fields);

const refused = async (body: unknown, fields: Readonly<Record<string, string>> = {}): Promise<string[]> => {
  const answer: DoorAnswer = await door.post('/dream', body, fields);
  assert.equal(answer.status, 422, JSON.stringify(answer.body));
  return placesOf(answer);
};

/** Receipts in the log of fragments. */
async function logged(): Promise<string[]> {
  return (await collect(entriesAfter(store, 'fragments', 0))).map(({ value }) => decodeReceipt(value));
}

const [contentName, ...otherNames] = namesWithoutBytes;
const digestNames = [contentName, 'content_bytes_sha256', ...otherNames] as const;

describe('a fragment', () => {
  test('gets a receipt with every field, which GET /receipt repeats', async () => {
    const { status, headers, body } = await send(fresh({ mechanism: 'm', test: null, kind: ' bridge ' }));
    assert.equal(status, 200);
    assert.equal(headers.get('idempotent-replayed'), undefined);
    assert.match(body.receipt, /^fr_[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
    assert.equal(body.status, 'quarantined');
    assert.deepEqual(Object.keys(body.hash_scope), [...digestNames, 'stored_envelope_sha256']);
    for (const name of digestNames) assert.match(body[name], /^[0-9a-f]{64}$/);
    assert.deepEqual(
      [body.retrieval_verified, body.cryptographic_verification.verified, body.hash_contract],
      [true, true, 'fragment-receipt-hash-v2'],
    );
    assert.deepEqual([body.original_status, body.submitted, body.warning], [undefined, undefined, undefined]);
    const read = await door.get<ReceiptResponse>(`/receipt/${body.receipt}`);
    assert.equal(read.status, 200);
    const { envelope, fragment } = read.body;
    assert.deepEqual(
      Object.values(fragment ?? {}).sort(),
      ['', '', 'BRIDGE', fragment?.content, fragment?.title, 'm'].sort(),
    );
    for (const name of digestNames) assert.equal(envelope?.[name], body[name]);
    assert.equal(read.body.stored_envelope_sha256, body.stored_envelope_sha256);
    assert.deepEqual(read.body.cryptographic_verification, body.cryptographic_verification);
    assert.deepEqual(read.body.stored_fragment_identity, body.stored_fragment_identity);
    assert.ok(Math.abs(Date.parse(envelope?.['received_at'] ?? '') - Date.now()) < 60_000);
    assert.equal(
      canonicalJson({ ...fragment }),
      native.sealFragment(fragment?.title ?? '', fragment?.content ?? '', 'm', '', 'BRIDGE', '', '', '')
        .canonical,
    );
  });

  test('of an unknown kind is stored as HYPOTHESIS, with a warning', async () => {
    for (const kind of ['epiphany', 'BRIDGE!', 'ÉPREUVE']) {
      const { body } = await send(fresh({ kind }));
      assert.match(body.warning ?? '', /HYPOTHESIS/);
      assert.ok(body.warning?.includes(JSON.stringify(kind)));
      const { fragment } = (await door.get<ReceiptResponse>(`/receipt/${body.receipt}`)).body;
      assert.equal(fragment?.kind, 'HYPOTHESIS');
    }
    for (const kind of ['', ' \t', null, 'test_design', 'Negative_Result\u0007']) {
      assert.equal((await send(fresh({ kind }))).body.warning, undefined, String(kind));
    }
  });

  test('of a probing visitor is a probe, and is compared only with probes', async () => {
    const fragment = fresh();
    const first = await send({ ...fragment, visitor: 'Probe:monitor' });
    const own = await send({ ...fragment, visitor: 'ada' });
    const again = await send({ ...fragment, visitor: 'PROBE' });
    assert.deepEqual(
      [first.body.status, own.body.status, again.body.status],
      ['probe', 'quarantined', 'duplicate'],
    );
    assert.notEqual(first.body.receipt, own.body.receipt);
    assert.deepEqual([again.body.receipt, again.body.original_status], [first.body.receipt, 'probe']);
    assert.equal((await send({ ...fragment, visitor: 'prober' })).body.receipt, own.body.receipt);
  });

  test('with unknown fields is taken without them', async () => {
    const fragment = fresh();
    const { body } = await send({ ...fragment, tags: ['a'], visitor_id: 7 });
    assert.equal((await send(fragment)).body.receipt, body.receipt);
  });
});

describe('the same content again', () => {
  test('gets the original receipt, even if insignificant details differ', async () => {
    const original = await send({ title: 'Straße  ﬁne', content: 'One\u200b two\nTHREE', visitor: 'a' });
    const again = await send({
      title: ' strasse fine',
      content: 'one two three ',
      visitor: 'b',
      kind: 'BRIDGE',
    });
    assert.equal(again.body.status, 'duplicate');
    assert.equal(again.body.receipt, original.body.receipt);
    assert.equal(again.headers.get('idempotent-replayed'), undefined);
    assert.equal(again.body.original_status, 'quarantined');
    assert.equal(again.body.submitted?.same_payload, false);
    assert.notEqual(again.body.submitted.canonical_payload_sha256, original.body.canonical_payload_sha256);
    for (const name of [...digestNames, 'stored_envelope_sha256'] as const) {
      assert.equal(again.body[name], original.body[name]);
    }
    const exact = await send({ title: 'Straße  ﬁne', content: 'One\u200b two\nTHREE', visitor: 'a' });
    assert.deepEqual(exact.body.submitted, {
      canonical_payload_sha256: original.body.canonical_payload_sha256,
      same_payload: true,
    });
  });

  test('under a new key binds that key', async () => {
    const fragment = fresh();
    const original = await send(fragment);
    const keyed = await send({ ...fragment, content: `${fragment.content} `, idempotency_key: 'late' });
    assert.deepEqual([keyed.body.status, keyed.headers.get('idempotent-replayed')], ['duplicate', undefined]);
    const replayed = await send({ ...fragment, idempotency_key: 'late' });
    assert.deepEqual(
      [replayed.status, replayed.body.receipt, replayed.headers.get('idempotent-replayed')],
      [200, original.body.receipt, 'true'],
    );
    assert.equal((await send(fresh({ idempotency_key: 'late' }))).status, 409);
  });
});

describe('an idempotency key', () => {
  test('gets the first answer again for the same content, and a 409 for any other', async () => {
    const fragment = fresh({ mechanism: 'm' });
    const original = await send({ ...fragment, idempotency_key: 'k1' });
    const again = await send({ ...fragment, idempotency_key: 'k1' });
    assert.deepEqual(
      [again.body.status, again.body.receipt, again.headers.get('idempotent-replayed')],
      ['duplicate', original.body.receipt, 'true'],
    );
    for (const other of [{ ...fragment, mechanism: 'M' }, { ...fragment, visitor: 'x' }, fresh()]) {
      const conflict: DoorAnswer = await door.post('/dream', { ...other, idempotency_key: 'k1' });
      assert.deepEqual([conflict.status, conflict.body['code']], [409, 'idempotency_conflict']);
      assert.match(String(conflict.body['detail']), /UUID/);
      assert.ok(!JSON.stringify(conflict.body).includes(original.body.receipt));
    }
  });

  test('in the header counts as one in the body, which wins', async () => {
    const fragment = fresh();
    const original = await send(fragment, { 'Idempotency-Key': 'h1' });
    const again = await send({ ...fragment, idempotency_key: 'h1' });
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    const other = fresh();
    const both = await send({ ...other, idempotency_key: 'b1' }, { 'Idempotency-Key': 'h1' });
    assert.equal(both.body.status, 'quarantined');
    const empty = await send({ ...fragment, idempotency_key: '' }, { 'Idempotency-Key': 'h1' });
    assert.deepEqual(
      [empty.headers.get('idempotent-replayed'), empty.body.receipt],
      ['true', original.body.receipt],
    );
  });

  test('has at most 64 characters, in body and header', async () => {
    const astral = '😀'.repeat(64);
    assert.equal((await send(fresh({ idempotency_key: astral }))).status, 200);
    assert.deepEqual(await refused(fresh({ idempotency_key: `${astral}x` })), [
      'string_too_long body.idempotency_key',
    ]);
    assert.equal((await send(fresh(), { 'Idempotency-Key': 'k'.repeat(64) })).status, 200);
    assert.deepEqual(await refused(fresh(), { 'Idempotency-Key': 'k'.repeat(65) }), [
      'string_too_long header.idempotency-key',
    ]);
  });
});

describe('bounds', () => {
  const shape = bodyShape('DreamRequest');
  const fields = shape.kind === 'object' ? shape.fields : [];
  for (const { name, shape: field } of fields) {
    const max = field.kind === 'string' ? field.max : 0;
    test(`${name} has at most ${max} characters, whatever their width`, async () => {
      for (const character of ['a', 'é', '漢', '😀']) {
        const long = (length: number): unknown => {
          count += 1;
          const text = `${count} ${character.repeat(max)}`;
          return fresh({ [name]: Array.from(text).slice(0, length).join('') });
        };
        assert.equal((await send(long(max - 1))).status, 200);
        assert.equal((await send(long(max))).status, 200);
        const over = fresh({ [name]: character.repeat(max + 1) });
        assert.deepEqual(await refused(over), [`string_too_long body.${name}`]);
      }
    });
  }

  test('are those of the contract', () => {
    const bounds = fields.map(({ name, shape: field }) => [name, field.kind === 'string' ? field.max : 0]);
    assert.deepEqual(Object.fromEntries(bounds), {
      title: 100,
      content: 2000,
      mechanism: 1000,
      test: 500,
      visitor: 100,
      kind: 32,
      idempotency_key: 64,
    });
  });

  test('the largest fragment is accepted as escapes of surrogate pairs', async () => {
    const escapes = (length: number): string => '\\uD83D\\uDE00'.repeat(length);
    const members = { title: 100, content: 2000, mechanism: 1000, test: 500, visitor: 100, kind: 32 };
    const texts = Object.entries(members).map(([name, length]) => `"${name}":"${escapes(length)}"`);
    const answer = await door.post<DreamResponse>('/dream', `{${texts.join(',')}}`);
    assert.deepEqual([answer.status, answer.body.retrieval_verified], [200, true]);
  });
});

describe('a refusal', () => {
  test('names its place', async () => {
    assert.deepEqual(await refused(''), ['missing body']);
    assert.deepEqual(await refused('null'), ['model_attributes_type body']);
    assert.deepEqual(await refused({}), ['missing body.title', 'missing body.content']);
    assert.deepEqual(await refused({ title: null, content: 1, kind: [] }), [
      'string_type body.title',
      'string_type body.content',
      'string_type body.kind',
    ]);
    assert.deepEqual(await refused('{"title":"\\ud800","content":"c"}'), ['json_invalid body.10']);
  });

  test('comes if nothing is left of the title or the content', async () => {
    for (const nothing of ['', ' \n\t', '\u0000\u001f', '\u0085\u00a0\u2028\u3000\u001c']) {
      assert.deepEqual(await refused({ title: nothing, content: nothing }), [
        'value_error body.title',
        'value_error body.content',
      ]);
    }
    assert.equal((await send({ title: '\u200b', content: '\u200b' })).status, 200);
  });

  test('comes for a media type that is not JSON', async () => {
    const body = 'title=a&content=b';
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
    assert.deepEqual(await refused(body, form), ['value_error header.content-type']);
  });
});

describe('a thousand at once', () => {
  const cases: readonly (readonly [string, (index: number) => Record<string, string>])[] = [
    ['with the same key', () => ({ idempotency_key: 'thousand' })],
    ['without a key', () => ({})],
    [
      'with the key, with others and without',
      (index) => (index % 3 === 0 ? {} : { idempotency_key: `t${index % 7}` }),
    ],
  ];
  for (const [name, key] of cases) {
    test(`${name}: one original, 999 duplicates`, async () => {
      const before = (await logged()).length;
      const fragment = fresh();
      const answers = await Promise.all(
        Array.from({ length: 1_000 }, (_, index) => send({ ...fragment, ...key(index) })),
      );
      assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
      const statuses = answers.map(({ body }) => body.status);
      assert.equal(statuses.filter((status) => status === 'quarantined').length, 1);
      assert.equal(statuses.filter((status) => status === 'duplicate').length, 999);
      assert.equal(new Set(answers.map(({ body }) => body.receipt)).size, 1);
      assert.equal(new Set(answers.map(({ body }) => body.stored_envelope_sha256)).size, 1);
      assert.equal((await logged()).length, before + 1);
    });
  }

  test('with one key and different content each: one original, the rest 409', async () => {
    const answers = await Promise.all(
      Array.from({ length: 200 }, () => send(fresh({ idempotency_key: 'contested' }))),
    );
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    assert.equal(answers.filter(({ status }) => status === 409).length, 199);
  });
});

describe('receipts', () => {
  test('that do not exist are a 404, whatever their form', async () => {
    for (const id of [
      'fr_01M7YQ1WE038NKRKAYDXR834J3',
      'fr_',
      'x',
      '%00',
      'fr_81M7YQ1WE038NKRKAYDXR834J3',
      'é'.repeat(300),
    ]) {
      const { status, body } = await door.get(`/receipt/${encodeURI(id)}`);
      assert.deepEqual([status, body['code']], [404, 'receipt_not_found'], id);
    }
  });

  test('of a damaged record do not verify', async () => {
    const { body } = await send(fresh());
    const key = Buffer.from(body.receipt);
    const from = await store.get('fragments', key);
    assert.ok(from !== undefined);
    const to = Buffer.from(Buffer.from(from).toString('latin1').replace('What the', 'What tha'), 'latin1');
    await store.commit([{ kind: 'replace', space: 'fragments', key, from, to }]);
    const read = await door.get<ReceiptResponse>(`/receipt/${body.receipt}`);
    const { verified, fields, envelope } = read.body.cryptographic_verification;
    assert.deepEqual([read.status, verified, envelope], [200, false, true]);
    assert.deepEqual([fields['content_sha256'], fields['canonical_payload_sha256']], [false, false]);
    const again = await send({ title: body.receipt, content: 'x' });
    assert.equal(again.body.retrieval_verified, true);
  });
});
