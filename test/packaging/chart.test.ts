/** The chart in `deploy/chart`: what it sets. `test/peers/chart` renders it by helm itself. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { settings } from '../../src/configuration.js';

const chart = 'deploy/chart';
const templates = readdirSync(`${chart}/templates`).map((name) =>
  readFileSync(`${chart}/templates/${name}`, 'utf8'),
);

test('the chart has this version, and names settings and paths that exist', () => {
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
