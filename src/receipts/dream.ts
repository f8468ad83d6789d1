/** `POST /dream` (contract, fragment door): stores a fragment and answers with its receipt. */
import type { DreamRequest, DreamResponse } from '../contract/dream.js';
import type { Handler } from '../contract/exchange.js';
import { canonicalization, hashScope } from '../contract/fragment.js';
import { digestsOf, identityOf, receiptAnswer, receivedFields, refusalOf, warningField } from './answers.js';
import { submit, type Accepted, type Received, type SubmitParts } from './submit.js';

function body(received: Received, accepted: Accepted, kind: string | null | undefined): DreamResponse {
  const { receipt } = received;
  return {
    ...receivedFields(received, accepted.digests.canonical_payload_sha256),
    ...warningField(accepted, kind),
    ...digestsOf(receipt),
    stored_fragment_identity: identityOf(receipt),
    hash_contract: 'fragment-receipt-hash-v2',
    hash_scope: hashScope,
    canonicalization,
    cryptographic_verification: receipt.verification,
    retrieval_verified: receipt.verification.verified,
  };
}

/**
 * Stores fragments. The body's idempotency key takes precedence over the header's; an empty one is ignored.
 */
export function dream(parts: SubmitParts): Handler<DreamRequest> {
  return async (request) => {
    const { idempotency_key: own, ...given } = request.input;
    const key = [own ?? '', request.header('idempotency-key')].find((text) => text !== '');
    const { accepted, submitted } = await submit(parts, given, key);
    const refusal = refusalOf(submitted);
    if (refusal !== undefined) return refusal;
    const received = submitted as Received;
    return receiptAnswer(received, body(received, accepted, given.kind));
  };
}
