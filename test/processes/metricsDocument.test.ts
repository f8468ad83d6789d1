/** docs/metrics.md, the dashboard and the alerts, compared with the metrics of a running server. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { exchange, head, post } from '../support/raw.js';
import { peersRequired } from '../peers/required.js';
import { freePort } from '../support/ports.js';
import { run, temporaryFolder } from '../support/run.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));

/** A metric as text tells it. */
interface Told {
  readonly type: string;
  readonly labels: Set<string>;
}

/** Metrics of Prometheus' text, by name. */
function parse(text: string): Map<string, Told> {
  const told = new Map<string, Told>();
  for (const line of text.split('\n')) {
    const [, name, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (name !== undefined && type !== undefined) told.set(name, { type, labels: new Set() });
    const [, series, labels = ''] = /^(\w+)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    if (series === undefined) continue;
    const metric = told.get(series) ?? told.get(series.replace(/_(?:bucket|sum|count)$/, ''));
    assert.ok(metric !== undefined, `${series} has a type`);
    for (const [, label] of labels.matchAll(/(\w+)="/g)) if (label !== 'le') metric.labels.add(label ?? '');
  }
  return told;
}

/** The rows of the page. */
function documented(): Map<string, Told> {
  const rows = readFileSync('docs/metrics.md', 'utf8').matchAll(/^\| `(\w+)` \| (\w+) \|(.*?)\| .+ \|$/gm);
  return new Map(
    [...rows].map(([, name = '', type = '', labels = '']) => [
      name,
      { type, labels: new Set([...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label ?? '')) },
    ]),
  );
}

/** The metrics that an expression names. */
function named(expression: string): string[] {
  return [...expression.matchAll(/\bfusegate_\w+/g)].map(([name]) => name.replace(/_bucket$/, ''));
}

const environment = { STORE_URL: `lmdb:${temporaryFolder()}/store`, LOG_LEVEL: 'error', PORT: '0' };
const limits = { ACCESS: 'metered', ANONYMOUS_REQUESTS_PER_MINUTE: '2' };
const metricsPort = await freePort();
const server = run(main, ['serve'], { ...environment, ...limits, METRICS_PORT: String(metricsPort) });
const [, port = ''] = await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
await server.prints(/Metrics on/);

describe('metrics', () => {
  let told = new Map<string, Told>();

  before(async () => {
    const body = JSON.stringify({ query: 'a', docs: [{ id: 'a', text: 'a', dense_score: 1 }] });
    const statuses: number[] = [];
    for (let sent = 0; sent < 4; sent += 1) {
      const answer = await exchange(
        Number(port),
        post('/v1/fuse', body, { 'Content-Type': 'application/json' }),
      );
      statuses.push(answer.status);
    }
    assert.deepEqual(statuses, [200, 200, 429, 429]);
    const scraped = await exchange(metricsPort, head('GET', '/metrics', { Connection: 'close' }));
    const text = scraped.body.toString();
    assert.match(text, /^fusegate_http_requests_total\{route="fuse",status="200"\} 2$/m);
    assert.match(text, /^fusegate_http_requests_total\{route="fuse",status="429"\} 2$/m);
    assert.match(text, /^fusegate_http_problems_total\{route="fuse",code="rate_limited"\} 2$/m);
    told = parse(text);
  });

  after(async () => {
    server.child.kill('SIGTERM');
    await server.ended();
  });

  test('on the page are those that a server has, with their types and labels', () => {
    const rows = documented();
    assert.deepEqual([...rows.keys()].sort(), [...told.keys()].sort());
    for (const [name, { type, labels }] of told) {
      assert.equal(rows.get(name)?.type, type, name);
      // A counter whose events have not happened yet has no labels.
      for (const label of labels) assert.ok(rows.get(name)?.labels.has(label), `${name} ${label}`);
    }
  });

  test('the dashboard uses only metrics that exist', () => {
    const { panels } = JSON.parse(readFileSync('deploy/grafana.json', 'utf8')) as {
      panels: { targets: { expr: string }[] }[];
    };
    const asked = panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => named(expr)));
    assert.ok(asked.length >= panels.length);
    for (const name of asked) assert.ok(told.has(name), name);
  });

  test('the alerts use only metrics, codes and statuses that exist', () => {
    const rules = readFileSync('deploy/alerts.yml', 'utf8');
    const asked = named(rules.replace(/^ *(?:summary|action):.*$/gm, ''));
    assert.ok(asked.length >= 8);
    for (const name of asked) assert.ok(told.has(name), name);
    const errors = readFileSync('docs/errors.md', 'utf8');
    for (const [, code = ''] of rules.matchAll(/code="(\w+)"/g))
      assert.ok(errors.includes(`\`${code}\``), code);
  });

  const promtool = spawnSync('promtool', ['--version']).status === 0;
  const skip = promtool || peersRequired ? false : 'promtool is not installed (Debian: prometheus)';
  test('promtool takes the alerts', { skip }, () => {
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', 'deploy/alerts.yml'], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, stdout + stderr);
    assert.match(stdout, /SUCCESS: 8 rules found/);
  });
});
