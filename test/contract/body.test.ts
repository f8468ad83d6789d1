/** Bodies and media types that FastAPI treats differently or not at all: by vectors, on both JSON checks. */
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fuseRequestType } from '../../src/contract/fuse.js';
import {
  type CheckJson,
  type OtherMediaType,
  checkMediaType,
  readBody,
} from '../../src/contract/schema/body.js';
import { checkBody } from '../../src/contract/schema/validate.js';
import type { ValidationError } from '../../src/contract/schema/validation.js';
import { native } from '../../src/native/addon.js';
import { checkJson } from '../reference/json.js';

interface BodyVector {
  name: string;
  body?: string;
  body_hex?: string;
  /** What a FuseRequest with this body gets; none: it is accepted. */
  errors: ValidationError[];
}

interface MediaVector {
  content_type: string;
  origin: boolean;
  other: OtherMediaType;
  accepted: boolean;
}

const bodies = JSON.parse(readFileSync('test/vectors/bodies.json', 'utf8')) as BodyVector[];
const mediaTypes = JSON.parse(readFileSync('test/vectors/media-types.json', 'utf8')) as MediaVector[];
const checks: Record<string, CheckJson> = { oracle: checkJson, native: (body) => native.checkJson(body) };

function errorsOf(bytes: Uint8Array, check: CheckJson): readonly ValidationError[] {
  const read = readBody(bytes, check);
  if (!read.ok) return read.errors;
  const checked = checkBody(fuseRequestType, read.value);
  return checked.ok ? [] : checked.errors;
}

for (const [which, check] of Object.entries(checks)) {
  for (const { name, body = '', body_hex: hex, errors } of bodies) {
    test(`${which}: ${name}`, () => {
      const bytes = hex === undefined ? Buffer.from(body) : Buffer.from(hex, 'hex');
      assert.deepEqual(errorsOf(bytes, check), errors);
    });
  }
}

test('a body is read from its place in a larger buffer', () => {
  const buffer = Buffer.from('xx{"a":"é"}yy');
  const read = readBody(buffer.subarray(2, buffer.length - 2), checkJson);
  assert.deepEqual(read, { ok: true, value: { a: 'é' } });
});

for (const { content_type: type, origin, other, accepted } of mediaTypes) {
  const from = origin ? 'from another page' : 'from a program';
  test(`Content-Type "${type}" ${from}, ${other} besides JSON: ${accepted ? 'taken' : 'refused'}`, () => {
    const error = checkMediaType(type, origin, other);
    assert.equal(error === null, accepted);
    if (error === null) return;
    assert.deepEqual([error.type, ...error.loc], ['value_error', 'header', 'content-type']);
    assert.match(error.msg, /send Content-Type: application\/json/);
  });
}
