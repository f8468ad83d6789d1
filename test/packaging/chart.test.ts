/** The chart in `deploy/chart`: what it sets. `test/peers/chart` renders it by helm itself. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { settings } from '../../src/configuration.js';
import { temporaryFolder } from '../support/run.js';

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

test('the image that docs/operating.md builds is the one that the chart asks for', () => {
  const page = readFileSync('docs/operating.md', 'utf8');
  const [, tagging = ''] = /^image=(\S+:\$\(node .+\))$/m.exec(page) ?? [];
  const built = spawnSync('sh', ['-c', `echo ${tagging}`], { encoding: 'utf8' }).stdout.trim();
  const [, asked = ''] = /^appVersion: '(.+)'$/m.exec(readFileSync(`${chart}/Chart.yaml`, 'utf8')) ?? [];
  const [, repository = ''] = /helm install .*--set image\.repository=(\S+)/.exec(page) ?? [];
  assert.equal(built, `${repository}:${asked}`);
  assert.ok(templates.some((text) => text.includes('.Values.image.tag | default .Chart.AppVersion')));
});

test('a release gives the chart its version', () => {
  const tree = temporaryFolder();
  const files = spawnSync('git', ['ls-files', '-z'], { encoding: 'utf8' }).stdout.split('\0');
  for (const file of files.filter((each) => /\.(json|toml|lock|ts|py|md|yaml)$/.test(each))) {
    cpSync(file, join(tree, file));
  }
  const module = './packaging/release.mjs';
  const script = `import { setVersion } from '${module}'; setVersion(process.argv[1], '77.7.7');`;
  const made = spawnSync(process.execPath, ['--input-type=module', '-e', script, tree], { encoding: 'utf8' });
  assert.equal(made.status, 0, made.stderr);
  const described = readFileSync(join(tree, chart, 'Chart.yaml'), 'utf8');
  assert.match(described, /^version: 77\.7\.7\nappVersion: '77\.7\.7'$/m);
});
