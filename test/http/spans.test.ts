/**
 * Spans of requests, over real sockets: what they contain, what they never contain, and what belongs to them.
 */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { agentFor, askNode } from '../../src/checkout/httpsJson.js';
import { tracedStore } from '../../src/compose/tracedStore.js';
import { tracedSend } from '../../src/compose/webhooks.js';
import { methodOf } from '../../src/http/spans.js';
import type { ServerTiming } from '../../src/http/settings.js';
import type { Outcome, Store } from '../../src/store/store.js';
import { systemClock } from '../../src/system/clock.js';
import { activeSpan, type SpanRecord } from '../../src/telemetry/tracer.js';
import { HandClock } from '../support/handClock.js';
import { Collector } from '../telemetry/collector.js';
import { tracerOf } from '../telemetry/recording.js';
import { until } from '../support/until.js';
import { startServer } from '../support/http.js';
import { exchange, head, post, RawClient } from '../support/raw.js';
import { route, text } from './routes.js';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';
const sampled = { traceparent: `00-${traceId}-${spanId}-01`, tracestate: 'rojo=1' };

/** A node that keeps what it is asked. */
const node = await Collector.start();
after(() => node.stop());

/** A store that does nothing but answer. */
const done: Outcome = { kind: 'done', positions: [] };
const store = tracedStore({ commit: () => Promise.resolve(done) } as unknown as Store);

const ask = (isOwn: boolean) =>
  askNode(new URL('/v1/invoice/secret-hash', node.url), { agent: agentFor(node.url), isOwn }, systemClock);

let ended: (() => void) | undefined;
const routes = [
  { route: route({ id: 'order', path: '/orders/{order_id}' }), handler: () => text('order') },
  {
    route: route({ id: 'works', path: '/works', method: 'POST' }),
    handler: async () => {
      await store.commit([]);
      await ask(true);
      await ask(false);
      return text('done');
    },
  },
  { route: route({ id: 'fails', path: '/fails' }), handler: () => text('no', 503) },
  {
    route: route({ id: 'status', path: '/status' }),
    handler: ({ query }: { query: Readonly<Record<string, string>> }) => text('', Number(query['of'])),
  },
  {
    route: route({ id: 'waits', path: '/waits' }),
    handler: () => new Promise<ReturnType<typeof text>>((resolve) => (ended = () => resolve(text('late')))),
  },
  {
    route: route({ id: 'lingers', path: '/lingers' }),
    handler: () => {
      void until(() => spans.length === 1).then(() => (lingering = { span: activeSpan() }));
      return text('now');
    },
  },
];
let lingering: { readonly span: unknown } | undefined;

const { tracer, spans } = tracerOf('parentbased_always_on');
const { port } = await startServer({ routes, tracer });

/** The spans of one request, which has ended. */
async function spansOf(request: string | Uint8Array, count = 1): Promise<SpanRecord[]> {
  spans.length = 0;
  await exchange(port, request);
  await until(() => spans.length === count);
  return [...spans];
}

