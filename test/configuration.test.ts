/**
 * The environment variables: defaults, all errors at once, misspelt names, and the page made from the table.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { readConfiguration, settings } from '../src/configuration.js';
import { parsePolicy } from '../src/log/policy.js';
import { installedModelsFolder } from '../src/models/settings.js';
import { noOperator } from '../src/outreach/operator.js';
import { renderSettings } from '../src/system/settings.js';

const operatorFolder = mkdtempSync(join(tmpdir(), 'fusegate-operator-'));
const operatorFile = join(operatorFolder, 'operator.json');
writeFileSync(operatorFile, '{"name": "Example Ltd"}');
const policy = 'quorum none\n';
const policyFile = join(operatorFolder, 'witnesses');
writeFileSync(policyFile, policy);
after(() => rmSync(operatorFolder, { recursive: true }));
/** A secret that is strong enough. */
const newer = 'Xq7dK2mVt0YwLr9ZbNc4Ue8HgJs1PfAo';

const linux = { platform: 'linux', cores: 4 } as const;

/** What is said of wrong variables, a line each; nothing of right ones. */
function errorsOf(environment: Readonly<Record<string, string>>): string {
  const read = readConfiguration(environment, linux);
  return 'errors' in read ? read.errors.join('\n') : '';
}

/** Where rates come from unless told otherwise. */
const usualRates = {
  kind: 'urls',
  urls: [
    {
      name: 'coinbase',
      url: 'https://api.coinbase.com/v2/prices/BTC-USD/spot',
      pointer: '/data/amount',
    },
    {
      name: 'kraken',
      url: 'https://api.kraken.com/0/public/Ticker?pair=XBTUSD',
      pointer: '/result/XXBTZUSD/c/0',
    },
  ],
};

/** Settings of a collector: where there is none, and as {@link everyVariable} has them. */
const untraced = {
  ...{ otlpEndpoint: null, otlpHeaders: {}, otlpProtocol: 'http/protobuf', otlpTimeoutMs: 10_000 },
  ...{ otelDisabled: false, otelTraces: 'otlp', otelMetrics: 'otlp', otelMetricsMs: 60_000 },
  ...{ otelServiceName: null, otelAttributes: {}, otelSpanDelayMs: 5_000 },
  ...{ otelSampler: 'parentbased_traceidratio', otelSamplerArg: 0.01 },
} as const;
const traced = {
  otlpEndpoint: 'https://collector.example/otlp',
  otlpHeaders: { authorization: 'Bearer x', 'x-scope': '1' },
  ...{ otlpProtocol: 'http/json', otlpTimeoutMs: 5_000, otelDisabled: true },
  ...{ otelTraces: 'none', otelMetrics: 'none', otelServiceName: 'search' },
  otelAttributes: { a: '1', b: 'c,d' },
  ...{ otelSampler: 'traceidratio', otelSamplerArg: 0.25, otelSpanDelayMs: 100, otelMetricsMs: 1_000 },
} as const;

test('defaults', () => {
  assert.deepEqual(readConfiguration({}, linux), {
    configuration: {
      port: 8080,
      host: '127.0.0.1',
      workers: 4,
      storeUrl: `lmdb:${resolve('data/store')}`,
      dataFolder: resolve('data'),
      masterSecrets: [],
      publicUrl: null,
      ...{ clickHosts: [], webhookNetworks: [] },
      operator: noOperator,
      clicksRetentionDays: 90,
      leadsRetentionDays: 0,
      ...{ metricsPort: 0, serverTiming: 'total', ...untraced },
      ...{ logLevel: 'info', logFormat: 'auto' },
      trustedProxies: [],
      serve: ['fuse', 'normalize', 'audit', 'checkout', 'outreach', 'door', 'explore', 'mcp'],
      accessGiven: null,
      access: { mode: 'open', reason: 'ACCESS is not set, and no way to pay is configured' },
      tiersFile: null,
      anonymousRequestsPerMinute: null,
      anonymousCharactersPerMonth: null,
      leadsPerMinute: 10,
      auditsPerMinute: 6,
      modelsFolder: null,
      embedModel: null,
      embedThreads: 1,
      embedQueue: 4_000,
      embedDeadlineMs: 30_000,
      embedPreload: false,
      embedCacheMb: 256,
      embedCacheStore: false,
      rateSource: usualRates,
      checkoutRequestsPerMinute: 10,
      btcNetwork: 'mainnet',
      btcXpub: null,
      btcConfirmations: 2,
      btcChain: null,
      ...{ maxUnpaidOrders: 500, unpaidOrdersPerAddress: 10 },
      lndRestUrl: null,
      lndTlsCert: null,
      lndMacaroonHex: null,
      lndMacaroonPath: null,
      stripeSecretKey: null,
      stripeWebhookSecrets: [],
      stripePrices: {},
      stripeAllowDiscounts: false,
      stripeApiBase: null,
      lightningClaim: false,
      doorSubmissionsPerMinute: 60,
      previewsPerMinute: 60,
      harvestMarkersPerMinute: 300,
      clicksPerMinute: 600,
      explorationsPerMinute: 300,
      ...{ logKeySeed: null, witnesses: null },
      pollsPerMinute: 120,
      pagesPerMinute: 600,
      cardEventsPerMinute: 6000,
      ...{ keyGraceMinutes: 15, storedKbPerMinute: 384, doorMaxGb: 20, maxConnections: 8192 },
      diskReserveMb: null,
      doorPort: null,
      publicDoorUrl: null,
    },
    warnings: [],
  });
  const onMac = readConfiguration({ PORT: '' }, { platform: 'darwin', cores: 8 });
  assert.ok('configuration' in onMac);
  assert.deepEqual([onMac.configuration.workers, onMac.configuration.port], [1, 8080]);
});

