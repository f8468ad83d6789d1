/** Answers about receipts from any source: which are receipts, and what each of their members proves. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fragmentFields } from '../../src/contract/fragment.js';
import { canonicalJson, digestNames, implementation } from '../../src/receipts/verify.js';
import { verifyAnswer, type VerifiedAnswer } from '../../src/receipts/verifyAnswer.js';

/** The worked example of docs/receipt.md, as the door answers it. */
const sealed = (() => {
  const { receipt, canonical, envelope, digests } = JSON.parse(
    readFileSync('test/vectors/receipt.json', 'utf8'),
  ) as Readonly<Record<'receipt' | 'canonical' | 'envelope', string>> & {
    readonly digests: Readonly<Record<string, string>>;
  };
  const fragment = JSON.parse(canonical) as Readonly<Record<string, string>>;
  const members = JSON.parse(envelope) as Readonly<Record<string, string>>;
  const repeated = Object.fromEntries(digestNames.map((name) => [name, members[name]]));
  const seal = { stored_envelope_sha256: digests['stored_envelope_sha256'], envelope: members };
  const contract = { hash_contract: 'fragment-receipt-hash-v2', status: members['status'] };
  return { receipt, fragment, ...seal, ...contract, ...repeated };
})();

/** Every digest with one verdict. */
const all = (verdict: boolean | null): Readonly<Record<string, boolean | null>> =>
  Object.fromEntries(digestNames.map((name) => [name, verdict]));

function verdict(answer: unknown): VerifiedAnswer {
  const found = verifyAnswer(answer);
  if ('wrong' in found) assert.fail(found.wrong);
  return found;
}

const reason = (answer: unknown): unknown => {
  const found = verifyAnswer(answer);
  return 'wrong' in found ? found.wrong : found;
};

/** An answer without one of its members. */
const without = (answer: object, member: string): object =>
  Object.fromEntries(Object.entries(answer).filter(([name]) => name !== member));

describe('a sealed receipt', () => {
  const { receipt } = sealed;

  test('verifies with every digest, also where the answer repeats none of them', () => {
    const right = { verified: true, fields: all(true), envelope: true, implementation };
    for (const answer of [sealed, digestNames.reduce(without, sealed)]) {
      assert.deepEqual(verdict(answer), { receipt, verification: right, withheld: false });
    }
  });

  test('whose answer repeats a digest wrongly fails in that digest only', () => {
    for (const name of digestNames) {
      const { verification } = verdict({ ...sealed, [name]: '00'.repeat(32) });
      const fields = { ...all(true), [name]: false };
      assert.deepEqual(verification, { verified: false, fields, envelope: true, implementation });
    }
  });

  test('whose answer has another status than its envelope fails in its envelope', () => {
    const both = { status: 'probe', content_sha256: 'x' };
    for (const [more, fields] of [
      [{ status: 'probe' }, all(true)],
      [both, { ...all(true), content_sha256: false }],
    ] as const) {
      const { verification } = verdict({ ...sealed, ...more });
      assert.deepEqual(verification, { verified: false, fields, envelope: false, implementation });
    }
  });

  test('whose envelope names another contract fails in its envelope, even if its seal fits', () => {
    const envelope = { ...sealed.envelope, hash_contract: 'another' };
    const stored_envelope_sha256 = createHash('sha256').update(canonicalJson(envelope)).digest('hex');
    const { verification } = verdict({ ...sealed, envelope, stored_envelope_sha256 });
    assert.deepEqual(verification, { verified: false, fields: all(true), envelope: false, implementation });
  });

  test('with a changed text fails in the digests of it', () => {
    const fragment = { ...sealed.fragment, visitor: 'somebody else' };
    const { verified, fields, envelope } = verdict({ ...sealed, fragment }).verification;
    assert.deepEqual([verified, envelope], [false, true]);
    assert.deepEqual([fields['canonical_payload_sha256'], fields['content_sha256']], [false, true]);
  });

  test('that is withheld has its seal alone verified', () => {
    const withheld = { ...sealed, fragment: null, withheld: 'by a court' };
    for (const [answer, fits] of [
      [withheld, true],
      [{ ...withheld, receipt: 'fr_another' }, false],
      [{ ...withheld, stored_envelope_sha256: '00'.repeat(32) }, false],
    ] as const) {
      const verification = { verified: fits, fields: all(null), envelope: fits, implementation };
      assert.deepEqual(verdict(answer), { receipt: answer.receipt, verification, withheld: true });
    }
    const { verified, fields } = verdict({ ...withheld, content_sha256: 'x' }).verification;
    assert.deepEqual([verified, fields], [false, { ...all(null), content_sha256: false }]);
  });

  test('without its envelope or its seal is not a receipt', () => {
    for (const more of [
      ...[{ envelope: null }, { envelope: [] }, { envelope: { receipt: 7 } }, { envelope: 'x' }],
      ...[{ stored_envelope_sha256: null }, { stored_envelope_sha256: 7 }],
    ]) {
      assert.equal(reason({ ...sealed, ...more }), 'has no sealed envelope');
    }
  });
});

describe('a legacy receipt', () => {
  const legacy = {
    ...{ receipt: 'old-1', hash_contract: 'fragment-receipt-hash-v1-legacy' },
    fragment: { title: 'Arch', content: 'stones', mechanism: '', test: '', kind: '', visitor: '' },
    // Of "Arch", LF, "stones".
    content_sha256: 'dc81ce688056be6973f0ee20d6d7e7fddbb0b1cdaa83182ab1cf544caa73c6b7',
  };

  test('has one digest, verified by its title and content', () => {
    const right = { verified: true, fields: { content_sha256: true }, envelope: null, implementation };
    assert.deepEqual(verdict(legacy), { receipt: 'old-1', verification: right, withheld: false });
    for (const name of ['title', 'content']) {
      const { verification } = verdict({ ...legacy, fragment: { ...legacy.fragment, [name]: 'other' } });
      assert.deepEqual(verification, { ...right, verified: false, fields: { content_sha256: false } });
    }
  });

  test('that is withheld proves nothing', () => {
    const verification = {
      verified: false,
      fields: { content_sha256: null },
      envelope: null,
      implementation,
    };
    const withheld = { ...legacy, fragment: null, withheld: 'by a court' };
    assert.deepEqual(verdict(withheld), { receipt: 'old-1', verification, withheld: true });
  });

  test('without its digest is not a receipt', () => {
    assert.equal(reason({ ...legacy, content_sha256: null }), 'has no content_sha256');
  });
});

test('an answer that is not a receipt is refused with what it lacks', () => {
  for (const answer of [null, undefined, 7, 'text', [], [sealed], {}, { ...sealed, receipt: 7 }]) {
    assert.equal(reason(answer), 'is no receipt');
  }
  const incomplete = fragmentFields.map((name) => without(sealed.fragment, name));
  for (const fragment of [null, undefined, 'text', [], { ...sealed.fragment, kind: 7 }, ...incomplete]) {
    assert.equal(reason({ ...sealed, fragment }), 'has no fragment of six texts');
  }
  // Its reason is missing, or its text is there.
  assert.equal(reason({ ...sealed, fragment: null, withheld: true }), 'has no fragment of six texts');
  assert.equal(reason({ ...sealed, fragment: 'text', withheld: 'why' }), 'has no fragment of six texts');
  assert.equal(verdict({ ...sealed, withheld: 'by a court' }).withheld, false);
  for (const hash_contract of [undefined, 'fragment-receipt-hash-v3']) {
    assert.equal(reason({ ...sealed, hash_contract }), 'names no hash contract that is known here');
  }
});
