/** The place of an error in a body, for people; and what a 422 says in addition to FastAPI's words. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readBody } from '../../src/contract/schema/body.js';
import { placeOf } from '../../src/contract/schema/place.js';
import { checkBody } from '../../src/contract/schema/validate.js';
import { native } from '../../src/native/addon.js';
import { bodyNamed } from '../support/routeTypes.js';

describe('a place', () => {
  test('counts lines and characters from 1', () => {
    const text = '{\n  "é漢😀": 1,\n  "b" 2\n}';
    const bytes = Buffer.from(text);
    const at = (part: string) => placeOf(bytes, bytes.indexOf(part));
    assert.deepEqual(at('{'), { line: 1, column: 1, excerpt: '{' });
    assert.deepEqual(at('": 1'), { line: 2, column: 7, excerpt: '  "é漢😀": 1,' });
    assert.deepEqual(at('2\n'), { line: 3, column: 7, excerpt: '  "b" 2' });
    assert.deepEqual(placeOf(bytes, bytes.length), { line: 4, column: 2, excerpt: '}' });
    assert.deepEqual(placeOf(bytes, bytes.length + 9), { line: 4, column: 2, excerpt: '}' });
    assert.deepEqual(placeOf(new Uint8Array(0), 0), { line: 1, column: 1, excerpt: '' });
  });

  test('splits no character, and shows little of a long line', () => {
    const bytes = Buffer.from('漢'.repeat(100));
    const { excerpt, column } = placeOf(bytes, 150);
    assert.match(excerpt, /^漢{10,25}$/);
    assert.equal(column, 51);
  });

  test('is in the error of a body that is not JSON', () => {
    const read = readBody(Buffer.from('{\n "query": "a",\n "docs": [}\n'), native.checkJson);
    assert.ok(!read.ok);
    assert.deepEqual(
      read.errors.map(({ type, loc, ctx }) => [type, loc, ctx]),
      [['json_invalid', ['body', 27], { error: 'syntax', line: 3, column: 11, excerpt: ' "docs": [}' }]],
    );
  });
});

/** What is said of missing fields, by their place. */
function hints(name: string, body: unknown): Record<string, unknown> {
  const checked = checkBody(bodyNamed(name), body);
  assert.ok(!checked.ok);
  const missing = checked.errors.filter(({ type }) => type === 'missing');
  for (const { msg } of missing) assert.equal(msg, 'Field required', 'as FastAPI says it');
  return Object.fromEntries(missing.map(({ loc, ctx }) => [loc.slice(1).join('.'), ctx?.['hint'] ?? null]));
}

describe('a missing field', () => {
  test('names the unknown member that was probably meant for it', () => {
    assert.deepEqual(hints('FuseRequest', { query: 'a', docs: [{ id: '1', content: 'b' }] }), {
      'docs.0.text': 'docs.0.text is missing, and "content" is not known here: did you mean "text"?',
    });
    assert.deepEqual(hints('FuseRequest', { Query: 'a', documents: [] }), {
      query: 'query is missing, and "Query" is not known here: did you mean "query"?',
      docs: 'docs is missing, and "documents" is not known here: did you mean "docs"?',
    });
    assert.deepEqual(hints('FuseRequest', { query: 'a', doc: [], items: [] }), {
      docs: 'docs is missing, and "doc" is not known here: did you mean "docs"?',
    });
  });

  test('names a misspelt member whatever its value', () => {
    assert.deepEqual(hints('NormalizeRequest', { texts: ['a'] }), {
      text: 'text is missing, and "texts" is not known here: did you mean "text"?',
    });
  });

  test('names none if it is not clear', () => {
    assert.deepEqual(hints('FuseRequest', { query: 'a' }), { docs: null });
    assert.deepEqual(hints('FuseRequest', { query: 'a', passages: [], items: [] }), { docs: null });
    assert.deepEqual(hints('FuseRequest', { query: 'a', documents: 'b' }), { docs: null });
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`n${at}`, at]));
    assert.deepEqual(hints('FuseRequest', { ...many, Query: 'a', docs: [] })['query'], null);
    const long = { ['q'.repeat(65)]: 'a', docs: [] };
    assert.equal(hints('FuseRequest', long)['query'], null);
  });
});