/** A certificate that nobody uses: self-signed, for localhost. */
const certificate = readFileSync('test/vectors/certificate.pem', 'utf8');

/** Every variable with a value of its own. */
const everyVariable = {
  PORT: '0',
  HOST: '::1',
  WORKERS: '3',
  STORE_URL: 'lmdb:/srv/fusegate/store',
  MASTER_SECRET: `${newer},${'o'.repeat(32)}`,
  PUBLIC_URL: 'https://Fuse.example:8443/',
  CLICK_HOSTS: 'Example.com, bücher.example:8443,',
  OPERATOR_FILE: operatorFile,
  CLICKS_RETENTION_DAYS: '30',
  LEADS_RETENTION_DAYS: '365',
  WEBHOOK_NETWORKS: '10.0.0.0/8',
  METRICS_PORT: '9464',
  SERVER_TIMING: 'stages',
  LOG_LEVEL: 'debug',
  LOG_FORMAT: 'json',
  TRUSTED_PROXIES: '10.0.0.0/8, 2001:db8::1',
  SERVE: 'audit,fuse,door',
  ACCESS: 'keys',
  TIERS_FILE: 'tiers.json',
  ANONYMOUS_REQUESTS_PER_MINUTE: '0',
  ANONYMOUS_CHARACTERS_PER_MONTH: '1000000000000',
  LEADS_PER_MINUTE: '0',
  AUDITS_PER_MINUTE: '0',
  MODELS_DIR: '/srv/models',
  EMBED_MODEL: 'static-256',
  EMBED_THREADS: '2',
  EMBED_QUEUE: '10',
  EMBED_DEADLINE_MS: '1000',
  EMBED_PRELOAD: 'yes',
  EMBED_CACHE_MB: '0',
  EMBED_CACHE_STORE: 'yes',
  RATE_SOURCE: 'fixed:61234.50',
  CHECKOUT_REQUESTS_PER_MINUTE: '0',
  BTC_NETWORK: 'regtest',
  BTC_XPUB: 'tpub',
  BTC_CONFIRMATIONS: '1',
  BTC_CHAIN: 'btcd+https://me:p%40ss@127.0.0.1:8334?cert=test/vectors/certificate.pem',
  OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example/otlp/',
  OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20x, x-scope=1',
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_EXPORTER_OTLP_TIMEOUT: '5000',
  OTEL_SDK_DISABLED: 'True',
  OTEL_TRACES_EXPORTER: 'none',
  OTEL_METRICS_EXPORTER: 'none',
  OTEL_SERVICE_NAME: 'search',
  OTEL_RESOURCE_ATTRIBUTES: 'a=1,b=c%2Cd',
  OTEL_TRACES_SAMPLER: 'traceidratio',
  OTEL_TRACES_SAMPLER_ARG: '.25',
  OTEL_BSP_SCHEDULE_DELAY: '100',
  OTEL_METRIC_EXPORT_INTERVAL: '1000',
  MAX_UNPAID_ORDERS: '0',
  UNPAID_ORDERS_PER_ADDRESS: '7',
  LND_REST_URL: 'https://127.0.0.1:8080/',
  LND_TLS_CERT: 'test/vectors/certificate.pem',
  LND_MACAROON_HEX: 'ab'.repeat(40),
  STRIPE_SECRET_KEY: 'sk_test_of_the_tests',
  STRIPE_WEBHOOK_SECRET: 'whsec_first_one, whsec_second_one',
  STRIPE_PRICES: 'price_1Abc=growth,price_2Def=developer',
  STRIPE_ALLOW_DISCOUNTS: 'yes',
  STRIPE_API_BASE: 'http://127.0.0.1:12111/',
  LIGHTNING_CLAIM: 'required',
  DOOR_SUBMISSIONS_PER_MINUTE: '5',
  PREVIEWS_PER_MINUTE: '0',
  HARVEST_MARKERS_PER_MINUTE: '7',
  CLICKS_PER_MINUTE: '0',
  EXPLORATIONS_PER_MINUTE: '0',
  LOG_KEY: `${'0123456789abcdef'.repeat(4)}\n`,
  WITNESSES: policyFile,
  POLLS_PER_MINUTE: '9',
  PAGES_PER_MINUTE: '0',
  CARD_EVENTS_PER_MINUTE: '0',
  STORED_KB_PER_MINUTE: '0',
  KEY_GRACE: '60',
  DOOR_MAX_GB: '3',
  MAX_CONNECTIONS: '99',
  DISK_RESERVE: '500',
  DOOR_PORT: '8081',
  PUBLIC_DOOR_URL: 'https://Door.example',
};

