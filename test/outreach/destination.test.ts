/** Destinations of clicks: unsigned ones lead to the site or known hosts only, however they are written. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { locationOf, type TrustedPlaces } from '../../src/outreach/destination.js';
import { evilDestinations } from '../vectors/destinations.js';

const site: TrustedPlaces = {
  publicUrl: 'https://fuse.example',
  clickHosts: ['good.example', 'xn--bcher-kva.example', 'port.example:8443'],
};
const nameless: TrustedPlaces = { publicUrl: null, clickHosts: [] };
const httpSite: TrustedPlaces = { publicUrl: 'http://127.0.0.1:8080', clickHosts: [] };

/** Where a browser that asked `https://fuse.example/c/x` goes by a `Location` field. */
function landing(location: string, asked = 'https://fuse.example/c/x'): URL {
  return new URL(location, asked);
}

/** Each destination leads to the location beside it. */
function leads(signed: boolean, expected: readonly [string, string][]): void {
  for (const [d, location] of expected) assert.equal(locationOf(d, signed, site), location, d);
}

describe('unsigned', () => {
  for (const { d, path } of evilDestinations) {
    test(`${JSON.stringify(d).slice(0, 60)} stays on the site`, () => {
      for (const trusted of [site, nameless, httpSite]) {
        const location = locationOf(d, false, trusted);
        assert.match(location, /^\/(?!\/)[\x21-\x7e]*$/);
        assert.equal(landing(location).host, 'fuse.example');
        assert.equal(landing(location, 'http://fuse.example/c/x').host, 'fuse.example');
      }
      assert.equal(locationOf(d, false, site), path);
    });
  }

  test('paths of the site and known hosts are followed, as the URL standard writes them', () => {
    const followed: readonly [string, string][] = [
      ['/', '/'],
      ['', '/'],
      ['/docs', '/docs'],
      ['/buy?tier=growth&x=%20#pay', '/buy?tier=growth&x=%20#pay'],
      ['docs', '/docs'],
      ['?a=b', '/?a=b'],
      ['/a/../b', '/b'],
      ['/ä b', '/%C3%A4%20b'],
      ['https://fuse.example/docs', '/docs'],
      ['https://FUSE.example:443/docs', '/docs'],
      ['https://good.example', 'https://good.example/'],
      ['http://good.example/x?y#z', 'http://good.example/x?y#z'],
      ['https://GOOD.example/ä', 'https://good.example/%C3%A4'],
      ['//good.example/x', 'https://good.example/x'],
      ['https://bücher.example/x', 'https://xn--bcher-kva.example/x'],
      ['https://port.example:8443/', 'https://port.example:8443/'],
    ];
    leads(false, followed);
  });

  test('a host is known only together with its port', () => {
    for (const d of ['https://good.example:444/', 'https://port.example/', 'https://www.good.example/']) {
      assert.equal(locationOf(d, false, site), '/', d);
    }
  });

  test('the longest is 8,192 characters', () => {
    const path = (length: number): string => `/${'a'.repeat(length - 1)}`;
    assert.equal(locationOf(path(8_192), false, site), path(8_192));
    assert.equal(locationOf(path(8_193), false, site), '/');
    assert.equal(locationOf(`https://good.example${path(8_192)}`, false, site), '/');
  });

  test('whatever is given, a browser stays on the site', () => {
    const piece = fc.constantFrom(
      ...[
        '/',
        '\\',
        ':',
        '@',
        '.',
        '..',
        '?',
        '#',
        '%2f',
        '%5c',
        '%2e',
        '\t',
        '\n',
        '\r',
        '\0',
        ' ',
        '\u00a0',
      ],
      ...[
        'http',
        'https:',
        'HTTPS:',
        'javascript:',
        'data:',
        'evil.example',
        '[::1]',
        '。',
        'ⓔvil',
        '\u200d',
        'xn--',
      ],
    );
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(piece, { maxLength: 9 }).map((all) => all.join('')),
    );
    const check = (d: string): void => {
      for (const trusted of [{ ...site, clickHosts: [] }, nameless, httpSite]) {
        const location = locationOf(d, false, trusted);
        assert.match(location, /^\/(?!\/)[\x21-\x7e]*$/);
        assert.equal(landing(location).origin, 'https://fuse.example');
      }
    };
    fc.assert(fc.property(text, check), { numRuns: 20_000, seed: 20261121 });
  });
});

describe('signed', () => {
  test('any http or https address is followed, nothing else', () => {
    const signed: readonly [string, string][] = [
      ['https://elsewhere.example/ä?q', 'https://elsewhere.example/%C3%A4?q'],
      ['http://elsewhere.example', 'http://elsewhere.example/'],
      ['https://user:pw@elsewhere.example/', 'https://user:pw@elsewhere.example/'],
      ['https://fuse.example/docs', '/docs'],
      ['/docs', '/docs'],
      ['/.//elsewhere.example', '/elsewhere.example'],
      [`https://elsewhere.example/${'a'.repeat(9_000)}`, `https://elsewhere.example/${'a'.repeat(9_000)}`],
      [`/${'a'.repeat(9_000)}`, `/${'a'.repeat(9_000)}`],
      ['https:elsewhere.example', 'https://elsewhere.example/'],
      ['javascript:alert(1)', '/'],
      ['data:text/html,x', '/'],
      ['mailto:a@b', '/'],
      ['https://', '/'],
    ];
    leads(true, signed);
  });

  test('no address can end the header line', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        assert.match(locationOf(`https://a.example/${text}`, true, site), /^[\x21-\x7e]+$/);
      }),
      { numRuns: 5_000, seed: 20261121 },
    );
  });
});
