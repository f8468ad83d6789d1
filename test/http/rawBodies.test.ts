/**
 * Routes that take their body as raw bytes: however a body is written (names escaped, repeated or unknown),
 * the handler answers what the parsed value gets from the contract's validator.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Answer, RouteRequest } from '../../src/contract/exchange.js';
import { routeList } from '../../src/contract/routes.js';
import { freeAuditRequestType } from '../../src/contract/audit.js';
import { fuseRequestType } from '../../src/contract/fuse.js';
import { normalizeRequestType } from '../../src/contract/normalize.js';
import { shapeOf } from '../../src/contract/schema/shape.js';
import { checkBody } from '../../src/contract/schema/validate.js';
import { native } from '../../src/native/addon.js';
import { audit } from '../../src/pages/audit.js';
import { fuseHandler } from '../../src/search/fuse.js';
import { auditOffLoop } from '../../src/text/auditOffLoop.js';
import { normalizeHandler } from '../../src/text/normalize.js';
import { nearly } from '../contract/arbitrary.js';
import { draws } from '../support/length.js';
import type { ReferenceResponse } from '../reference/fuse.js';
import { withUnknown } from '../reference/unknown.js';
import { style, writeBody } from '../support/bodies.js';
import { answered, requestWith, staticMode } from '../support/embedding.js';
import { assertTakesTurn } from '../support/threadPool.js';

type Raw = 'FuseRequest' | 'NormalizeRequest' | 'FreeAuditRequest';

const types = {
  FuseRequest: fuseRequestType,
  NormalizeRequest: normalizeRequestType,
  FreeAuditRequest: freeAuditRequestType,
} as const;

/** The handler of each schema that comes raw. */
const handlers: Readonly<Record<Raw, (request: RouteRequest) => Answer | Promise<Answer>>> = {
  FuseRequest: fuseHandler({ ...native, embedMode: staticMode() }),
  NormalizeRequest: normalizeHandler(native),
  FreeAuditRequest: audit({
    ...{ ...native, clock: { wallMs: () => 0 }, auditOffLoop: auditOffLoop(native, 1) },
  }),
};

interface Answered {
  readonly status: number;
  readonly value: unknown;
}

async function answerTo(schema: Raw, body: string | Uint8Array): Promise<Answered> {
  const answer = await handlers[schema](requestWith(Buffer.from(body)));
  const value = answered(answer);
  if ('bytes' in answer.body) answer.body.release?.();
  return { status: answer.status, value };
}

/**
 * Places of errors that only the server finds: what a text is, which models and statistics there are, whether
 * a model scores the docs.
 */
const byServer = new Set([
  'body.text',
  'body.embed_model',
  'body.corpus.name',
  'body.diversify.by',
  'body.profile',
  'body.profile.name',
]);

/** A name that only the docs have, or only the rest of a request: found where the docs are read. */
const isAlone = /no doc has a (?:score|value|group)|does not name it/;

function assertAnswered(schema: Raw, body: Uint8Array, { status, value }: Answered): boolean {
  const text = Buffer.from(body).toString();
  const checked = checkBody<unknown>(types[schema], JSON.parse(text));
  if (status === 200) {
    assert.ok(checked.ok, text);
    return true;
  }
  assert.equal(status, 422, text);
  const { detail } = value as { detail: { type: string; loc: unknown[]; msg: string }[] };
  const mine = ({ type, loc, msg }: (typeof detail)[number]): boolean =>
    type === 'value_error' && (byServer.has(loc.join('.')) || isAlone.test(msg));
  const expected: unknown = JSON.parse(JSON.stringify(checked.ok ? [] : checked.errors));
  assert.deepEqual(
    detail.filter((error) => !mine(error)),
    expected,
    text,
  );
  assert.ok(detail.length > 0, text);
  return false;
}

test('every raw route is covered here', () => {
  const raw = routeList.flatMap(({ body }) => (body.kind === 'raw' ? [body.schema.name] : []));
  assert.deepEqual(raw.sort(), Object.keys(handlers).sort());
});

test('long bodies that are refused or audited take their turn in the thread pool', async () => {
  const bodies = {
    FuseRequest: '{"docs":[],"x":"',
    NormalizeRequest: '{"x":"',
    FreeAuditRequest: '{"text":"',
  };
  const reader = new native.BodyReader(['boolean', '-'], false);
  for (const [schema, start] of Object.entries(bodies)) {
    const body = Buffer.from(`${start.padEnd(100_000, 'x')}"}`);
    const { status } = await assertTakesTurn(
      () => answerTo(schema as Raw, body),
      () => reader.readAsync(body, true),
    );
    assert.equal(status, schema === 'FreeAuditRequest' ? 200 : 422);
  }
});

