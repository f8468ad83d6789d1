/** SERVE: the routes, descriptions and limits of the parts that are served, and of no others. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readConfiguration } from '../../src/configuration.js';
import { doorDocument, gatewayDocument } from '../../src/contract/openapi.js';
import { routeList } from '../../src/contract/routes.js';
import { isServed, servedParts, type ServedPart } from '../../src/contract/served.js';
import type { LimitsResponse } from '../../src/contract/limits.js';
import { how } from '../../src/receipts/how.js';
import { gatewaySays } from '../../src/info/openapi.js';
import { limits, rateLimits } from '../../src/info/limits.js';
import { openTiers } from '../support/access.js';

const machine = { platform: 'linux', cores: 1 } as const;

function served(SERVE: string) {
  return readConfiguration({ SERVE }, machine);
}

describe('SERVE', () => {
  test('is all parts unless it names some, in the order of the contract', () => {
    const all = served('');
    assert.ok('configuration' in all);
    assert.deepEqual(all.configuration.serve, servedParts);
    const some = served(' normalize, fuse,fuse');
    assert.ok('configuration' in some);
    assert.deepEqual(some.configuration.serve, ['fuse', 'normalize']);
  });

  test('has the storing tools only if it names them, together with their protocol and the door', () => {
    const read = served('mcp-write,door,mcp');
    assert.ok('configuration' in read);
    assert.deepEqual(read.configuration.serve, ['door', 'mcp', 'mcp-write']);
    for (const SERVE of ['mcp-write', 'mcp,mcp-write', 'door,mcp-write']) {
      const wrong = served(SERVE);
      assert.ok('errors' in wrong, SERVE);
      assert.match(wrong.errors.join(), /^SERVE names mcp-write, which needs mcp and door\./);
    }
  });

  test('suggests the nearest part for an unknown one', () => {
    const wrong = served('fuse,chekout');
    assert.ok('errors' in wrong);
    assert.match(
      wrong.errors.join(),
      /"chekout" is not one of them, did you mean checkout; it is "fuse,chekout"/,
    );
  });

  test('refuses a port for a door that is not served', () => {
    const read = readConfiguration({ SERVE: 'fuse', DOOR_PORT: '0' }, machine);
    assert.ok('errors' in read);
    assert.match(read.errors.join(), /^DOOR_PORT is set, but SERVE names neither door nor explore\./);
    assert.ok('configuration' in readConfiguration({ SERVE: 'explore', DOOR_PORT: '0' }, machine));
  });
});

/** Routes of the documents of a server with these parts. */
function described(serve: readonly ServedPart[]): string[] {
  const documents = [gatewayDocument(gatewaySays, serve), doorDocument('/', { how }, serve)];
  return documents.flatMap(({ paths }) => Object.keys(paths ?? {}));
}

describe('a part that is not served', () => {
  test('has no route, and none in a document', () => {
    for (const part of servedParts) {
      const without = servedParts.filter((each) => each !== part);
      const gone = routeList.filter((route) => !isServed(route, without));
      assert.ok(gone.length > 0, `${part} has routes of its own`);
      for (const route of gone) assert.ok(isServed(route, [part]), route.id);
      const paths = new Set(described(without));
      const left = routeList.filter((route) => isServed(route, without)).map(({ path }) => path);
      for (const { path } of gone) assert.ok(left.includes(path) || !paths.has(path), path);
    }
  });

  test('does not take away the information about the service', () => {
    const paths = described(['fuse']);
    for (const path of ['/', '/health', '/ready', '/v1/limits', '/openapi.json', '/v1/fuse']) {
      assert.ok(paths.includes(path), path);
    }
    assert.ok(!paths.some((path) => /checkout|audit|normalize|dream|graph|leads|pricing/.test(path)));
    const document: unknown = gatewayDocument(gatewaySays, ['fuse']);
    const { tags } = document as { readonly tags?: readonly { readonly name: string }[] };
    assert.deepEqual(
      tags?.map(({ name }) => name),
      ['fuse', 'information'],
    );
  });

  test('has no limits in the list', async () => {
    const perMinute = { audits: 6, leads: 10, checkout: 10, submissions: 60, previews: 60, markers: 300 };
    const more = { clicks: 600, explorations: 300, polls: 120, pages: 600, cardEvents: 6_000 };
    const rates = rateLimits(openTiers(), { ...perMinute, ...more });
    const answer = await (limits(rates, undefined, ['fuse']) as unknown as () => unknown)();
    const { body } = answer as { readonly body: { readonly json: LimitsResponse } };
    const names = body.json.rates.map(({ name }) => name);
    for (const name of ['audits', 'leads', 'checkout', 'submissions', 'explorations', 'polls']) {
      assert.ok(!names.includes(name), name);
    }
    assert.ok(names.includes('anonymous.requests'));
    assert.deepEqual(
      body.json.bodies.map(({ route }) => route),
      [
        'fuse',
        'putCorpus',
        'putProfile',
        'rerankV2',
        'rerankV1',
        'rerank',
        'rerankVoyage',
        'usageShown',
        'rotateKey',
      ],
    );
  });
});
