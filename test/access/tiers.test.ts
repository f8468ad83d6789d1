/** The file of tiers: the included one, all errors at once, and what the environment overrides. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseTiers, readTiers, shippedTiersFile } from '../../src/access/tiers.js';
import { temporaryFolder } from '../support/run.js';
import { shippedTiers } from '../support/access.js';

const asInTheFile = { anonymousRequestsPerMinute: null, anonymousCharactersPerMonth: null };

test('the included file has the documented tiers', () => {
  assert.deepEqual(shippedTiers(), {
    anonymous: { requests_per_minute: 60, characters_per_month: 1e6 },
    developer: { requests_per_minute: 600, characters_per_month: 5e7, price_sat: 50_000 },
    growth: { requests_per_minute: 6_000, characters_per_month: 1e9, price_sat: 250_000 },
    enterprise: { requests_per_minute: 60_000, characters_per_month: 2e10, price_sat: 2_000_000 },
    surcharge_bps: 1000,
    term_days: 30,
  });
  const shown = /```json\n([^`]+)```/.exec(readFileSync('docs/keys.md', 'utf8'))?.[1] ?? '';
  assert.deepEqual(JSON.parse(shown), shippedTiers(), 'docs/keys.md shows it');
});

test('the environment overrides the file, even with 0', () => {
  const read = readTiers(null, { anonymousRequestsPerMinute: 0, anonymousCharactersPerMonth: 5 });
  assert.ok('tiers' in read);
  assert.deepEqual(read.tiers.anonymous, { requests_per_minute: 0, characters_per_month: 5 });
});

test('every error is listed', () => {
  const tiers = JSON.parse(readFileSync(shippedTiersFile, 'utf8')) as Record<string, unknown>;
  const wrong = {
    ...tiers,
    anonymous: { requests_per_minute: 1_000_001, characters_per_month: -1, price_sat: 1 },
    developer: { requests_per_minute: '600', characters_per_month: 1.5 },
    growth: [],
    surcharge_bps: null,
    terms: 30,
  };
  assert.deepEqual(parseTiers(JSON.stringify(wrong), 'F'), {
    errors: [
      'F: anonymous.requests_per_minute must be a whole number from 0 to 1000000; it is 1000001.',
      'F: anonymous.characters_per_month must be a whole number from 0 to 1000000000000; it is -1.',
      'F: anonymous.price_sat is not known; known are requests_per_minute, characters_per_month.',
      'F: developer.requests_per_minute must be a whole number from 0 to 1000000; it is "600".',
      'F: developer.characters_per_month must be a whole number from 0 to 1000000000000; it is 1.5.',
      'F: developer.price_sat must be a whole number from 1 to 2100000000000000; it is missing.',
      "F: growth must be an object with the tier's limits.",
      'F: surcharge_bps must be a whole number from 0 to 1000000; it is null.',
      'F: terms is not known; known are anonymous, developer, growth, enterprise, surcharge_bps, term_days.',
    ],
  });
  for (const none of ['[]', 'null', '5', '"growth"']) {
    assert.deepEqual(parseTiers(none, 'F'), { errors: ['F: It must be a JSON object.'] });
    assert.deepEqual(parseTiers(JSON.stringify({ ...tiers, growth: JSON.parse(none) as unknown }), 'F'), {
      errors: ["F: growth must be an object with the tier's limits."],
    });
  }
});

test('values are accepted up to their maximum, and prices from 1', () => {
  const shipped = JSON.parse(readFileSync(shippedTiersFile, 'utf8')) as Record<
    string,
    Record<string, number>
  >;
  const errors = (changes: object): number => {
    const result = parseTiers(JSON.stringify({ ...shipped, ...changes }), 'F');
    return 'errors' in result ? result.errors.length : 0;
  };
  const growth = (changes: object): number => errors({ growth: { ...shipped['growth'], ...changes } });
  for (const [name, least, most] of [
    ['requests_per_minute', 0, 1e6],
    ['characters_per_month', 0, 1e12],
    ['price_sat', 1, 21e14],
  ] as const) {
    const taken = [least - 1, least, most, most + 1].map((value) => growth({ [name]: value }));
    assert.deepEqual(taken, [1, 0, 0, 1], name);
  }
  for (const [name, most] of [
    ['surcharge_bps', 1e6],
    ['term_days', 36_500],
  ] as const) {
    assert.deepEqual(
      [-1, 0, most, most + 1].map((value) => errors({ [name]: value })),
      [1, 0, 0, 1],
      name,
    );
  }
});

test('a file that is missing or not JSON is an error', () => {
  const folder = temporaryFolder();
  const missing = readTiers(join(folder, 'none.json'), asInTheFile);
  assert.ok('errors' in missing);
  assert.match(missing.errors.join(), /^TIERS_FILE .*none\.json cannot be read: ENOENT/);
  const path = join(folder, 'tiers.json');
  writeFileSync(path, '{');
  const broken = readTiers(path, asInTheFile);
  assert.ok('errors' in broken);
  assert.match(broken.errors.join(), /^TIERS_FILE .*tiers\.json is not JSON: [^:]+\.$/);
});
