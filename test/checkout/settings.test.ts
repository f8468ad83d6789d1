/** Settings of the ways to pay: what each accepts, and what an operator reads if one is wrong or missing. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { readConfiguration, type Configuration } from '../../src/configuration.js';
import { memoryFolder } from '../support/run.js';

type Environment = Readonly<Record<string, string>>;

function read(environment: Environment): ReturnType<typeof readConfiguration> {
  return readConfiguration(environment, { platform: 'linux', cores: 1 });
}

function configured(environment: Environment): Configuration {
  const found = read(environment);
  if ('errors' in found) assert.fail(found.errors.join('\n'));
  return found.configuration;
}

function errorsOf(environment: Environment): readonly string[] {
  const found = read(environment);
  return 'errors' in found ? found.errors : [];
}

/** What is said of one wrong variable, and nothing else is. */
function wrong(environment: Environment): string {
  const [said = '', ...more] = errorsOf(environment);
  assert.deepEqual(more, [], JSON.stringify(environment));
  return said;
}

const certificate = 'test/vectors/certificate.pem';
const macaroon = 'ab'.repeat(32);
const place = { LND_REST_URL: 'https://lnd.example:8080', LND_TLS_CERT: certificate };
const lnd = { ...place, LND_MACAROON_HEX: macaroon };

describe('the chain', () => {
  test('is an account of LND by its name, or by its key where it is not named', () => {
    const chainOf = (BTC_CHAIN: string) => configured({ ...lnd, BTC_CHAIN, BTC_XPUB: 'zpub' }).btcChain;
    assert.deepEqual(chainOf('lnd'), { kind: 'lnd', account: null });
    assert.deepEqual(chainOf('lnd:a.shop-1'), { kind: 'lnd', account: 'a.shop-1' });
  });

  test('of an unknown kind is refused with a list of the kinds', () => {
    for (const BTC_CHAIN of ['bitcoind+http://127.0.0.1', 'lnd:', 'esplora+https://[', 'esplora+ftp://a']) {
      const said = wrong({ BTC_CHAIN, BTC_XPUB: 'zpub' });
      assert.match(said, /^BTC_CHAIN must be btcd\+https:\/\/…, esplora\+https:\/\/…, lnd or lnd:ACCOUNT/);
    }
  });

  test('by btcd needs a user and a password in valid %-escapes, and nothing more', () => {
    for (const place of [
      ...['https://[', 'https://me@127.0.0.1', 'https://:word@127.0.0.1', 'https://127.0.0.1'],
      ...['https://me:word@127.0.0.1/#part', 'https://m%e:word@127.0.0.1', 'https://me:50%@127.0.0.1'],
    ]) {
      const said = wrong({ BTC_CHAIN: `btcd+${place}`, BTC_XPUB: 'zpub' });
      assert.match(
        said,
        /^BTC_CHAIN must be btcd\+https:\/\/user:password@host:port, with \?cert=FILE/,
        place,
      );
    }
  });

  test('that cannot be read is the only error: a missing account is not reported', () => {
    assert.match(wrong({ BTC_CHAIN: 'btcd' }), /^BTC_CHAIN must be/);
  });
});

describe('numbers', () => {
  test('of confirmations and of unpaid orders have limits', () => {
    for (const [name, least, most] of [
      ['BTC_CONFIRMATIONS', 1, 100],
      ['MAX_UNPAID_ORDERS', 0, 1_000_000],
      ['UNPAID_ORDERS_PER_ADDRESS', 0, 1_000_000],
    ] as const) {
      for (const right of [least, most]) assert.deepEqual(errorsOf({ [name]: String(right) }), []);
      const said = new RegExp(`^${name} must be a whole number from ${least} to ${most}`);
      for (const each of [least - 1, most + 1]) assert.match(wrong({ [name]: String(each) }), said);
    }
  });
});

describe('a Lightning node', () => {
  test('has an address of https without a path', () => {
    for (const LND_REST_URL of ['nowhere', 'https://lnd.example:8080/v1', 'http://lnd.example:8080']) {
      assert.match(wrong({ ...lnd, LND_REST_URL }), /^LND_REST_URL must be https:\/\/<host>:<port>, such as/);
    }
  });

  test('has a macaroon of at least 32 bytes, as hexadecimal or in a file', () => {
    assert.equal(configured(lnd).lndMacaroonHex, macaroon);
    const short = /^LND_MACAROON_HEX is too short for a macaroon: 31 bytes/;
    assert.match(wrong({ ...lnd, LND_MACAROON_HEX: macaroon.slice(2) }), short);
    const file = join(memoryFolder(), 'macaroon');
    writeFileSync(file, Buffer.from(macaroon, 'hex'));
    assert.equal(configured({ ...place, LND_MACAROON_PATH: file }).lndMacaroonPath, macaroon);
    writeFileSync(file, Buffer.from(macaroon, 'hex').subarray(1));
    assert.match(
      wrong({ ...place, LND_MACAROON_PATH: file }),
      /^LND_MACAROON_PATH must be the path of a macaro/,
    );
  });

  test('with a missing setting is told which one it needs', () => {
    const needs = (what: string): readonly string[] => [`Lightning payments also need ${what}.`];
    const aMacaroon = 'LND_MACAROON_HEX or LND_MACAROON_PATH';
    assert.deepEqual(errorsOf({ LND_MACAROON_HEX: macaroon }), needs('LND_REST_URL, LND_TLS_CERT'));
    assert.deepEqual(errorsOf({ LND_TLS_CERT: certificate }), needs(`LND_REST_URL, ${aMacaroon}`));
    const { LND_REST_URL } = place;
    const uncertified = { LND_REST_URL, LND_MACAROON_HEX: macaroon };
    assert.deepEqual(errorsOf(uncertified), needs('LND_TLS_CERT'));
  });

  test('with an unreadable setting is not told that it needs more', () => {
    for (const [name, value] of [
      ['LND_REST_URL', 'nowhere'],
      ['LND_TLS_CERT', 'none.pem'],
      ['LND_MACAROON_HEX', 'abc'],
      ['LND_MACAROON_PATH', 'none'],
    ] as const) {
      assert.ok(wrong({ [name]: value }).startsWith(`${name} `), name);
    }
  });
});

