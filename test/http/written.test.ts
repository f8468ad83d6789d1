/**
 * The header lines of an answer, answers of the HTTP layer itself, and what pages of other origins are told.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { answerTooLarge } from '../../src/contract/answer.js';
import type { Answer } from '../../src/contract/exchange.js';
import {
  bodyOf,
  fieldLines,
  lengthOf,
  limitLines,
  stagesLine,
  statusLine,
  timingLine,
} from '../../src/http/answer.js';
import { answerOptions, crossOriginLines } from '../../src/http/cors.js';
import {
  bodyTooLarge,
  internalError,
  lineTooLong,
  methodNotAllowed,
  notFound,
  notFoundNear,
  overloaded,
  requestTimeout,
  storageReserved,
  tooManyFailed,
  unsupportedEncoding,
} from '../../src/http/failures.js';

const text = (bytes: string, type = 'text/plain'): Answer => {
  return { status: 200, body: { bytes, type }, charge: 0 };
};

/** The body of an answer that http gives itself. */
function jsonOf(answer: Answer): Readonly<Record<string, unknown>> {
  const text = bodyOf(answer);
  assert.ok(typeof text === 'string' && ('json' in answer.body || answer.body.type === 'application/json'));
  return JSON.parse(text) as Record<string, unknown>;
}

describe('the lines of an answer', () => {
  test('name the status, with its phrase if it has one', () => {
    assert.deepEqual([statusLine(200), statusLine(404), statusLine(299)], ['200 OK', '404 Not Found', '299']);
  });

  test('give the media type, then the fields of every answer, which the answer’s own override', () => {
    const json: Answer = { status: 200, body: { json: { a: 'é' } }, charge: 0 };
    assert.equal(fieldLines(json), '\r\ncontent-type: application/json');
    assert.equal(fieldLines(text('x')), '\r\ncontent-type: text/plain');
    assert.equal(fieldLines(text('', '')), '');
    const own: Answer = { ...text('x', ''), headers: { a: '1', b: '2' } };
    assert.equal(fieldLines(own), '\r\na: 1\r\nb: 2');
    assert.equal(fieldLines(own, { b: '0', c: '3' }), '\r\nb: 2\r\nc: 3\r\na: 1');
    assert.equal(fieldLines(text('x'), { c: '3' }), '\r\ncontent-type: text/plain\r\nc: 3');
    assert.deepEqual([bodyOf(json), lengthOf(bodyOf(json))], ['{"a":"é"}', 10]);
    assert.deepEqual([bodyOf(text('é')), lengthOf(Buffer.from('é'))], ['é', 2]);
  });

  test('never contain text that could end a line', () => {
    for (const headers of [{ 'a\r\nb': '1' }, { a: '1\r\nb: 2' }, { a: '1\n' }, { A: '1' }, { a: '\0' }]) {
      assert.throws(() => fieldLines({ ...text('x'), headers }), /^Error: Not a legal header field: /);
    }
    assert.equal(fieldLines({ ...text('', ''), headers: { 'a-1': '\tå ~' } }), '\r\na-1: \tå ~');
  });

  test('tell the time in milliseconds, to the microsecond', () => {
    for (const [ms, told] of [
      [0, '0.000'],
      [-5, '0.000'],
      [0.0004, '0.000'],
      [0.0005, '0.001'],
      [0.9999, '1.000'],
      [1.0994, '1.099'],
      [12.05, '12.050'],
      [12_345.678, '12345.678'],
    ] as const) {
      assert.equal(timingLine(ms), `\r\nserver-timing: app;dur=${told}`);
    }
    assert.equal(
      stagesLine(
        [
          ['receive', 1],
          ['fuse', 0.5],
        ],
        2,
      ),
      '\r\nserver-timing: receive;dur=1.000, fuse;dur=0.500, app;dur=2.000',
    );
    assert.equal(stagesLine([], 2), timingLine(2));
  });

  test('give the limits of the sender, if there are any', () => {
    assert.equal(limitLines({ rateLimit: '', rateLimitPolicy: 'p' }), '');
    assert.equal(
      limitLines({ rateLimit: 'r', rateLimitPolicy: 'p' }),
      '\r\nratelimit: r\r\nratelimit-policy: p',
    );
  });
});