describe('a request’s span', () => {
  test('continues the caller’s trace, and says what was asked and answered', async () => {
    const [span] = await spansOf(
      head('GET', '/orders/abc?claim=token', { ...sampled, 'x-request-id': 'r1' }),
    );
    assert.equal(span?.traceId, traceId);
    assert.equal(span.parentSpanId, spanId);
    assert.deepEqual([span.isParentRemote, span.state, span.kind], [true, 'rojo=1', 'server']);
    assert.equal(span.name, 'GET /orders/{order_id}');
    assert.deepEqual(span.attributes, {
      'http.request.method': 'GET',
      'url.scheme': 'http',
      'network.protocol.version': '1.1',
      'http.request.body.size': 0,
      'http.response.body.size': 5,
      'fusegate.request.id': 'r1',
      'fusegate.route': 'order',
      'http.route': '/orders/{order_id}',
      'url.path': '/orders/{order_id}',
      'http.response.status_code': 200,
    });
    assert.equal(span.hasFailed, false);
    assert.ok(span.endMs >= span.startMs && Math.abs(span.endMs - Date.now()) < 60_000);
  });

  test('holds nothing of a path, a query, a header or an address', async () => {
    const secret = 'hunter2';
    const fields = { ...sampled, 'x-api-key': secret, 'user-agent': secret, referer: `http://x/${secret}` };
    const paths = [`/orders/${secret}?t=${secret}`, `/${secret}`];
    for (const path of paths) {
      const [span] = await spansOf(head('GET', path, fields));
      assert.doesNotMatch(JSON.stringify(span), /hunter2|127\.0\.0\.1/);
    }
    const [wrong] = await spansOf(head('BREW', '/orders/1', fields));
    assert.equal(wrong?.attributes['http.request.method'], '_OTHER');
    assert.equal(wrong.attributes['http.response.status_code'], 405);
    const [missing] = await spansOf(head('GET', '/nowhere', fields));
    assert.equal(missing?.name, 'GET');
    assert.equal(missing.attributes['http.route'], undefined);
  });

  test('has failed from status 500 on, and if the connection closes first', async () => {
    const [span] = await spansOf(head('GET', '/fails'));
    assert.deepEqual([span?.hasFailed, span?.attributes['error.type']], [true, '503']);
    spans.length = 0;
    const client = await RawClient.open(port);
    client.send(head('GET', '/waits'));
    await until(() => ended !== undefined);
    client.socket.destroy();
    await until(() => spans.length === 1);
    assert.equal(spans[0]?.attributes['error.type'], 'aborted');
    assert.equal(spans[0].attributes['http.response.status_code'], undefined);
    ended?.();
    await pause(20);
    assert.equal(spans.length, 1, 'it ends once');
  });

  test('has failed with a status of 500, and has not with 499', async () => {
    for (const [status, hasFailed] of [
      [499, false],
      [500, true],
    ] as const) {
      const [span] = await spansOf(head('GET', `/status?of=${status}`));
      assert.deepEqual(
        [span?.hasFailed, span?.attributes['error.type']],
        [...[hasFailed, hasFailed ? `${status}` : undefined]],
      );
    }
  });

  test('has the method of its request if it is one of HTTP’s', () => {
    const methods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'CONNECT', 'TRACE'];
    const named = (method: string): string => methodOf({ getMethod: () => method });
    assert.deepEqual(methods.map(named), methods);
    assert.deepEqual(['get', 'BREW', ''].map(named), ['GET', '_OTHER', '_OTHER']);
  });

  test('is recorded or not, as the caller says', async () => {
    await spansOf(head('GET', '/fails', { traceparent: `00-${traceId}-${spanId}-00` }), 0);
    const [span] = await spansOf(head('GET', '/fails', { traceparent: 'nonsense', tracestate: 'rojo=1' }));
    assert.notEqual(span?.traceId, traceId);
    assert.deepEqual([span?.parentSpanId, span?.state], [undefined, '']);
  });

  test('has the units and the calls that the request makes as its children', async () => {
    node.received.length = 0;
    const all = await spansOf(post('/works', '{}', sampled), 4);
    const [unit, own, other, request] = all;
    assert.ok(all.every((span) => span.traceId === traceId));
    for (const child of [unit, own, other]) assert.equal(child?.parentSpanId, request?.spanId);
    assert.deepEqual([unit?.name, unit?.attributes['fusegate.store.outcome']], ['store commit', 'done']);
    assert.deepEqual([own?.kind, own?.attributes['http.response.status_code']], ['client', 200]);
    assert.doesNotMatch(JSON.stringify(all), /secret-hash/);
    const [toOwn, toOther] = node.received;
    assert.equal(toOwn?.headers['traceparent'], `00-${traceId}-${own?.spanId}-01`);
    assert.equal(toOwn.headers['tracestate'], 'rojo=1');
    assert.deepEqual(
      [toOther?.headers['traceparent'], toOther?.headers['tracestate']],
      [undefined, undefined],
    );
  });

  test('does not include what goes on after its end', async () => {
    await spansOf(head('GET', '/lingers', sampled));
    await until(() => lingering !== undefined);
    assert.equal(lingering?.span, undefined);
  });
});

