/**
 * Paths, queries and request ids: how they are read, which route a wrong path meant, and that ids are unique.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { createRequestIds, isAcceptableRequestId } from '../../src/http/identifiers.js';
import { nearestRoute, type NamedRoute } from '../../src/http/nearest.js';
import { noParameters, parseQuery, percentDecode } from '../../src/http/parameters.js';

describe('a value', () => {
  test('is percent-decoded, and stays as it is where an escape is malformed', () => {
    for (const [given, decoded] of [
      ['', ''],
      ['plain é', 'plain é'],
      ['%41%62', 'Ab'],
      ['%C3%A9', 'é'],
      ['%c3%a9', 'é'],
      ['%', '%'],
      ['%4', '%4'],
      ['%zz%41', '%zzA'],
      ['%4g%g4', '%4g%g4'],
      ['%é%4é', '%é%4é'],
      ['100%', '100%'],
      ['é%41%', 'éA%'],
      ['%E9', '\ufffd'],
      ['a%FF%41', 'a\ufffdA'],
      ['%00', '\0'],
      ['+', '+'],
      ['%C3é%A9', '\ufffdé\ufffd'],
      ['%C3%A9%zz%41%42c%FF', 'é%zzABc\ufffd'],
      ['%C3%A9'.repeat(10_000), 'é'.repeat(10_000)],
    ] as const) {
      assert.equal(percentDecode(given), decoded, given);
    }
  });

  test('equals the result of decodeURIComponent, unless that throws', () => {
    const part = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('%', '%4', '%zz', '%C3%A9', '%e2%82%ac'),
    );
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        const text = parts.join('');
        const encoded = encodeURIComponent(text);
        assert.equal(percentDecode(encoded), text);
        assert.equal(percentDecode(encoded.toLowerCase()), decodeURIComponent(encoded.toLowerCase()));
      }),
    );
  });

  test('has each row of escapes replaced by the text of its bytes, and nothing else', () => {
    const naive = (text: string): string =>
      text.replaceAll(/(?:%[\dA-Fa-f]{2})+/g, (row) =>
        Buffer.from(row.replaceAll('%', ''), 'hex').toString('utf8'),
      );
    const part = fc.constantFrom('%', '%', '%', '4', '1', '8', '0', 'f', 'C3', '%C3', '%A9', '%80', 'é', 'x');
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        const text = parts.join('');
        assert.equal(percentDecode(text), naive(text), text);
      }),
      { numRuns: 2_000 },
    );
    for (const text of ['%41x42', '%%41', '%80', '%7f', '%8', '%4%41', '%41%', '1%41']) {
      assert.equal(percentDecode(text), naive(text), text);
    }
  });

  test('costs the same whether its escapes are well formed or not', () => {
    const cost = (unit: string): number => {
      const query = unit.repeat(64_000 / unit.length);
      const times = Array.from({ length: 10 }, () => {
        const before = process.cpuUsage();
        parseQuery(query);
        const { user, system } = process.cpuUsage(before);
        return user + system;
      });
      return Math.min(...times);
    };
    const wellFormed = cost('%41&');
    for (const unit of ['%&', '%ff&', '%4&', '%=%&']) {
      assert.ok(
        cost(unit) < 8 * wellFormed + 2_000,
        `${unit}: ${cost(unit)} µs, ${wellFormed} µs if well formed`,
      );
    }
  });

  test('costs little even if each has another name', () => {
    const query = Array.from({ length: 11_000 }, (_, at) => `%${at}`).join('&');
    const cost = (): number => {
      const times = Array.from({ length: 20 }, () => {
        const before = process.cpuUsage();
        parseQuery(Buffer.from(query).toString());
        const { user, system } = process.cpuUsage(before);
        return user + system;
      });
      return Math.min(...times);
    };
    // A MiB of JSON's numbers takes as long to read on every machine, in proportion.
    const json = JSON.stringify(Array.from({ length: 100_000 }, (_, at) => at));
    const before = process.cpuUsage();
    for (let round = 0; round < 5; round += 1) JSON.parse(json);
    const { user, system } = process.cpuUsage(before);
    const reading = (user + system) / 5;
    assert.ok(cost() < 10 * reading + 5_000, `${cost()} µs, ${reading} µs for JSON`);
  });

  test('of a query has spaces for +, and the last of equal names counts', () => {
    for (const [query, expected] of [
      ['', {}],
      ['a=1&b=2', { a: '1', b: '2' }],
      ['a=1&a=2', { a: '2' }],
      ['a', { a: '' }],
      ['a=', { a: '' }],
      ['=1', { '': '1' }],
      ['&', { '': '' }],
      ['a=b=c', { a: 'b=c' }],
      ['a+b=c+d++', { 'a b': 'c d  ' }],
      ['a%2Bb=%2B', { 'a+b': '+' }],
      ['a%3D=%26&%41=1', { 'a=': '&', A: '1' }],
      ['__proto__=1&toString', { ['__proto__']: '1', toString: '' }],
    ] as const) {
      assert.deepEqual(Object.entries(parseQuery(query)), Object.entries(expected), query);
    }
    assert.equal(parseQuery('a=1')['constructor'], undefined, 'no name is special');
    assert.equal(parseQuery(''), noParameters);
    assert.ok(Object.isFrozen(noParameters) && noParameters['constructor'] === undefined);
  });
});

describe('the nearest route', () => {
  const found = (routes: readonly string[], method: string, path: string): string | undefined => {
    const named = routes.map((route): NamedRoute => {
      const [of = '', template = ''] = route.split(' ');
      return { method: of as NamedRoute['method'], path: template };
    });
    const nearest = nearestRoute(named)(method, path);
    return nearest === undefined ? undefined : `${nearest.method} ${nearest.path}`;
  };
  const near = (template: string, path: string): boolean =>
    found([`GET ${template}`], 'GET', path) !== undefined;

  test('is at most three edits away, and at most half of a name', () => {
    for (const [template, path] of [
      ['/abcdefgh', '/abcdefgh'],
      ['/abcdefgh', '/abcdefXYZ'],
      ['/abcdefgh', '/abcdefghXYZ'],
      ['/abcdefgh', '/abcde'],
      ['/abcdefgh', '/bacdefgh'],
      ['/abcd', '/abXY'],
      ['/abc', '/abX'],
      ['/abcdef/abcdef', '/abcdeX/abcdXY'],
      ['/abcdef/ab', '/abcdXY/ab'],
    ] as const) {
      assert.equal(near(template, path), true, `${template} ${path}`);
    }
    for (const [template, path] of [
      ['/abcdefgh', '/abcdWXYZ'],
      ['/abcdefgh', '/abcdefghWXYZ'],
      ['/abcdefgh', '/abcd'],
      ['/abcd', '/aXYZ'],
      ['/abc', '/aXY'],
      ['/a', '/b'],
      ['/abcdef/abcdef', '/abcdXY/abcdXY'],
      ['/abcdef', '/abcdef/abcdef'],
      ['/abcdef/abcdef', '/abcdef'],
    ] as const) {
      assert.equal(near(template, path), false, `${template} ${path}`);
    }
  });

  test('ignores a version, capitals and slashes', () => {
    for (const path of ['/hello', '/HELLO/', '//hello', '/api/hello', '/v1/hello', '/v22/hello']) {
      assert.equal(near('/hello', path), true, path);
      assert.equal(near('/v1/hello', path), true, path);
    }
    assert.equal(near('/hello', '/vx/hello'), false);
    assert.equal(near('/hello', '/hello/v1'), false);
    assert.equal(near('/Hello', '/hello'), true);
  });

  test('takes any value for a parameter, but a name must match too', () => {
    assert.equal(near('/orders/{id}', '/order/any thing'), true);
    assert.equal(near('/orders/{id}', '/orders'), false);
    assert.equal(near('/{id}', '/hello'), false, 'a parameter alone would be near everything');
    assert.equal(near('/{a}/{b}', '/x/y'), false);
  });

  test('has the method that was used if two are equally near, and otherwise is the nearer one', () => {
    const both = ['GET /hello', 'POST /hello', 'PUT /hello'];
    assert.equal(found(both, 'POST', '/helo'), 'POST /hello');
    assert.equal(found(both, 'BREW', '/helo'), 'GET /hello', 'the first');
    const other = ['GET /hellos', 'POST /hello'];
    assert.equal(found(other, 'GET', '/hello'), 'POST /hello');
    assert.equal(found(other, 'GET', '/helloz'), 'GET /hellos');
    assert.equal(found(['GET /hellos', 'GET /hello'], 'GET', '/hello'), 'GET /hello');
  });

  test('does not exist for a path that is empty or longer than 128 characters', () => {
    for (const path of ['', '/', '//', '/v1', '/api/']) {
      assert.equal(found(['GET /', 'GET /v1', 'GET /hello'], 'GET', path), undefined, path);
    }
    const long = `/${'a'.repeat(127)}`;
    assert.equal(near(long, long), true);
    assert.equal(near(long, `${long}a`), false);
  });
});

describe('request ids', () => {
  test('begin with the same 72 random bits and never come twice', () => {
    const asked: number[] = [];
    const next = createRequestIds((count) => {
      asked.push(count);
      return Buffer.alloc(count, 255);
    });
    const ids = Array.from({ length: 3 * 1_024 + 2 }, () => next());
    assert.deepEqual(asked, [9]);
    assert.equal(new Set(ids).size, ids.length);
    assert.ok(ids.every((id) => id.startsWith('____________.') && isAcceptableRequestId(id)));
    assert.deepEqual(
      [ids[0], ids[1], ids[36], ids[1_023], ids[1_024], ids[3_073]],
      ['000', '001', '010', '0sf', '100', '301'].map((count) => `____________.${count}`),
    );
  });

  test('of clients have 1 to 64 letters, digits, points, underscores and hyphens', () => {
    for (const id of ['a', 'A.b_c-9', 'x'.repeat(64)]) assert.equal(isAcceptableRequestId(id), true, id);
    for (const id of ['', 'x'.repeat(65), 'a b', 'é', 'a\n', 'a/b']) {
      assert.equal(isAcceptableRequestId(id), false, id);
    }
  });
});
