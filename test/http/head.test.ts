/**
 * Heads of requests: the lines of a field, what remains after a request, and the declared length of a body.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { declaredLength, fieldOf, isPrefetch, KeptHead, readPath, RequestHead } from '../../src/http/head.js';
import type { HttpRequest, HttpResponse } from '../../src/http/uws.js';

type Line = readonly [name: string, value: string];

/** A request as uWebSockets.js has it until its callback ends. */
class Sent {
  isReleased = false;

  constructor(
    private readonly lines: readonly Line[],
    private readonly method = 'get',
    private readonly parameters: readonly string[] = [],
  ) {}

  private held<Value>(value: Value): Value {
    assert.ok(!this.isReleased, 'uWebSockets.js has released the request');
    return value;
  }

  readonly request = {
    getHeader: (name: string) => this.held(this.lines.find(([field]) => field === name)?.[1] ?? ''),
    getMethod: () => this.held(this.method),
    getParameter: (index: number) => this.held(this.parameters[index]),
    forEach: (each: (field: string, value: string) => void) => {
      for (const [name, value] of this.held(this.lines)) each(name, value);
    },
  } as unknown as HttpRequest;

  readonly response = {
    getRemoteAddress: () => this.held(Uint8Array.of(192, 0, 2, 1).buffer),
  } as unknown as HttpResponse;
}

const lines: readonly Line[] = [
  ['x-api-key', 'key'],
  ['x-forwarded-for', '192.0.2.1, 192.0.2.2'],
  ['authorization', 'Bearer token'],
  ['forwarded', 'for=192.0.2.3'],
  ['x-other', 'first'],
  ['x-forwarded-for', '192.0.2.4'],
  ['x-other', 'second'],
  ['forwarded', 'for=192.0.2.5'],
];
const proxied = '192.0.2.1, 192.0.2.2, 192.0.2.4';
const forwarded = 'for=192.0.2.3, for=192.0.2.5';

describe('a head', () => {
  test('has the first line of a field, or all of them in their order', () => {
    const { request, response } = new Sent(lines);
    const head = new RequestHead(request, response);
    assert.equal(head.field('x-other'), 'first');
    assert.deepEqual([head.allOf('x-other'), head.allOf('x-api-key')], ['first, second', 'key']);
    assert.deepEqual([head.allOf('x-forwarded-for'), head.allOf('forwarded')], [proxied, forwarded]);
    assert.deepEqual([head.field('x-none'), head.allOf('x-none')], ['', '']);
    assert.deepEqual([...head.peer()], [192, 0, 2, 1]);
  });

  test('is of a HEAD request only if that is its method', () => {
    for (const method of ['head', 'get', 'post']) {
      const { request, response } = new Sent([], method);
      assert.equal(new RequestHead(request, response).isHead(), method === 'head', method);
    }
  });

  test('that is kept has what access reads, even after the request is released', () => {
    for (const sent of [new Sent(lines), new Sent([])]) {
      const head = new RequestHead(sent.request, sent.response);
      const single = ['x-api-key', 'authorization'].map((name) => head.field(name));
      const all = ['x-api-key', 'authorization', 'x-forwarded-for', 'forwarded'];
      const listed = all.map((name) => head.allOf(name));
      const peer = head.peer();
      const kept = new KeptHead(sent.request, sent.response, peer);
      sent.isReleased = true;
      assert.deepEqual(
        ['x-api-key', 'authorization'].map((name) => kept.field(name)),
        single,
      );
      assert.deepEqual(
        all.map((name) => kept.allOf(name)),
        listed,
      );
      assert.deepEqual(kept.peer(), peer);
      assert.equal(kept.isHead(), false);
      assert.throws(() => kept.field('x-other'), /x-other is not kept of a head/);
      assert.throws(() => kept.allOf('x-other'), /x-other is not kept of a head/);
    }
  });
});

test('a handler reads all lines of the fields that proxies extend, and the first line of others', () => {
  const { request, response } = new Sent(lines);
  const of = (name: string): string => fieldOf(name, request, response);
  assert.deepEqual(['x-forwarded-for', 'forwarded', 'x-other', 'x-none'].map(of), [
    proxied,
    forwarded,
    'first',
    '',
  ]);
});

test('a path’s parameters are decoded, and no name of one is special', () => {
  const names = ['id', '__proto__', 'toString', 'last'];
  const { request } = new Sent([], 'get', ['a%20b', 'c', '100%']);
  const path = readPath(request, names);
  assert.deepEqual(Object.entries(path), [
    ['id', 'a b'],
    ['__proto__', 'c'],
    ['toString', '100%'],
    ['last', ''],
  ]);
  assert.equal(readPath(request, [])['constructor'], undefined);
});

test('a prefetch is recognized by either of two fields', () => {
  const of = (...given: readonly Line[]): boolean => isPrefetch(new Sent(given).request);
  for (const purpose of ['prefetch', 'prefetch;prerender', 'prefetch;anonymous-client-ip']) {
    assert.ok(of(['sec-purpose', purpose]), purpose);
  }
  assert.ok(of(['purpose', 'prefetch']));
  for (const line of [
    ['purpose', 'preview'],
    ['sec-purpose', 'other'],
    ['x-purpose', 'prefetch'],
  ] as const) {
    assert.ok(!of(line), line.join());
  }
  assert.ok(!of());
});

test('a body has its declared length; a chunked one has none, and no field means no body', () => {
  const of = (...given: readonly Line[]): number => declaredLength(new Sent(given).request);
  assert.deepEqual(
    ['0', '1', '00017', '1048576'].map((text) => of(['content-length', text])),
    [0, 1, 17, 1_048_576],
  );
  assert.equal(of(['content-length', 'x']), NaN);
  assert.equal(of(['transfer-encoding', 'chunked']), -1);
  assert.equal(of(['content-length', '5'], ['transfer-encoding', 'chunked']), 5);
  assert.equal(of(), 0);
});
