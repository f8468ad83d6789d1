/** The digests of docs/receipt.md: the vectors, by the native module and by the independent verification. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import type { Fragment } from '../../src/contract/fragment.js';
import { canonicalJson, verify, type Readback } from '../../src/receipts/verify.js';
import { native } from '../../src/native/addon.js';
import { digestNames } from './digestNames.js';

type Input = Partial<Record<keyof Fragment, string | null>>;

interface Vector {
  readonly id: string;
  readonly input: Input;
  readonly expected: Readonly<Record<string, string>>;
}

const vectors = readFileSync('test/vectors/digests.jsonl', 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Vector);
const receipt = 'fr_01M7YQ1WE038NKRKAYDXR834J3';

function seal(input: Input): ReturnType<typeof native.sealFragment> {
  const { title, content, mechanism, test: testing, kind, visitor } = input;
  const texts = [title, content, mechanism, testing, kind, visitor].map((text) => text ?? '');
  const [a = '', b = '', c = '', d = '', e = '', f = ''] = texts;
  return native.sealFragment(a, b, c, d, e, f, receipt, '2026-11-21T09:30:00.000Z');
}

function readback(input: Input): Readback {
  const sealed = seal(input);
  return {
    receipt,
    fragment: JSON.parse(sealed.canonical) as Fragment,
    envelope: JSON.parse(sealed.envelope) as Record<string, string>,
    seal: sealed.seal,
  };
}

/** The same digest with its first digit changed. */
function spoilt(digest: string): string {
  return (digest.startsWith('0') ? '1' : '0') + digest.slice(1);
}

describe('digests', () => {
  test('equal the vectors in the native module', () => {
    assert.equal(vectors.length, 150);
    for (const { id, input, expected } of vectors) {
      const found = Object.values(seal(input).digests);
      assert.deepEqual(
        Object.fromEntries(digestNames.map((name, index) => [name, found[index]])),
        Object.fromEntries(digestNames.map((name) => [name, expected[name]])),
        id,
      );
    }
  });

  test('equal the vectors in the independent verification', () => {
    for (const { id, input, expected } of vectors) {
      const made = readback(input);
      const envelope: Record<string, string> = { ...made.envelope, ...expected };
      delete envelope['confirmation_token'];
      const { fields } = verify({ ...made, envelope });
      assert.deepEqual(new Set(Object.values(fields)), new Set([true]), id);
    }
  });

  test('do not depend on the order in which members came: they are sorted by name', () => {
    assert.equal(canonicalJson({ b: '1', a: '2', ä: '3', B: '4' }), '{"B":"4","a":"2","b":"1","ä":"3"}');
    const made = readback({ title: 'Lattice', content: 'It holds.' });
    const envelope = Object.fromEntries(Object.entries(made.envelope).reverse());
    assert.ok(verify({ ...made, envelope }).verified);
  });

  test('verify for every vector', () => {
    for (const { id, input } of vectors) assert.ok(verify(readback(input)).verified, id);
  });
});

describe('verification', () => {
  const made = readback({ title: 'Lattice', content: 'It holds.', kind: 'bridge', visitor: 'ada' });

  test('names each digest that does not match', () => {
    for (const name of [...digestNames, 'content_bytes_sha256']) {
      const envelope = { ...made.envelope, [name]: spoilt(made.envelope[name] ?? '') };
      const { verified, fields } = verify({ ...made, envelope });
      assert.equal(verified, false);
      const wrong = Object.entries(fields).filter(([, fits]) => fits === false);
      assert.deepEqual(
        wrong.map(([digest]) => digest),
        [name],
      );
    }
  });

  test('finds every changed field', () => {
    for (const name of Object.keys(made.fragment) as (keyof Fragment)[]) {
      const fragment = { ...made.fragment, [name]: `${made.fragment[name]}x` };
      const result = verify({ ...made, fragment });
      assert.equal(result.verified, false, name);
      assert.equal(result.fields['canonical_payload_sha256'], false, name);
    }
  });

  test('finds a changed envelope, seal, receipt or kind', () => {
    const { envelope, fragment } = made;
    const changes: readonly Partial<Readback>[] = [
      { envelope: { ...envelope, received_at: '2026-11-21T09:30:00.001Z' } },
      { envelope: { ...envelope, status: 'probe' } },
      { envelope: { ...envelope, more: '' } },
      { envelope: Object.fromEntries(Object.entries(envelope).filter(([name]) => name !== 'unicode')) },
      { seal: spoilt(made.seal) },
      { receipt: 'fr_01M7YQ1WE038NKRKAYDXR834J4' },
      { fragment: { ...fragment, kind: 'CRITIQUE' } },
    ];
    for (const change of changes) {
      const result = verify({ ...made, ...change });
      assert.deepEqual([result.verified, result.envelope], [false, false], JSON.stringify(change));
    }
  });

  test('leaves the dedupe key undecided under other tables', () => {
    const envelope = { ...made.envelope, unicode: '16.0.0' };
    assert.equal(verify({ ...made, envelope }).fields['dedupe_key_sha256'], null);
  });

  test('names the code that it uses', () => {
    const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      dependencies: Record<string, string>;
    };
    assert.equal(
      verify(made).implementation,
      `@noble/hashes ${dependencies['@noble/hashes'] ?? ''}, Unicode ${native.unicodeVersion()}`,
    );
  });
});
