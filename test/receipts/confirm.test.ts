/** GET /dream_get, GET and POST /dream_confirm through HTTP: previews, tokens, recovery, repeats. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type {
  DreamConfirmResponse,
  DreamConfirmStateResponse,
  DreamPreviewResponse,
  DreamResponse,
} from '../../src/contract/dream.js';
import type { ReceiptResponse } from '../../src/contract/receipt.js';
import { createPreviews, previewMs, sharedBytes } from '../../src/receipts/previews.js';
import { native as addon } from '../../src/native/addon.js';
import { canonicalJson } from '../../src/receipts/verify.js';
import { removePreviews } from '../../src/store/tables/previews.js';
import type { Store } from '../../src/store/store.js';
import { exchange, head } from '../support/raw.js';
import { FailingStore, openTestStore } from '../support/serving.js';
import { placesOf, previewsFile, startDoor, type DoorAnswer, type DoorClient } from '../support/door.js';

const store = await openTestStore();
const file = previewsFile();
let nowMs = Date.UTC(2026, 10, 21, 9, 30);
const options = { store, previewsFile: file, wallMs: () => nowMs };
const door = await startDoor(options);
/** Another worker of the same machine. */
const other = await startDoor(options);
const form = { 'Content-Type': 'application/x-www-form-urlencoded' };

let count = 0;
const fresh = (): { title: string; content: string } => {
  count += 1;
  return { title: `Preview ${count}`, content: `What the ${count}th one says.` };
};

const previewed = async (fields: Readonly<Record<string, string>>): Promise<DreamPreviewResponse> => {
  const { status, headers, body } = await door.get<DreamPreviewResponse>('/dream_get', fields);
  assert.deepEqual([status, headers.get('cache-control')], [200, 'no-store']);
  return body;
};

const confirmed = (body: unknown, client: DoorClient = door) =>
  client.post<DreamConfirmResponse>('/dream_confirm', body);

const stateOf = async (confirm: string, client: DoorClient = door): Promise<DreamConfirmStateResponse> =>
  (await client.get<DreamConfirmStateResponse>('/dream_confirm', { confirm })).body;

function fragments(): Promise<number> {
  return store.last('fragments');
}

describe('a preview', () => {
  test('says what would be stored and how to confirm it, and stores nothing', async () => {
    const before = await fragments();
    const fields = { ...fresh(), kind: 'epiphany', visitor: ' ada ' };
    const preview = await previewed(fields);
    assert.deepEqual(preview.fragment, {
      ...fields,
      mechanism: '',
      test: '',
      kind: 'HYPOTHESIS',
      visitor: 'ada',
    });
    assert.match(preview.warning ?? '', /HYPOTHESIS/);
    assert.equal(preview.confirm, preview.confirmation_binding_sha256);
    for (const name of ['content_bytes_sha256', 'submission_payload_sha256'] as const) {
      assert.match(preview[name], /^[0-9a-f]{64}$/);
    }
    assert.equal(previewMs, 1_800_000);
    assert.equal(preview.expires_at, new Date(nowMs + previewMs).toISOString());
    assert.equal(await fragments(), before);
    const { method, path, content_type: type, body } = preview.send;
    assert.deepEqual([method, path, type], ['POST', '/dream_confirm', 'application/json']);
    const answer = await confirmed(body, other);
    assert.deepEqual([answer.status, answer.body.status], [200, 'quarantined']);
    assert.equal(answer.body.canonical_payload_sha256, preview.canonical_payload_sha256);
    assert.equal(answer.body.idempotency_key, `confirm:${preview.confirm}`);
    assert.deepEqual([answer.body.retrieval_verified, await fragments()], [true, before + 1]);
  });

  test('of the largest fragment, in characters of four bytes, can be confirmed', async () => {
    const lengths = { title: 100, content: 2000, mechanism: 1000, test: 500, visitor: 100, kind: 32 };
    const fields = Object.fromEntries(
      Object.entries(lengths).map(([name, length]) => [name, '😀'.repeat(length)]),
    );
    const preview = await previewed(fields);
    const answer = await confirmed({ confirm: preview.confirm });
    assert.deepEqual([answer.status, answer.body.retrieval_verified], [200, true]);
    for (const [name, length] of Object.entries(lengths)) {
      const over: DoorAnswer = await door.get('/dream_get', { ...fresh(), [name]: '漢'.repeat(length + 1) });
      assert.deepEqual([over.status, placesOf(over)], [422, [`string_too_long query.${name}`]]);
    }
  });

  test('needs a title and a content', async () => {
    const nothing: DoorAnswer = await door.get('/dream_get');
    assert.deepEqual(placesOf(nothing), ['missing query.title', 'missing query.content']);
    const half: DoorAnswer = await door.get('/dream_get', { title: 'a', content: '\u0000 ' });
    assert.deepEqual([half.status, placesOf(half)], [422, ['value_error query.content']]);
  });

  test('is not kept for HEAD', async () => {
    const { title, content } = fresh();
    const target = `/dream_get?${new URLSearchParams({ title, content }).toString()}`;
    assert.equal((await exchange(door.port, head('HEAD', target))).status, 200);
    const again = await startDoor({ store, wallMs: () => nowMs });
    const { confirm } = (await again.get<DreamPreviewResponse>('/dream_get', { title, content })).body;
    assert.equal((await stateOf(confirm)).state, 'unknown');
  });
});

