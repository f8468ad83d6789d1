/** The place of an error in a body, for people; and what a 422 says in addition to FastAPI's words. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readBody } from '../../src/contract/schema/body.js';
import { excerptAt } from '../../src/contract/schema/place.js';
import { checkBody } from '../../src/contract/schema/validate.js';
import { native } from '../../src/native/addon.js';
import { bodyNamed } from '../support/routeTypes.js';

describe('a place', () => {
  test('has the text of its line', () => {
    const bytes = Buffer.from('{\n  "é漢😀": 1,\n  "b" 2\n}');
    const at = (part: string): string => excerptAt(bytes, bytes.indexOf(part));
    assert.deepEqual([at('{'), at('": 1'), at('2\n')], ['{', '  "é漢😀": 1,', '  "b" 2']);
    for (const end of [bytes.length, bytes.length + 9]) assert.equal(excerptAt(bytes, end), '}');
    assert.equal(excerptAt(new Uint8Array(0), 0), '');
  });

  test('splits no character, and shows little of a long line', () => {
    assert.match(excerptAt(Buffer.from('漢'.repeat(100)), 150), /^漢{10,25}$/);
  });

  test('counts lines and characters from 1', () => {
    const at = (text: string): unknown[] => {
      const { offset, line, column } = native.checkJson(Buffer.from(text)) ?? assert.fail(text);
      return [offset, line, column];
    };
    assert.deepEqual(at('x'), [0, 1, 1]);
    assert.deepEqual(at('{\n  "é漢😀": x}'), [17, 2, 10]);
    assert.deepEqual(at('{\n  "é漢😀": 1,\n  "b" 2\n}'), [26, 3, 7]);
    assert.deepEqual(at('[\n\n'), [3, 3, 1]);
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
