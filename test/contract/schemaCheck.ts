/** Checks values against the OpenAPI documents' component schemas (JSON Schema 2020-12). */
import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { door, gateway } from '../support/examples.js';

const ajv = new Ajv2020({ strict: false, allErrors: true });
ajv.addSchema(gateway(), 'gateway');
ajv.addSchema(door('/'), 'door');

/** Fails when `value` does not fit the schema that a JSON pointer into a part's document names. */
export function assertFits(value: unknown, pointer: string, part: 'gateway' | 'door' = 'gateway'): void {
  const validate = ajv.getSchema(`${part}#${pointer}`);
  assert.ok(validate !== undefined, `No schema at ${pointer}`);
  assert.ok(validate(value), `${pointer}: ${ajv.errorsText(validate.errors)}`);
}

/** Whether `value` fits a component schema. */
export function fits(value: unknown, component: string): boolean {
  const validate = ajv.getSchema(`gateway#/components/schemas/${component}`);
  assert.ok(validate !== undefined, `No component ${component}`);
  return validate(value) === true;
}
