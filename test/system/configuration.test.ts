/**
 * The environment variables: defaults, errors all at once, names nearly right, and the page made from the
 * table.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { readConfiguration, renderConfiguration } from '../../src/system/configuration.js';

const linux = { platform: 'linux', cores: 4 } as const;

test('defaults', () => {
  assert.deepEqual(readConfiguration({}, linux), {
    configuration: {
      port: 8080,
      host: '127.0.0.1',
      workers: 4,
      storeUrl: `lmdb:${resolve('data/store')}`,
      dataFolder: resolve('data'),
      metricsPort: 0,
      logLevel: 'info',
    },
    warnings: [],
  });
  const onMac = readConfiguration({ PORT: '' }, { platform: 'darwin', cores: 8 });
  assert.ok('configuration' in onMac);
  assert.deepEqual([onMac.configuration.workers, onMac.configuration.port], [1, 8080]);
});

test('every value is read', () => {
  const environment = {
    PORT: '0',
    HOST: '::1',
    WORKERS: '3',
    STORE_URL: 'lmdb:/srv/fusegate/store',
    METRICS_PORT: '9464',
    LOG_LEVEL: 'debug',
  };
  const read = readConfiguration(environment, linux);
  assert.ok('configuration' in read);
  assert.deepEqual(read.configuration, {
    port: 0,
    host: '::1',
    workers: 3,
    storeUrl: 'lmdb:/srv/fusegate/store',
    dataFolder: '/srv/fusegate',
    metricsPort: 9464,
    logLevel: 'debug',
  });
});

test('a PostgreSQL store, from the variable or from a file, is never shown', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-configuration-'));
  const file = join(folder, 'url');
  const url = 'postgres://me:secret@db:5432/fusegate';
  writeFileSync(file, `${url}\n`);
  for (const environment of [{ STORE_URL: url }, { STORE_URL_FILE: file }]) {
    const read = readConfiguration(environment, linux);
    assert.ok('configuration' in read);
    assert.deepEqual(read.warnings, []);
    assert.deepEqual([read.configuration.storeUrl, read.configuration.dataFolder], [url, resolve('data')]);
  }
  const errorsOf = (environment: Record<string, string>): string => {
    const read = readConfiguration(environment, linux);
    return 'errors' in read ? read.errors.join() : '';
  };
  assert.match(
    errorsOf({ STORE_URL: url, STORE_URL_FILE: file }),
    /^STORE_URL_FILE and STORE_URL are both set/,
  );
  assert.match(errorsOf({ STORE_URL_FILE: join(folder, 'none') }), /^STORE_URL_FILE names a file .*ENOENT/);
  assert.doesNotMatch(errorsOf({ STORE_URL: 'postgres://me:secret@d b/x' }), /secret/);
  rmSync(folder, { recursive: true });
});

describe('errors', () => {
  test('are listed all at once, each with what to do', () => {
    const environment = {
      PORT: '70000',
      HOST: 'http://x',
      WORKERS: '0',
      STORE_URL: 'sqlite:x',
      METRICS_PORT: '-1',
      LOG_LEVEL: 'loud',
    };
    assert.deepEqual(readConfiguration(environment, linux), {
      errors: [
        'PORT must be a whole number from 0 to 65535; it is "70000".',
        'HOST must be an IP address or host name without scheme, port or brackets, such as 0.0.0.0 or ::; ' +
          'it is "http://x".',
        'WORKERS must be a whole number from 1 to 256; it is "0".',
        'STORE_URL must be lmdb:<folder>, such as lmdb:./data/store, or ' +
          'postgres://user:password@host:port/database with %-escapes for special characters.',
        'METRICS_PORT must be a whole number from 0 to 65535; it is "-1".',
        'LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent; it is "loud".',
      ],
      warnings: [],
    });
  });

  test('numbers are plain decimals', () => {
    for (const PORT of ['8080 ', '+8080', '0x50', '80.0', '1e3', '٨٠']) {
      assert.ok('errors' in readConfiguration({ PORT }, linux), PORT);
    }
  });

  test('one port cannot serve both', () => {
    const read = readConfiguration({ PORT: '9000', METRICS_PORT: '9000' }, linux);
    assert.deepEqual('errors' in read && read.errors, ['METRICS_PORT must differ from PORT; both are 9000.']);
  });
});

test('names that are nearly ours are named, others are not', () => {
  const environment = {
    WORKER: '2',
    STORE_URI: 'x',
    FUSEGATE_PORT: '1',
    LOGLEVEL: 'x',
    FUSEGATE_X: '1',
    PATH: '/bin',
    HOSTNAME: 'a',
    HOME: '/',
  };
  const read = readConfiguration(environment, linux);
  assert.deepEqual(read.warnings, [
    'WORKER is not read; did you mean WORKERS?',
    'STORE_URI is not read; did you mean STORE_URL?',
    'FUSEGATE_PORT is not read; did you mean PORT?',
    'LOGLEVEL is not read; did you mean LOG_LEVEL?',
    'FUSEGATE_X is not read; the variables are PORT, HOST, WORKERS, STORE_URL, METRICS_PORT, LOG_LEVEL.',
  ]);
});

test('docs/configuration.md is what the table makes', () => {
  assert.equal(readFileSync('docs/configuration.md', 'utf8'), renderConfiguration());
});
