/** Tools that are called at the same time: each caller gets its own answer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jsonAnswer, ownJson } from '../../src/contract/answer.js';
import type { Answer, RouteRequest } from '../../src/contract/exchange.js';
import { mcpHandler } from '../../src/mcp/mcp.js';
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

test('an answer of more than 320 KiB is refused, as a value, as text and as bytes', async () => {
  const most = 320 << 10;
  const call = async (answer: Answer): Promise<{ isError: boolean; structuredContent?: unknown }> => {
    const handler = mcpHandler({
      ...native,
      handlers: { near: () => answer } as unknown as ToolHandlers,
      admit: () => ({ refusal: undefined, charge: () => undefined }),
      ...{ serve: ['explore', 'mcp'], publicUrl: null, version: '1' },
    });
    const params = { name: 'fragments_near', arguments: { text: 'a' } };
    const sent = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }));
    const { body: told } = await handler({ ...request, body: sent });
    assert.ok('bytes' in told && typeof told.bytes === 'string');
    return (JSON.parse(told.bytes) as { result: { isError: boolean } }).result;
  };
  // In each of them a character has three bytes.
  const frame = JSON.stringify({ a: '' }).length;
  const characters = Math.floor((most - frame) / 3);
  for (const [more, isError] of [
    [0, false],
    [1, true],
  ] as const) {
    const value = { a: '格'.repeat(characters + more) };
    const text = JSON.stringify(value);
    const asText: Answer = { status: 200, body: { bytes: text, type: 'application/json' }, charge: 0 };
    for (const answer of [jsonAnswer(200, value), ownJson(Buffer.from(text), 0), asText]) {
      const result = await call(answer);
      assert.equal(result.isError, isError);
      assert.deepEqual(result.structuredContent, isError ? undefined : value);
    }
  }
});
