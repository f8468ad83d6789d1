/** The file of settings: read together with the environment, which wins; every error in it is named. */
import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { readConfiguration } from '../../src/configuration.js';
import { temporaryFolder } from '../support/run.js';

const machine = { platform: 'linux', cores: 1 } as const;
const folder = temporaryFolder();

/** Writes a file of settings; gives its path. */
function file(text: string, mode = 0o600): string {
  const path = join(folder, `${Math.round(performance.now() * 1e6)}.json`);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

function read(text: string, environment: Readonly<Record<string, string>> = {}, mode?: number) {
  const path = file(text, mode);
  return { path, ...readConfiguration({ ...environment, FUSEGATE_CONFIG: path }, machine) };
}

describe('the file of settings', () => {
  test('holds the same settings, as texts, numbers, booleans and lists', () => {
    const text = JSON.stringify({
      PORT: 0,
      ACCESS: 'keys',
      EMBED_PRELOAD: true,
      CLICK_HOSTS: ['a.example', 'b.example'],
      TIERS_FILE: null,
    });
    const found = read(text);
    assert.ok('configuration' in found, JSON.stringify(found));
    const { port, access, embedPreload, clickHosts, tiersFile } = found.configuration;
    assert.deepEqual([port, access.mode, embedPreload, tiersFile], [0, 'keys', true, null]);
    assert.deepEqual(clickHosts, ['a.example', 'b.example']);
    assert.deepEqual(found.warnings, []);
  });

  test('gives way to the environment, in which an empty variable does not count', () => {
    const text = '{"WORKERS": 2, "PORT": "0", "MAX_CONNECTIONS": 100}';
    const found = read(text, { MAX_CONNECTIONS: '200', WORKERS: '' });
    assert.ok('configuration' in found);
    const { port, workers, maxConnections } = found.configuration;
    assert.deepEqual([port, workers, maxConnections], [0, 2, 200]);
  });

  test('a secret or its NAME_FILE in the environment overrides both', () => {
    const strong = 'Xq7dK2mVt0YwLr9ZbNc4Ue8HgJs1PfAo';
    const secret = file(`${strong}\n`);
    const text = JSON.stringify({ MASTER_SECRET: 'o'.repeat(32) });
    const found = read(text, { MASTER_SECRET_FILE: secret });
    assert.ok('configuration' in found, JSON.stringify(found));
    assert.deepEqual(found.configuration.masterSecrets, [strong]);
    const named = read(JSON.stringify({ MASTER_SECRET_FILE: secret }));
    assert.ok('configuration' in named);
    assert.deepEqual(named.configuration.masterSecrets, [strong]);
  });

  test('a secret that everybody can read causes a warning', () => {
    const text = JSON.stringify({ MASTER_SECRET: 'o'.repeat(32) });
    const { path, warnings } = read(text, {}, 0o644);
    assert.deepEqual(warnings, [
      `${path} holds MASTER_SECRET, and everybody on this machine can read it: chmod 600 ${path}`,
    ]);
    assert.deepEqual(read(text).warnings, []);
  });

  test('reports every error, and a misspelt name with the nearest one', () => {
    const found = read('{"PROT": 1, "WORKERS": {}, "ACCES": "open", "HOST": "http://x"}');
    assert.ok('errors' in found);
    assert.deepEqual(found.errors, [
      `${found.path}: PROT is no setting; did you mean PORT?`,
      `${found.path}: WORKERS must be a text, a number, true, false, or a list of these.`,
      `${found.path}: ACCES is no setting; did you mean ACCESS?`,
      'HOST must be an IP address or host name without scheme, port or brackets, such as 0.0.0.0 or ::; ' +
        'it is "http://x".',
    ]);
    const inside = read('{"CLICK_HOSTS": ["a.example", {}]}');
    assert.ok('errors' in inside);
    assert.match(inside.errors.join(), /CLICK_HOSTS must be a text/);
    const empty = read('');
    assert.ok('errors' in empty);
    assert.match(empty.errors.join(), /is not JSON: Unexpected end of JSON input\.$/);
    const list = read('[]');
    assert.ok('errors' in list);
    assert.match(list.errors.join(), /must hold a JSON object, such as/);
    const broken = read('{\n  "WORKERS": 1,\n  "HOST" "x"\n}');
    assert.ok('errors' in broken);
    assert.match(broken.errors.join(), /is not JSON: .+ \(line 3, column 10\)\.$/);
    // Secrets of an invalid file are shown no more than those of a valid one.
    for (const [text, said] of [
      ['{\n"PORT": 8080,\n"STRIPE_SECRET_KEY": sk_live_51H8aBcDeFg}', /Unexpected token 's' \(line 3\)\.$/],
      [`{"MASTER_SECRET": 'abcdefghij'}`, /Unexpected token ''' \(line 1\)\.$/],
      ['sk_live_51H8aBcDeFg', /Unexpected token 's'( \(line 1\))?\.$/],
      ['{"STRIPE_SECRET_KEY": "sk_live_51H8aBcDeFg}', /Unterminated string \(line 1, column \d+\)\.$/],
    ] as const) {
      const secret = read(text);
      assert.ok('errors' in secret);
      assert.match(secret.errors.join(), said);
      assert.doesNotMatch(secret.errors.join(), /51H8|abcd/);
    }
    const none = readConfiguration({ FUSEGATE_CONFIG: join(folder, 'none.json') }, machine);
    assert.ok('errors' in none);
    assert.match(none.errors.join(), /none\.json cannot be read \(ENOENT\)\.$/);
  });
});
