/** Secrets and signatures of webhooks, as receivers compute them, and the form of their targets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { messageHead, webhookSecret } from '../../src/outreach/webhookMessage.js';
import { parseTarget, wrongAddress } from '../../src/outreach/webhookTarget.js';
import { secrets } from './webhookWorld.js';

/** Webhooks that were made with the master secret of the tests, and with another; by Python's hmac. */
const webhook = { id: 'wh_1', secretId: 'a8823eddbc56' };
const foreign = { id: 'wh_1', secretId: '000000000000' };

test('a webhook keeps its secret, and a message has the header fields that its receiver expects', () => {
  assert.equal(webhookSecret(secrets, webhook), 'whsec_rX1JlIIeUF2ts69BS1zKI09nWx/VWOR6gpc8QoZIXfE=');
  const message = { id: 'evt_1', body: '{}', nowMs: 1_700_000_001_999 };
  assert.deepEqual(messageHead(['a newer secret '.repeat(3), ...secrets], webhook, message), {
    'content-type': 'application/json',
    'webhook-id': 'evt_1',
    'webhook-timestamp': '1700000001',
    'webhook-signature': 'v1,N/KSoxn+oTJUWNnXo+1wMSYKD6NZ3D2Rzwkmc98hwF0=',
  });
});

test('without the master secret that it was made with, a webhook has no secret and no messages', () => {
  assert.equal(webhookSecret(secrets, foreign), undefined);
  assert.equal(messageHead(secrets, foreign, { id: 'evt_1', body: '{}', nowMs: 0 }), undefined);
});

test('of IPv6, only the range allocated to the public Internet is public', () => {
  for (const address of ['2000::1', '2a00::1', '3abc::1'])
    assert.equal(wrongAddress(address, 'https:', []), undefined);
  for (const address of ['1fff::1', '4000::1', '8000::1']) {
    assert.match(wrongAddress(address, 'https:', []) ?? '', /is not public/, address);
  }
  assert.equal(wrongAddress('localhost', 'https:', []), 'localhost is no address');
});

test('a URL has 2,000 characters at most, and neither a user nor a password', () => {
  const start = 'https://example.com/';
  const cannot = { wrong: 'The URL cannot be read.' };
  assert.ok('url' in parseTarget(start.padEnd(2_000, 'a'), []));
  assert.deepEqual(parseTarget(start.padEnd(2_001, 'a'), []), cannot);
  assert.deepEqual(parseTarget('example.com', []), cannot);
  for (const named of ['user', 'user:password', ':password']) {
    const parsed = parseTarget(`https://${named}@example.com/`, []);
    assert.deepEqual(parsed, { wrong: 'The URL may hold no user name.' }, named);
  }
});
