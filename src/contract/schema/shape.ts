/**
 * A generated JSON Schema read into the few shapes that the contract uses; with any other, the start fails.
 */
import { componentNamed, isNull, referenced, type Components, type JsonSchema } from './jsonSchema.js';
import type { WireType } from './wireType.js';

/** One field of an object. */
export interface FieldShape {
  readonly name: string;
  readonly required: boolean;
  readonly shape: Shape;
}

/** Schema of a JSON value. Bounds are inclusive; lengths are code points. */
export type Shape = { readonly nullable: boolean } & (
  | { readonly kind: 'any' }
  | { readonly kind: 'boolean' }
  | { readonly kind: 'string'; readonly min: number; readonly max: number }
  | { readonly kind: 'integer' | 'number'; readonly min: number; readonly max: number }
  | { readonly kind: 'literal'; readonly values: readonly unknown[] }
  | { readonly kind: 'union'; readonly shapes: readonly Shape[] }
  | { readonly kind: 'list'; readonly items: Shape; readonly min: number; readonly max: number }
  | { readonly kind: 'map'; readonly values: Shape }
  | { readonly kind: 'object'; readonly fields: readonly FieldShape[] }
);

function nullableOf(shape: Shape): Shape {
  return { ...shape, nullable: true };
}

/** Alternatives: null beside one other makes that one nullable; adjacent literals are one literal. */
function alternatives(schemas: readonly JsonSchema[], components: Components): Shape {
  const shapes = schemas.filter((schema) => !isNull(schema)).map((schema) => read(schema, components));
  const literals = shapes.flatMap((shape) => (shape.kind === 'literal' ? shape.values : []));
  const [only] = shapes;
  if (only === undefined) throw new Error('A schema that allows nothing but null');
  let shape: Shape = { kind: 'union', shapes, nullable: false };
  if (shapes.length === 1) shape = only;
  else if (shapes.every(({ kind }) => kind === 'literal')) {
    shape = { kind: 'literal', values: literals, nullable: shapes.some(({ nullable }) => nullable) };
  }
  return shapes.length < schemas.length ? nullableOf(shape) : shape;
}

function objectShape(schema: JsonSchema, components: Components): Shape {
  const { properties = {}, required = [], additionalProperties } = schema;
  if (typeof additionalProperties === 'object') {
    if (Object.keys(properties).length > 0) throw new Error('An object with both fields and a map');
    return { kind: 'map', values: read(additionalProperties, components), nullable: false };
  }
  const fields = Object.entries(properties).map(([name, property]) => ({
    name,
    required: required.includes(name),
    shape: read(property, components),
  }));
  return { kind: 'object', fields, nullable: false };
}

/** The shape of a generated schema. */
function read(schema: JsonSchema, components: Components): Shape {
  const { $ref, oneOf } = schema;
  if ($ref !== undefined) return read(componentNamed(components, referenced($ref)), components);
  if (oneOf !== undefined) return alternatives(oneOf, components);
  if (schema.const !== undefined) return { kind: 'literal', values: [schema.const], nullable: false };
  switch (schema.type) {
    case undefined:
      return { kind: 'any', nullable: true };
    case 'boolean':
      return { kind: 'boolean', nullable: false };
    case 'string':
      return {
        kind: 'string',
        min: schema.minLength ?? 0,
        max: schema.maxLength ?? Infinity,
        nullable: false,
      };
    case 'integer':
    case 'number': {
      const { minimum: min = -Infinity, maximum: max = Infinity } = schema;
      return { kind: schema.type, min, max, nullable: false };
    }
    case 'array': {
      const items = read(schema.items ?? {}, components);
      return {
        kind: 'list',
        items,
        min: schema.minItems ?? 0,
        max: schema.maxItems ?? Infinity,
        nullable: false,
      };
    }
    case 'object':
      return objectShape(schema, components);
    default:
      throw new Error(`A schema type the contract does not know: ${schema.type}`);
  }
}

const shapes = new WeakMap<JsonSchema, Shape>();

/** The shape of a wire type. */
export function shapeOf({ schema, components }: WireType): Shape {
  let shape = shapes.get(schema);
  if (shape === undefined) shapes.set(schema, (shape = read(schema, components)));
  return shape;
}

/** The fields of a set of parameters. */
export function fieldsOf(type: WireType): readonly FieldShape[] {
  const shape = shapeOf(type);
  if (shape.kind !== 'object') throw new Error(`${type.name} is not a set of parameters`);
  return shape.fields;
}
