/** Requests to POST /v1/fuse with the included model, answered or refused. */
import assert from 'node:assert/strict';
import type { FuseResponse } from '../../src/contract/fuse.js';
import type { HTTPValidationError } from '../../src/contract/schema/validation.js';
import { native } from '../../src/native/addon.js';
import { fuseHandler } from '../../src/search/fuse.js';
import { fuse, type ReferenceRequest } from '../reference/fuse.js';
import { withUnknown } from '../reference/unknown.js';
import { plainStyle, writeBody, type Style } from '../support/bodies.js';
import { answered, requestWith, staticMode } from '../support/embedding.js';

const handler = fuseHandler({ ...native, embedMode: staticMode() });

/** The answer to the bytes of a body. */
export async function answerTo(body: Uint8Array): Promise<{ status: number; body: unknown }> {
  const answer = await handler(requestWith(body));
  return { status: answer.status, body: answered(answer) };
}

/** The answer to a request that is right. */
export async function asked(request: object): Promise<FuseResponse> {
  const { status, body } = await answerTo(writeBody(request, plainStyle));
  assert.equal(status, 200, JSON.stringify(body));
  return body as FuseResponse;
}

/** The answer to a request that is right, written in a style, which is the oracle's to the last bit. */
export async function askedAsOracle(request: ReferenceRequest, how: Style): Promise<FuseResponse> {
  const bytes = writeBody(request, how);
  const { status, body } = await answerTo(bytes);
  assert.equal(status, 200, JSON.stringify(body));
  const answer = body as FuseResponse;
  assert.deepEqual(body, withUnknown(fuse(request), bytes));
  return answer;
}

/** The errors of a request that is wrong: each one's place, and its sentence. */
export async function refused(request: object): Promise<string[]> {
  const { status, body } = await answerTo(writeBody(request, plainStyle));
  assert.equal(status, 422, JSON.stringify(body));
  const { detail = [] } = body as HTTPValidationError;
  return detail.map(({ loc, msg }) => `${loc.slice(1).join('.')}: ${msg}`);
}
