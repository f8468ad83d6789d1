/** Tools that are called at the same time: each caller gets its own answer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteRequest } from '../../src/contract/exchange.js';
import { callTool, type ToolHandlers } from '../../src/mcp/tools.js';
import { native } from '../../src/native/addon.js';
import { normalizeHandler } from '../../src/text/normalize.js';

const body = new Uint8Array(0);
const request: RouteRequest = {
  ...{ id: 'test', path: {}, query: {}, body, input: undefined, keyed: false, mayAct: true, head: false },
  peer: () => new Uint8Array(4),
  caller: () => new Uint8Array(4),
  header: () => '',
  retain: () => body,
  hold: () => undefined,
  aborted: () => false,
  signal: () => new AbortController().signal,
};

test('each of two calls of a tool in one turn gets its own text', async () => {
  const parts = {
    handlers: { normalize: normalizeHandler(native) } as unknown as ToolHandlers,
    admit: () => ({ refusal: undefined, charge: () => undefined }),
  };
  const texts = ['the first caller’s text', 'another’s', 'the text of the last caller of all'];
  const answers = await Promise.all(
    texts.map((text) => callTool('normalize_text', { text }, request, parts)),
  );
  const told = answers.map((answer) => {
    assert.ok('bytes' in answer.body && typeof answer.body.bytes !== 'string');
    return (JSON.parse(Buffer.from(answer.body.bytes).toString()) as { readonly text: string }).text;
  });
  assert.deepEqual(told, texts);
});
