/** Wire types at run time: the schema that is generated from each, and what a schema cannot express. */
import {
  componentNamed,
  inOrder,
  referenced,
  type Components,
  type FieldValues,
  type JsonSchema,
} from './jsonSchema.js';
import type { ValidationError } from './validation.js';

/** Annotations of a type's fields. */
export interface FieldNotes {
  /** Value of a field that is absent. */
  readonly defaults: Readonly<Record<string, string | number | boolean>>;
  /** Fields that are not in the contract. */
  readonly extensions: readonly string[];
  /** By field, a sentence that is added to the error of a text of the wrong length. */
  readonly lengthHints: Readonly<Record<string, string>>;
}

/** A type of the wire: a request's or an answer's JSON, or a set of parameters. */
export interface WireType extends FieldNotes {
  /** Its name in the documents. */
  readonly name: string;
  readonly schema: JsonSchema;
  /** The types that its schema refers to, and itself. */
  readonly components: Components;
  /** True if a field that is not declared is an error. */
  readonly closed: boolean;
}

/** The type of a request's JSON body. */
export interface BodyType<Value = unknown> extends WireType {
  /** The compiled yes-or-no validator. */
  readonly is: (value: unknown) => value is Value;
  /** Rules across fields, which a schema cannot express, for a value that fits it. */
  rules(value: Value): readonly ValidationError[];
}

/** Output of the generator: for each type a schema that is a reference, and the schemas referred to. */
interface Generated<Types extends readonly unknown[]> {
  readonly schemas: readonly object[];
  readonly components: { readonly schemas?: object };
  readonly __types?: Types | undefined;
}

/** A type of which only the schema is known. */
export function plainType(name: string, components: Components): WireType {
  const schema = componentNamed(components, name);
  return { name, schema, components, defaults: {}, extensions: [], lengthHints: {}, closed: false };
}

/** The types that schemas were generated from, in their order. `values`: see {@link FieldValues}. */
export function wireTypes<Types extends readonly unknown[]>(
  generated: Generated<Types>,
  values: FieldValues = {},
): { readonly [At in keyof Types]: WireType } {
  const found = Object.entries((generated.components.schemas ?? {}) as Components);
  const components = Object.fromEntries(found.map(([name, schema]) => [name, inOrder(schema, values, name)]));
  const types = generated.schemas.map((schema: JsonSchema) => {
    if (schema.$ref === undefined) throw new Error('A type without a name');
    return plainType(referenced(schema.$ref), components);
  });
  return types as unknown as { readonly [At in keyof Types]: WireType };
}

/** A type with notes on its fields. */
export function annotated(type: WireType, notes: Partial<FieldNotes>): WireType {
  return { ...type, ...notes };
}

/** The type of a body, with its compiled validator. */
export function bodyType<Value>(
  type: WireType,
  is: (value: unknown) => value is Value,
  more: Partial<FieldNotes & Pick<BodyType<Value>, 'closed' | 'rules'>> = {},
): BodyType<Value> {
  return { ...type, is, rules: () => [], ...more };
}
