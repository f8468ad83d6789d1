/**
 * `POST /mcp` on a server as it is started: the requirements of the protocol, every tool, limits and keys.
 */
import assert from 'node:assert/strict';
import { AsyncResource } from 'node:async_hooks';
import { before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { memoryFolder, patientEmbedding, run } from '../support/run.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const modern = '2026-07-28';
const everything = 'fuse,normalize,audit,door,explore,mcp,mcp-write';

/** Bound to the file, so that servers end with it and not with the hook that starts them. */
const launch = AsyncResource.bind((settings: Readonly<Record<string, string>>) =>
  run(main, ['serve'], {
    ...{ PORT: '0', WORKERS: '1', STORE_URL: `lmdb:${memoryFolder()}/store` },
    ...patientEmbedding,
    ...settings,
  }),
);

async function started(settings: Readonly<Record<string, string>>): Promise<string> {
  const [, address = ''] = await launch(settings).prints(/listens on (http:\/\/127\.0\.0\.1:\d+)/);
  return address;
}

interface Reply {
  readonly status: number;
  readonly body: {
    readonly id?: unknown;
    readonly result?: Readonly<Record<string, unknown>>;
    readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
  };
}

interface Called {
  readonly isError: boolean;
  readonly text: string;
  readonly value: Readonly<Record<string, unknown>> | undefined;
}

type Headers = Readonly<Record<string, string>>;

async function sent(base: string, body: unknown, headers: Headers = {}): Promise<Reply> {
  const response = await fetch(`${base}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : (JSON.parse(text) as Reply['body']) };
}

function message(method: string, params: object = {}, id: string | number = 1): object {
  return { jsonrpc: '2.0', id, method, params };
}

/** A message of the newest revision, with the head that belongs to it. */
function newest(method: string, params: Readonly<Record<string, unknown>> = {}): [object, Headers] {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': modern,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const name = params['name'];
  const headers = { 'mcp-protocol-version': modern, 'mcp-method': method };
  return [
    message(method, { ...params, _meta: meta }),
    typeof name === 'string' ? { ...headers, 'mcp-name': name } : headers,
  ];
}

async function called(base: string, name: string, given: object, headers?: Headers): Promise<Called> {
  const reply = await sent(base, message('tools/call', { name, arguments: given }), headers);
  assert.equal(reply.status, 200, JSON.stringify(reply.body));
  const { isError, content, structuredContent } = reply.body.result as {
    isError: boolean;
    content: { type: string; text: string }[];
    structuredContent?: Called['value'];
  };
  assert.deepEqual(
    content.map(({ type }) => type),
    ['text'],
  );
  const text = content[0]?.text ?? '';
  if (isError) assert.equal(structuredContent, undefined);
  else assert.deepEqual(JSON.parse(text), structuredContent);
  return { isError, text, value: structuredContent };
}

function toolNames({ body }: Reply): string[] {
  return (body.result?.['tools'] as { name: string }[]).map(({ name }) => name);
}

const fragment = {
  title: 'Struts and joints',
  content: 'A lattice holds as long as each joint has two struts that pull apart.',
  kind: 'BRIDGE',
};

describe('POST /mcp', () => {
  let base = '';
  before(async () => {
    base = await started({ SERVE: everything });
  });

  test('shakes hands in the revision that the client asks for, and keeps no state', async () => {
    for (const version of ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']) {
      const reply = await sent(base, message('initialize', { protocolVersion: version, capabilities: {} }));
      assert.equal(reply.body.result?.['protocolVersion'], version);
      assert.deepEqual(reply.body.result['capabilities'], { tools: {} });
    }
    const other = await sent(base, message('initialize', { protocolVersion: '1999-01-01' }));
    assert.equal(other.body.result?.['protocolVersion'], '2025-11-25');
    const notified = await sent(base, { jsonrpc: '2.0', method: 'notifications/initialized' });
    assert.deepEqual([notified.status, notified.body], [202, {}]);
    assert.deepEqual((await sent(base, message('ping', {}, 'a'))).body, {
      jsonrpc: '2.0',
      id: 'a',
      result: {},
    });
  });

  test('answers the newest revision without a handshake', async () => {
    const discovered = await sent(base, ...newest('server/discover'));
    assert.equal(discovered.status, 200);
    assert.deepEqual(discovered.body.result?.['supportedVersions'], [modern]);
    assert.equal(discovered.body.result['resultType'], 'complete');
    const listed = await sent(base, ...newest('tools/list'));
    assert.equal(listed.body.result?.['resultType'], 'complete');
    assert.equal(listed.body.result['cacheScope'], 'public');
    const given = { query: 'boots', documents: ['a hat', 'boots'] };
    const reply = await sent(base, ...newest('tools/call', { name: 'rerank', arguments: given }));
    assert.equal(reply.body.result?.['resultType'], 'complete');
    assert.equal(reply.body.result['isError'], false);
  });

  test('refuses a head that contradicts the body', async () => {
    const [body, headers] = newest('tools/call', { name: 'rerank', arguments: {} });
    for (const wrong of [
      { 'mcp-method': 'tools/list' },
      { 'mcp-name': 'normalize_text' },
      { 'mcp-name': `=?base64?${Buffer.from('normalize_text').toString('base64')}?=` },
      { 'mcp-protocol-version': '2025-11-25' },
      { 'mcp-protocol-version': '' },
    ]) {
      const reply = await sent(base, body, { ...headers, ...wrong });
      assert.deepEqual([reply.status, reply.body.error?.code], [400, -32020], JSON.stringify(wrong));
    }
    const encoded = { ...headers, 'mcp-name': `=?base64?${Buffer.from('rerank').toString('base64')}?=` };
    assert.equal((await sent(base, body, encoded)).status, 200);
    const bare = await sent(base, message('tools/list'), { 'mcp-protocol-version': modern });
    assert.deepEqual([bare.status, bare.body.error?.code], [400, -32602]);
  });

  test('lists its revisions to a client with another one', async () => {
    const [body, headers] = newest('tools/list');
    const later = JSON.parse(JSON.stringify(body).replaceAll(modern, '2031-01-01')) as object;
    const reply = await sent(base, later, { ...headers, 'mcp-protocol-version': '2031-01-01' });
    assert.equal(reply.status, 400);
    assert.equal(reply.body.error?.code, -32022);
    assert.deepEqual(reply.body.error.data, { supported: [modern], requested: '2031-01-01' });
    const early = await sent(base, message('tools/list'), { 'mcp-protocol-version': '1999-01-01' });
    assert.deepEqual([early.status, early.body.error?.code], [400, -32022]);
  });

  test('answers a wrong message, method or tool with a JSON-RPC error', async () => {
    const cases: [unknown, Headers, number, number][] = [
      ['{', {}, 400, -32700],
      ['', {}, 400, -32700],
      [[message('ping')], {}, 400, -32600],
      [{ id: 1, method: 'ping' }, {}, 400, -32600],
      [{ jsonrpc: '2.0', id: 1.5, method: 'ping' }, {}, 400, -32600],
      [{ jsonrpc: '2.0', id: null, method: 'ping' }, {}, 400, -32600],
      [{ jsonrpc: '2.0', id: 1, method: 'ping', params: [] }, {}, 400, -32600],
      [message('resources/list'), {}, 200, -32601],
      [...newest('resources/list'), 404, -32601],
      [...newest('ping'), 404, -32601],
      [message('tools/call', { name: 'toString' }), {}, 200, -32602],
      [message('tools/call'), {}, 200, -32602],
      [...newest('tools/call', { name: 'nothing' }), 400, -32602],
    ];
    for (const [body, headers, status, code] of cases) {
      const reply = await sent(base, body, headers);
      assert.deepEqual([reply.status, reply.body.error?.code], [status, code], JSON.stringify(body));
    }
    for (const method of ['GET', 'DELETE']) {
      assert.equal((await fetch(`${base}/mcp`, { method })).status, 405, method);
    }
    const long = await sent(base, message('tools/list', { filler: 'x'.repeat(128 * 1024) }));
    assert.equal(long.status, 413);
  });

  test('refuses pages of other sites', async () => {
    const ping = message('ping');
    for (const origin of ['https://evil.example', 'null', 'http://localhost.evil.example']) {
      assert.equal((await sent(base, ping, { origin })).status, 403, origin);
    }
    const port = 6274;
    for (const host of ['localhost', '127.0.0.1', '[::1]']) {
      assert.equal((await sent(base, ping, { origin: `http://${host}:${port}` })).status, 200, host);
    }
  });

  test('rerank orders texts and keeps their names', async () => {
    const documents = ['Carson City is a city.', { id: 'dc', text: 'Washington is the capital.' }, 'A hat.'];
    const all = await called(base, 'rerank', { query: 'capital', documents, explain: true });
    const results = all.value?.['results'] as { id: string; explain: object }[];
    assert.equal(results[0]?.id, 'dc');
    assert.deepEqual(results.map(({ id }) => id).sort(), ['0', '2', 'dc']);
    assert.ok('bm25_part' in results[0].explain);
    for (const [topN, count] of [
      [1, 1],
      [0, 3],
      [null, 3],
    ] as const) {
      const cut = await called(base, 'rerank', { query: 'capital', documents, top_n: topN });
      assert.equal((cut.value?.['results'] as unknown[]).length, count);
    }
  });

  test('wrong arguments get a sentence by which a model can correct itself', async () => {
    const wrong = await called(base, 'rerank', { query: 'x', documents: [{ id: 'a' }] });
    assert.ok(wrong.isError);
    assert.match(wrong.text, /^The arguments do not fit\. .*documents/);
    const empty = await called(base, 'rerank', { query: 'x', documents: [] });
    assert.match(empty.text, /documents: List should have at least 1 item/);
    const none = await sent(base, message('tools/call', { name: 'normalize_text' }));
    assert.equal(none.body.result?.['isError'], true);
  });

  test('normalize_text and audit_records answer as their routes', async () => {
    const repaired = await called(base, 'normalize_text', { text: 'CafÃ© ①' });
    assert.equal(repaired.value?.['normalized'], 'Café 1');
    const audited = await called(base, 'audit_records', {
      records: ['CafÃ©', 'plain'],
      stack: 'elasticsearch',
    });
    assert.equal(audited.value?.['html'], null);
    assert.equal(audited.isError, false);
  });

  test('an answer that no model reads is refused, and the longest text is not', async () => {
    const longest = await called(base, 'normalize_text', { text: '中'.repeat(43_600) });
    assert.equal(longest.isError, false);
    const flags = await called(base, 'normalize_text', { text: '㍿'.repeat(40_000), mode: 'replace' });
    assert.equal(flags.isError, true);
    assert.match(
      flags.text,
      /^The answer has more than the 327680 bytes of a tool's\. .+ to the HTTP API\.$/,
    );
  });

  test('a fragment is previewed, stored once, read, verified and found', async () => {
    const preview = await called(base, 'fragment_preview', fragment);
    const { confirm } = preview.value as { confirm: string };
    const stored = await called(base, 'fragment_confirm', { confirm });
    const again = await called(base, 'fragment_confirm', { confirm });
    const receipt = stored.value?.['receipt'];
    assert.equal(again.value?.['receipt'], receipt);
    const other = { ...fragment, title: 'Another lattice', idempotency_key: 'one' };
    const submitted = await called(base, 'fragment_submit', other);
    assert.notEqual(submitted.value?.['receipt'], receipt);
    const repeated = await called(base, 'fragment_submit', other);
    assert.equal(repeated.value?.['receipt'], submitted.value?.['receipt']);
    assert.deepEqual([submitted.value?.['status'], repeated.value?.['status']], ['quarantined', 'duplicate']);
    const read = await called(base, 'receipt_get', { receipt });
    assert.equal((read.value?.['fragment'] as { title: string }).title, fragment.title);
    const verified = await called(base, 'receipt_verify', { receipt });
    assert.deepEqual([verified.value?.['verified'], verified.value?.['withheld']], [true, false]);
    const found = await called(base, 'fragments_near', { text: 'lattice struts', k: 1 });
    assert.ok(Array.isArray(found.value?.['results']));
    const unknown = await called(base, 'receipt_get', { receipt: 'fr_nothing' });
    assert.match(unknown.text, /^No receipt has this id\./);
    assert.match((await called(base, 'fragments_near', {})).text, /give receipt or text, one of them/);
  });
});

