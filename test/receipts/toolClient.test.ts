/**
 * A tool-calling client made only from `/api/agent/openapi`, as an AI's tools are: every operation is a tool
 * with the schema of its arguments, and what it sends and gets must fit the document.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { run, temporaryFolder } from '../support/run.js';

interface Parameter {
  readonly name: string;
  readonly in: 'query' | 'path' | 'header';
  readonly required: boolean;
  readonly schema: object;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

interface Operation {
  readonly operationId: string;
  readonly description: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

interface OpenApi {
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

type Values = Readonly<Record<string, string>>;

/** A tool: what a model sees of an operation, and how it is called. */
interface Tool {
  readonly description: string;
  readonly call: (values: Values) => Promise<Record<string, unknown>>;
}

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));

/** Makes the tools of a document. */
function toolsOf(document: OpenApi): ReadonlyMap<string, Tool> {
  const ajv = new Ajv2020({ strict: false });
  ajv.addSchema(document, 'door');
  const check = (value: unknown, pointer: string): void => {
    const validate = ajv.getSchema(`door#${pointer}`);
    assert.ok(validate !== undefined, pointer);
    assert.ok(validate(value), `${pointer}: ${ajv.errorsText(validate.errors)}`);
  };
  const tools = new Map<string, Tool>();
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const escaped = path.replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D');
      const at = `/paths/${escaped}/${method}`;
      const call = async (values: Values): Promise<Record<string, unknown>> => {
        const request = requestOf(document.servers[0]?.url ?? '', path, method, operation, values);
        if (request.body !== undefined) check(values, `${at}/requestBody/content/application~1json/schema`);
        const response = await fetch(request.url, request);
        const answer = (await response.json()) as Record<string, unknown>;
        assert.equal(response.status, 200, JSON.stringify(answer));
        if (operation.responses['200']?.content?.['application/json'] !== undefined) {
          check(answer, `${at}/responses/200/content/application~1json/schema`);
        }
        return answer;
      };
      tools.set(operation.operationId, { description: operation.description, call });
    }
  }
  return tools;
}

/** The request of a tool's call: parameters by their places, the rest is the body. */
function requestOf(
  server: string,
  path: string,
  method: string,
  { parameters = [], requestBody }: Operation,
  values: Values,
): RequestInit & { readonly url: string } {
  const url = new URL(path, server);
  const headers = new Headers();
  for (const { name, in: place, required } of parameters) {
    const value = values[name];
    if (value === undefined) {
      assert.ok(!required, `${name} is required`);
      continue;
    }
    if (place === 'query') url.searchParams.set(name, value);
    else if (place === 'header') headers.set(name, value);
    else url.pathname = url.pathname.replace(encodeURI(`{${name}}`), encodeURIComponent(value));
  }
  if (requestBody === undefined) return { url: url.href, method: method.toUpperCase(), headers };
  headers.set('content-type', 'application/json');
  return { url: url.href, method: method.toUpperCase(), headers, body: JSON.stringify(values) };
}

test('tools made of the document submit, preview, confirm, harvest and read back', async () => {
  const server = run(main, ['serve'], {
    ...{ STORE_URL: `lmdb:${temporaryFolder()}/store`, PORT: '0', WORKERS: '1' },
  });
  const [, port] = await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
  const found = await fetch(`http://127.0.0.1:${port}/api/agent/openapi`);
  const tools = toolsOf((await found.json()) as OpenApi);
  const call = (name: string, values: Values): Promise<Record<string, unknown>> => {
    const tool = tools.get(name);
    assert.ok(tool !== undefined, `no tool ${name}`);
    assert.ok(tool.description.length > 40, `${name} says what it is for`);
    return tool.call(values);
  };
  const fragment = { title: 'Tensegrity', content: 'Struts float in a net of cables.', kind: 'BRIDGE' };
  const submitted = await call('dream', fragment);
  assert.equal(submitted['status'], 'quarantined');
  const preview = await call('dreamPreview', { title: 'Keystone', content: 'The last stone carries.' });
  const confirm = String(preview['confirm']);
  assert.equal((await call('dreamConfirmState', { confirm }))['state'], 'previewed');
  const confirmed = await call('dreamConfirm', { confirm });
  assert.equal(confirmed['status'], 'quarantined');
  const third = { title: 'Ribs', content: 'A vault by its ribs.' };
  const text = `Also: <<SHARD>>${JSON.stringify(third)}<</SHARD>>`;
  const harvested = await call('harvest', { text, mind: 'a tool' });
  assert.deepEqual([harvested['found'], harvested['admitted']], [1, 1]);
  const items = harvested['results'] as readonly { readonly receipt: string }[];
  const receipts = [
    String(submitted['receipt']),
    String(confirmed['receipt']),
    ...items.map(({ receipt }) => receipt),
  ];
  assert.equal(new Set(receipts).size, 3);
  for (const id of receipts) {
    const receipt = await call('receipt', { id });
    assert.equal((receipt['cryptographic_verification'] as { verified: boolean }).verified, true);
  }
  server.child.kill('SIGTERM');
  await server.ended();
});