test('every value is read', () => {
  const read = readConfiguration(everyVariable, linux);
  assert.ok('configuration' in read);
  assert.deepEqual(read.configuration, {
    port: 0,
    host: '::1',
    workers: 3,
    storeUrl: 'lmdb:/srv/fusegate/store',
    dataFolder: '/srv/fusegate',
    masterSecrets: [newer, 'o'.repeat(32)],
    publicUrl: 'https://fuse.example:8443',
    clickHosts: ['example.com', 'xn--bcher-kva.example:8443'],
    operator: { ...noOperator, name: 'Example Ltd' },
    clicksRetentionDays: 30,
    ...{ leadsRetentionDays: 365, webhookNetworks: ['10.0.0.0/8'] },
    ...{ metricsPort: 9464, serverTiming: 'stages' },
    ...{ logLevel: 'debug', logFormat: 'json' },
    trustedProxies: ['10.0.0.0/8', '2001:db8::1'],
    serve: ['fuse', 'audit', 'door'],
    accessGiven: 'keys',
    access: { mode: 'keys', reason: 'ACCESS is keys' },
    tiersFile: resolve('tiers.json'),
    anonymousRequestsPerMinute: 0,
    anonymousCharactersPerMonth: 1e12,
    leadsPerMinute: 0,
    auditsPerMinute: 0,
    modelsFolder: '/srv/models',
    embedModel: 'static-256',
    embedThreads: 2,
    embedQueue: 10,
    embedDeadlineMs: 1_000,
    embedPreload: true,
    embedCacheMb: 0,
    embedCacheStore: true,
    rateSource: { kind: 'fixed', cents: 6_123_450 },
    checkoutRequestsPerMinute: 0,
    btcNetwork: 'regtest',
    btcXpub: 'tpub',
    btcConfirmations: 1,
    btcChain: {
      kind: 'btcd',
      url: 'https://127.0.0.1:8334',
      user: 'me',
      password: 'p@ss',
      certificate,
    },
    ...{ ...traced, maxUnpaidOrders: 0, unpaidOrdersPerAddress: 7 },
    lndRestUrl: 'https://127.0.0.1:8080',
    lndTlsCert: certificate,
    lndMacaroonHex: 'ab'.repeat(40),
    lndMacaroonPath: null,
    stripeSecretKey: 'sk_test_of_the_tests',
    stripeWebhookSecrets: ['whsec_first_one', 'whsec_second_one'],
    stripePrices: { price_1Abc: 'growth', price_2Def: 'developer' },
    stripeAllowDiscounts: true,
    stripeApiBase: 'http://127.0.0.1:12111',
    lightningClaim: true,
    doorSubmissionsPerMinute: 5,
    previewsPerMinute: 0,
    harvestMarkersPerMinute: 7,
    clicksPerMinute: 0,
    explorationsPerMinute: 0,
    ...{ logKeySeed: '0123456789abcdef'.repeat(4), witnesses: parsePolicy(policy) },
    pollsPerMinute: 9,
    pagesPerMinute: 0,
    cardEventsPerMinute: 0,
    ...{ keyGraceMinutes: 60, storedKbPerMinute: 0, doorMaxGb: 3, maxConnections: 99, diskReserveMb: 500 },
    ...{ doorPort: 8081, publicDoorUrl: 'https://door.example' },
  });
});

test('LND needs all of its variables, each with a valid value', () => {
  const whole = {
    LND_REST_URL: 'https://127.0.0.1:8080',
    LND_TLS_CERT: 'test/vectors/certificate.pem',
    LND_MACAROON_HEX: 'ab'.repeat(40),
  };
  assert.equal(errorsOf(whole), '');
  assert.equal(
    errorsOf({ LND_REST_URL: whole.LND_REST_URL }),
    'Lightning payments also need LND_TLS_CERT, LND_MACAROON_HEX or LND_MACAROON_PATH.',
  );
  const both = { ...whole, LND_MACAROON_PATH: 'test/vectors/certificate.pem' };
  assert.equal(errorsOf(both), 'Set LND_MACAROON_HEX or LND_MACAROON_PATH, not both.');
  for (const [wrong, expected] of [
    [{ LND_REST_URL: 'http://127.0.0.1:8080' }, /^LND_REST_URL must be https:/],
    [{ LND_TLS_CERT: 'package.json' }, /^LND_TLS_CERT must be the path of a certificate in PEM/],
    [{ LND_TLS_CERT: 'none.pem' }, /^LND_TLS_CERT .+ cannot be read \(ENOENT\)/],
    [{ LND_MACAROON_HEX: 'abcd' }, /^LND_MACAROON_HEX is too short for a macaroon: 2 bytes\.$/],
    [{ LND_MACAROON_HEX: 'secret' }, /^LND_MACAROON_HEX must be a macaroon in hexadecimal\.$/],
    [{ BTC_NETWORK: 'main' }, /^BTC_NETWORK must be one of mainnet, testnet, signet, regtest/],
    [{ LIGHTNING_CLAIM: 'yes' }, /^LIGHTNING_CLAIM must be optional or required/],
  ] as const) {
    assert.match(errorsOf({ ...whole, ...wrong }), expected);
  }
});