/** Members that name each other, or a language: drawn names hardly ever meet. */
const named = new Set(['scores', 'values', 'legs', 'boosts', 'collapse', 'analyzer', 'corpus', 'profile']);

/** A value without the members of those names. */
function withoutNames(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (name, each: unknown) => (named.has(name) ? undefined : each)));
}

for (const schema of Object.keys(handlers) as Raw[]) {
  test(`${schema}: any value, written in any way`, async () => {
    let valid = 0;
    const values = nearly(shapeOf(types[schema]));
    await fc.assert(
      fc.asyncProperty(values, fc.boolean(), style, async (drawn, plain, how) => {
        const value = plain ? withoutNames(drawn) : drawn;
        const body = writeBody(value, how);
        valid += Number(assertAnswered(schema, body, await answerTo(schema, body)));
      }),
      // The more members a request has, the fewer have all of them right.
      { seed: 20_261_122, numRuns: draws(schema === 'FuseRequest' ? 6_000 : 3_000) },
    );
    assert.ok(valid > draws(150), `${valid} valid`);
  });
}

/** A valid body of each schema up to its closing brace, and its answer. */
const plain: Readonly<Record<Raw, string>> = {
  FuseRequest: '{"query":"a","docs":[{"id":"1","text":"a b","dense_score":1}],"entity_map":{"a":"b"}',
  NormalizeRequest: '{"text":"a \u{201c}b\u{201d}","mode":"augment","chinese_glosses":{"b":"c"}',
  FreeAuditRequest: '{"text":"a\\nb","format":"lines","include_html":false',
};

describe('names that need an escape, or are repeated', () => {
  const unknown = ['x\\"y', '\\\\', '\\u0000', '\\/', '\\ud83d\\ude00', 'te\\u0078t ', '\\n', ''];
  for (const schema of ['FuseRequest', 'NormalizeRequest'] as const) {
    test(`${schema}: an unknown one changes nothing`, async () => {
      const known = await answerTo(schema, `${plain[schema]}}`);
      assert.equal(known.status, 200);
      for (const name of unknown) {
        for (const value of ['1', '"a"', '[{"x\\"y":[]}]', '{"text":5}']) {
          const body = `${plain[schema]},"${name}":${value}}`;
          // Fusion says that it does not know the member; nothing else differs.
          const expected =
            schema === 'FuseRequest'
              ? { ...known, value: withUnknown(known.value as ReferenceResponse, Buffer.from(body)) }
              : known;
          assert.deepEqual(await answerTo(schema, body), expected, body);
        }
      }
    });
  }

  test('the last value of a repeated name counts, right or wrong', async () => {
    const wrong: Readonly<Record<Raw, string>> = {
      FuseRequest: '{"docs":[{"id":1}],"query":[],"entity_map":{"":5},"k1":-1,"k1":1.5,"docs":5,',
      NormalizeRequest: '{"text":5,"mode":"x","chinese_glosses":{"b":[]},"max_changes":1.5,"max_changes":9,',
      FreeAuditRequest: '{"text":5,"format":"x","include_html":1,',
    };
    for (const schema of Object.keys(handlers) as Raw[]) {
      const expected = await answerTo(schema, `${plain[schema]}}`);
      assert.equal(expected.status, 200, schema);
      const body = plain[schema].replace('{', wrong[schema]);
      assert.deepEqual(await answerTo(schema, `${body}}`), expected, body);
      const last = `${plain[schema]}${wrong[schema].replace('{', ',').slice(0, -1)}}`;
      assert.equal((await answerTo(schema, last)).status, 422, last);
    }
  });

  test('the same holds in a map of any names', async () => {
    for (const [schema, name] of [
      ['FuseRequest', 'entity_map'],
      ['NormalizeRequest', 'chinese_glosses'],
    ] as const) {
      const body = (map: string): string => `${plain[schema]},"${name}":${map}}`;
      const expected = await answerTo(schema, body('{"a":"z"}'));
      assert.equal(expected.status, 200);
      for (const map of ['{"a":5,"a":"z"}', '{"\\u0061":"y","a":[{}],"\\u0061":"z"}', '{"a":"y","a":"z"}']) {
        assert.deepEqual(await answerTo(schema, body(map)), expected, map);
      }
      for (const map of ['{"a":"z","a":5}', '{"a":5,"b":"z"}', '{"a":5,"a":"z","\\u0061":5}']) {
        assert.equal((await answerTo(schema, body(map))).status, 422, map);
      }
    }
  });
});
