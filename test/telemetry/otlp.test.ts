/** Spans and metrics as a collector gets them, through OpenTelemetry's exporters. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import { metricSeries } from '../../src/telemetry/metricData.js';
import { metricSender, spanSender } from '../../src/telemetry/otlp.js';
import { telemetrySettings, type TelemetrySettings } from '../../src/telemetry/settings.js';
import type { SpanRecord } from '../../src/telemetry/tracer.js';
import type { Metric } from '../../src/system/metrics.js';
import { readSettings } from '../../src/system/settings.js';
import { Collector, plain } from './collector.js';

const collector = await Collector.start();
after(() => collector.stop());

function settingsOf(environment: Readonly<Record<string, string>>): TelemetrySettings {
  const given = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...environment };
  const { values, errors } = readSettings(telemetrySettings, given, { platform: 'linux', cores: 1 });
  assert.deepEqual(errors, []);
  return values as TelemetrySettings;
}

const json = settingsOf({
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=a%20key',
  OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.name=overridden',
  OTEL_SERVICE_NAME: 'search',
});
const span: SpanRecord = {
  name: 'POST /v1/fuse',
  kind: 'server',
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '00f067aa0ba902b7',
  parentSpanId: '53995c3f42cd8ad8',
  isParentRemote: true,
  state: 'rojo=1',
  startMs: 1_800_000_000_000.25,
  endMs: 1_800_000_000_001.5,
  attributes: { 'http.route': '/v1/fuse', 'http.response.status_code': 503 },
  hasFailed: true,
};

describe('a span', () => {
  test('comes as JSON with ids, times, state, attributes and the facts of the service', async () => {
    assert.equal(await spanSender({ settings: json, version: '1.2.3' })([span]), undefined);
    const [received] = collector.received;
    assert.equal(received?.path, '/v1/traces');
    assert.equal(received.headers['x-api-key'], 'a key');
    const [found] = collector.spans();
    assert.deepEqual(
      [found?.traceId, found?.spanId, found?.parentSpanId, found?.traceState, found?.kind, found?.name],
      [span.traceId, span.spanId, span.parentSpanId, 'rojo=1', 2, span.name],
    );
    assert.equal(found?.startTimeUnixNano, '1800000000000250000');
    assert.equal(found.endTimeUnixNano, '1800000000001500000');
    assert.deepEqual(plain(found.attributes), span.attributes);
    assert.equal(found.status.code, 2);
    const resource = collector.resource();
    assert.equal(resource['service.name'], 'search');
    assert.equal(resource['service.version'], '1.2.3');
    assert.equal(resource['deployment.environment.name'], 'test');
  });

  test('comes as protobuf unless told otherwise', async () => {
    const before = collector.received.length;
    assert.equal(await spanSender({ settings: settingsOf({}), version: '1' })([span]), undefined);
    const received = collector.received[before];
    assert.equal(received?.headers['content-type'], 'application/x-protobuf');
    assert.ok(received.body.includes(Buffer.from(span.traceId, 'hex')));
    assert.ok(received.body.includes('POST /v1/fuse'));
  });

  test('is sent again if the collector asks for that, and is lost with a reason if it refuses', async () => {
    collector.statuses = [503];
    const before = collector.received.length;
    const send = spanSender({ settings: json, version: '1' });
    assert.equal(await send([span]), undefined);
    assert.equal(collector.received.length - before, 2);
    collector.statuses = [400];
    assert.match((await send([span])) ?? '', /^400/);
    assert.equal(collector.received.length - before, 3);
  });

  test('is lost with a reason where no collector is, within the time limit', async () => {
    const gone = await Collector.start();
    const away = { OTEL_EXPORTER_OTLP_TIMEOUT: '50', OTEL_EXPORTER_OTLP_ENDPOINT: gone.url };
    await gone.stop();
    const reason = await spanSender({ settings: settingsOf(away), version: '1' })([span]);
    assert.match(reason ?? '', /ECONNREFUSED/);
  });
});

describe('metrics', () => {
  const duration = 'fusegate_http_request_duration_seconds';
  const bucket = (le: string, value: number) => ({
    ...{ value, labels: { route: 'fuse', le } },
    metricName: `${duration}_bucket`,
  });
  const scraped: Metric[] = [
    {
      ...{ name: 'fusegate_http_requests_total', help: 'Answers.', type: 'counter', aggregator: 'sum' },
      values: [{ value: 7, labels: { route: 'fuse', status: 200 } }],
    },
    {
      ...{ name: 'fusegate_resident_bytes', help: 'Memory.', type: 'gauge', aggregator: 'sum' },
      values: [{ value: 1.5, labels: {} }],
    },
    {
      ...{ name: duration, help: 'Time.', type: 'histogram', aggregator: 'sum' },
      values: [
        ...[bucket('0.1', 2), bucket('+Inf', 7), bucket('0.5', 6)],
        { value: 1.25, labels: { route: 'fuse' }, metricName: `${duration}_sum` },
        { value: 7, labels: { route: 'fuse' }, metricName: `${duration}_count` },
      ],
    },
  ];

  test('come under the names, labels and values that a scrape has', async () => {
    const send = metricSender({ settings: json, version: '1' });
    assert.equal(await send(metricSeries(scraped), 1_800_000_000_000, 1_800_000_060_000), undefined);
    const [requests, memory, times] = collector.metrics().at(-1) ?? [];
    assert.equal(requests?.name, 'fusegate_http_requests_total');
    assert.equal(requests.sum?.isMonotonic, true);
    assert.equal(requests.sum.dataPoints[0]?.asDouble, 7);
    assert.deepEqual(plain(requests.sum.dataPoints[0].attributes), { route: 'fuse', status: '200' });
    assert.deepEqual([memory?.unit, memory?.gauge?.dataPoints[0]?.asDouble], ['By', 1.5]);
    const [point] = times?.histogram?.dataPoints ?? [];
    assert.equal(times?.unit, 's');
    assert.deepEqual(point?.explicitBounds, [0.1, 0.5]);
    assert.deepEqual(point.bucketCounts, [2, 4, 1]);
    assert.deepEqual([point.count, point.sum], [7, 1.25]);
    assert.deepEqual(plain(point.attributes), { route: 'fuse' });
  });

  test('come as protobuf unless told otherwise', async () => {
    const before = collector.received.length;
    const send = metricSender({ settings: settingsOf({}), version: '1' });
    assert.equal(await send(metricSeries(scraped), 0, 1), undefined);
    assert.equal(collector.received[before]?.headers['content-type'], 'application/x-protobuf');
    assert.ok(collector.received[before].body.includes(duration));
  });
});

test('the exporters are loaded by one file, which is imported only on demand', () => {
  const folders = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.ts'),
  );
  const importers = folders.filter((path) =>
    /^import (?!type)[^;]*\/otlp\.js'/m.test(readFileSync(`src/${path}`, 'utf8')),
  );
  assert.deepEqual(importers, []);
  const named = folders.filter((path) => readFileSync(`src/${path}`, 'utf8').includes("'@opentelemetry/"));
  assert.deepEqual(named, ['telemetry/otlp.ts']);
});