test('a collector is shown without secrets, and errors in its settings are reported', () => {
  for (const [wrong, expected] of [
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'grpc://collector:4317' }, /^OTEL_EXPORTER_OTLP_ENDPOINT must be http/],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://me@collector' }, /and no user, query or fragment/],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /^OTEL_EXPORTER_OTLP_PROTOCOL must be one of http\/protobuf, /],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'a b=hidden' }, /^OTEL_EXPORTER_OTLP_HEADERS must be [^;]+\.$/],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'a=%0d%0ahidden' }, /^OTEL_EXPORTER_OTLP_HEADERS must be [^;]+\.$/],
    [{ OTEL_RESOURCE_ATTRIBUTES: 'nothing' }, /^OTEL_RESOURCE_ATTRIBUTES must be name=value pairs/],
    [{ OTEL_TRACES_SAMPLER: 'jaeger_remote' }, /^OTEL_TRACES_SAMPLER must be one of parentbased/],
    [{ OTEL_TRACES_SAMPLER_ARG: '1.5' }, /^OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1/],
    [{ OTEL_SDK_DISABLED: 'maybe' }, /^OTEL_SDK_DISABLED must be true or false/],
  ] as const) {
    assert.match(errorsOf(wrong), expected);
  }
});

test('on-chain payments need an account and a chain, whose password is never shown', () => {
  const BTC_CHAIN = 'btcd+https://me:hidden@127.0.0.1:8334';
  assert.equal(errorsOf({ BTC_CHAIN, BTC_XPUB: 'zpub' }), '');
  assert.equal(errorsOf({ BTC_CHAIN }), 'On-chain payments also need BTC_XPUB.');
  for (const lnd of ['lnd', 'lnd:shop']) {
    const needs = 'BTC_CHAIN lnd also needs LND_REST_URL.';
    assert.equal(errorsOf({ BTC_CHAIN: lnd, BTC_XPUB: 'zpub' }), needs);
  }
  for (const url of ['https://esplora.example/api', 'http://127.0.0.1:3000/']) {
    const read = readConfiguration({ BTC_CHAIN: `esplora+${url}`, BTC_XPUB: 'zpub' }, linux);
    assert.ok('configuration' in read);
    assert.deepEqual(read.configuration.btcChain, { kind: 'esplora', url: url.replace(/\/$/, '') });
  }
  assert.equal(errorsOf({ BTC_XPUB: 'zpub' }), 'On-chain payments also need BTC_CHAIN.');
  for (const wrong of [
    'https://me:hidden@127.0.0.1:8334',
    'esplora+ftp://127.0.0.1',
    'esplora+https://host/api?x=1',
    'lnd:',
    'lnd:a b',
    'esplora+http://esplora.example/api',
    'esplora+http://127.0.0.1.example/',
    'btcd+http://me:hidden@127.0.0.1:8334',
    'btcd+https://127.0.0.1:8334',
    `${BTC_CHAIN}/path`,
    `${BTC_CHAIN}?certificate=x`,
    `${BTC_CHAIN}?cert=package.json`,
    `${BTC_CHAIN}?cert=none.pem`,
  ]) {
    const errors = errorsOf({ BTC_CHAIN: wrong, BTC_XPUB: 'zpub' });
    assert.match(errors, /^BTC_CHAIN (must be (btcd\+)?https|names as cert what must be the path)/, wrong);
    assert.doesNotMatch(errors, /hidden/);
  }
});

test('card payments need a key of Stripe, whose secrets are never shown', () => {
  assert.match(errorsOf({ STRIPE_WEBHOOK_SECRET: 'whsec_enough_of_it' }), /also need STRIPE_SECRET_KEY\.$/);
  for (const [name, value] of [
    ['STRIPE_SECRET_KEY', 'pk_test_public'],
    ['STRIPE_WEBHOOK_SECRET', 'sk_test_mistaken'],
    ['STRIPE_PRICES', 'price_1=gold'],
    ['STRIPE_PRICES', 'price_1=growth=growth'],
    ['STRIPE_ALLOW_DISCOUNTS', 'true'],
    ['STRIPE_API_BASE', 'ftp://host'],
    ['STRIPE_API_BASE', 'https://host/path'],
  ] as const) {
    const said = errorsOf({ [name]: value });
    assert.match(said, new RegExp(`^${name} `));
    if (/SECRET/.test(name)) assert.ok(!said.includes(value), said);
  }
});

