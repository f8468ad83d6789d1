/** Turns a generated schema into a component of the OpenAPI document (OpenAPI 3.1.0, Schema Object). */
import { isNull, referenced, type JsonSchema } from './jsonSchema.js';
import { plainType, type FieldNotes, type WireType } from './wireType.js';

/** A Schema Object of the document. */
export type SchemaObject = Readonly<Record<string, unknown>>;

type Reader = (schema: JsonSchema) => SchemaObject;

/** Allowed values as one `enum`, null among them when it is allowed. */
function enumeration(values: readonly unknown[], nullable: boolean): SchemaObject {
  if (values.length === 1 && !nullable) return { const: values[0] };
  const isText = values.every((value) => typeof value === 'string');
  const type = nullable ? ['string', 'null'] : 'string';
  return { ...(isText ? { type } : {}), enum: nullable ? [...values, null] : values };
}

function alternatives(schemas: readonly JsonSchema[], read: Reader): SchemaObject {
  const others = schemas.filter((schema) => !isNull(schema));
  const nullable = others.length < schemas.length;
  if (others.every((schema) => schema.const !== undefined)) {
    return enumeration(
      others.map((schema) => schema.const),
      nullable,
    );
  }
  const parts = others.map(read);
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) {
    if (Array.isArray(only['enum'])) return enumeration(only['enum'], true);
    if (typeof only['type'] === 'string') return { ...only, type: [only['type'], 'null'] };
  }
  return { anyOf: nullable ? [...parts, { type: 'null' }] : parts };
}

function reference(type: WireType, read: Reader, meet: (type: WireType) => void): SchemaObject {
  const { name, schema: target } = type;
  if (Object.keys(target.properties ?? {}).length === 0) {
    const { description, ...rest } = read(target);
    return description === undefined || target.type === undefined ? rest : { description, ...rest };
  }
  meet(type);
  return { $ref: `#/components/schemas/${name}` };
}

/**
 * The keyword of a default. In a body it is an extension, because client generators treat a field with
 * `default` as required.
 */
export type DefaultKeyword = 'default' | 'x-default';

function fields(
  schema: JsonSchema,
  notes: FieldNotes | undefined,
  keyword: DefaultKeyword,
  read: Reader,
): SchemaObject {
  const entries = Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const value = notes?.defaults[name];
    const added = {
      ...(value === undefined ? {} : { [keyword]: value }),
      ...(notes?.extensions.includes(name) === true ? { 'x-extension': true } : {}),
    };
    return [name, { ...read(property), ...added }] as const;
  });
  return Object.fromEntries(entries);
}

function object(
  schema: JsonSchema,
  notes: FieldNotes | undefined,
  closed: boolean,
  keyword: DefaultKeyword,
  read: Reader,
): SchemaObject {
  const { additionalProperties, required = [] } = schema;
  if (typeof additionalProperties === 'object') {
    return { type: 'object', additionalProperties: read(additionalProperties) };
  }
  return {
    type: 'object',
    properties: fields(schema, notes, keyword, read),
    ...(required.length === 0 ? {} : { required }),
    ...(closed ? { additionalProperties: false } : {}),
  };
}

/** The component of a wire type. `meet` is called with every type that it refers to. */
export function componentOf(
  type: WireType,
  meet: (type: WireType) => void,
  keyword: DefaultKeyword = 'x-default',
): SchemaObject {
  const { components, closed } = type;
  const shapeOf = (schema: JsonSchema, top: boolean): SchemaObject => {
    const inner: Reader = (part) => shapeOf(part, false);
    const { description, $ref, oneOf, items, ...rest } = schema;
    const said = description === undefined ? {} : { description };
    if ($ref !== undefined) {
      return { ...reference(plainType(referenced($ref), components), inner, meet), ...said };
    }
    if (oneOf !== undefined) return { ...said, ...alternatives(oneOf, inner) };
    if (schema.const !== undefined) return { ...said, const: schema.const };
    if (items !== undefined) return { ...said, ...rest, items: inner(items) };
    if (schema.type !== 'object') return { ...said, ...rest };
    return { ...said, ...object(schema, top ? type : undefined, top && closed, keyword, inner) };
  };
  return shapeOf(type.schema, true);
}