describe('a confirmation', () => {
  test('goes from previewed to completed, in any worker', async () => {
    const { confirm } = await previewed(fresh());
    assert.deepEqual(
      [(await stateOf(confirm)).state, (await stateOf(confirm, other)).state],
      ['previewed', 'previewed'],
    );
    const first = await confirmed({ confirm }, other);
    assert.deepEqual([first.status, first.body.status], [200, 'quarantined']);
    for (const client of [door, other]) {
      const repeat = await confirmed({ confirm }, client);
      assert.deepEqual(
        [repeat.body.status, repeat.body.receipt, repeat.headers.get('idempotent-replayed')],
        ['duplicate', first.body.receipt, 'true'],
      );
      assert.deepEqual(repeat.body.submitted, {
        canonical_payload_sha256: first.body.canonical_payload_sha256,
        same_payload: true,
      });
      const { state, receipt } = await stateOf(confirm, client);
      assert.deepEqual([state, receipt], ['completed', first.body.receipt]);
    }
  });

  test('answers with what its receipt says, and with the warning of its preview', async () => {
    const fields = { ...fresh(), mechanism: 'm', test: 't', kind: 'epiphany', visitor: 'ada' };
    const preview = await previewed(fields);
    const { status, body } = await confirmed({ confirm: preview.confirm, ...fields });
    assert.equal(status, 200);
    const read = (await door.get<ReceiptResponse>(`/receipt/${body.receipt}`)).body;
    assert.deepEqual(read.fragment, { ...fields, kind: 'HYPOTHESIS' });
    assert.ok(body.cryptographic_verification.verified);
    assert.deepEqual(body, {
      receipt: body.receipt,
      status: 'quarantined',
      warning: preview.warning,
      content_sha256: preview.content_sha256,
      canonical_payload_sha256: preview.canonical_payload_sha256,
      stored_envelope_sha256: read.stored_envelope_sha256,
      stored_fragment_identity: read.stored_fragment_identity,
      cryptographic_verification: read.cryptographic_verification,
      retrieval_verified: true,
      idempotency_key: `confirm:${preview.confirm}`,
    });
    assert.deepEqual(
      [read.content_sha256, read.submission_payload_sha256],
      [preview.content_sha256, preview.submission_payload_sha256],
    );
  });

  test('says in each of its states what a POST does, and is never cached', async () => {
    const { confirm } = await previewed(fresh());
    const asked = async (): Promise<string> => {
      const { headers, body } = await door.get<DreamConfirmStateResponse>('/dream_confirm', { confirm });
      assert.equal(headers.get('cache-control'), 'no-store');
      return body.how;
    };
    assert.match(await asked(), /stores the fragment/);
    await confirmed({ confirm });
    assert.match(await asked(), /It is stored; .* the same receipt/);
  });

  test('comes as a form', async () => {
    const { confirm } = await previewed(fresh());
    const body = `confirm=${confirm}&title=&content=`;
    const answer: DoorAnswer = await door.post('/dream_confirm', body, form);
    assert.deepEqual([answer.status, answer.body['status']], [200, 'quarantined']);
    const fields = { ...fresh(), mechanism: 'a+b & c%', test: '漢字 ✓' };
    const token = (await previewed(fields)).confirm;
    const cold = await startDoor({ store });
    const recovery = new URLSearchParams({ confirm: token, ...fields }).toString();
    const recovered: DoorAnswer = await cold.post('/dream_confirm', recovery, {
      ...form,
      Origin: 'https://elsewhere.example',
    });
    assert.deepEqual([recovered.status, recovered.body['status']], [200, 'quarantined']);
  });

  test('works from the fields if the preview was lost', async () => {
    const fields = { ...fresh(), kind: 'critique', visitor: 'Ada' };
    const { confirm } = await previewed(fields);
    const cold = await startDoor({ store });
    const lost: DoorAnswer = await cold.post('/dream_confirm', { confirm });
    assert.deepEqual([lost.status, lost.body['code']], [404, 'preview_not_found']);
    assert.match(String(lost.body['detail']), /title, content, mechanism, test, visitor, kind/);
    const answer = await confirmed({ confirm, ...fields }, cold);
    assert.deepEqual([answer.status, answer.body.status], [200, 'quarantined']);
    const repeat = await confirmed({ confirm }, cold);
    assert.deepEqual([repeat.body.status, repeat.body.receipt], ['duplicate', answer.body.receipt]);
  });

  test('with fields of another preview is 409, also when the token waits or is completed', async () => {
    const fields = fresh();
    const { confirm } = await previewed(fields);
    for (let round = 0; round < 2; round += 1) {
      for (const wrong of [{ ...fields, content: 'other' }, { ...fields, mechanism: 'm' }, fresh()]) {
        const answer: DoorAnswer = await door.post('/dream_confirm', { confirm, ...wrong });
        assert.deepEqual([answer.status, answer.body['code']], [409, 'token_mismatch']);
      }
      assert.equal((await confirmed({ confirm, ...fields })).status, 200);
    }
  });

  test('with half of the fields is 422', async () => {
    const { confirm } = await previewed(fresh());
    const answer: DoorAnswer = await door.post('/dream_confirm', { confirm, mechanism: 'm' });
    assert.deepEqual(
      [answer.status, placesOf(answer)],
      [422, ['value_error body.title', 'value_error body.content']],
    );
  });

  test('of a fragment that is already stored gets the original receipt', async () => {
    const fields = fresh();
    const original = await door.post<DreamResponse>('/dream', fields);
    const { confirm } = await previewed({ ...fields, title: fields.title.toUpperCase() });
    for (let round = 0; round < 2; round += 1) {
      const answer = await confirmed({ confirm });
      assert.deepEqual([answer.body.status, answer.body.receipt], ['duplicate', original.body.receipt]);
      assert.equal(answer.body.submitted?.same_payload, false);
      assert.equal(answer.headers.get('idempotent-replayed'), round === 0 ? undefined : 'true');
    }
  });

  test('sent a thousand times at once stores one', async () => {
    const before = await fragments();
    const { confirm } = await previewed(fresh());
    const clients = [door, other];
    const answers = await Promise.all(
      Array.from({ length: 1_000 }, (_, index) => confirmed({ confirm }, clients[index % 2])),
    );
    const statuses = answers.map(({ body }) => body.status);
    assert.equal(statuses.filter((status) => status === 'quarantined').length, 1);
    assert.equal(statuses.filter((status) => status === 'duplicate').length, 999);
    assert.equal(new Set(answers.map(({ body }) => body.receipt)).size, 1);
    assert.equal(await fragments(), before + 1);
  });

  test('expires after half an hour', async () => {
    const fields = fresh();
    const { confirm } = await previewed(fields);
    nowMs += previewMs - 1;
    assert.equal((await stateOf(confirm)).state, 'previewed');
    nowMs += 1;
    assert.equal((await stateOf(confirm)).state, 'unknown');
    assert.equal((await confirmed({ confirm })).status, 404);
    assert.equal((await confirmed({ confirm, ...fields })).status, 200);
  });
});