describe('card payments', () => {
  test('report each setting that is not what it must be', () => {
    for (const [name, value, said] of [
      ['STRIPE_SECRET_KEY', 'pk_test_1', 'must be a key of Stripe: sk_ or rk_'],
      ['STRIPE_WEBHOOK_SECRET', 'secret', 'must be secrets of Stripe webhooks, which begin with whsec_'],
      ['STRIPE_PRICES', 'prod_1=growth', 'must be price ids and tiers'],
      ['STRIPE_PRICES', 'price_1', 'must be price ids and tiers'],
      ['STRIPE_API_BASE', 'nowhere', 'must be https://<host>:<port>'],
      ['STRIPE_API_BASE', 'ftp://127.0.0.1', 'must be https://<host>:<port>'],
    ] as const) {
      assert.ok(wrong({ [name]: value }).startsWith(`${name} ${said}`), `${name} ${value}`);
    }
  });

  test('accept blanks after the commas of the operator’s own prices', () => {
    const { stripePrices } = configured({ STRIPE_PRICES: 'price_1=growth, price_2=developer' });
    assert.deepEqual(stripePrices, { price_1: 'growth', price_2: 'developer' });
  });
});

describe('a source of rates', () => {
  test('that is fixed is in dollars, with or without cents', () => {
    for (const [text, cents] of [
      ['fixed:1', 100],
      ['fixed:60000', 6_000_000],
      ['fixed:60000.05', 6_000_005],
    ] as const) {
      assert.deepEqual(configured({ RATE_SOURCE: text }).rateSource, { kind: 'fixed', cents });
    }
  });

  test('is a page of https, or of this machine, with the place of the price in it', () => {
    const { rateSource } = configured({ RATE_SOURCE: 'kraken,http://127.0.0.1/btc#/price' });
    const own = { name: '127.0.0.1', url: 'http://127.0.0.1/btc', pointer: '/price' };
    assert.ok(rateSource.kind === 'urls');
    assert.deepEqual(rateSource.urls[1], own);
    for (const other of [
      ...['rates.example#/price', 'ftp://127.0.0.1/btc#/price', 'http://rates.example#/price'],
      ...['https://rates.example/btc', 'https://rates.example/btc#price', 'https://rates.example/btc#/'],
      // What every object has is no name of a page.
      'constructor',
    ]) {
      for (const RATE_SOURCE of [`kraken,${other}`, `${other},kraken`]) {
        assert.match(
          wrong({ RATE_SOURCE }),
          /^RATE_SOURCE must be fixed:<US dollars>, or two different/,
          other,
        );
      }
    }
  });
});

describe('a server that sells keys', () => {
  const accessOf = (environment: Environment): unknown => {
    const found = read(environment);
    return 'errors' in found ? found.partial.access : found.configuration.access;
  };
  const sold = (names: string): unknown => ({
    mode: 'metered',
    reason: `ACCESS is not set, and keys are sold here (${names})`,
  });

  test('limits callers without a key, whichever way to pay it has, and names that way', () => {
    const card = { STRIPE_SECRET_KEY: 'sk_test_1', STRIPE_WEBHOOK_SECRET: 'whsec_12345678' };
    assert.deepEqual(accessOf({ BTC_XPUB: 'zpub', BTC_CHAIN: 'esplora+https://a' }), sold('BTC_XPUB'));
    assert.deepEqual(accessOf(lnd), sold('LND_REST_URL'));
    assert.deepEqual(accessOf({ STRIPE_SECRET_KEY: 'sk_test_1' }), sold('STRIPE_SECRET_KEY'));
    assert.deepEqual(accessOf(card), sold('STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET'));
  });

  test('is not assumed if the settings of its ways to pay cannot be read', () => {
    const unread = { LND_REST_URL: 'nowhere', STRIPE_SECRET_KEY: 'pk_1', STRIPE_WEBHOOK_SECRET: 'secret' };
    const open = { mode: 'open', reason: 'ACCESS is not set, and no way to pay is configured' };
    assert.deepEqual(accessOf(unread), open);
  });
});
