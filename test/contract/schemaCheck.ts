/** Checks values against the OpenAPI document's component schemas (JSON Schema 2020-12). */
import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { gatewayDocument } from '../../src/contract/openapi.js';

const ajv = new Ajv2020({ strict: false, allErrors: true });
ajv.addSchema(gatewayDocument(), 'openapi.json');

/** Fails when `value` does not fit the schema that `pointer` (a JSON pointer into the document) names. */
export function assertFits(value: unknown, pointer: string): void {
  const validate = ajv.getSchema(`openapi.json#${pointer}`);
  assert.ok(validate !== undefined, `No schema at ${pointer}`);
  assert.ok(validate(value), `${pointer}: ${ajv.errorsText(validate.errors)}`);
}

/** Whether `value` fits a component schema. */
export function fits(value: unknown, component: string): boolean {
  const validate = ajv.getSchema(`openapi.json#/components/schemas/${component}`);
  assert.ok(validate !== undefined, `No component ${component}`);
  return validate(value) === true;
}
