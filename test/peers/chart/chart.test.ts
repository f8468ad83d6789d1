/** The chart in `deploy/chart`, linted and rendered by helm itself, which is built of its Go module. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { settings } from '../../../src/configuration.js';
import { readSettings } from '../../../src/system/settings.js';
import { temporaryFolder } from '../../support/run.js';
import { buildPrograms, programs } from '../go.js';

const chart = 'deploy/chart';

/** Runs helm on the chart with values, and with those of a file. */
function helm(command: readonly string[], values: readonly string[], file?: string) {
  const set = values.flatMap((value) => ['--set', value]);
  const from = file === undefined ? [] : ['--values', file];
  return spawnSync(join(programs, 'helm'), [...command, chart, ...set, ...from], { encoding: 'utf8' });
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

describe('helm', () => {
  before(() => buildPrograms(['helm']));

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
      ['LOG_KEY', 'log-key'],
    ]) {
      const secret = `secretKeyRef:\\n +name: fusegate-store\\n +key: ${key}\\n`;
      const from = `- name: ${name}\\n +valueFrom:\\n +${secret}`;
      assert.match(deployment, new RegExp(from));
    }
    assert.match(deployment, /- name: ACCESS\n +value: "keys"/);
    assert.doesNotMatch(deployment, /postgres:\/\//);
    assert.match(objects.get('Ingress') ?? '', /secretName: tls/);
  });

  test('gives the server the settings of a file of values as it can read them', () => {
    const file = join(temporaryFolder(), 'values.yaml');
    const given = {
      ...{ ANONYMOUS_CHARACTERS_PER_MONTH: 5_000_000, OTEL_TRACES_SAMPLER_ARG: 0.01, DISK_RESERVE: 0 },
      ...{ EMBED_PRELOAD: true, OTEL_SDK_DISABLED: false, CLICK_HOSTS: 'a.example,b.example' },
    };
    writeFileSync(file, JSON.stringify({ settings: given }));
    const { status, stdout, stderr } = helm(template, [], file);
    assert.equal(status, 0, stderr);
    const variables = [...stdout.matchAll(/- name: ([A-Z_]+)\n +value: (".*")$/gm)].map(
      ([, name = '', text = '']) => [name, JSON.parse(text) as string] as const,
    );
    const read = readSettings(settings, Object.fromEntries(variables), { platform: 'linux', cores: 1 });
    assert.deepEqual(read.errors, []);
    const { anonymousCharactersPerMonth, otelSamplerArg, embedPreload, otelDisabled } = read.values;
    const found = [anonymousCharactersPerMonth, otelSamplerArg, embedPreload, otelDisabled];
    assert.deepEqual(found, [5_000_000, 0.01, true, false]);
  });

  test('refuses values that cannot be served', () => {
    const wrong = ['replicas=2', 'store.kind=sqlite', 'workers=0', 'replica=1', 'settings.lower=1'];
    for (const value of wrong) assert.notEqual(helm(template, [value]).status, 0, value);
  });
});