test('models lie in the data folder, or where MODELS_DIR says', () => {
  const folderOf = (environment: Record<string, string>): string => {
    const read = readConfiguration(environment, linux);
    return 'configuration' in read ? installedModelsFolder(read.configuration) : read.errors.join();
  };
  assert.equal(folderOf({ STORE_URL: 'lmdb:/var/lib/x/store' }), '/var/lib/x/models');
  assert.equal(folderOf({ STORE_URL: 'lmdb:/var/lib/x/store', MODELS_DIR: '/opt/models' }), '/opt/models');
  for (const [name, value] of [
    ['EMBED_THREADS', '0'],
    ['EMBED_QUEUE', '-1'],
    ['EMBED_DEADLINE_MS', '10'],
    ['EMBED_PRELOAD', '1'],
  ] as const) {
    assert.match(folderOf({ [name]: value }), new RegExp(`^${name} must be`));
  }
});

test('a source of rates is a fixed price, or two different pages', () => {
  const sourceOf = (RATE_SOURCE: string): unknown => {
    const read = readConfiguration({ RATE_SOURCE }, linux);
    return 'configuration' in read ? read.configuration.rateSource : read.errors.join();
  };
  assert.deepEqual(sourceOf('bitstamp, https://rates.example:8443/btc?in=usd#/a/0'), {
    kind: 'urls',
    urls: [
      { name: 'bitstamp', url: 'https://www.bitstamp.net/api/v2/ticker/btcusd/', pointer: '/last' },
      { name: 'rates.example:8443', url: 'https://rates.example:8443/btc?in=usd', pointer: '/a/0' },
    ],
  });
  for (const wrong of [
    'coinbase',
    'coinbase,coinbase',
    'coinbase,kraken,bitstamp',
    'fixed:0',
    'fixed:-1',
    'fixed:1.5',
    'coinbase,http://rates.example#/a',
    'coinbase,https://rates.example/',
    'coinbase,nobody',
  ]) {
    const said = String(sourceOf(wrong));
    assert.match(said, /^RATE_SOURCE must be fixed:<US dollars>, or two different/, wrong);
    assert.match(said, /: coinbase, kraken, bitstamp, or https/);
  }
});