describe('machines that share the store', () => {
  const node = (shared: Store = store): Promise<DoorClient> =>
    startDoor({ store: shared, isStoreShared: true, wallMs: () => nowMs });

  test('confirm the previews of each other, once', async () => {
    const [one, two] = [await node(), await node()];
    const fields = { ...fresh(), kind: 'critique', visitor: 'Ada' };
    const before = await fragments();
    const { confirm } = (await one.get<DreamPreviewResponse>('/dream_get', fields)).body;
    assert.equal(await fragments(), before);
    assert.equal((await stateOf(confirm, two)).state, 'previewed');
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) => confirmed({ confirm }, index % 2 === 0 ? one : two)),
    );
    assert.deepEqual(
      [answers.filter(({ body }) => body.status === 'quarantined').length, await fragments()],
      [1, before + 1],
    );
    assert.equal(new Set(answers.map(({ body }) => body.receipt)).size, 1);
    const { fragment } = (await two.get<ReceiptResponse>(`/receipt/${answers[0]?.body.receipt}`)).body;
    assert.deepEqual([fragment?.title, fragment?.kind, fragment?.visitor], [fields.title, 'CRITIQUE', 'Ada']);
    for (const client of [one, two]) assert.equal((await stateOf(confirm, client)).state, 'completed');
  });

  test('forget them after half an hour, in whichever half hour they were made', async () => {
    const [one, two] = [await node(), await node()];
    for (const offsetMs of [0, previewMs / 2, previewMs - 1]) {
      nowMs = Math.ceil(nowMs / previewMs) * previewMs + offsetMs;
      const { confirm } = (await one.get<DreamPreviewResponse>('/dream_get', fresh())).body;
      nowMs += previewMs - 1;
      assert.equal((await stateOf(confirm, two)).state, 'previewed');
      await removePreviews(store, nowMs);
      assert.equal((await stateOf(confirm, two)).state, 'previewed');
      nowMs += 1;
      assert.equal((await stateOf(confirm, two)).state, 'unknown');
      assert.equal((await confirmed({ confirm }, two)).status, 404);
    }
    assert.ok((await store.scan('previews', { limit: 99 })).length > 0);
    await removePreviews(store, nowMs + 2 * previewMs);
    assert.deepEqual(await store.scan('previews', { limit: 99 }), []);
  });

  test('preview while the store is away, each for itself', async () => {
    const failing = new FailingStore(store);
    const [one, two] = [await node(failing.seen), await node(failing.seen)];
    failing.failure = 'not written';
    const preview = await one.get<DreamPreviewResponse>('/dream_get', fresh());
    assert.equal(preview.status, 200);
    const { confirm } = preview.body;
    const away = await confirmed({ confirm }, two);
    assert.deepEqual([away.status, away.headers.get('retry-after')], [503, '1']);
    failing.failure = undefined;
    assert.equal((await confirmed({ confirm }, two)).status, 404);
    assert.equal((await confirmed({ confirm }, one)).status, 200);
  });

  test('keep a limited number of bytes of previews in the store, and the others for themselves', async () => {
    const shared = await openTestStore();
    const native = new addon.Previews(previewsFile());
    const previews = createPreviews({ native, shared, clock: { wallMs: () => nowMs } });
    const content = 'x'.repeat(2_000);
    const fragment = { title: 't', content, mechanism: content, test: '', kind: '', visitor: '' };
    const token = (index: number): string => index.toString(16).padStart(64, '0');
    const stored = Array.from({ length: 4_500 }, async (_, index) => previews.keep(token(index), fragment));
    const expiresAtMs = await Promise.all(stored);
    assert.deepEqual(new Set(expiresAtMs), new Set([nowMs + previewMs]));
    const count = (await shared.scan('previews', { limit: 10_000 })).length;
    assert.ok(count > 4_000 && count * 4_000 <= sharedBytes, `${count} previews`);
    nowMs += previewMs;
    await previews.keep(token(0), fragment);
    assert.equal((await shared.scan('previews', { limit: 10_000 })).length, count + 1);
  });

  test('keep exactly 16 MiB of previews in the store, which end in whole milliseconds', async () => {
    const native = new addon.Previews(previewsFile());
    const { seen } = new FailingStore(store);
    let commits = 0;
    const commit: Store['commit'] = () => {
      commits += 1;
      return Promise.resolve({ kind: 'done', positions: [] });
    };
    const none = { title: 't', content: '', mechanism: '', test: '', kind: '', visitor: '' };
    const room = 16 * 1024 * 1024 - Buffer.byteLength(canonicalJson(none));
    for (const [length, kept] of [
      [room + 1, 0],
      [room, 1],
    ] as const) {
      const clock = { wallMs: () => 1_790_000_000_000 };
      const previews = createPreviews({ native, shared: { ...seen, commit }, clock });
      commits = 0;
      const expiresAtMs = await previews.keep('0'.repeat(64), { ...none, content: 'x'.repeat(length) });
      assert.equal(expiresAtMs, 1_790_000_000_000 + previewMs);
      assert.equal(commits, kept);
      await previews.keep('1'.repeat(64), none);
      assert.equal(commits, kept, 'no room is left');
    }
  });
});

