/** Tokens of opt-out and click links: equal to those of Python's hmac; forged, cut, foreign and old ones. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { clickLink, optoutLink } from '../../src/outreach/links.js';
import {
  clickIdOf,
  clickToken,
  isClickId,
  optoutToken,
  verifyClick,
  verifyOptout,
} from '../../src/outreach/tokens.js';
import type { MasterSecrets } from '../../src/system/masterSecret.js';

const documented = 'example-secret-0123456789-abcdefghij';
const other = 'another-secret-0123456789-abcdefghij';
const secrets: MasterSecrets = [documented, other];
const email = 'ada+news@example.com';
const destination = 'https://example.com/offer';

test('tokens have the values of docs/outreach.md', () => {
  assert.equal(optoutToken(documented, email), '20tyMpLC-2W9jIOCY-JjGt');
  assert.equal(clickToken(documented, 'autumn', destination), 'YXV0dW1u.IPJQl2EL-exm8iFaYmQPOw');
});

/** What a forger may try on a good token. */
function forgeries(token: string): string[] {
  const flipped = Array.from(token, (character, at) => {
    return token.slice(0, at) + (character === 'A' ? 'B' : 'A') + token.slice(at + 1);
  });
  const cut = Array.from(token, (_, at) => token.slice(0, at));
  const spelled = [
    token.toLowerCase(),
    token.toUpperCase(),
    `${token}A`,
    `${token}=`,
    ` ${token}`,
    `${token}\0`,
  ];
  return [...flipped, ...cut, ...spelled, `${token}${token}`, '.', '..', 'é'.repeat(22), 'A'.repeat(65_536)];
}

describe('opt-out', () => {
  test('a valid token verifies in any case of the address, under any of the secrets', () => {
    for (const secret of secrets) {
      for (const spelled of [email, email.toUpperCase(), 'Ada+News@Example.com']) {
        assert.equal(verifyOptout(secrets, spelled, optoutToken(secret, email)), spelled);
      }
    }
    assert.equal(verifyOptout([other], email, optoutToken(documented, email)), undefined);
  });

  test('a + that arrives as a space is one', () => {
    assert.equal(verifyOptout(secrets, 'ada news@example.com', optoutToken(documented, email)), email);
    const spaced = '"a b"@example.com';
    assert.equal(verifyOptout(secrets, spaced, optoutToken(documented, spaced)), spaced);
  });

  test('forged, cut, foreign and empty ones are refused', () => {
    for (const token of forgeries(optoutToken(documented, email))) {
      assert.equal(verifyOptout(secrets, email, token), undefined, token.slice(0, 40));
    }
    const foreign = optoutToken(documented, 'eve@example.com');
    assert.equal(verifyOptout(secrets, email, foreign), undefined);
    assert.equal(verifyOptout(secrets, '', optoutToken(documented, '')), undefined);
    const ofClick = clickToken(documented, 'a', email).split('.')[1] ?? '';
    assert.equal(verifyOptout(secrets, email, ofClick), undefined);
  });
});

describe('click', () => {
  test('a token is valid only for its destination, under any of the secrets', () => {
    for (const secret of secrets) {
      const token = clickToken(secret, 'autumn', destination);
      assert.ok(verifyClick(secrets, token, destination));
      assert.ok(!verifyClick(secrets, token, `${destination}/`));
      assert.ok(!verifyClick(secrets, token, 'https://evil.example/'));
      assert.ok(!verifyClick(['x'.repeat(40)], token, destination));
    }
  });

  test('forged, cut and foreign ones are refused', () => {
    for (const token of forgeries(clickToken(documented, 'autumn', destination))) {
      assert.ok(!verifyClick(secrets, token, destination), token.slice(0, 40));
    }
    const [, digest = ''] = clickToken(documented, 'autumn', destination).split('.');
    assert.ok(!verifyClick(secrets, `${Buffer.from('winter').toString('base64url')}.${digest}`, destination));
    assert.ok(!verifyClick(secrets, `YXV0dW1u.${optoutToken(documented, destination)}`, destination));
  });

  test('ids are 1 to 64 plain characters', () => {
    for (const id of ['a', 'a'.repeat(64), 'A-Z_0.9']) {
      assert.ok(isClickId(id));
      assert.equal(clickIdOf(clickToken(documented, id, destination)), id);
    }
    for (const id of ['', 'a'.repeat(65), 'a b', 'ä', 'a\0', 'a/b', 'a\n']) {
      assert.ok(!isClickId(id), JSON.stringify(id));
      assert.throws(() => clickToken(documented, id, destination));
    }
  });
});

describe('links', () => {
  const publicUrl = 'https://fuse.example';

  test('contain a token that verifies, with + as %2B', () => {
    const made = optoutLink(documented, publicUrl, ` ${email}\n`);
    assert.ok('value' in made);
    assert.equal(
      made.value.link,
      'https://fuse.example/unsubscribe?e=ada%2Bnews%40example.com&t=20tyMpLC-2W9jIOCY-JjGt',
    );
    assert.deepEqual(made.value.headers, [
      `List-Unsubscribe: <${made.value.link}>`,
      'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
    ]);
    const clicked = clickLink(documented, publicUrl, 'HTTPS://Example.com/a b?c=d+e&f#g', 'autumn');
    assert.ok('value' in clicked);
    const url = new URL(clicked.value);
    const token = url.pathname.replace('/c/', '');
    assert.equal(url.searchParams.get('d'), 'https://example.com/a%20b?c=d+e&f#g');
    assert.ok(verifyClick(secrets, token, url.searchParams.get('d') ?? ''));
  });

  test('are refused with a reason', () => {
    for (const address of ['', 'x', 'a@b@c', 'a b@c', 'a@b\nBcc: x@y', '@', 'a@']) {
      const made = optoutLink(documented, publicUrl, address);
      assert.ok('refused' in made && made.refused.endsWith('is not an email address.'), address);
    }
    for (const wrong of ['/docs', 'example.com', 'javascript:x', 'ftp://a', 'https://', '']) {
      assert.ok('refused' in clickLink(documented, publicUrl, wrong, 'a'), wrong);
    }
    assert.ok('refused' in clickLink(documented, publicUrl, destination, 'a b'));
    for (const made of [optoutLink(documented, null, email), clickLink(documented, null, destination, 'a')]) {
      assert.ok('refused' in made && made.refused.startsWith('Links need PUBLIC_URL'));
    }
  });
});