test('a PostgreSQL store, from the variable or from a file, is never shown', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-configuration-'));
  const file = join(folder, 'url');
  const url = 'postgres://me:secret@db:5432/fusegate';
  writeFileSync(file, `${url}\n`);
  const MASTER_SECRET = newer;
  for (const environment of [{ STORE_URL: url }, { STORE_URL_FILE: file }]) {
    assert.match(errorsOf(environment), /^MASTER_SECRET must be set where STORE_URL is postgres/);
    const read = readConfiguration({ ...environment, MASTER_SECRET }, linux);
    assert.ok('configuration' in read);
    assert.deepEqual(read.warnings, []);
    assert.deepEqual([read.configuration.storeUrl, read.configuration.dataFolder], [url, resolve('data')]);
  }
  assert.match(
    errorsOf({ STORE_URL: url, STORE_URL_FILE: file }),
    /^Set STORE_URL or STORE_URL_FILE, not both/,
  );
  assert.match(
    errorsOf({ STORE_URL_FILE: join(folder, 'none') }),
    /^STORE_URL_FILE .* cannot be read \(ENOENT\)/,
  );
  assert.doesNotMatch(errorsOf({ STORE_URL: 'postgres://me:secret@d b/x' }), /secret/);
  for (const [query, wrong] of [
    ['ssl=on', 'has a parameter it does not know; known are host, '],
    ['sslmode=sometimes', 'has an sslmode that is not one of disable, '],
    ['sslmode=require&sslrootcert=none.pem', 'names a certificate or key file that cannot be read'],
  ]) {
    const said = errorsOf({ STORE_URL: `${url}?${query}`, MASTER_SECRET, PORT: 'x' });
    assert.ok(said.startsWith('PORT must be a whole number'), said);
    assert.ok(said.includes(`STORE_URL ${wrong}`), said);
    assert.ok(!said.includes('me:secret'), said);
  }
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
      PUBLIC_URL: 'http://example.com',
      TRUSTED_PROXIES: '10.0.0.1/8',
      ANONYMOUS_REQUESTS_PER_MINUTE: '1000001',
      ANONYMOUS_CHARACTERS_PER_MONTH: '1e6',
      LEADS_PER_MINUTE: '-1',
    };
    const read = readConfiguration(environment, linux);
    assert.ok('errors' in read);
    const { partial, ...told } = read;
    assert.deepEqual([partial.port, partial.btcNetwork], [undefined, 'mainnet']);
    assert.deepEqual(told, {
      errors: [
        'PORT must be a whole number from 0 to 65535; it is "70000".',
        'HOST must be an IP address or host name without scheme, port or brackets, such as 0.0.0.0 or ::; ' +
          'it is "http://x".',
        'WORKERS must be a whole number from 1 to 256; it is "0".',
        'STORE_URL must be lmdb:<folder>, such as lmdb:./data/store, or ' +
          'postgres://user:password@host:port/database with %-escapes for special characters.',
        'PUBLIC_URL must be https://<host> without a path (http only for this machine), such as ' +
          'https://example.com; it is "http://example.com".',
        'METRICS_PORT must be a whole number from 0 to 65535; it is "-1".',
        'LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent; it is "loud".',
        'TRUSTED_PROXIES must be IP addresses and networks separated by commas, such as ' +
          '10.0.0.0/8,2001:db8::/32, with no bit set after the prefix; it is "10.0.0.1/8".',
        'ANONYMOUS_REQUESTS_PER_MINUTE must be a whole number from 0 to 1000000; it is "1000001".',
        'ANONYMOUS_CHARACTERS_PER_MONTH must be a whole number from 0 to 1000000000000; it is "1e6".',
        'LEADS_PER_MINUTE must be a whole number from 0 to 1000000; it is "-1".',
      ],
      warnings: [],
    });
  });

  test('a refused value with a user or a password is not repeated', () => {
    const values = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://u:s3cret@127.0.0.1:4318',
      RATE_SOURCE: 'https://u:s3cret@rates.example/#/usd,kraken,bitstamp',
      PUBLIC_URL: 'https://s3cret@example.com',
      PUBLIC_DOOR_URL: 'https:u:s3c/ret@door.example',
      TRUSTED_PROXIES: 'http://u:s3cret@10.0.0.1',
    };
    for (const [name, value] of Object.entries(values)) {
      const read = readConfiguration({ [name]: value }, linux);
      assert.ok('errors' in read, name);
      assert.match(read.errors.join(), new RegExp(`^${name} must be .+; it is not shown, as`), name);
      assert.doesNotMatch(read.errors.join(), /s3c/, name);
    }
  });

  test('numbers are plain decimals', () => {
    for (const PORT of ['8080 ', '+8080', '0x50', '80.0', '1e3', '٨٠']) {
      assert.ok('errors' in readConfiguration({ PORT }, linux), PORT);
    }
  });

  test('whole numbers are taken within the bounds that the list of settings names, and not beyond', () => {
    const bounded = Object.values(settings).flatMap(({ name, type }) => {
      const [, least, most] = /^whole number[^,]*, (\d+) to (\d+)$/.exec(type) ?? [];
      return least === undefined || most === undefined ? [] : [{ name, least, most }];
    });
    assert.ok(bounded.length > 20, `${bounded.length}`);
    for (const { name, least, most } of bounded) {
      for (const value of [least, most])
        assert.doesNotMatch(errorsOf({ [name]: value }), new RegExp(`${name} must be`), name);
      for (const value of [Number(least) - 1, Number(most) + 1])
        assert.match(
          errorsOf({ [name]: `${value}` }),
          new RegExp(`^${name} must be a whole number from ${least} to ${most}`),
        );
    }
  });

  test('one port cannot serve both', () => {
    const read = readConfiguration({ PORT: '9000', METRICS_PORT: '9000' }, linux);
    assert.deepEqual('errors' in read && read.errors, ['METRICS_PORT must differ from PORT; both are 9000.']);
    const door = readConfiguration({ PORT: '9000', DOOR_PORT: '9000', METRICS_PORT: '9000' }, linux);
    assert.deepEqual('errors' in door && door.errors, [
      'DOOR_PORT must differ from PORT; both are 9000.',
      'METRICS_PORT must differ from PORT; both are 9000.',
    ]);
    const free = readConfiguration({ PORT: '0', DOOR_PORT: '0', METRICS_PORT: '0' }, linux);
    assert.ok('configuration' in free && free.configuration.doorPort === 0);
  });

  test('an unknown log format is refused with a list of the known ones', () => {
    const said = readConfiguration({ LOG_FORMAT: 'xml' }, linux);
    assert.deepEqual('errors' in said && said.errors, [
      'LOG_FORMAT must be one of auto, json, text; it is "xml".',
    ]);
  });

  test('PUBLIC_URL is an origin that is safe to send people to: https, or http to this machine', () => {
    const right = ['http://localhost:8080', 'http://127.0.0.1', 'http://[::1]:80', 'http://[::1]:1'];
    for (const PUBLIC_URL of [...right, 'https://a.b', 'https://a.example']) {
      assert.ok('configuration' in readConfiguration({ PUBLIC_URL }, linux), PUBLIC_URL);
    }
    const wrong = [
      ...['a.b', 'https://a.b/c', 'https://a.b?', 'https://u@a.b', 'ftp://a.b', ' '],
      ...['http://a.example', 'https://a.example/x', 'https://u@a.example', 'a.example', 'ftp://a', '//a'],
      ...['https://a.example/?q', 'http://127.0.0.1.evil.example'],
    ];
    for (const PUBLIC_URL of wrong) {
      assert.ok('errors' in readConfiguration({ PUBLIC_URL }, linux), PUBLIC_URL);
    }
  });

  test('OPERATOR_FILE is a JSON file with known members', () => {
    const wrong = (OPERATOR_FILE: string): string => {
      const read = readConfiguration({ OPERATOR_FILE }, linux);
      return 'errors' in read ? read.errors.join(' ') : 'no error';
    };
    assert.match(wrong(`${operatorFile}.gone`), /OPERATOR_FILE must be .* that can be read \(ENOENT\)/);
    const file = join(operatorFolder, 'wrong.json');
    writeFileSync(file, '{"nam": 1, "terms": "x"}');
    assert.match(wrong(file), /OPERATOR_FILE .*nam is not known.*; terms must be an address/);
  });

  test('WITNESSES is a file with a policy', () => {
    const file = join(operatorFolder, 'no-policy');
    writeFileSync(file, 'quorum of some\n');
    for (const WITNESSES of [file, `${file}.gone`]) {
      assert.match(errorsOf({ WITNESSES }), /^WITNESSES must be the path of a policy/);
    }
  });

  test('CLICK_HOSTS are hosts and nothing more', () => {
    for (const CLICK_HOSTS of [
      'https://a.example',
      'a.example/x',
      'u@a.example',
      'a b',
      '*.a.example?',
      'a:99999',
    ]) {
      assert.match(errorsOf({ CLICK_HOSTS }), /^CLICK_HOSTS must be host names separated by/);
    }
  });
});

