/** Settings of the log of receipts. */
import type { Settings } from '../system/settings.js';
import { fileOrNull } from '../system/settingValues.js';
import { parsePolicy, type Policy } from './policy.js';

function policyIn(bytes: Buffer): Policy | undefined {
  const policy = parsePolicy(bytes.toString());
  return 'wrong' in policy ? undefined : policy;
}

/** Settings of the log. */
export const receiptLogSettings = {
  /** The policy; null: no witness is asked. */
  witnesses: {
    name: 'WITNESSES',
    type: 'path of a policy (C2SP tlog-policy)',
    fallback: '',
    meaning:
      'The witnesses with an address in it are asked to cosign every checkpoint of the log of receipts.',
    parse: fileOrNull('a policy of C2SP tlog-policy with Ed25519 keys', policyIn),
  },
} as const satisfies Settings;
