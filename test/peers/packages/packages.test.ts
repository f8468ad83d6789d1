/** Our clients: built as they are published, installed from the built file, and run against a server. */
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { temporaryFolder } from '../../support/run.js';
import { ended, environmentFolder, missingUnless, startServer } from '../program.js';
import { projectRoot } from '../../support/python.js';
import { startRefusing, type Noted } from './refusing.js';

const clients = join(projectRoot, 'clients');
const programs = join(projectRoot, 'test/peers/packages');
const modules = join(projectRoot, 'test/peers/tools/node_modules');
const buildPython = join(environmentFolder('tools'), 'bin/python');
const libraries = join(environmentFolder('clients'), 'bin/python');

/** Output that both clients must give. */
const expected = {
  fuse: 'b',
  rerank: 1,
  normalize: true,
  audit: true,
  corpus: [2, 1, true],
  profile: [true, 'b', 'english', true],
  submit: ['quarantined', true],
  keys: ['quarantined', 'true', 'quarantined', 'true'],
  verify: [true, false],
  confirm: 'quarantined',
  near: 'exact',
  unprocessable: [
    ...[422, 'unprocessable', null],
    'body.docs: List should have at least 1 item after validation, not 0',
  ],
  missing: [404, 'receipt_not_found'],
  key: [401, 'invalid_api_key'],
  lined: [401, 'invalid_api_key'],
  unsendable: [true, true, true],
  retried: 'fr_second',
  // A second try would get a 404.
  writes: {
    limited: [404, 404],
    overloaded: [404, 404],
    reserved: [404, 404],
    unavailable: [503, 503],
    proxied: [503, 503],
    gateway: [502, 502],
    closed: [0, 0],
    slow: [0, 0],
  },
  late: [429, 'rate_limited', 86_400],
  moved: [307, 'redirected'],
  foreign: [...Array<string>(5).fill('404 error'), '200 error'],
};

let noted: Noted;

/** The submission was tried twice, under one key; the redirection was not followed. */
function assertSent(): void {
  const [first, second, ...more] = noted.keys.splice(0);
  assert.deepEqual([typeof first, second, more], ['string', first, []]);
  assert.deepEqual(noted.redirected.splice(0), ['POST /moved/v1/normalize']);
  assert.deepEqual(noted.followed, []);
}

describe('our clients', () => {
  let base = '';
  let refusingBase = '';
  let close = (): void => undefined;
  const made = temporaryFolder();
  before(async () => {
    base = await startServer();
    ({ base: refusingBase, noted, close } = await startRefusing());
  });
  after(() => close());

  const tools = missingUnless(
    join(modules, 'openapi-typescript/package.json'),
    'npm install --prefix test/peers/tools',
  );

  test('TypeScript: types are those of the documents', { skip: tools }, async () => {
    const generator = join(modules, 'openapi-typescript/bin/cli.js');
    for (const [name, document] of [
      ['gateway', 'openapi'],
      ['door', 'door-openapi'],
    ] as const) {
      const output = join(made, `${name}.ts`);
      const source = join(projectRoot, `docs/${document}.json`);
      await ended(process.execPath, [generator, source, '-o', output]);
      const committed = readFileSync(join(clients, `typescript/src/${name}.ts`), 'utf8');
      assert.ok(
        readFileSync(output, 'utf8') === committed,
        `${name}.ts is old: npm run generate in clients/typescript`,
      );
    }
  });

  test('TypeScript: packed, installed and run', { skip: tools }, async () => {
    const copy = join(made, 'typescript');
    cpSync(join(clients, 'typescript'), copy, { recursive: true });
    symlinkSync(modules, join(copy, 'node_modules'));
    await ended(process.execPath, [join(modules, 'typescript/bin/tsc'), '-p', copy]);
    await ended('npm', ['pack', '--ignore-scripts', '--pack-destination', made], { cwd: copy });
    const own = join(made, 'user');
    mkdirSync(own);
    writeFileSync(join(own, 'package.json'), '{"private": true, "type": "module"}');
    const packed = readdirSync(made).filter((name) => name.endsWith('.tgz'));
    await ended('npm', ['install', '--offline', '--no-audit', ...packed.map((name) => join(made, name))], {
      cwd: own,
    });
    cpSync(join(programs, 'client.mjs'), join(own, 'client.mjs'));
    const { out } = await ended(process.execPath, [join(own, 'client.mjs'), base, refusingBase]);
    assert.deepEqual(JSON.parse(out), { ...expected, aborted: 'no more' });
    assertSent();
  });

  const lacking = [
    missingUnless(buildPython, 'see test/peers/tools/requirements.txt'),
    missingUnless(libraries, 'see test/peers/clients/requirements.txt'),
  ].find((missing) => missing !== false);

  test('Python: a wheel, installed and run, in three libraries too', { skip: lacking ?? false }, async () => {
    const copy = join(made, 'python');
    cpSync(join(clients, 'python'), copy, { recursive: true });
    const pip = ['-m', 'pip', '--quiet', '--disable-pip-version-check'];
    const wheel = ['wheel', '--no-deps', '--no-build-isolation', '--wheel-dir', made, copy];
    await ended(buildPython, [...pip, ...wheel]);
    const [built = ''] = readdirSync(made).filter((name) => name.endsWith('.whl'));
    assert.match(built, /^fusegate_client-[\d.]+-py3-none-any\.whl$/);
    const target = join(made, 'site');
    const offline = ['install', '--no-deps', '--no-index', '--target', target, join(made, built)];
    await ended(buildPython, [...pip, ...offline]);
    const env = { PYTHONPATH: target, HAYSTACK_TELEMETRY_ENABLED: 'False' };
    const { out } = await ended(libraries, [join(programs, 'client.py'), base, refusingBase], { env });
    const inLibraries = { langchain: ['boots'], llama_index: ['boots'], haystack: ['boots'] };
    const own = {
      illegal: [0, 'unsendable', 1, false],
      async: [1, 'b'],
      copied: [429, 'rate_limited', 86_400],
    };
    assert.deepEqual(JSON.parse(out), { ...expected, ...own, ...inLibraries });
    assertSent();
  });
});
