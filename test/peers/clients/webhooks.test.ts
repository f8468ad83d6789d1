/** Messages to webhooks, verified by the library of Standard Webhooks. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { messageHead, webhookSecret } from '../../../src/outreach/webhookMessage.js';
import { secretId } from '../../../src/system/masterSecret.js';
import { projectRoot } from '../../support/python.js';
import { peersRequired } from '../required.js';

/** The part of the library that is used. */
interface Library {
  readonly Webhook: new (secret: string) => {
    verify(body: string, head: Readonly<Record<string, string>>): unknown;
  };
}

const folder = join(projectRoot, 'test/peers/clients');
const isThere = existsSync(join(folder, 'node_modules/standardwebhooks'));
const skip = isThere || peersRequired ? false : 'run npm install --prefix test/peers/clients';

describe('the library of Standard Webhooks', { skip }, () => {
  const secrets = [
    'one master secret for tests 0123456789abcdef',
    'another, older one 0123456789abcdef',
  ] as const;
  const webhook = { id: 'wh_1', secretId: secretId(secrets[1]) };
  const body = JSON.stringify({ type: 'lead.received', timestamp: 'now', data: { message: 'ünïcode 北' } });
  const nowMs = Date.now();

  function load(): Library {
    return createRequire(join(folder, 'package.json'))('standardwebhooks') as Library;
  }

  function headAt(atMs: number): Readonly<Record<string, string>> {
    return messageHead(secrets, webhook, { id: 'evt_1', body, nowMs: atMs }) ?? assert.fail('no secret');
  }

  const verifier = () => new (load().Webhook)(webhookSecret(secrets, webhook) ?? '');

  test('accepts a message', () => {
    assert.deepEqual(verifier().verify(body, headAt(nowMs)), JSON.parse(body));
  });

  test('refuses one that was changed, is old, or is of another webhook', () => {
    assert.throws(() => verifier().verify(body.replace('lead', 'load'), headAt(nowMs)));
    assert.throws(() => verifier().verify(body, { ...headAt(nowMs), 'webhook-id': 'evt_2' }));
    assert.throws(() => verifier().verify(body, headAt(nowMs - 600_000)));
    const other = webhookSecret(secrets, { ...webhook, id: 'wh_2' }) ?? '';
    assert.throws(() => new (load().Webhook)(other).verify(body, headAt(nowMs)));
  });
});