describe('spans', () => {
  test('are limited by the second, however many callers ask to be recorded', () => {
    const clock = new HandClock();
    const bounded = tracerOf('parentbased_always_on', { clock });
    const asked = { getHeader: (name: string) => sampled[name as keyof typeof sampled] };
    for (let second = 1; second <= 2; second += 1) {
      for (let at = 0; at < 5_000; at += 1) bounded.tracer.take(asked)?.end({});
      assert.equal(bounded.spans.length, second * 1_000);
      assert.equal(bounded.counts.dropped, second * 4_000);
      clock.leap(1_000);
    }
  });

  test('of messages to webhooks are traces of their own, which the receiver can continue', async () => {
    const sent: Readonly<Record<string, string>>[] = [];
    const status = { status: 410, retryAfterS: undefined };
    const send = (_: string, fields: Readonly<Record<string, string>>) => {
      sent.push(fields);
      return Promise.resolve(status);
    };
    const own = tracerOf('always_on');
    const traced = tracedSend(send, own.tracer);
    const given = [
      'https://receiver.example/secret',
      { 'webhook-id': '1' },
      '{}',
      AbortSignal.any([]),
    ] as const;
    assert.equal(await traced(...given), status);
    const [span] = own.spans;
    assert.deepEqual(sent, [{ 'webhook-id': '1', traceparent: `00-${span?.traceId}-${span?.spanId}-01` }]);
    assert.deepEqual([span?.parentSpanId, span?.hasFailed], [undefined, true]);
    assert.doesNotMatch(JSON.stringify(span), /secret/);
    await tracedSend(send, tracerOf('always_off').tracer)(...given);
    await tracedSend(send, undefined)(...given);
    assert.deepEqual(sent.slice(1), [{ 'webhook-id': '1' }, { 'webhook-id': '1' }]);
  });
});

/** What an answer says of time, in order; each is a metric of the field's syntax. */
async function timesOf(
  at: number,
  request: string | Uint8Array,
): Promise<readonly (readonly [string, number])[]> {
  const field = (await exchange(at, request)).headers.get('server-timing');
  if (field === undefined) return [];
  return field.split(', ').map((metric) => {
    const [, name = '', ms = ''] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+);dur=(\d+\.\d{3})$/.exec(metric) ?? [];
    assert.notEqual(name, '', field);
    return [name, Number(ms)];
  });
}

describe('Server-Timing', () => {
  test('has the stages of a request if set so, and nothing is recorded or passed on for it', async () => {
    const unsent = tracerOf('always_off', { hasStages: true });
    const staged = await startServer({ routes, clock: systemClock, tracer: unsent.tracer, timing: 'stages' });
    node.received.length = 0;
    const times = await timesOf(staged.port, post('/works', '{}', sampled));
    assert.deepEqual(
      times.map(([name]) => name),
      ['receive', 'store', 'upstream', 'works', 'app'],
    );
    const ms = times.map(([, each]) => each);
    const whole = ms.pop() ?? 0;
    const parts = ms.reduce((sum, each) => sum + each, 0);
    assert.ok(Math.abs(parts - whole) < 0.01, `${parts} of ${whole}`);
    assert.ok((new Map(times).get('upstream') ?? 0) > 0);
    assert.deepEqual(unsent.spans, []);
    assert.ok(node.received.every(({ headers }) => headers['traceparent'] === undefined));
    const names = async (request: string) => (await timesOf(staged.port, request)).map(([name]) => name);
    assert.deepEqual(await names(head('GET', '/orders/1')), ['receive', 'order', 'app']);
    assert.deepEqual(await names(head('GET', '/nowhere')), ['app']);
  });

  test('works together with traces', async () => {
    const sent = tracerOf('always_on', { hasStages: true });
    const staged = await startServer({ routes, tracer: sent.tracer, timing: 'stages' });
    const times = await timesOf(staged.port, post('/works', '{}'));
    assert.deepEqual(times.length, 5);
    await until(() => sent.spans.length === 4);
  });

  test('otherwise has only the whole time, on timed routes, or is off', async () => {
    const timed = [{ route: route({ id: 'timed', path: '/timed', timed: true }), handler: () => text('x') }];
    const names = async (timing: ServerTiming) => {
      const { port: at } = await startServer({ routes: timed, tracer, timing });
      return (await timesOf(at, head('GET', '/timed'))).map(([name]) => name);
    };
    assert.deepEqual(await names('total'), ['app']);
    assert.deepEqual(await names('off'), []);
  });
});
