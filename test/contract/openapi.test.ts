/** The OpenAPI document: valid 3.1, as committed, and consistent with the routes, types and examples. */
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import fc from 'fast-check';
import { routeList } from '../../src/contract/routes.js';
import { checkBody } from '../../src/contract/schema/validate.js';
import { describedGateway } from '../../src/info/openapi.js';
import { nearly } from './arbitrary.js';
import { documents } from './documents.js';
import { door as doorDocument, examples, gateway } from '../support/examples.js';
import { bodyNamed, bodyShape } from '../support/routeTypes.js';
import { assertFits, fits } from './schemaCheck.js';

interface Operation {
  operationId: string;
  parameters?: { name: string; in: string; required: boolean; schema: unknown }[];
  requestBody?: { content: Record<string, { example: unknown }> };
  responses: Record<string, { content: Record<string, { example?: unknown; examples?: Examples }> }>;
}

/** Examples of a problem's answer by its code. */
type Examples = Record<string, { value: { docs?: string } }>;

interface Schema {
  required?: string[];
  properties?: Record<string, Record<string, unknown>>;
}

interface Document {
  openapi: string;
  info: { title: string; version: string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

const document = JSON.parse(JSON.stringify(gateway())) as Document;
const door = JSON.parse(JSON.stringify(doorDocument('https://door.example'))) as Document;
const parts = { gateway: document, door } as const;

for (const [part, version] of [
  ['gateway', '0.4.0'],
  ['door', '6.4'],
] as const) {
  test(`the document of the ${part} is valid OpenAPI 3.1`, async () => {
    const validator = new Validator();
    const checked = structuredClone(parts[part]) as unknown as Record<string, unknown>;
    const result = await validator.validate(checked);
    assert.ok(result.valid, JSON.stringify(result.errors));
    assert.equal(validator.version, '3.1');
    assert.deepEqual([parts[part].openapi, parts[part].info.version], ['3.1.0', version]);
  });

  test(`every schema of the ${part} is referenced, and every reference has a schema`, () => {
    const text = JSON.stringify(parts[part]);
    const references = new Set(
      Array.from(text.matchAll(/"#\/components\/schemas\/(\w+)"/g), ([, name]) => name),
    );
    assert.deepEqual([...references].sort(), Object.keys(parts[part].components.schemas).sort());
  });
}

test('the files under docs are as generated', () => {
  for (const [path, text] of documents()) {
    assert.equal(
      readFileSync(path, 'utf8'),
      text,
      `${path} is old: node dist/test/contract/writeDocuments.js`,
    );
  }
  const kept = readdirSync('docs/examples').map((name) => `docs/examples/${name}`);
  assert.deepEqual(
    kept.filter((path) => !documents().has(path)),
    [],
    'examples without a route',
  );
});

test('the documents list the documented routes and no other', () => {
  const listed = Object.entries({ ...document.paths, ...door.paths }).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { operationId }]) => [operationId, method.toUpperCase(), path]),
  );
  const expected = routeList
    .filter(({ documented }) => documented)
    .map(({ id, method, path }) => [id, method, path]);
  assert.deepEqual(listed.sort(), expected.sort());
});

test('FuseRequest has the types, defaults, allowed values and extensions of the contract', () => {
  const fields = document.components.schemas['FuseRequest']?.properties ?? {};
  const shown = Object.fromEntries(
    Object.entries(fields).map(([name, { description, ...rest }]) => {
      assert.ok(typeof description === 'string', name);
      return [name, rest];
    }),
  );
  const extension = { 'x-extension': true };
  assert.deepEqual(shown, {
    query: { type: 'string' },
    docs: { type: 'array', items: { $ref: '#/components/schemas/FuseDoc' }, minItems: 1 },
    method: { type: 'string', enum: ['maxnorm', 'rrf'], 'x-default': 'maxnorm' },
    tokenizer: { type: 'string', enum: ['ws', 'ngram'], 'x-default': 'ws' },
    embed_model: { type: 'string' },
    entity_map: { type: ['object', 'null'], additionalProperties: { type: 'string' } },
    top_k: { type: ['integer', 'null'], minimum: 1 },
    weights: { $ref: '#/components/schemas/FuseWeights', ...extension },
    rrf_k: { type: 'number', minimum: 1, maximum: 1000000, 'x-default': 60, ...extension },
    k1: { type: 'number', minimum: 0, 'x-default': 1.5, ...extension },
    b: { type: 'number', minimum: 0, maximum: 1, 'x-default': 0.75, ...extension },
    return_text: { type: 'boolean', 'x-default': true, ...extension },
    explain: { type: 'boolean', 'x-default': false, ...extension },
    analyzer: {
      anyOf: [{ type: 'string' }, { $ref: '#/components/schemas/FuseAnalyzer' }],
      ...extension,
    },
    corpus: { $ref: '#/components/schemas/FuseCorpus', ...extension },
    learn: { type: 'boolean', 'x-default': false, ...extension },
    profile: {
      anyOf: [{ type: 'string' }, { $ref: '#/components/schemas/FuseProfile' }],
      ...extension,
    },
    on_missing_dense: {
      ...{ type: 'string', enum: ['embed', 'zero', 'min', 'error'], 'x-default': 'embed' },
      ...extension,
    },
    dense_kind: {
      ...{ type: 'string', enum: ['similarity', 'distance'], 'x-default': 'similarity' },
      ...extension,
    },
    min_score: { type: 'number', ...extension },
    legs: {
      type: 'object',
      additionalProperties: { $ref: '#/components/schemas/FuseLeg' },
      ...extension,
    },
    boosts: {
      ...{ type: 'array', items: { $ref: '#/components/schemas/FuseBoost' }, maxItems: 16 },
      ...extension,
    },
    collapse: { $ref: '#/components/schemas/FuseCollapse', ...extension },
    diversify: { $ref: '#/components/schemas/FuseDiversify', ...extension },
    highlight: { $ref: '#/components/schemas/FuseHighlight', ...extension },
  });
});

