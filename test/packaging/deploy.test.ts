/** The files in `deploy` for an operator's machine, checked by the programs that read them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { settings } from '../../src/configuration.js';
import { settingsFileVariable } from '../../src/system/settingsFile.js';
import { temporaryFolder } from '../support/run.js';

/** A reason to skip where a program is not there. */
const without = (program: string): string | false =>
  spawnSync(program, ['--version']).error === undefined ? false : `${program} is not installed`;

const names = new Set(
  Object.values(settings).flatMap(({ name, ...more }) =>
    'secret' in more ? [name, `${name}_FILE`] : [name],
  ),
);

/** Most exposure that systemd may find in the unit: 0 is none, 100 a service without switches. */
const mostExposure = 15;

test('the unit passes systemd’s checks, and exposes little', { skip: without('systemd-analyze') }, () => {
  const unit = join(temporaryFolder(), 'fusegate@blue.service');
  // Whoever checks has no archive unpacked.
  const text = readFileSync('deploy/systemd/fusegate@.service', 'utf8');
  assert.match(text, /^ExecStart=\/opt\/fusegate\/fusegate serve --take-over$/m);
  writeFileSync(unit, text.replace('/opt/fusegate/fusegate', process.execPath));
  const verified = spawnSync('systemd-analyze', ['verify', '--man=no', unit], { encoding: 'utf8' });
  assert.doesNotMatch(verified.stderr, /fusegate@blue/, verified.stderr);
  const limits = ['--offline=true', `--threshold=${mostExposure}`, '--no-pager'];
  const judged = spawnSync('systemd-analyze', ['security', ...limits, unit], { encoding: 'utf8' });
  assert.equal(judged.status, 0, `${judged.stdout}${judged.stderr}`);
});

test('the unit and the composition name settings that exist', () => {
  const unit = readFileSync('deploy/systemd/fusegate@.service', 'utf8');
  const composition = readFileSync('deploy/compose/compose.yaml', 'utf8');
  const service = /^ {2}fusegate:\n((?: {4}.*\n)+)/m.exec(composition)?.[1] ?? '';
  const environment = /^ {4}environment:\n((?: {6}.*\n)+)/m.exec(service)?.[1] ?? '';
  const named = [...environment.matchAll(/^ {6}([A-Z_]+):/gm)].map(([, name = '']) => name);
  assert.ok(named.length >= 5);
  for (const name of named) assert.ok(names.has(name), `${name} is a setting`);
  assert.ok(unit.includes(`${settingsFileVariable}=/etc/fusegate/fusegate.json`));
});

test('in the composition, Fusegate reaches out, PostgreSQL does not, and Caddy alone has ports', () => {
  const composition = readFileSync('deploy/compose/compose.yaml', 'utf8');
  const part = (name: string): string =>
    new RegExp(`^ {2}${name}:\\n((?: {4}.*\\n)+)`, 'm').exec(composition)?.[1] ?? '';
  const networks = (name: string): string[] =>
    (/^ {4}networks: \[(.*)\]$/m.exec(part(name))?.[1] ?? '').split(', ');
  assert.deepEqual(networks('fusegate'), ['inside', 'outwards']);
  assert.deepEqual(networks('postgres'), ['inside']);
  assert.match(part('inside'), /internal: true/);
  assert.match(composition, /^ {2}outwards: \{\}$/m);
  assert.ok(part('caddy').includes('ports:'));
  for (const name of ['fusegate', 'postgres']) assert.doesNotMatch(part(name), /ports:/);
});

test('a build of the image on another processor ends at once, with a sentence', () => {
  const dockerfile = readFileSync('Dockerfile', 'utf8');
  const [, command = ''] = /^FROM .* AS build\nRUN (.+)$/m.exec(dockerfile) ?? [];
  const folder = temporaryFolder();
  const builtOn = (machine: string) => {
    writeFileSync(join(folder, 'uname'), `#!/bin/sh\necho ${machine}\n`, { mode: 0o755 });
    const env = { PATH: `${folder}:${process.env['PATH'] ?? ''}` };
    const { status, stderr } = spawnSync('sh', ['-c', command], { encoding: 'utf8', env });
    return [status, stderr];
  };
  assert.deepEqual(builtOn('x86_64'), [0, '']);
  const sentence = 'The image is only for x64: docker build --platform linux/amd64\n';
  assert.deepEqual(builtOn('aarch64'), [1, sentence]);
});

/** A Caddyfile in the JSON that Caddy makes of it. */
function adapted(file: string): string {
  const found = spawnSync('caddy', ['version'], { encoding: 'utf8' }).stdout;
  const [, minor = '0'] = /2\.(\d+)/.exec(found) ?? [];
  const text = readFileSync(file, 'utf8');
  const path = join(temporaryFolder(), 'Caddyfile');
  // Caddy 2.6 has other names for it.
  const [old, today] = ['buffer_requests\n\t\tmax_buffer_size 2MiB', 'request_buffers 2MiB'];
  assert.ok(text.includes(old) || text.includes(today));
  writeFileSync(path, Number(minor) < 7 ? text.replace(`\t${today}`, `\t${old}`) : text.replace(old, today));
  const env = { PATH: process.env['PATH'] ?? '', HOME: temporaryFolder(), FUSEGATE_HOST: 'fuse.example.com' };
  const args = ['adapt', '--validate', '--adapter', 'caddyfile', '--config', path];
  const validated = spawnSync('caddy', args, { encoding: 'utf8', env });
  assert.equal(validated.status, 0, validated.stderr);
  return validated.stdout;
}

test('the Caddyfiles are valid, and bound what a stranger may hold', { skip: without('caddy') }, () => {
  for (const file of ['deploy/compose/Caddyfile', 'examples/proxies/Caddyfile']) {
    const read = adapted(file);
    assert.match(read, new RegExp(`"max_size": ?${128 << 20}\\b`), file);
    assert.match(read, new RegExp(`"(max_buffer_size|request_buffers)": ?${2 << 20}\\b`), file);
    assert.match(read, /"read_timeout": ?120000000000\b/, file);
  }
});