describe('answers of the HTTP layer itself', () => {
  test('have the statuses, codes and fields that clients know', () => {
    for (const [answer, status, code, headers] of [
      [requestTimeout, 408, 'body_timeout', undefined],
      [unsupportedEncoding, 415, 'unsupported_encoding', { 'accept-encoding': 'identity' }],
      [overloaded, 503, 'overloaded', { 'retry-after': '1' }],
      [storageReserved, 503, 'storage_reserved', { 'retry-after': '60' }],
      [tooManyFailed, 400, 'invalid_request', undefined],
      [answerTooLarge(3), 413, 'answer_too_large', undefined],
      [bodyTooLarge(3), 413, 'body_too_large', undefined],
      [lineTooLong(3), 413, 'body_too_large', undefined],
      [internalError, 500, undefined, undefined],
      [notFound, 404, undefined, { vary: 'Accept' }],
    ] as const) {
      assert.deepEqual([answer.status, jsonOf(answer)['code'], answer.headers], [status, code, headers]);
      assert.equal(answer.charge, 0);
    }
    assert.deepEqual(jsonOf(notFound), { detail: 'Not Found' });
    assert.deepEqual(jsonOf(internalError), { detail: 'Internal Server Error' });
    assert.match(String(jsonOf(answerTooLarge(3))['detail']), /more than the 3 bytes .+ or use a key\.$/);
    assert.match(String(jsonOf(answerTooLarge(256 << 20))['detail']), / 268435456 bytes .+ or set top_k\.$/);
    assert.match(String(jsonOf(bodyTooLarge(3))['detail']), /\(3 bytes\)\.$/);
    assert.match(String(jsonOf(lineTooLong(3))['detail']), /\(3 bytes\)\.$/);
  });

  test('to a wrong path name the nearest route and the reference, if there are any', () => {
    const nearest = { method: 'GET', path: '/hello' } as const;
    assert.equal(notFoundNear(undefined, undefined), notFound);
    assert.deepEqual(jsonOf(notFoundNear(nearest, '/docs')), {
      detail: 'Not Found',
      message: 'There is no such path. The nearest is GET /hello. /docs lists all paths.',
      nearest,
      docs: '/docs',
    });
    assert.deepEqual(jsonOf(notFoundNear(nearest, undefined)), {
      detail: 'Not Found',
      message: 'There is no such path. The nearest is GET /hello.',
      nearest,
    });
    assert.deepEqual(jsonOf(notFoundNear(undefined, '/docs')), {
      detail: 'Not Found',
      message: 'There is no such path. /docs lists all paths.',
      docs: '/docs',
    });
    assert.equal(notFoundNear(nearest, undefined).status, 404);
    // A browser gets a page: no cache may show it this one.
    assert.deepEqual(notFoundNear(nearest, '/docs').headers, { vary: 'Accept' });
  });

  test('to a wrong method name the methods of the path', () => {
    const told = (...methods: string[]) => {
      const { status, headers } = methodNotAllowed(methods);
      return [status, headers?.['allow'], jsonOf(methodNotAllowed(methods))['message']];
    };
    assert.deepEqual(told('POST'), [405, 'POST, OPTIONS', 'This path takes POST.']);
    assert.deepEqual(told('GET', 'HEAD'), [405, 'GET, HEAD, OPTIONS', 'This path takes GET and HEAD.']);
    assert.deepEqual(told('GET', 'HEAD', 'PUT'), [
      405,
      'GET, HEAD, PUT, OPTIONS',
      'This path takes GET, HEAD and PUT.',
    ]);
    assert.deepEqual(jsonOf(methodNotAllowed(['GET'], '/docs')), {
      detail: 'Method Not Allowed',
      message: 'This path takes GET.',
      docs: '/docs',
    });
  });
});

test('an open path tells a page of another origin what it may send and read', () => {
  const told = {
    'access-control-allow-methods': 'GET, OPTIONS',
    'access-control-allow-headers': 'Content-Type, X-API-Key, X-Request-Id, X-Claim-Token, Idempotency-Key',
    'access-control-max-age': '86400',
    vary: 'Origin, Access-Control-Request-Method',
  };
  const allow = 'GET, OPTIONS';
  const empty = { status: 204, body: { bytes: '', type: '' }, charge: 0 };
  const preflight = answerOptions(allow, true, 'GET');
  assert.deepEqual(Object.keys(preflight.headers ?? {}), ['allow', ...Object.keys(told)], 'in this order');
  assert.deepEqual(preflight, { ...empty, headers: { allow, ...told } });
  assert.deepEqual(answerOptions(allow, true, ''), { ...empty, headers: { allow } });
  assert.deepEqual(answerOptions(allow, false, 'GET'), { ...empty, headers: { allow } });
  assert.equal(
    crossOriginLines,
    '\r\naccess-control-allow-origin: *\r\naccess-control-expose-headers: X-Request-Id, Server-Timing, ' +
      'RateLimit, RateLimit-Policy, Retry-After, Idempotent-Replayed',
  );
});
