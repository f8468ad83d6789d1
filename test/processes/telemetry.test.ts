/** Traces and metrics of a whole server, as a collector gets them. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { exchange, post } from '../support/raw.js';
import { Collector, plain } from '../telemetry/collector.js';
import { until } from '../support/until.js';
import { memoryFolder, run } from '../support/run.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';

/** A server that sends to an address. */
async function serve(endpoint: string, more: Readonly<Record<string, string>> = {}) {
  const server = run(main, ['serve'], {
    ...{ PORT: '0', WORKERS: '1', EMBED_CACHE_MB: '1', STORE_URL: `lmdb:${memoryFolder()}/store` },
    ...{ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' },
    ...more,
  });
  const [, port] = await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
  return { server, port: Number(port) };
}

const fuse = JSON.stringify({ query: 'a', docs: [{ id: '1', text: 'a', dense_score: 0.5 }] });
const lead = JSON.stringify({ email: 'a@example.com' });
const json = { 'content-type': 'application/json', traceparent: `00-${traceId}-${spanId}-01` };

/** Stops a server, which ends well and soon. */
async function stops({
  child,
  ended,
}: {
  child: { kill: (signal: 'SIGTERM') => unknown };
  ended: () => Promise<{ code: number | null }>;
}) {
  child.kill('SIGTERM');
  assert.equal((await ended()).code, 0);
}

describe('a server with a collector', () => {
  test('sends the spans of requests and its summed metrics, the last at its end', async () => {
    const collector = await Collector.start();
    after(() => collector.stop());
    const { server, port } = await serve(collector.url, { OTEL_SERVICE_NAME: 'search' });
    assert.equal((await exchange(port, post('/v1/fuse', fuse, json))).status, 200);
    assert.equal((await exchange(port, post('/v1/leads', lead, json))).status, 200);
    await stops({ child: server.child, ended: () => server.ended() });
    const spans = collector.spans().filter((each) => each.traceId === traceId);
    const named = (name: string) => spans.find((each) => each.name === name);
    const fused = named('POST /v1/fuse');
    assert.equal(fused?.parentSpanId, spanId);
    assert.equal(plain(fused.attributes)['http.response.status_code'], 200);
    assert.equal(named('store commit')?.parentSpanId, named('POST /v1/leads')?.spanId);
    assert.equal(collector.resource()['service.name'], 'search');
    const requests = collector
      .metrics()
      .at(-1)
      ?.find(({ name }) => name === 'fusegate_http_requests_total');
    const points = requests?.sum?.dataPoints.map((each) => [plain(each.attributes)['route'], each.asDouble]);
    assert.deepEqual(Object.fromEntries(points ?? []), { fuse: 1, leads: 1 });
  });

  test('serves, and stops, as one without where the collector is away', async () => {
    const gone = await Collector.start();
    await gone.stop();
    const { server, port } = await serve(gone.url, {
      ...{ OTEL_BSP_SCHEDULE_DELAY: '10', OTEL_METRIC_EXPORT_INTERVAL: '100' },
      OTEL_EXPORTER_OTLP_TIMEOUT: '50',
    });
    for (let round = 0; round < 20; round += 1)
      assert.equal((await exchange(port, post('/v1/fuse', fuse, json))).status, 200);
    await server.prints(/"msg":"spans cannot be sent to the collector"/);
    await server.prints(/"msg":"metrics cannot be sent to the collector"/);
    assert.equal((await exchange(port, post('/v1/fuse', fuse, json))).status, 200);
    assert.equal(server.output.split('spans cannot be sent').length, 2, 'one line, however long it is away');
    await stops({ child: server.child, ended: () => server.ended() });
  });

  test('sends nothing where that is switched off', async () => {
    const collector = await Collector.start();
    after(() => collector.stop());
    const { server, port } = await serve(collector.url, {
      ...{ OTEL_SDK_DISABLED: 'true', OTEL_BSP_SCHEDULE_DELAY: '10', OTEL_METRIC_EXPORT_INTERVAL: '100' },
    });
    assert.equal((await exchange(port, post('/v1/fuse', fuse, json))).status, 200);
    await stops({ child: server.child, ended: () => server.ended() });
    assert.equal(collector.received.length, 0);
  });

  test('sends spans without metrics, and metrics without spans, as it is set', async () => {
    const collector = await Collector.start();
    after(() => collector.stop());
    const soon = { OTEL_BSP_SCHEDULE_DELAY: '10', OTEL_METRIC_EXPORT_INTERVAL: '100' };
    const spans = await serve(collector.url, { ...soon, OTEL_METRICS_EXPORTER: 'none' });
    await exchange(spans.port, post('/v1/fuse', fuse, json));
    await until(() => collector.spans().length > 0);
    await stops({ child: spans.server.child, ended: () => spans.server.ended() });
    assert.deepEqual(new Set(collector.received.map(({ path }) => path)), new Set(['/v1/traces']));
    collector.received.length = 0;
    const metrics = await serve(collector.url, { ...soon, OTEL_TRACES_EXPORTER: 'none' });
    await exchange(metrics.port, post('/v1/fuse', fuse, json));
    await until(() => collector.metrics().length > 1);
    await stops({ child: metrics.server.child, ended: () => metrics.server.ended() });
    assert.deepEqual(new Set(collector.received.map(({ path }) => path)), new Set(['/v1/metrics']));
  });
});
