/** What a worker counts of its requests, and the metrics that it makes of the counts. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Answer } from '../../src/contract/exchange.js';
import { httpMetrics, RouteMeter } from '../../src/http/meters.js';

/** The values of a metric: labels besides the route, and what was counted. */
function valuesOf(meters: readonly RouteMeter[], name: string): (readonly [string, number])[] {
  const metric = httpMetrics(meters, 7, 3).find((each) => each.name === name);
  assert.ok(metric !== undefined, name);
  return metric.values.map(({ labels, value, metricName = '' }) => {
    const suffix = metricName.replace(name, '');
    return [[suffix, ...Object.values(labels)].join(' ').trim(), value] as const;
  });
}

/** Upper bounds of the buckets (s), as they are documented. */
const bounds = [
  ...[0.00005, 0.0001, 0.00015, 0.0002, 0.0003, 0.0004, 0.0005, 0.00075, 0.001, 0.0015, 0.002, 0.003],
  ...[0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10],
];

describe('metrics of requests', () => {
  test('count answers by route and status, from 100 to 599', () => {
    const [one, other] = [new RouteMeter('one'), new RouteMeter('other')];
    for (const status of [200, 599, 100, 200]) one.count(status, 1, 10, 20);
    other.count(503, 1, 1, 2);
    assert.deepEqual(valuesOf([one, other], 'fusegate_http_requests_total'), [
      ['one 100', 1],
      ['one 200', 2],
      ['one 599', 1],
      ['other 503', 1],
    ]);
    assert.deepEqual(valuesOf([one, other], 'fusegate_http_request_bytes_total'), [
      ['one', 40],
      ['other', 1],
    ]);
    assert.deepEqual(valuesOf([one, other], 'fusegate_http_response_bytes_total'), [
      ['one', 80],
      ['other', 2],
    ]);
  });

  test('have a bucket for every time: the first whose bound is not exceeded', () => {
    const name = 'fusegate_http_request_duration_seconds';
    for (const [at, bound] of bounds.entries()) {
      for (const [seconds, first] of [
        [bound, at],
        [bound * 1.0001, at + 1],
      ] as const) {
        const meter = new RouteMeter('r');
        meter.count(200, seconds * 1000, 0, 0);
        const values = valuesOf([meter], name);
        const buckets = values.filter(([label]) => label.startsWith('_bucket'));
        assert.deepEqual(
          buckets.map(([, value]) => value),
          [...bounds.map((_, index) => (index >= first ? 1 : 0)), 1],
          `${seconds} s`,
        );
      }
    }
    const meter = new RouteMeter('r');
    for (const ms of [0, 0.5, 0.5, 2_000, 20_000]) meter.count(200, ms, 0, 0);
    const times = [0, 0.0005, 0.0005, 2];
    const expected = bounds.map((bound) => times.filter((seconds) => seconds <= bound).length);
    assert.deepEqual(valuesOf([meter], name), [
      ...bounds.map((bound, at) => [`_bucket r ${bound}`, expected[at]]),
      ['_bucket r +Inf', 5],
      ['_sum r', 22.001],
      ['_count r', 5],
    ]);
  });

  test('count refusals by the code of their problem', () => {
    const meter = new RouteMeter('r');
    meter.count(422, 1, 0, 0);
    const answer = (given: Partial<Answer>): Answer => {
      return { status: 422, body: { bytes: '', type: '' }, charge: 0, ...given };
    };
    for (const each of [
      answer({ body: { json: { code: 'invalid_request' } } }),
      answer({ body: { json: { code: 'invalid_request', detail: 'd' } } }),
      answer({ problem: 'rate_limited' }),
      answer({ problem: 'rate_limited', body: { json: { code: 'other' } } }),
      ...[{ code: 5 }, { detail: 'd' }, null, 'code', 5].map((json) => answer({ body: { json } })),
      answer({}),
    ]) {
      meter.countProblem(each);
    }
    assert.deepEqual(valuesOf([meter], 'fusegate_http_problems_total'), [
      ['r invalid_request', 2],
      ['r rate_limited', 2],
    ]);
  });

  test('list a route only once there is something to report about it', () => {
    const [unused, aborted] = [new RouteMeter('unused'), new RouteMeter('aborted')];
    aborted.aborted += 1;
    const meters = [unused, aborted];
    assert.deepEqual(valuesOf(meters, 'fusegate_http_aborted_total'), [['aborted', 1]]);
    assert.deepEqual(valuesOf(meters, 'fusegate_http_requests_total'), []);
  });

  test('describe what they count, and have the types by which values of workers are summed', () => {
    assert.ok(httpMetrics([], 7, 3).every(({ help }) => /^[A-Z].*\.$/.test(help)));
    assert.deepEqual(
      httpMetrics([], 7, 3).map(({ name, type, aggregator, values }) => [
        ...[name.replace('fusegate_http_', ''), type, aggregator],
        values.map(({ value }) => value).join(),
      ]),
      [
        ['requests_total', 'counter', 'sum', ''],
        ['problems_total', 'counter', 'sum', ''],
        ['request_duration_seconds', 'histogram', 'sum', ''],
        ['request_bytes_total', 'counter', 'sum', ''],
        ['response_bytes_total', 'counter', 'sum', ''],
        ['aborted_total', 'counter', 'sum', ''],
        ['requests_in_flight', 'gauge', 'sum', '3'],
        ['body_bytes', 'gauge', 'sum', '7'],
      ],
    );
  });
});
