/** Names that resemble settings. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { editDistance, lookalikes, nearestName } from '../../src/system/lookalikes.js';

/** The fewest edits by their definition, from the ends of both. */
function naiveDistance(left: string, right: string): number {
  if (left === '' || right === '') return left.length + right.length;
  const [shorter, other] = [left.slice(0, -1), right.slice(0, -1)];
  const swapped = left.at(-1) === right.at(-2) && left.at(-2) === right.at(-1);
  return Math.min(
    naiveDistance(shorter, right) + 1,
    naiveDistance(left, other) + 1,
    naiveDistance(shorter, other) + (left.at(-1) === right.at(-1) ? 0 : 1),
    ...(swapped && left.length > 1 && right.length > 1
      ? [naiveDistance(left.slice(0, -2), right.slice(0, -2)) + 1]
      : []),
  );
}

test('the distance of two strings is that of the definition', () => {
  const short = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 5 });
  fc.assert(
    fc.property(short, short, (left, right) => editDistance(left, right) === naiveDistance(left, right)),
  );
  for (const [left, right, edits] of [
    ['', '', 0],
    ['PORT', 'PROT', 1],
    ['PORT', 'PORTS', 1],
    ['PORT', 'POST', 1],
    ['CA', 'ABC', 3],
  ] as const) {
    assert.equal(editDistance(left, right), edits, `${left} ${right}`);
    assert.equal(editDistance(right, left), edits, `${right} ${left}`);
  }
});

const ours = [
  'PORT',
  'HOST',
  'MODELS',
  'WORKERS',
  'STORE_URL',
  'STRIPE_SECRET_KEY',
  'TRUSTED_PROXIES',
  'LOG_LEVEL',
];

test('a name that resembles a setting is reported with that setting', () => {
  const meant = {
    PROT: 'PORT',
    port: 'PORT',
    HOSTS: 'HOST',
    FUSEGATE_PORT: 'PORT',
    FUSEGATEPORT: 'PORT',
    WRKERZ: 'WORKERS',
    WORKE: 'WORKERS',
    STOREURL: 'STORE_URL',
    STRIPE_SECRET: 'STRIPE_SECRET_KEY',
    TRUSTED_PROXY: 'TRUSTED_PROXIES',
    TRUSTDPROXIS: 'TRUSTED_PROXIES',
    TRUSTEDS_PROXIE: 'TRUSTED_PROXIES',
    LOG_LEVELS: 'LOG_LEVEL',
    LOGS_LEVEL: 'LOG_LEVEL',
  };
  for (const [name, setting] of Object.entries(meant)) {
    const told = [`${name} is not read; did you mean ${setting}?`];
    assert.deepEqual(lookalikes([name], ours), told);
  }
});

test('a name of another program is not reported', () => {
  // A short name may differ in one letter only, a long one in two; one word alone may be of anybody.
  const others = [
    'PATH',
    'POOR',
    'MXDXLS',
    'STRIPE',
    'WXRKXRZ',
    'WORK',
    'STORE_URL_OF_MINE',
    'STORES_URLS_X',
    'PASSES',
  ];
  assert.deepEqual(lookalikes([...others, ...ours], ours), []);
});

test('a name that begins with the product’s name is reported with all settings', () => {
  for (const name of ['FUSEGATE_COLOUR', 'fusegate']) {
    const told = [`${name} is not read; the variables are PORT, HOST.`];
    assert.deepEqual(lookalikes([name], ['PORT', 'HOST']), told);
  }
  assert.deepEqual(lookalikes(['MY_FUSEGATE_COLOUR'], ['PORT', 'HOST']), []);
});

test('the nearest name resembles it, or else begins with it, or else takes the fewest edits', () => {
  const nearest = {
    prot: 'PORT',
    stripe: 'STRIPE_SECRET_KEY',
    lo: 'LOG_LEVEL',
    wrksxx: 'WORKERS',
    h: 'HOST',
  };
  for (const [name, setting] of Object.entries(nearest)) assert.equal(nearestName(name, ours), setting, name);
  assert.equal(nearestName('log', ['LOG_LEVEL_OF_ALL', 'LOGS']), 'LOGS', 'nearly it comes first');
  assert.equal(nearestName('any', []), '');
});
