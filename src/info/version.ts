/** `GET /version` (contract, Versioning): string values only. */
import { jsonAnswer } from '../contract/answer.js';
import type { Handler } from '../contract/exchange.js';
import type { VersionResponse } from '../contract/info.js';

/** Version of the service and of the gateway's API. */
export const SERVICE_VERSION = '0.4.0';

/** Versions that only the parts know. */
export interface PartVersions {
  /** Version of the native module. */
  readonly native: string;
  /** Unicode version of every table in use. */
  readonly unicode: string;
}

/** Answers with the current versions. */
export function version(parts: PartVersions): Handler {
  const body: VersionResponse = {
    service: SERVICE_VERSION,
    door_contract: '6.4',
    hash_contract: 'fragment-receipt-hash-v2',
    canonicalization: 'accepted-fields-json-v1',
    native: parts.native,
    unicode: parts.unicode,
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
  };
  const answer = jsonAnswer(200, body);
  return () => answer;
}