describe('the tools of POST /mcp', () => {
  test('are those of the served parts, and store nothing unless asked to', async () => {
    const all = toolNames(await sent(await started({}), message('tools/list')));
    assert.deepEqual(all, [
      ...['rerank', 'normalize_text', 'audit_records', 'fragment_preview'],
      ...['receipt_get', 'receipt_verify', 'fragments_near'],
    ]);
    const base = await started({ SERVE: 'normalize,mcp' });
    assert.deepEqual(toolNames(await sent(base, message('tools/list'))), ['normalize_text']);
    const unserved = await sent(base, message('tools/call', { name: 'rerank', arguments: {} }));
    assert.equal(unserved.body.error?.code, -32602);
    const without = await started({ SERVE: 'fuse' });
    assert.equal((await fetch(`${without}/mcp`, { method: 'POST' })).status, 404);
  });

  test('count by their routes’ limits, by the address that a trusted proxy names', async () => {
    const base = await started({
      SERVE: everything,
      DOOR_SUBMISSIONS_PER_MINUTE: '1',
      TRUSTED_PROXIES: '127.0.0.1',
    });
    const submit = (title: string, from: string): Promise<Called> =>
      called(base, 'fragment_submit', { ...fragment, title }, { 'x-forwarded-for': from });
    assert.equal((await submit('One', '192.0.2.1')).isError, false);
    const refused = await submit('Two', '192.0.2.1');
    assert.ok(refused.isError);
    assert.match(refused.text, /DOOR_SUBMISSIONS_PER_MINUTE/);
    assert.equal((await submit('Three', '192.0.2.2')).isError, false);
    // A client's own line before the proxy's does not make it another.
    assert.equal((await submit('Four', '198.51.100.7, 192.0.2.1')).isError, true);
  });

  test('need a key if the server requires one', async () => {
    const base = await started({ ACCESS: 'keys' });
    const reply = await sent(base, message('tools/list'));
    assert.equal(reply.status, 401);
    assert.equal((reply.body as { readonly code?: string }).code, 'key_required');
  });
});