describe('a token', () => {
  const tokens: readonly (readonly [string, string])[] = [
    ['0123456789', 'string_too_short'],
    ['a'.repeat(63), 'string_too_short'],
    ['a'.repeat(65), 'string_too_long'],
    ['', 'string_too_short'],
    ['A'.repeat(64), 'value_error'],
    ['g'.repeat(64), 'value_error'],
    ['é'.repeat(64), 'value_error'],
  ];
  for (const [confirm, type] of tokens) {
    const shown = `${confirm.slice(0, 3)}… of ${confirm.length} characters`;
    test(`${shown} is answered with what a token is`, async () => {
      const posted: DoorAnswer = await door.post('/dream_confirm', { confirm });
      const asked: DoorAnswer = await door.get('/dream_confirm', { confirm });
      assert.deepEqual([posted.status, placesOf(posted)], [422, [`${type} body.confirm`]]);
      assert.deepEqual([asked.status, placesOf(asked)], [422, [`${type} query.confirm`]]);
      for (const { body } of [posted, asked]) {
        assert.match(JSON.stringify(body), /64 lower-case hexadecimal characters .*10 characters .*legacy/);
      }
    });
  }

  test('is needed to confirm, and not to ask how', async () => {
    assert.deepEqual(placesOf(await door.post('/dream_confirm', {})), ['missing body.confirm']);
    assert.deepEqual(placesOf(await door.post('/dream_confirm', '', form)), ['missing body']);
    const { status, body } = await door.get<DreamConfirmStateResponse>('/dream_confirm');
    assert.deepEqual([status, body.state, body.receipt], [200, 'unknown', null]);
    assert.match(body.how, /POST \/dream_confirm/);
    assert.equal((await stateOf('0'.repeat(64))).state, 'unknown');
  });
});
