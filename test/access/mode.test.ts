/** ACCESS: the mode in force, the limits that it sets, and the sentence that describes it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { accessSentence, chooseAccess, limitsGiven } from '../../src/access/mode.js';
import { readTiers } from '../../src/access/tiers.js';
import { readConfiguration } from '../../src/configuration.js';
import { headFrom, MemoryKeys, openTiers, shippedTiers, testAccess } from '../support/access.js';

const machine = { platform: 'linux', cores: 1 } as const;
const stripe = {
  STRIPE_SECRET_KEY: ['sk', 'test', '123456789012345678901234'].join('_'),
  PUBLIC_URL: 'https://a.example',
};

/** The mode of a configuration, and the limits without a key that follow. */
function of(environment: Readonly<Record<string, string>>) {
  const read = readConfiguration(environment, machine);
  assert.ok('configuration' in read, 'errors' in read ? read.errors.join(' ') : '');
  const { access } = read.configuration;
  const tiers = readTiers(null, limitsGiven(access.mode, read.configuration));
  assert.ok('tiers' in tiers);
  const { requests_per_minute, characters_per_month } = tiers.tiers.anonymous;
  return { ...access, limits: [requests_per_minute, characters_per_month] };
}

describe('the mode', () => {
  test('is open until a way to pay is configured, unless ACCESS says otherwise', () => {
    const none = 'ACCESS is not set, and no way to pay is configured';
    assert.deepEqual(of({}), { mode: 'open', reason: none, limits: [0, 0] });
    const sold = 'ACCESS is not set, and keys are sold here (STRIPE_SECRET_KEY)';
    assert.deepEqual(of(stripe), { mode: 'metered', reason: sold, limits: [60, 1e6] });
    assert.deepEqual(of({ ...stripe, ACCESS: 'open' }).limits, [0, 0]);
    assert.deepEqual(of({ ACCESS: 'metered' }), {
      mode: 'metered',
      reason: 'ACCESS is metered',
      limits: [60, 1e6],
    });
    assert.equal(of({ ACCESS: 'keys' }).mode, 'keys');
    const wrong = readConfiguration({ ACCESS: 'closed' }, machine);
    assert.ok('errors' in wrong);
    assert.deepEqual(wrong.errors, ['ACCESS must be one of open, metered, keys; it is "closed".']);
  });

  test('does not change limits that are set', () => {
    const set = { ANONYMOUS_REQUESTS_PER_MINUTE: '5' };
    assert.deepEqual(of(set).limits, [5, 0]);
    assert.deepEqual(of({ ...set, ...stripe }).limits, [5, 1e6]);
    assert.deepEqual(of({ ANONYMOUS_CHARACTERS_PER_MONTH: '7' }).limits, [0, 7]);
    assert.deepEqual(of({ ...stripe, ANONYMOUS_CHARACTERS_PER_MONTH: '7' }).limits, [60, 7]);
  });

  test('is described in one sentence with its reason', () => {
    const open = chooseAccess(null, []);
    assert.equal(
      accessSentence(open, openTiers().anonymous),
      'open: no key is needed, and nobody without one is limited on fuse and normalize (ACCESS is not set, ' +
        'and no way to pay is configured). To change it, set ACCESS to open, metered or keys.',
    );
    assert.equal(
      accessSentence(chooseAccess(null, ['BTC_XPUB']), shippedTiers().anonymous),
      'metered: no key is needed; without one an address has 60 requests a minute and 1000000 characters a ' +
        'month on fuse and normalize (ACCESS is not set, and keys are sold here (BTC_XPUB)). ' +
        'To change it, set ACCESS to open, metered or keys.',
    );
    assert.match(
      accessSentence(chooseAccess('keys', []), shippedTiers().anonymous),
      /^keys: fuse and normalize need a key \(ACCESS is keys\)\. Make one: fusegate keys create /,
    );
  });
});

describe('callers', () => {
  const from = [192, 0, 2, 1];

  test('without a key are refused where one is needed, with a key they are not', async () => {
    const keys = new MemoryKeys();
    const access = testAccess({ mode: 'keys', keys });
    const refused = (await access.keyed(headFrom(from))).refusal;
    assert.equal(refused?.status, 401);
    assert.match(JSON.stringify(refused.body), /key_required/);
    const { key } = keys.issue();
    assert.equal((await access.keyed(headFrom(from, { 'x-api-key': key }))).refusal, undefined);
    assert.equal(access.limited('pages', headFrom(from)).refusal, undefined, 'public routes stay public');
  });

  test('without a key are refused where one is needed, even if their tier has no limit', async () => {
    const access = testAccess({ mode: 'keys', tiers: openTiers() });
    assert.equal((await access.keyed(headFrom(from))).refusal?.status, 401);
  });

  test('without a key are never refused by an open server, and are admitted as keyless', async () => {
    const access = testAccess({ mode: 'open', tiers: openTiers() });
    for (let count = 0; count < 200; count += 1) {
      const { refusal, key, charge } = await access.keyed(headFrom(from));
      charge(1_000_000);
      assert.deepEqual([refusal, key], [undefined, undefined]);
    }
  });
});
