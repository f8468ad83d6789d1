/** Bodies that the native module reads, against the interpreter over what JSON.parse makes of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { freeAuditRequestType } from '../../src/contract/audit.js';
import { fuseRequestType } from '../../src/contract/fuse.js';
import { normalizeRequestType } from '../../src/contract/normalize.js';
import { routeList } from '../../src/contract/routes.js';
import { readBody } from '../../src/contract/schema/body.js';
import {
  briefBytes,
  briefBytesOffLoop,
  checkBytes,
  checkBytesOffLoop,
  wholeBytes,
} from '../../src/contract/schema/bytes.js';
import { shapeOf } from '../../src/contract/schema/shape.js';
import { checkBody, type Checked } from '../../src/contract/schema/validate.js';
import type { ValidationError } from '../../src/contract/schema/validation.js';
import type { BodyType } from '../../src/contract/schema/wireType.js';
import { native } from '../../src/native/addon.js';
import { bodyNamed } from '../support/routeTypes.js';
import { nearly } from './arbitrary.js';

const types: readonly BodyType[] = [
  fuseRequestType,
  normalizeRequestType,
  freeAuditRequestType,
  ...routeList.flatMap(({ body }) => (body.kind === 'json' ? [body.schema] : [])),
];

/** White space that makes a body too long to become a value at once. */
const padding = ' '.repeat(wholeBytes);

/** Longest JSON, as it stands in a body, that a fault repeats (bytes; native/core/src/json/body.rs). */
const repeatedBytes = 2_048;

/** The interpreter's outcome for a body. */
function expected(type: BodyType, text: string): Checked<unknown> {
  const read = readBody(Buffer.from(text), native.checkJson);
  return read.ok ? checkBody(type, read.value) : read;
}

/** The members that a body's schema knows. */
function known(type: BodyType, value: unknown): unknown {
  const shape = shapeOf(type);
  if (shape.kind !== 'object') return value;
  const names = new Set(shape.fields.map(({ name }) => name));
  return Object.fromEntries(Object.entries(value as object).filter(([name]) => names.has(name)));
}

function assertAlike(type: BodyType, text: string): void {
  const body = Buffer.from(padding + text);
  const [right, found, brief] = [
    expected(type, text),
    checkBytes(type, body, native),
    briefBytes(type, body, native),
  ];
  // A place in the text is one behind the padding in the body.
  const isJson = right.ok || right.errors[0]?.type !== 'json_invalid';
  if (!isJson) {
    assert.equal(found.ok || found.errors[0]?.type, 'json_invalid');
    return;
  }
  if (!right.ok && Buffer.byteLength(text) > repeatedBytes) {
    // A value of which most is repeated members is short for JSON.parse alone: its fault has no input here.
    const told = (checked: Checked<unknown>) => (checked.ok ? [] : checked.errors);
    const without = (errors: readonly ValidationError[], other: readonly ValidationError[]) =>
      errors.map(({ input, ...error }, at) =>
        other[at] && 'input' in other[at] ? { ...error, input } : error,
      );
    for (const given of [told(found), told(brief)]) {
      assert.deepEqual(given, without(right.errors, given), `${type.name}: ${text}`);
    }
    return;
  }
  if (right.ok) {
    assert.ok(found.ok && brief.ok, `${type.name}: ${text}`);
    if (type !== fuseRequestType) assert.deepEqual(found.value, known(type, right.value));
  } else {
    assert.deepEqual(found, right, `${type.name}: ${text}`);
    assert.deepEqual(brief, right, `${type.name}: ${text}`);
  }
}

