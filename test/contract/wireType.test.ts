/** Types of the wire read from generated schemas: the order of allowed values, names, and name clashes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { documentOf, type ListedRoute } from '../../src/contract/schema/document.js';
import type { JsonSchema } from '../../src/contract/schema/jsonSchema.js';
import { get } from '../../src/contract/schema/route.js';
import { shapeOf } from '../../src/contract/schema/shape.js';
import { wireTypes, type WireType } from '../../src/contract/schema/wireType.js';

/** What the generator makes of one type with these fields. */
function generated(properties: Readonly<Record<string, JsonSchema>>, name = 'Dish') {
  return {
    schemas: [{ $ref: `#/components/schemas/${name}` }],
    components: { schemas: { [name]: { type: 'object', properties, required: Object.keys(properties) } } },
    __types: undefined as [unknown] | undefined,
  };
}

const literals = (...values: readonly string[]): JsonSchema[] => values.map((value) => ({ const: value }));

/** The values that a field allows, in their order. */
function allowed(type: WireType, name: string): readonly unknown[] {
  const shape = shapeOf(type);
  const field = shape.kind === 'object' ? shape.fields.find((each) => each.name === name)?.shape : undefined;
  const inner = field?.kind === 'list' ? field.items : field;
  return inner?.kind === 'literal' ? inner.values : [];
}

test('allowed values are listed in the order of their declaration, others by name', () => {
  const fields = {
    course: { oneOf: [{ type: 'null' }, ...literals('main', 'starter', 'dessert')] },
    sizes: { type: 'array', items: { oneOf: literals('small', 'large') } },
    origin: { oneOf: literals('sea', 'land') },
  };
  const [dish] = wireTypes(generated(fields), {
    course: ['starter', 'main', 'dessert'],
    sizes: ['small', 'large'],
  });
  assert.deepEqual(allowed(dish, 'course'), ['starter', 'main', 'dessert']);
  assert.deepEqual(allowed(dish, 'sizes'), ['small', 'large']);
  assert.deepEqual(allowed(dish, 'origin'), ['land', 'sea']);
});

test('a declared order that differs from the values stops the start', () => {
  const fields = generated({ course: { oneOf: literals('main', 'starter') } });
  for (const course of [['starter'], ['starter', 'main', 'dessert'], ['starter', 'soup']]) {
    assert.throws(() => wireTypes(fields, { course }), /The field course allows main, starter, not/);
  }
});

test('a type without a name, or without a schema, stops the start', () => {
  assert.throws(() => wireTypes({ schemas: [{ type: 'string' }], components: {} }), /without a name/);
  const lost = { schemas: [{ $ref: '#/components/schemas/Lost' }], components: {} };
  assert.throws(() => wireTypes(lost), /No schema was generated for Lost/);
});

test('two types of one name are an error, and the same type twice is not', () => {
  const [problem] = wireTypes(generated({ code: { type: 'string' } }, 'Problem'));
  const [first] = wireTypes(generated({ name: { type: 'string' } }));
  const [same] = wireTypes(generated({ name: { type: 'string' } }));
  const [other] = wireTypes(generated({ name: { type: 'number' } }));
  const route = (schema: WireType, path: string): ListedRoute => ({
    id: path.slice(1),
    method: 'GET',
    path,
    tag: 'food',
    summary: '',
    description: '',
    body: { kind: 'none' },
    parameters: {},
    answers: { 200: { schema, description: '' } },
    unprocessable: false,
    problems: {},
    headers: [],
    documented: true,
    example: get(path, { name: 'soup' }),
  });
  const document = (second: WireType) =>
    documentOf([route(first, '/a'), route(second, '/b')], {
      info: {},
      serverUrl: '/',
      tags: [],
      problem: { schema: problem, example: () => ({}) },
    });
  assert.ok('paths' in document(same));
  assert.throws(() => document(other), /Two types Dish/);
});
