/** The compiled validators and the interpreter over the schemas give the same verdict on every value. */
import { test } from 'node:test';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { nearQueryType } from '../../src/contract/near.js';
import { checkBody, checkParameters, explainBody } from '../../src/contract/schema/validate.js';
import { nearly } from './arbitrary.js';
import { bodyNamed, bodyShape, bodyTypes } from '../support/routeTypes.js';

const names = [...bodyTypes.keys()];

/** Whether both say the same; the verdict. */
function verdict(name: string, value: unknown): boolean {
  const accepted = bodyNamed(name).is(value);
  const errors = explainBody(bodyNamed(name), value);
  assert.equal(accepted, errors.length === 0, `${name}: ${JSON.stringify(errors)}`);
  return accepted;
}

for (const name of names) {
  test(`${name}: validator and interpreter agree`, () => {
    const verdicts = { accepted: 0, refused: 0 };
    fc.assert(
      fc.property(nearly(bodyShape(name)), (value) => {
        verdicts[verdict(name, value) ? 'accepted' : 'refused']++;
      }),
      { numRuns: 2000, seed: 20261121 },
    );
    assert.ok(verdicts.accepted > 100, `only ${verdicts.accepted} values were accepted`);
    assert.ok(verdicts.refused > 100, `only ${verdicts.refused} values were refused`);
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        verdict(name, value);
      }),
    );
  });
}

const doc = { id: 'a', text: 'b', dense_score: 1 };

function errorsOf(name: string, value: unknown) {
  const checked = checkBody(bodyNamed(name), value);
  return checked.ok ? [] : checked.errors;
}

test('a number that is not finite is not a number, even if the body was not JSON', () => {
  for (const dense of [NaN, Infinity, -Infinity]) {
    const request = { query: 'q', docs: [{ ...doc, dense_score: dense }] };
    assert.equal(verdict('FuseRequest', request), false);
    assert.equal(verdict('FuseRequest', { query: 'q', docs: [doc], top_k: dense }), false);
  }
});

test('lengths are code points', () => {
  const lead = (length: number) => ({ email: '😀'.repeat(length) });
  assert.deepEqual(errorsOf('LeadRequest', lead(320)), []);
  assert.deepEqual(errorsOf('LeadRequest', lead(321)), [
    {
      type: 'string_too_long',
      loc: ['body', 'email'],
      msg: 'String should have at most 320 characters',
      ctx: { max_length: 320 },
    },
  ]);
});

test('an integer is a number without a fraction, and nothing is coerced', () => {
  const withTop = (text: string) =>
    JSON.parse(`{"query":"","docs":[{"id":"","text":""}],"top_k":${text}}`) as unknown;
  for (const text of ['5', '5.0', '5e0', '1e300', 'null']) {
    assert.deepEqual(errorsOf('FuseRequest', withTop(text)), [], text);
  }
  for (const text of ['"5"', '5.5', 'true', '[]', '{}']) {
    assert.deepEqual(
      errorsOf('FuseRequest', withTop(text)).map(({ type }) => type),
      ['int_type'],
      text,
    );
  }
});

test('an input is echoed up to 256 bytes of JSON, whatever its size', () => {
  const inputs = [254, 255].map(
    (length) => errorsOf('FuseRequest', { query: [], docs: 'x'.repeat(length) })[1],
  );
  assert.equal(inputs[0]?.input, 'x'.repeat(254));
  assert.ok(inputs[1] !== undefined && !('input' in inputs[1]));
  const wide = errorsOf('FuseRequest', { ['é'.repeat(200)]: 1 });
  assert.ok(wide.every((error) => !('input' in error)));
});

test('at most 100 errors are listed, and reading stops there', () => {
  const docs = Array.from({ length: 200_000 }, () => 0);
  assert.equal(errorsOf('FuseRequest', { query: 'q', docs }).length, 100);
  const map = Object.fromEntries(docs.map((value, index) => [`k${index}`, value]));
  assert.equal(errorsOf('FuseRequest', { query: 'q', docs: [doc], entity_map: map }).length, 100);
});

test('a value nested as deep as JSON may is refused without recursion into it', () => {
  const deep = JSON.parse('['.repeat(120) + ']'.repeat(120)) as unknown;
  assert.deepEqual(
    errorsOf('FuseRequest', { query: deep, docs: deep, method: deep, weights: deep }).map(({ type }) => type),
    ['string_type', 'model_attributes_type', 'literal_error', 'model_attributes_type'],
  );
});

test('rules across fields are checked only if nothing else is wrong', () => {
  const both = { query: 'q', docs: [doc], weights: { bm25: 0, dense: 0 }, entity_map: { '': 'x' } };
  assert.deepEqual(
    errorsOf('FuseRequest', both).map(({ type, loc }) => [type, ...loc]),
    [
      ['value_error', 'body', 'entity_map'],
      ['value_error', 'body', 'weights'],
    ],
  );
  assert.deepEqual(
    errorsOf('FuseRequest', { ...both, query: 5 }).map(({ type }) => type),
    ['string_type'],
  );
  assert.deepEqual(
    errorsOf('FuseRequest', { ...both, weights: { bm25: 0, dense: 1e-300 }, entity_map: null }),
    [],
  );
});

test('parameters are read as their declared type', () => {
  const near = (k: string) =>
    checkParameters(nearQueryType, 'query', (name) => (name === 'k' ? k : undefined));
  assert.deepEqual(near('5'), { ok: true, value: { k: 5 } });
  for (const [k, type] of [
    ['', 'int_type'],
    ['5.5', 'int_type'],
    ['x', 'int_type'],
    ['0', 'greater_than_equal'],
    ['101', 'less_than_equal'],
  ]) {
    const checked = near(k ?? '');
    assert.deepEqual(checked.ok ? [] : checked.errors.map((error) => [error.type, ...error.loc]), [
      [type, 'query', 'k'],
    ]);
  }
});
