/** Settings of the log of receipts. */
import type { Parsed, Settings } from '../system/settings.js';
import { fileOrNull, orNull } from '../system/settingValues.js';
import { parsePolicy, type Policy } from './policy.js';

function seedIn(text: string): Parsed<string> {
  // The content of the file ends with a line feed.
  const seed = text.trim();
  if (/^[0-9a-f]{64}$/.test(seed)) return { value: seed };
  return { wrong: 'must be 64 hexadecimal digits: openssl rand -hex 32' };
}

function policyIn(bytes: Buffer): Policy | undefined {
  const policy = parsePolicy(bytes.toString());
  return 'wrong' in policy ? undefined : policy;
}

/** The setting that gives a machine the log's key. */
export const logKeyName = 'LOG_KEY';

/** Settings of the log. */
export const receiptLogSettings = {
  /** The seed of the log's key (hex); null: the key is in a file of the data folder. */
  logKeySeed: {
    name: logKeyName,
    type: '64 hexadecimal digits (lower case)',
    fallback: '',
    fallbackShown: 'the file `log-key` of the data folder, made at the first start',
    meaning:
      'The key that signs the log of receipts, as `openssl rand -hex 32` makes one. Set it where the data ' +
      'folder does not last, or where several machines share a store; see [log.md](log.md).',
    parse: orNull(seedIn),
    secret: true,
  },
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
