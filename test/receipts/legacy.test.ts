/** Lines of receipts of the first contract: which are accepted, and what is said about others. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { isLegacyId, legacyBody, readLegacy } from '../../src/receipts/legacy.js';
import { implementation } from '../../src/receipts/verify.js';

const fragment = {
  ...{ title: 'Arch', content: 'stones\u2028lean', mechanism: '', test: '' },
  ...{ kind: 'BRIDGE', visitor: 'Ada' },
};
const digestOf = (title: string, content: string): string =>
  createHash('sha256').update(`${title}\n${content}`).digest('hex');
const content_sha256 = digestOf(fragment.title, fragment.content);
const line = { receipt: 'old-1', content_sha256, ...fragment };

const read = (more: object): ReturnType<typeof readLegacy> =>
  readLegacy(JSON.stringify({ ...line, ...more }));

function wrong(text: string): string {
  const found = readLegacy(text);
  return 'wrong' in found ? found.wrong : 'nothing';
}

describe('a line of the first contract', () => {
  test('is a receipt, quarantined unless it says that it is a probe', () => {
    const legacy = { receipt: 'old-1', fragment, contentSha256: content_sha256 };
    for (const [more, status] of [
      [{}, 'quarantined'],
      [{ status: 'quarantined', confirmation_token: '0123456789', received_at: 'then' }, 'quarantined'],
      [{ status: 'probe', confirmation_token: null, received_at: null }, 'probe'],
      [{ status: null, mechanism: undefined, test: null }, 'quarantined'],
    ] as const) {
      assert.deepEqual(read(more), { legacy: { ...legacy, status } });
    }
  });

  test('has at most 65,536 characters', () => {
    const { length } = JSON.stringify({ ...line, more: '' });
    const filled = (characters: number): string =>
      JSON.stringify({ ...line, more: 'x'.repeat(characters - length) });
    assert.equal(wrong(filled(65_536)), 'nothing');
    assert.equal(wrong(filled(65_537)), 'is longer than 65536 characters');
  });

  test('is an object of JSON', () => {
    assert.equal(wrong('{'), 'is not JSON');
    for (const text of ['null', '7', '"x"', '[]']) assert.equal(wrong(text), 'is not a JSON object');
  });

  test('may have only texts of whole characters', () => {
    for (const name of ['title', 'content', 'mechanism', 'test', 'kind', 'visitor', 'received_at']) {
      for (const value of [7, {}, false, '\ud800']) {
        assert.deepEqual(read({ [name]: value }), { wrong: `has a ${name} that is no text` });
      }
    }
  });

  test('needs an id that no receipt of the present contract can have', () => {
    for (const receipt of [undefined, 7, '', 'a b', 'x'.repeat(65), 'fr_01M7YQ1WE038NKRKAYDXR834J3']) {
      const said = 'has no receipt: 1 to 64 letters, digits, _ or -, and not of the present form';
      assert.deepEqual(read({ receipt }), { wrong: said });
    }
    for (const id of ['x'.repeat(64), 'fr_1', 'A_b-9']) assert.equal(isLegacyId(id), true);
  });

  test('needs a title, a content and the digest of both', () => {
    for (const name of ['title', 'content']) {
      for (const text of ['', null, undefined]) {
        assert.deepEqual(read({ [name]: text }), { wrong: `has no ${name}` });
      }
    }
    for (const other of [undefined, 7, '', content_sha256.toUpperCase(), content_sha256.slice(1)]) {
      assert.deepEqual(read({ content_sha256: other }), {
        wrong: 'has no content_sha256 of 64 hexadecimal digits',
      });
    }
    assert.deepEqual(read({ content_sha256: digestOf('another', 'text') }), {
      wrong: 'has a content_sha256 that is not the SHA-256 of title, LF, content',
    });
  });

  test('may have no other status, and no token of another form', () => {
    for (const status of ['duplicate', '', 7]) {
      assert.deepEqual(read({ status }), { wrong: 'has a status other than quarantined and probe' });
    }
    for (const confirmation_token of ['', 'abc', 7, 1_234_567_890, '0123456789a', 'ABCDEF0123']) {
      assert.deepEqual(read({ confirmation_token }), {
        wrong: 'has a confirmation_token that is not 10 hexadecimal digits',
      });
    }
  });
});

test('a receipt of the first contract is answered with its only digest, and without an envelope', () => {
  const legacy = { receipt: 'old-1', status: 'probe', fragment, contentSha256: content_sha256 } as const;
  assert.deepEqual(legacyBody(legacy), {
    ...{ receipt: 'old-1', status: 'probe', content_sha256, fragment, envelope: null, log: null },
    ...{ submission_payload_sha256: null, canonical_payload_sha256: null, stored_envelope_sha256: null },
    hash_contract: 'fragment-receipt-hash-v1-legacy',
    hash_scope: { content_sha256: 'title, then LF, then content, UTF-8 (legacy)' },
    canonicalization: {
      version: 'legacy',
      rules: ['The strings are those of the historical receipt, unchanged.'],
    },
    stored_fragment_identity: {
      ...{ receipt: 'old-1', stored_envelope_sha256: null },
      scope: 'receipt-id-only-legacy',
    },
    cryptographic_verification: {
      ...{ verified: true, fields: { content_sha256: true }, envelope: null },
      implementation,
    },
  });
});
