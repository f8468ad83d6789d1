/** Settings of the log of receipts. */
import type { Settings } from '../system/settings.js';
import { fileOrNull } from '../system/settingValues.js';
import { parsePolicy } from './policy.js';

function policyText(bytes: Buffer): string | undefined {
  const text = bytes.toString();
  return 'wrong' in parsePolicy(text) ? undefined : text;
}

/** Settings of the log. */
export const receiptLogSettings = {
  /** A policy's text; null: no witness is asked. */
  witnesses: {
    name: 'WITNESSES',
    type: 'path of a policy (C2SP tlog-policy)',
    fallback: '',
    meaning:
      'The witnesses with an address in it are asked to cosign every checkpoint of the log of receipts.',
    parse: fileOrNull('a policy of C2SP tlog-policy with Ed25519 keys', policyText),
  },
} as const satisfies Settings;