test('a JSON Schema validator with the document takes the same FuseRequests as the server', () => {
  fc.assert(
    fc.property(nearly(bodyShape('FuseRequest')), (value) => {
      assert.equal(fits(value, 'FuseRequest'), bodyNamed('FuseRequest').is(value));
    }),
    { numRuns: 2000, seed: 20261121 },
  );
});

test('422 is declared on every route with input, with two exceptions, and on no other', () => {
  for (const route of routeList.filter(({ documented }) => documented)) {
    const operation = parts[route.part].paths[route.path]?.[route.method.toLowerCase()];
    const declared = operation?.responses['422'] !== undefined;
    const takes = route.body.kind !== 'none' || Object.keys(route.parameters).length > 0;
    // Contract, Errors. Interfaces of others have statuses of their own.
    const own = route.id === 'cardWebhook' || route.failure !== undefined;
    assert.equal(declared, route.problems[422] !== undefined || (takes && !own), route.id);
  }
});

test('problems share one schema, whose codes are those that the routes list', () => {
  const route = document.paths['/v1/fuse']?.['post']?.responses['429']?.content['application/json'];
  assert.deepEqual((route as { schema?: unknown } | undefined)?.schema, {
    $ref: '#/components/schemas/Problem',
  });
  const schema = document.components.schemas['Problem']?.properties?.['code'];
  const codes = routeList
    .filter((each) => each.documented && each.part === 'gateway')
    .flatMap(({ problems }) => Object.values(problems).flat());
  assert.deepEqual(schema?.['enum'], [...new Set(codes)].sort());
  assert.deepEqual(document.components.schemas['Problem']?.required, ['detail', 'code', 'docs']);
  const problems = routeList.filter(({ documented, failure }) => documented && failure === undefined);
  for (const { method, path, part, problems: named } of problems) {
    const operation = parts[part].paths[path]?.[method.toLowerCase()];
    for (const [status, listed] of Object.entries(named)) {
      const { examples: shown = {} } = operation?.responses[status]?.content['application/json'] ?? {};
      for (const code of listed) assert.match(shown[code]?.value.docs ?? '', /^\/docs\/guides\/\w+$/, path);
    }
  }
});

test('no field of a body is required merely because it has a default', () => {
  for (const { components } of Object.values(parts)) {
    for (const [name, { properties }] of Object.entries(components.schemas)) {
      for (const field of Object.values(properties ?? {})) assert.ok(!('default' in field), name);
    }
  }
});

test('the document of the gateway links to that of the door if the door is served', () => {
  const linked = JSON.parse(JSON.stringify(describedGateway())) as { externalDocs?: { url: string } };
  assert.equal(linked.externalDocs?.url, '/api/agent/openapi');
  const elsewhere = describedGateway(undefined, 'https://door.example') as typeof linked;
  assert.equal(elsewhere.externalDocs?.url, 'https://door.example/api/agent/openapi');
  for (const unlinked of [describedGateway(['fuse']), describedGateway(undefined, null)]) {
    assert.ok(!('externalDocs' in unlinked));
  }
});

test('a body that is ignored is declared as any', () => {
  assert.deepEqual(document.paths['/unsubscribe']?.['post']?.requestBody, { content: { '*/*': {} } });
});

test('the examples of links are those of docs/outreach.md', () => {
  const text = readFileSync('docs/outreach.md', 'utf8');
  for (const id of ['unsubscribe', 'click'] as const) assert.ok(text.includes(examples[id].request.path), id);
});

/** The values of lines of JSON. */
function parsedLines(text: unknown): unknown[] {
  assert.ok(typeof text === 'string' && text.endsWith('\n'));
  return text
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}

for (const { id, part, path, method, body, answers, documented } of routeList) {
  test(`${id}: its example fits the document and the validators`, () => {
    const { request, response } = examples[id];
    assert.equal(request.method, method);
    assert.match(request.path.split('?')[0] ?? '', new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`));
    const shown: unknown = answers[response.status];
    assert.ok(shown !== undefined, `status ${response.status} is not declared`);
    const pointer = `/paths/${path.replaceAll('/', '~1')}/${method.toLowerCase()}`;
    if (body.kind === 'lines') {
      const [sent, got] = [parsedLines(request.body), parsedLines(response.body)];
      assert.equal(sent.length, got.length);
      const schema = 'content/application~1x-ndjson/schema';
      for (const [at, answer] of got.entries()) {
        assertFits(answer, `${pointer}/responses/200/${schema}`, part);
        const isFailed = Object.hasOwn(answer as object, 'error');
        assert.equal(checkBody(body.schema, sent[at]).ok, !isFailed);
        if (!isFailed) assertFits(sent[at], `${pointer}/requestBody/${schema}`, part);
      }
      return;
    }
    if ('schema' in body) assert.ok(checkBody(body.schema, request.body).ok);
    if (!documented || response.body === undefined) return;
    const schema = 'content/application~1json/schema';
    assertFits(response.body, `${pointer}/responses/${response.status}/${schema}`, part);
    if ('schema' in body) assertFits(request.body, `${pointer}/requestBody/${schema}`, part);
  });
}
