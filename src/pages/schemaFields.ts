/** The fields of a JSON Schema (draft 2020-12, as in OpenAPI 3.1) as HTML lists. */
import type { JsonSchema } from '../contract/schema/jsonSchema.js';
import { escapeHtml } from './page.js';

/** Members that contain schemas. */
type Inner = Pick<JsonSchema, 'items' | 'properties' | 'additionalProperties' | 'oneOf'>;

/** The subset of JSON Schema that our documents use. */
export interface Schema extends Omit<JsonSchema, 'type' | keyof Inner> {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly 'x-default'?: unknown;
  readonly format?: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

/** The referenced schemas, by name. */
export type Schemas = Readonly<Record<string, Schema>>;

/** A description as HTML: text between backticks is code. */
export function inlineHtml(text: string): string {
  return text
    .split('`')
    .map((part, at) => (at % 2 === 1 ? `<code>${escapeHtml(part)}</code>` : escapeHtml(part)))
    .join('');
}

function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

/** A schema with its reference resolved; a description beside the reference takes precedence. */
function resolved(schema: Schema, schemas: Schemas): Schema {
  if (schema.$ref === undefined) return schema;
  return { ...schemas[nameOf(schema.$ref)], ...schema };
}

function valueHtml(value: unknown): string {
  return `<code>${escapeHtml(JSON.stringify(value))}</code>`;
}

/** The alternatives of a schema, one of which a value must match. */
function choices(schema: Schema): readonly Schema[] {
  return schema.anyOf ?? schema.oneOf ?? [];
}

/** A schema's type in words. */
function typeHtml(schema: Schema, schemas: Schemas): string {
  const { type, items, const: only, enum: values } = schema;
  if (only !== undefined) return `always ${valueHtml(only)}`;
  if (values !== undefined) return `one of ${values.map(valueHtml).join(', ')}`;
  const among = choices(schema);
  if (among.length > 0) return among.map((each) => typeHtml(resolved(each, schemas), schemas)).join(' or ');
  const types = typeof type === 'string' ? [type] : (type ?? ['any value']);
  return types
    .map((each) => {
      if (each !== 'array' || items === undefined) return each;
      return `array of ${typeHtml(resolved(items, schemas), schemas)}`;
    })
    .join(' or ');
}

function bounds(least: number | undefined, most: number | undefined, unit: string): string[] {
  const grouped = (value: number): string => value.toLocaleString('en');
  if (least !== undefined && most !== undefined) return [`${grouped(least)} to ${grouped(most)}${unit}`];
  if (least !== undefined) return [`at least ${grouped(least)}${unit}`];
  return most === undefined ? [] : [`at most ${grouped(most)}${unit}`];
}

/** Limits of a value besides its type. */
function limitsHtml(schema: Schema): string {
  const { default: usual = schema['x-default'] } = schema;
  const words = [
    ...bounds(schema.minimum, schema.maximum, ''),
    ...bounds(schema.minLength, schema.maxLength, ' characters'),
    ...bounds(schema.minItems, schema.maxItems, ' items'),
    ...(schema.format === undefined ? [] : [`format ${escapeHtml(schema.format)}`]),
    ...(usual === undefined ? [] : [`default ${valueHtml(usual)}`]),
  ];
  return words.length === 0 ? '' : ` <span class="limits">${words.join(', ')}</span>`;
}

/** The context of a field. */
export interface FieldPlace {
  readonly schemas: Schemas;
  /** True to mark required fields: only in requests. */
  readonly sent: boolean;
  /** Names of the enclosing schemas, which are not expanded again. */
  readonly path?: readonly string[];
}

/** One field and its permitted values. */
export function fieldHtml(name: string, given: Schema, required: boolean, place: FieldPlace): string {
  const { schemas, sent } = place;
  const schema = resolved(given, schemas);
  const need = required && sent ? ' <strong class="required">required</strong>' : '';
  const words = schema.description === undefined ? '' : `<p>${inlineHtml(schema.description)}</p>`;
  const type = `<span class="type">${typeHtml(schema, schemas)}</span>`;
  return `<dt><code>${escapeHtml(name)}</code> ${type}${need}${limitsHtml(schema)}</dt>
<dd>${words}${fieldsHtml(given, place)}</dd>`;
}

/** The fields of an object, of an array's items, or of each alternative; empty if there are none. */
export function fieldsHtml(given: Schema, place: FieldPlace): string {
  const { schemas, path = [] } = place;
  const name = given.$ref === undefined ? undefined : nameOf(given.$ref);
  if (name !== undefined && path.includes(name)) return '';
  const inner = name === undefined ? place : { ...place, path: [...path, name] };
  const schema = resolved(given, schemas);
  const { properties = {}, required = [], items, additionalProperties: others } = schema;
  const fields = Object.entries(properties).map(([field, each]) =>
    fieldHtml(field, each, required.includes(field), inner),
  );
  if (typeof others === 'object') fields.push(fieldHtml('(any name)', others, false, inner));
  if (fields.length > 0) return `<dl class="fields">${fields.join('\n')}</dl>`;
  if (items !== undefined) return fieldsHtml(items, inner);
  return [...choices(schema), ...(schema.allOf ?? [])].map((each) => fieldsHtml(each, inner)).join('');
}
