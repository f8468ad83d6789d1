/**
 * JSON Schemas (2020-12) as the compiler generates them from types, with their allowed values put in order.
 */

/** The JSON Schema keywords the generator emits; with any other, the start fails when the shape is read. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly oneOf?: readonly JsonSchema[];
  readonly type?: string;
  readonly const?: unknown;
  readonly description?: string;
  readonly title?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema | boolean;
}

/** Schemas by name, to which others refer as `#/components/schemas/<name>`. */
export type Components = Readonly<Record<string, JsonSchema>>;

/**
 * Allowed values by the name of their field, in the order of declaration; if fields of two types have the
 * same name, by the type's name, a point and the field's name.
 */
export type FieldValues = Readonly<Record<string, readonly string[]>>;

const prefix = '#/components/schemas/';

/** Name of the component a reference points to. */
export function referenced(reference: string): string {
  if (!reference.startsWith(prefix)) throw new Error(`A reference outside the components: ${reference}`);
  return reference.slice(prefix.length);
}

/** The component with a name. */
export function componentNamed(components: Components, name: string): JsonSchema {
  const schema = components[name];
  if (schema === undefined) throw new Error(`No schema was generated for ${name}`);
  return schema;
}

/** True if a schema allows only null. */
export function isNull(schema: JsonSchema): boolean {
  return schema.type === 'null';
}

/** A field, and the type that has it. */
interface FieldPlace {
  readonly type: string;
  readonly field: string;
}

/** Adjacent literals in the order of their declaration, else by name; other schemas as they are. */
function sorted(
  schemas: readonly JsonSchema[],
  { type, field }: FieldPlace,
  values: FieldValues,
): readonly JsonSchema[] {
  const literals = schemas.filter((schema) => !isNull(schema));
  if (literals.length < 2 || literals.some((schema) => schema.const === undefined)) return schemas;
  const names = literals.map((schema) => String(schema.const));
  const order = values[`${type}.${field}`] ?? values[field] ?? [...names].sort();
  const fits = order.length === names.length && names.every((name) => order.includes(name));
  if (!fits) throw new Error(`The field ${field} allows ${names.join(', ')}, not ${order.join(', ')}`);
  const place = (schema: JsonSchema): number => order.indexOf(String(schema.const));
  return [...literals.sort((a, b) => place(a) - place(b)), ...schemas.filter(isNull)];
}

/**
 * A schema with its allowed values in order, those of its fields included. The generator lists them in the
 * order in which the compiler first saw them, which depends on the files that it reads.
 */
export function inOrder(schema: JsonSchema, values: FieldValues, type: string, field = ''): JsonSchema {
  const { oneOf, items, properties, additionalProperties } = schema;
  const inner = (part: JsonSchema): JsonSchema => inOrder(part, values, type, field);
  const fields = Object.entries(properties ?? {});
  return {
    ...schema,
    ...(oneOf === undefined ? {} : { oneOf: sorted(oneOf.map(inner), { type, field }, values) }),
    ...(items === undefined ? {} : { items: inner(items) }),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            fields.map(([name, part]) => [name, inOrder(part, values, type, name)]),
          ),
        }),
    ...(typeof additionalProperties === 'object'
      ? { additionalProperties: inner(additionalProperties) }
      : {}),
  };
}