test('settings that would let others decide about money are refused', () => {
  for (const every of ['0.0.0.0/0', '::/0', '::ffff:0.0.0.0/96', '10.0.0.0/8, ::/0']) {
    assert.match(errorsOf({ TRUSTED_PROXIES: every }), /^TRUSTED_PROXIES trusts every address/, every);
  }
  assert.equal(errorsOf({ TRUSTED_PROXIES: '0.0.0.0/1,::1' }), '');
  const chain = (url: string) => errorsOf({ BTC_CHAIN: `esplora+${url}`, BTC_XPUB: 'zpub' });
  const stripe = (url: string) => errorsOf({ STRIPE_API_BASE: url });
  for (const host of ['chain.example', '10.0.0.1', '127.0.0.1.example', '[::2]']) {
    assert.match(chain(`http://${host}:3000`), /^BTC_CHAIN must be https where it is another machine/, host);
    assert.match(stripe(`http://${host}:3000`), /^STRIPE_API_BASE must be https:/, host);
    assert.equal(chain(`https://${host}:3000`) + stripe(`https://${host}:3000`), '', host);
  }
  for (const host of ['localhost', '127.0.0.1', '127.8.9.1', '[::1]']) {
    assert.equal(chain(`http://${host}:3000`) + stripe(`http://${host}:3000`), '', host);
  }
});

describe('secrets', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-secret-'));
  after(() => rmSync(folder, { recursive: true }));

  test('may be in a file', () => {
    const file = join(folder, 'secret');
    writeFileSync(file, `${newer}\n${'o'.repeat(32)}\n`);
    const read = readConfiguration({ MASTER_SECRET_FILE: file }, linux);
    assert.ok('configuration' in read);
    assert.deepEqual(read.configuration.masterSecrets, [newer, 'o'.repeat(32)]);
    assert.deepEqual(read.warnings, []);
  });

  test('of 128 random bits are strong enough', () => {
    const read = readConfiguration({ MASTER_SECRET: '9f86d081884c7d659a2feaa0c55ad015' }, linux);
    assert.ok('configuration' in read, JSON.stringify(read));
  });

  test('are refused without being shown', () => {
    const short = 'a-secret-of-31-characters-.....';
    const empty = join(folder, 'empty');
    writeFileSync(empty, '\n');
    const cases: readonly [Record<string, string>, RegExp][] = [
      [{ MASTER_SECRET: short }, /^MASTER_SECRET must be secrets of 32 to 256 visible/],
      [{ MASTER_SECRET: 'x'.repeat(257) }, /^MASTER_SECRET must be secrets of 32 to 256 visible/],
      [{ MASTER_SECRET: 'é'.repeat(32) }, /^MASTER_SECRET must be/],
      [{ MASTER_SECRET: `${'x'.repeat(32)},${'x'.repeat(32)}` }, /^MASTER_SECRET names a secret twice\.$/],
      [
        { MASTER_SECRET: 'x'.repeat(32), MASTER_SECRET_FILE: empty },
        /^Set MASTER_SECRET or MASTER_SECRET_FILE/,
      ],
      [
        { MASTER_SECRET: 'x'.repeat(32) },
        /^MASTER_SECRET begins with a secret that looks like less than 128/,
      ],
      [{ MASTER_SECRET: `${'password'.repeat(4)},${newer}` }, /^MASTER_SECRET begins with a secret/],
      [{ MASTER_SECRET_FILE: empty }, /^MASTER_SECRET must be/],
      [
        { MASTER_SECRET_FILE: join(folder, 'none') },
        /^MASTER_SECRET_FILE ".*none" cannot be read \(ENOENT\)\.$/,
      ],
    ];
    for (const [environment, expected] of cases) {
      const read = readConfiguration(environment, linux);
      assert.ok('errors' in read);
      assert.equal(read.errors.length, 1);
      assert.match(read.errors[0] ?? '', expected);
      assert.ok(!read.errors.some((error) => error.includes(environment['MASTER_SECRET'] ?? '\0')));
    }
  });
});

