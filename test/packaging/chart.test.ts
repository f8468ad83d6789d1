/** The chart in `deploy/chart`: what it sets, and, where helm is there, what it makes of values. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { settings } from '../../src/configuration.js';

const chart = 'deploy/chart';
const templates = readdirSync(`${chart}/templates`).map((name) =>
  readFileSync(`${chart}/templates/${name}`, 'utf8'),
);

test('the chart is of this version, and names settings and paths that there are', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };
  const described = readFileSync(`${chart}/Chart.yaml`, 'utf8');
  assert.ok(described.includes(`version: ${version}\n`) && described.includes(`appVersion: '${version}'`));
  const names = new Set(Object.values(settings).map(({ name }) => name));
  const named = templates.flatMap((text) =>
    [...text.matchAll(/- name: ([A-Z][A-Z_]+)\n/g)].map(([, name = '']) => name),
  );
  assert.ok(named.length >= 6);
  for (const name of named) assert.ok(names.has(name), `${name} is a setting`);
  const dockerfile = readFileSync('Dockerfile', 'utf8');
  assert.match(dockerfile, /^USER 1000:1000$/m);
  assert.ok(templates.some((text) => text.includes('runAsUser: 1000')));
  for (const path of ['/fusegate/data', '/fusegate/bin/node']) {
    assert.ok(dockerfile.includes(path) && templates.some((text) => text.includes(path)), path);
  }
});

/** Runs helm on the chart with values. */
function helm(command: readonly string[], values: readonly string[]) {
  const set = values.flatMap((value) => ['--set', value]);
  return spawnSync('helm', [...command, chart, ...set], { encoding: 'utf8' });
}

/** Helm takes a cluster's version for an old one where it is built without one. */
const template = ['template', 'search', '--kube-version', '1.30.0'];

/** The objects that values make, by their kinds. */
function rendered(...values: string[]): ReadonlyMap<string, string> {
  const { status, stdout, stderr } = helm(template, values);
  assert.equal(status, 0, stderr);
  const objects = stdout.split(/^---$/m).filter((text) => /^kind:/m.test(text));
  return new Map(objects.map((text) => [/^kind: (\w+)$/m.exec(text)?.[1] ?? '', text]));
}

const skip = spawnSync('helm', ['version']).error === undefined ? false : 'helm is not installed';

describe('helm', { skip }, () => {
  test('finds nothing wrong with the chart, for either store', () => {
    for (const values of [[], ['store.kind=postgres', 'replicas=3', 'ingress.enabled=true']]) {
      const { status, stdout } = helm(['lint', '--strict'], values);
      assert.equal(status, 0, stdout);
    }
  });

  test('makes one pod with a volume of its own for LMDB', () => {
    const objects = rendered();
    assert.deepEqual([...objects.keys()].sort(), ['Service', 'ServiceAccount', 'StatefulSet']);
    const set = objects.get('StatefulSet') ?? '';
    assert.match(set, /^ {2}replicas: 1$/m);
    assert.match(set, /volumeClaimTemplates:[^]*storage: 20Gi/);
    assert.doesNotMatch(set, /STORE_URL|secretKeyRef/);
    assert.match(set, /path: \/health/);
    assert.match(set, /readinessProbe:\n +httpGet: \{ path: \/ready, port: http \}/);
    for (const each of ['readOnlyRootFilesystem: true', 'runAsNonRoot: true', 'drop: [ALL]']) {
      assert.ok(set.includes(each), each);
    }
  });

  test('makes many pods without volumes for PostgreSQL, whose address comes from a Secret', () => {
    const monitored = [
      'metrics.serviceMonitor.enabled=true',
      'ingress.enabled=true',
      'ingress.tlsSecret=tls',
    ];
    const objects = rendered('store.kind=postgres', 'replicas=3', 'settings.ACCESS=keys', ...monitored);
    const kinds = [
      'Deployment',
      'Ingress',
      'PodDisruptionBudget',
      'Service',
      'ServiceAccount',
      'ServiceMonitor',
    ];
    assert.deepEqual([...objects.keys()].sort(), kinds);
    const deployment = objects.get('Deployment') ?? '';
    assert.match(deployment, /^ {2}replicas: 3$/m);
    for (const [name, key] of [
      ['STORE_URL', 'store-url'],
      ['MASTER_SECRET', 'master-secret'],
    ]) {
      const secret = `secretKeyRef:\\n +name: fusegate-store\\n +key: ${key}\\n`;
      const from = `- name: ${name}\\n +valueFrom:\\n +${secret}`;
      assert.match(deployment, new RegExp(from));
    }
    assert.match(deployment, /- name: ACCESS\n +value: "keys"/);
    assert.doesNotMatch(deployment, /postgres:\/\//);
    assert.match(objects.get('Ingress') ?? '', /secretName: tls/);
  });

  test('refuses values that cannot be served', () => {
    const wrong = ['replicas=2', 'store.kind=sqlite', 'workers=0', 'replica=1', 'settings.lower=1'];
    for (const value of wrong) assert.notEqual(helm(template, [value]).status, 0, value);
  });
});
