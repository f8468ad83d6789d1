/** Routing, fields and statuses of http, over real sockets (RFC 9110, Fetch). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { HttpProblem } from '../../src/contract/problem.js';
import { startServer } from '../support/http.js';
import { route } from './routes.js';
import { exchange, head, post, RawClient } from '../support/raw.js';

const { port, logged, server } = await startServer();

const bodyText = async (request: string | Uint8Array): Promise<string> =>
  (await exchange(port, request)).body.toString();

describe('routing', () => {
  test('a route answers', async () => {
    const response = await exchange(port, head('GET', '/hello'));
    assert.equal(response.status, 200);
    assert.equal(response.body.toString(), '{"hello":"world"}');
    assert.equal(response.headers.get('content-type'), 'application/json');
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
  });

  test('a wrong path is 404, whatever the method', async () => {
    for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS', 'BREW']) {
      const response = await exchange(port, head(method, '/nowhere'));
      assert.equal(response.status, 404, method);
      assert.equal(response.body.toString(), '{"detail":"Not Found"}');
      assert.match(response.headers.get('x-request-id') ?? '', /^[A-Za-z0-9._-]{1,64}$/);
    }
  });

  test('HEAD has no body, whatever the path', async () => {
    for (const [path, status, length] of [
      ['/nowhere', 404, '22'],
      ['/echo', 405, undefined],
      ['/hello', 200, undefined],
    ] as const) {
      const client = await RawClient.open(port);
      // The next answer begins where the first one ends.
      client.send(head('HEAD', path) + head('GET', '/nowhere'));
      const first = await client.response({ bodyless: true });
      assert.equal(first.status, status, path);
      if (length !== undefined) assert.equal(first.headers.get('content-length'), length);
      const next = await client.response();
      assert.deepEqual([next.status, next.body.toString()], [404, '{"detail":"Not Found"}'], path);
      client.destroy();
    }
  });

  test('a wrong path near a route is told that route', async () => {
    const near: readonly (readonly [string, string, string])[] = [
      ['GET', '/helo', 'GET /hello'],
      ['GET', '/v1/HELLO/', 'GET /hello'],
      ['POST', '/v1/eco', 'POST /echo'],
    ];
    for (const [method, path, named] of near) {
      const body = (await exchange(port, head(method, path))).body.toString();
      const { detail, message, nearest } = JSON.parse(body) as HttpProblem;
      assert.deepEqual([detail, message], ['Not Found', `There is no such path. The nearest is ${named}.`]);
      assert.equal(`${nearest?.method} ${nearest?.path}`, named);
    }
    for (const far of ['/', `/hello${'o'.repeat(200)}`, '/%68ello', '/hello/hello', '/////']) {
      assert.equal(await bodyText(head('GET', far)), '{"detail":"Not Found"}', far);
    }
  });

  test('a wrong method is 405 with Allow', async () => {
    const onGet = await exchange(port, post('/hello', 'x'));
    assert.deepEqual([onGet.status, onGet.headers.get('allow')], [405, 'GET, HEAD, OPTIONS']);
    const told = '{"detail":"Method Not Allowed","message":"This path takes GET and HEAD."}';
    assert.equal(onGet.body.toString(), told);
    const onPost = await exchange(port, head('GET', '/echo'));
    assert.deepEqual([onPost.status, onPost.headers.get('allow')], [405, 'POST, OPTIONS']);
    const lowerCase = await exchange(port, head('get', '/hello'));
    assert.equal(lowerCase.status, 405, 'methods are case-sensitive');
  });

  test('a refused request with a small body keeps the connection, and a large one closes it', async () => {
    const client = await RawClient.open(port);
    assert.equal((await client.send(post('/nowhere', 'some bytes')).response()).status, 404);
    assert.equal((await client.send(head('GET', '/hello')).response()).status, 200);
    const large = await client.send(head('POST', '/nowhere', { 'Content-Length': '20000000' })).response();
    assert.deepEqual([large.status, large.headers.get('connection')], [404, 'close']);
    await client.end();
  });

  test('fixed segments win over parameters; an empty parameter is no match', async () => {
    assert.equal(await bodyText(head('GET', '/items/fixed/parts/one')), 'fixed');
    assert.match(await bodyText(head('GET', '/items/fixed/parts/two')), /"part":"two"/);
    assert.equal((await exchange(port, head('GET', '/items//parts/x'))).status, 404);
  });
});

test('refusals for lack of something are logged together, not a line each', async () => {
  const busy = { status: 503, body: { bytes: '{}', type: 'application/json' }, charge: 0 };
  const answers = { route: route({ id: 'busy', path: '/busy' }), handler: () => busy };
  const own = await startServer({ routes: [answers] });
  own.server.metrics();
  for (let count = 0; count < 20; count += 1) {
    assert.equal((await exchange(own.port, head('GET', '/busy'))).status, 503);
  }
  await own.server.drain(1_000);
  const told = own.logged.filter(({ level }) => level !== 'debug');
  assert.deepEqual(
    told.map(({ level, fields, message }) => [level, fields, message]),
    [['warn', { answers: { 'busy 503': 20 } }, 'requests could not be served']],
  );
});

describe('parameters', () => {
  const parameters = async (target: string): Promise<unknown> =>
    JSON.parse(await bodyText(head('GET', target)));

  test('are percent-decoded; malformed escapes stay, and invalid UTF-8 is replaced', async () => {
    assert.deepEqual(
      await parameters('/items/a%2Fb%20%C3%A9/parts/%zz%4?q=%E4%BD%A0&bad=%ff%2&plus=a+b%2B'),
      {
        path: { item: 'a/b é', part: '%zz%4' },
        query: { q: '你', bad: '\ufffd%2', plus: 'a b+' },
      },
    );
  });

  test('that are repeated count by their last value, and no name is special', async () => {
    assert.deepEqual(await parameters('/items/1/parts/2?a=1&a=2&b&=x&__proto__=p&c=d=e'), {
      path: { item: '1', part: '2' },
      query: { a: '2', b: '', '': 'x', ['__proto__']: 'p', c: 'd=e' },
    });
  });
});

describe('HEAD', () => {
  test('answers as GET does, without the body, and the connection stays open', async () => {
    const client = await RawClient.open(port);
    for (const target of ['/hello', '/later', '/large?bytes=1000000', '/nothing', '/broken']) {
      const get = await client.send(head('GET', target)).response();
      const withoutBody = await client.send(head('HEAD', target)).response({ bodyless: true });
      assert.equal(withoutBody.status, get.status, target);
      for (const name of ['content-length', 'content-type', 'x-content-type-options', 'vary']) {
        assert.equal(withoutBody.headers.get(name), get.headers.get(name), `${target} ${name}`);
      }
      assert.equal(client.received.length, 0, target);
    }
    client.destroy();
  });

  test('never acts, and neither does a prefetch', async () => {
    assert.equal(await bodyText(head('GET', '/act')), 'acted 1 times');
    await exchange(port, head('HEAD', '/act'));
    assert.equal(
      await bodyText(head('GET', '/act', { 'Sec-Purpose': 'prefetch;prerender' })),
      'acted 1 times',
    );
    assert.equal(await bodyText(head('GET', '/act', { Purpose: 'prefetch' })), 'acted 1 times');
    assert.equal(await bodyText(head('GET', '/act')), 'acted 2 times');
  });
});

describe('cross-origin requests', () => {
  const origin = { Origin: 'https://example.org' };

  test('an open route may be read by any origin, without credentials', async () => {
    const { headers } = await exchange(port, head('GET', '/hello', origin));
    assert.equal(headers.get('access-control-allow-origin'), '*');
    assert.match(
      headers.get('access-control-expose-headers') ?? '',
      /X-Request-Id, Server-Timing, RateLimit/,
    );
    assert.equal(headers.has('access-control-allow-credentials'), false);
    assert.equal(headers.get('vary'), 'Origin');
    assert.equal(
      (await exchange(port, head('GET', '/hello'))).headers.has('access-control-allow-origin'),
      false,
    );
    assert.equal((await exchange(port, head('GET', '/hello'))).headers.get('vary'), 'Origin');
  });

  test('errors of an open route may be read too, and a closed route allows nothing', async () => {
    const wrong = await exchange(port, head('DELETE', '/echo', origin));
    assert.equal(wrong.headers.get('access-control-allow-origin'), '*');
    assert.equal(
      (await exchange(port, head('GET', '/later', origin))).headers.has('access-control-allow-origin'),
      false,
    );
  });

  test('a preflight names methods, header fields and its age', async () => {
    const fields = {
      ...origin,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'x-api-key',
    };
    const { status, headers, body } = await exchange(port, head('OPTIONS', '/echo', fields));
    assert.deepEqual([status, body.length, headers.has('content-length')], [204, 0, false]);
    assert.equal(headers.get('access-control-allow-origin'), '*');
    assert.equal(headers.get('access-control-allow-methods'), 'POST, OPTIONS');
    assert.match(headers.get('access-control-allow-headers') ?? '', /Content-Type, X-API-Key/);
    assert.equal(headers.get('access-control-max-age'), '86400');
    const closed = await exchange(port, head('OPTIONS', '/later', fields));
    assert.deepEqual([closed.status, closed.headers.get('allow')], [204, 'GET, HEAD, OPTIONS']);
    assert.equal(closed.headers.has('access-control-allow-methods'), false);
  });
});

describe('X-Request-Id', () => {
  const idOf = async (fields = {}): Promise<string> =>
    (await exchange(port, head('GET', '/hello', fields))).headers.get('x-request-id') ?? '';

  test('an acceptable one is kept, another replaced', async () => {
    assert.equal(await idOf({ 'X-Request-Id': 'Client.id_1-2' }), 'Client.id_1-2');
    for (const bad of ['a b', 'x'.repeat(65), 'é', 'a;b']) {
      const id = await idOf({ 'X-Request-Id': bad });
      assert.match(id, /^[A-Za-z0-9._-]{1,64}$/);
      assert.notEqual(id, bad);
    }
  });

  test('the server’s own ids differ', async () => {
    const ids = await Promise.all(Array.from({ length: 50 }, () => idOf()));
    assert.equal(new Set(ids).size, 50);
  });
});

describe('answers', () => {
  test('Server-Timing is sent on timed routes only', async () => {
    assert.match(
      (await exchange(port, post('/echo', 'x'))).headers.get('server-timing') ?? '',
      /^app;dur=\d+\.\d{3}$/,
    );
    assert.equal((await exchange(port, head('GET', '/hello'))).headers.has('server-timing'), false);
  });

  test('a broken invariant is 500 without its reason, which stands in the log under the id', async () => {
    for (const target of ['/broken', '/rejected']) {
      const id = `failing${target.slice(1)}`;
      const response = await exchange(port, head('GET', target, { 'X-Request-Id': id }));
      assert.equal(response.status, 500);
      assert.equal(response.body.toString(), '{"detail":"Internal Server Error"}');
      const line = logged.find(
        ({ fields, message }) => fields['requestId'] === id && message === 'request failed',
      );
      assert.match((line?.fields['err'] as Error).message, /a secret detail/);
    }
  });

  test('no header line can be injected', async () => {
    const response = await exchange(port, head('GET', '/injected?given=a%0D%0ASet-Cookie:%20b'));
    assert.equal(response.status, 500);
    assert.equal(response.headers.has('set-cookie'), false);
    assert.equal(
      (await exchange(port, head('GET', '/injected?given=plain'))).headers.get('x-given'),
      'plain',
    );
  });

  test('a declared request header reaches the handler', async () => {
    assert.equal(await bodyText(head('GET', '/headers', { 'X-API-Key': 'fg_x' })), 'fg_x');
    assert.equal(await bodyText(head('GET', '/headers')), '');
  });

  test('log lines hold no path, query or header', async () => {
    await exchange(port, head('GET', '/items/private/parts/p?q=private', { 'User-Agent': 'private' }));
    const line = logged.at(-1);
    assert.equal(line?.fields['route'], 'item');
    assert.deepEqual(Object.keys(line.fields).sort(), [
      'bytesIn',
      'bytesOut',
      'ms',
      'requestId',
      'route',
      'status',
    ]);
    assert.doesNotMatch(JSON.stringify(logged), /private/);
  });

  test('other requests are served while a handler waits', async () => {
    const client = await RawClient.open(port);
    client.send(post('/slow', 'waits'));
    await pause(20);
    assert.equal((await exchange(port, head('GET', '/hello'))).status, 200);
    assert.equal(client.received.length, 0);
    assert.equal((await client.response()).body.toString(), 'waits');
    client.destroy();
  });
});

test('metrics count by route and status', () => {
  const metrics = server.metrics();
  const valueOf = (name: string, labels: object): number | undefined =>
    metrics
      .find((metric) => metric.name === name)
      ?.values.find((value) => JSON.stringify(value.labels) === JSON.stringify(labels))?.value;
  assert.equal(valueOf('fusegate_http_requests_total', { route: 'broken', status: 500 }), 3);
  assert.equal(valueOf('fusegate_http_requests_in_flight', {}), 0);
  assert.equal(valueOf('fusegate_http_body_bytes', {}), 0);
  const histogram = metrics.find(({ type }) => type === 'histogram');
  const slow = histogram?.values.filter(({ labels }) => labels['route'] === 'slow') ?? [];
  const upTo = (le: number | string): number | undefined =>
    slow.find(({ labels }) => labels['le'] === le)?.value;
  assert.deepEqual([upTo(0.05), upTo(1), upTo('+Inf')], [0, 1, 1]);
});