test('unknown names that resemble settings are reported, and others are not', () => {
  const environment = {
    WORKER: '2',
    STORE_URI: 'x',
    FUSEGATE_PORT: '1',
    LOGLEVEL: 'x',
    FUSEGATE_X: '1',
    PATH: '/bin',
    HOSTNAME: 'a',
    HOME: '/',
    TRUSTED_PROXY: '10.0.0.1',
    PROT: '80',
    STRIPE_SECRET: 'x',
    STRIPE: 'x',
    STRIPE_API_KEY: 'x',
    HTTP_PROXY: 'x',
    LOGNAME: 'a',
    POSTGRES_URL: 'x',
    DOOR: 'x',
    TERM: 'x',
  };
  const read = readConfiguration(environment, linux);
  assert.deepEqual(read.warnings, [
    'WORKER is not read; did you mean WORKERS?',
    'STORE_URI is not read; did you mean STORE_URL?',
    'FUSEGATE_PORT is not read; did you mean PORT?',
    'LOGLEVEL is not read; did you mean LOG_LEVEL?',
    'FUSEGATE_X is not read; the variables are PORT, DOOR_PORT, HOST, SERVE, WORKERS, ' +
      'MAX_CONNECTIONS, STORE_URL, STORE_URL_FILE, MASTER_SECRET, MASTER_SECRET_FILE, DISK_RESERVE, ' +
      'PUBLIC_URL, PUBLIC_DOOR_URL, CLICK_HOSTS, CLICKS_RETENTION_DAYS, LEADS_RETENTION_DAYS, ' +
      'WEBHOOK_NETWORKS, ' +
      'OPERATOR_FILE, SERVER_TIMING, METRICS_PORT, ' +
      'OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS, OTEL_EXPORTER_OTLP_HEADERS_FILE, ' +
      'OTEL_EXPORTER_OTLP_PROTOCOL, OTEL_EXPORTER_OTLP_TIMEOUT, OTEL_SDK_DISABLED, ' +
      'OTEL_TRACES_EXPORTER, OTEL_METRICS_EXPORTER, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, ' +
      'OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG, OTEL_BSP_SCHEDULE_DELAY, ' +
      'OTEL_METRIC_EXPORT_INTERVAL, LOG_LEVEL, LOG_FORMAT, ' +
      'ACCESS, TRUSTED_PROXIES, STORED_KB_PER_MINUTE, KEY_GRACE, TIERS_FILE, ' +
      'ANONYMOUS_REQUESTS_PER_MINUTE, ' +
      'ANONYMOUS_CHARACTERS_PER_MONTH, ' +
      'LEADS_PER_MINUTE, CLICKS_PER_MINUTE, AUDITS_PER_MINUTE, ' +
      'MODELS_DIR, EMBED_MODEL, EMBED_THREADS, EMBED_QUEUE, EMBED_DEADLINE_MS, EMBED_PRELOAD, ' +
      'EMBED_CACHE_MB, EMBED_CACHE_STORE, RATE_SOURCE, CHECKOUT_REQUESTS_PER_MINUTE, ' +
      'POLLS_PER_MINUTE, CARD_EVENTS_PER_MINUTE, BTC_NETWORK, BTC_XPUB, ' +
      'BTC_CONFIRMATIONS, BTC_CHAIN, BTC_CHAIN_FILE, ' +
      'MAX_UNPAID_ORDERS, UNPAID_ORDERS_PER_ADDRESS, LND_REST_URL, LND_TLS_CERT, LND_MACAROON_HEX, ' +
      'LND_MACAROON_HEX_FILE, LND_MACAROON_PATH, STRIPE_SECRET_KEY, STRIPE_SECRET_KEY_FILE, ' +
      'STRIPE_WEBHOOK_SECRET, STRIPE_WEBHOOK_SECRET_FILE, STRIPE_PRICES, STRIPE_ALLOW_DISCOUNTS, ' +
      'STRIPE_API_BASE, LIGHTNING_CLAIM, ' +
      'DOOR_SUBMISSIONS_PER_MINUTE, DOOR_MAX_GB, PREVIEWS_PER_MINUTE, HARVEST_MARKERS_PER_MINUTE, ' +
      'EXPLORATIONS_PER_MINUTE, LOG_KEY, LOG_KEY_FILE, WITNESSES, PAGES_PER_MINUTE.',
    'TRUSTED_PROXY is not read; did you mean TRUSTED_PROXIES?',
    'PROT is not read; did you mean PORT?',
    'STRIPE_SECRET is not read; did you mean STRIPE_SECRET_KEY?',
  ]);
});

test('docs/configuration.md is generated from the table', () => {
  assert.equal(readFileSync('docs/configuration.md', 'utf8'), renderSettings(settings));
});

test('LOG_KEY is a seed in hexadecimal digits, which no error shows', () => {
  for (const LOG_KEY of ['ab'.repeat(31), 'ab'.repeat(33), 'AB'.repeat(32), 'xy'.repeat(32)]) {
    assert.equal(errorsOf({ LOG_KEY }), 'LOG_KEY must be 64 hexadecimal digits: openssl rand -hex 32.');
  }
});
