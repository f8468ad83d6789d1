/** Messages to webhooks: secret and signature (Standard Webhooks, symmetric). */
import { createHmac } from 'node:crypto';
import type { Webhook } from '../store/tables/webhooks.js';
import { derive, secretId, type MasterSecrets } from '../system/masterSecret.js';

/** The bytes of a webhook's secret; undefined: its master secret is gone. */
function secretBytes(secrets: MasterSecrets, webhook: Pick<Webhook, 'id' | 'secretId'>): Buffer | undefined {
  const secret = secrets.find((each) => secretId(each) === webhook.secretId);
  return secret === undefined ? undefined : derive(secret, 'webhook', webhook.id);
}

/** A webhook's secret in the receivers' form: `whsec_` and 32 bytes in base64. */
export function webhookSecret(
  secrets: MasterSecrets,
  webhook: Pick<Webhook, 'id' | 'secretId'>,
): string | undefined {
  const bytes = secretBytes(secrets, webhook);
  return bytes === undefined ? undefined : `whsec_${bytes.toString('base64')}`;
}

/** The header fields of a message; undefined: the webhook's master secret is gone. */
export function messageHead(
  secrets: MasterSecrets,
  webhook: Pick<Webhook, 'id' | 'secretId'>,
  { id, body, nowMs }: { readonly id: string; readonly body: string; readonly nowMs: number },
): Readonly<Record<string, string>> | undefined {
  const secret = secretBytes(secrets, webhook);
  if (secret === undefined) return undefined;
  const timestamp = String(Math.floor(nowMs / 1_000));
  const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  };
}