/** The JSON of an object with members more, some of them twice. */
const crowded = (value: unknown, names: readonly string[], members: readonly unknown[]): string => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value);
  const own = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}:${crowded(member, names, members)}`,
  );
  const more = names.map((name, at) => `${JSON.stringify(name)} : ${JSON.stringify(members[at] ?? null)}`);
  return `{${[...more.slice(0, 2), ...own, ...more.slice(2)].join(', ')}}`;
};

for (const type of types) {
  test(`${type.name}: the same faults in the same words`, () => {
    fc.assert(
      fc.property(nearly(shapeOf(type)), (value) => {
        assertAlike(type, JSON.stringify(value));
      }),
      { numRuns: 300, seed: 20261122 },
    );
  });

  test(`${type.name}: unknown and repeated members`, () => {
    const shape = shapeOf(type);
    const own = shape.kind === 'object' ? shape.fields.map(({ name }) => name) : [];
    const name = fc.constantFrom(
      ...own,
      'z',
      'toString',
      '__proto__',
      '7',
      '10',
      '07',
      '',
      'é"\\',
      '4294967295',
    );
    const member = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom<unknown[]>('', 'a', 1, null, []));
    fc.assert(
      fc.property(
        nearly(shape),
        fc.array(name, { maxLength: 6 }),
        fc.array(member, { minLength: 6, maxLength: 6 }),
        (value, names, members) => {
          assertAlike(type, crowded(value, names, members));
        },
      ),
      { numRuns: 500, seed: 20261122 },
    );
  });
}

test('a fault in a rule echoes the input, with members that no schema knows', () => {
  assertAlike(fuseRequestType, '{"query":"","docs":[],"weights":{"z":[{}],"bm25":1,"bm25":0,"dense":0}}');
});

test('the thread pool reads as the event loop does', async () => {
  for (const text of [
    '{"records":["a"],"months_running":7}',
    '{"records":[1,{}],"z":[]}',
    '{"records":',
    '',
  ]) {
    const body = Buffer.from(text === '' ? '' : padding + text);
    assert.deepEqual(
      await checkBytesOffLoop(freeAuditRequestType, body, native),
      checkBytes(freeAuditRequestType, body, native),
    );
    assert.deepEqual(
      await briefBytesOffLoop(freeAuditRequestType, body, native),
      briefBytes(freeAuditRequestType, body, native),
    );
  }
});

test('unknown names of an object are reported in the order of JavaScript, at most 100', () => {
  const names = Array.from({ length: 300 }, (_, at) => (at % 3 === 0 ? String(1_000 - at) : `z${at}`));
  const members = [...names, ...names.slice(0, 150)].map((name, at) => `"${name}":${at}`);
  assertAlike(freeAuditRequestType, `{${members.join(',')}}`);
});

test('of a repeated name of a map the last value counts', () => {
  const entries = (from: string) =>
    Array.from({ length: 400 }, (_, at) => `"${at % 2 ? 'k' : ''}${at}":${from}`);
  const map = (...members: string[]) => `{"text":"a","chinese_glosses":{${members.join(',')}}}`;
  for (const type of [normalizeRequestType]) {
    assertAlike(type, map(...entries('0')));
    assertAlike(type, map(...entries('0'), ...entries('"x"').slice(20)));
    assertAlike(type, map(...entries('0'), ...entries('"x"')));
    assertAlike(type, map(...entries('"x"'), ...entries('null').reverse()));
  }
});

test('a fault echoes a short value, and a name up to 256 characters', () => {
  assertAlike(freeAuditRequestType, `{"${'é'.repeat(256)}":"${'x'.repeat(254)}"}`);
  const long = checkBytes(freeAuditRequestType, Buffer.from(`{"${'é'.repeat(5_000)}":1}`), native);
  assert.deepEqual(long.ok ? [] : long.errors[0]?.loc, ['body', `${'é'.repeat(256)}…`]);
});

test('a text has a least length in characters, however many bytes they take', () => {
  const type = bodyNamed('DreamConfirmRequest');
  for (const character of ['a', 'é', '日', '\\n', '\\u0061', '😀', '\\ud83d\\ude00']) {
    for (const length of [0, 1, 63, 64, 65]) assertAlike(type, `{"confirm":"${character.repeat(length)}"}`);
  }
  const text = ['object', '-', '1', 'text', 'required', 'string', '-', '10', '1000'];
  const reader = new native.BodyReader(text, false);
  for (const [character, length, fits] of [
    ['a', 9, false],
    ['a', 10, true],
    ['\\ud83d\\ude00', 9, false],
    ['\\ud83d\\ude00', 10, true],
    ['\\ud83d\\ude00', 1000, true],
    ['\\ud83d\\ude00', 1001, false],
  ] as const) {
    const { faults, refusal } = reader.read(Buffer.from(`{"text":"${character.repeat(length)}"}`), false);
    assert.deepEqual([faults === undefined, refusal], [fits, undefined], `${character} ${length}`);
  }
});

test('a brief reading cuts what is long, and counts what it leaves out', () => {
  const doc = { id: 'a', text: 'x'.repeat(1_000) };
  const docs = Array.from({ length: 500 }, (_, at) => (at === 3 ? { ...doc, dense_score: 1 } : doc));
  const entityMap = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`k${at}`, 'v']));
  const request = { query: '😀'.repeat(1_000), docs, entity_map: entityMap };
  const brief = briefBytes(fuseRequestType, Buffer.from(JSON.stringify(request)), native);
  assert.ok(brief.ok);
  const { value, lists } = brief.value;
  assert.equal(value.query, '😀'.repeat(300));
  assert.equal(value.docs.length, 130);
  assert.equal(value.docs[0]?.text, 'x'.repeat(300));
  assert.equal(Object.keys(value.entity_map ?? {}).length, 130);
  assert.deepEqual(lists, [
    {
      name: 'docs',
      length: 500,
      members: [
        { name: 'id', items: 500 },
        { name: 'text', items: 500 },
        { name: 'dense_score', items: 1, firstWithout: 0, least: 1, leastAt: 3 },
        ...['scores', 'values', 'group'].map((name) => ({ name, items: 0, firstWithout: 0 })),
      ],
    },
  ]);
});

test('a brief reading has facts about members, and the greatest numbers of a map', () => {
  const docs = Array.from({ length: 400 }, (_, at) => ({
    ...{ id: 'a', text: '' },
    ...(at === 200 || at === 300 ? {} : { dense_score: at > 310 ? null : 400 - at }),
  }));
  const names = Array.from({ length: 600 }, (_, at) => (at % 5 === 0 ? String(at) : `k${at}`));
  const df = Object.fromEntries(names.map((name, at) => [name, (at * 7) % 600]));
  const request = { query: 'q', docs, corpus: { docs: 9_000, average_length: 2, df } };
  const brief = briefBytes(fuseRequestType, Buffer.from(JSON.stringify(request)), native);
  assert.ok(brief.ok);
  const { value, lists } = brief.value;
  const greatest = Object.entries(df).filter(([, count]) => count >= 600 - 130);
  assert.deepEqual(Object.entries(value.corpus?.df ?? {}), greatest);
  assert.deepEqual(lists[0]?.members[2], {
    ...{ name: 'dense_score', items: 309 },
    ...{ firstWithout: 200, least: 90, leastAt: 310 },
  });
});

test('a number has its value however long it is written, in the facts about its own member too', () => {
  for (const [ownLength, otherLength] of [
    [1, 1],
    [1, 60],
    [60, 1],
    [60, 60],
    [700, 33],
  ] as const) {
    const numbers = [0.75, 0.5, 0.625].map((own) => ({ own, other: own / 4 }));
    const docs = numbers.map(({ own, other }) => {
      const [dense, score] = [`${own}${'0'.repeat(ownLength)}`, `${other}${'0'.repeat(otherLength)}`];
      return `{"id":"a","text":"","scores":{"a":${score}},"dense_score":${dense},"values":{"b":${score}}}`;
    });
    const body = Buffer.from(`{"query":"","docs":[${docs.join(',')}]}`);
    const brief = briefBytes(fuseRequestType, body, native);
    assert.ok(brief.ok);
    const { value, lists } = brief.value;
    const read = value.docs.map((doc) => [doc.dense_score, doc.scores?.['a'], doc.values?.['b']]);
    assert.deepEqual(
      read,
      numbers.map(({ own, other }) => [own, other, other]),
    );
    assert.deepEqual(lists[0]?.members[2], { name: 'dense_score', items: 3, least: 0.5, leastAt: 1 });
  }
});

test('a map of numbers is checked, with repeated names and any number of them', () => {
  const corpus = (...members: string[]) =>
    '{"query":"","docs":[{"id":"","text":""}],' +
    `"corpus":{"docs":5,"average_length":1,"df":{${members.join(',')}}}}`;
  const many = (value: string) =>
    Array.from({ length: 400 }, (_, at) => `"${at % 2 ? 'k' : ''}${at}":${value}`);
  for (const members of [
    [],
    many('5'),
    many('0.5'),
    many('"1"'),
    many('-1'),
    [...many('null'), ...many('3').slice(7)],
    [...many('3'), '"":9', '"7":4e0'],
    ['"a":1', '"\\u0061":-3', '"b":1e2', '"b":2'],
    [...many('1'), '"7":900', '"7":4', '"z":7'],
    [`"${'x'.repeat(400)}":2`, ...many('1'), `"${'x'.repeat(401)}":9`, `"${'x'.repeat(402)}":3`],
  ]) {
    assertAlike(fuseRequestType, corpus(...members));
  }
});

test('an empty name is found after any number of others', () => {
  const others = Array.from({ length: 1_000 }, (_, at) => `"k${at}":"v"`).join(',');
  const text = `{"query":"","docs":[{"id":"","text":""}],"entity_map":{${others},"":"a"}}`;
  const brief = briefBytes(fuseRequestType, Buffer.from(text), native);
  assert.deepEqual(brief, expected(fuseRequestType, text));
  assert.equal(brief.ok, false);
});

test('a body of a million empty objects is read without making them', () => {
  const objects = '{},'.repeat(1_000_000);
  const bodies: readonly (readonly [BodyType, string, number])[] = [
    [freeAuditRequestType, `{"z":[${objects}{}]}`, 1],
    [freeAuditRequestType, `{"records":[${objects}{}]}`, 1],
    [fuseRequestType, `{"query":"","docs":[${objects}{}]}`, 100],
    [normalizeRequestType, `{"text":5,"z":[${objects}{}]}`, 1],
  ];
  for (const [type, text, faults] of bodies) {
    const body = Buffer.from(text);
    const before = process.memoryUsage().heapUsed;
    const found = briefBytes(type, body, native);
    const grown = process.memoryUsage().heapUsed - before;
    assert.equal(found.ok ? 0 : found.errors.length, faults);
    assert.ok(grown < 8 << 20, `${grown} bytes of heap`);
  }
});
