/** `GET /receipt/{id}` (contract, fragment door): a stored receipt, read again and verified. */
import { jsonAnswer, problemAnswer, storeUnavailable } from '../contract/answer.js';
import type { Answer, Handler } from '../contract/exchange.js';
import { canonicalization, hashScope } from '../contract/fragment.js';
import type { ReceiptResponse } from '../contract/receipt.js';
import { findFragment } from '../store/fragments.js';
import type { Store } from '../store/store.js';
import { digestsOf, identityOf, storedStatus } from './answers.js';
import { isReceiptId } from './receiptId.js';
import { receiptOf, type Receipt } from './submit.js';

const notFound = problemAnswer(
  404,
  'receipt_not_found',
  'No receipt has this id. Ids are fr_ and 26 characters, as POST /dream answered them.',
);

function body(receipt: Receipt): ReceiptResponse {
  const digests = digestsOf(receipt);
  return {
    receipt: receipt.stored.receipt,
    status: storedStatus(receipt),
    content_sha256: digests.content_sha256,
    submission_payload_sha256: digests.submission_payload_sha256,
    canonical_payload_sha256: digests.canonical_payload_sha256,
    stored_envelope_sha256: digests.stored_envelope_sha256,
    hash_contract: 'fragment-receipt-hash-v2',
    hash_scope: hashScope,
    canonicalization,
    stored_fragment_identity: identityOf(receipt),
    cryptographic_verification: receipt.verification,
    envelope: receipt.envelope,
    fragment: receipt.stored.fragment,
  };
}

/** Answers with receipts. */
export function receipt({ store }: { readonly store: Store }): Handler {
  return async ({ path }): Promise<Answer> => {
    const id = path['id'] ?? '';
    if (!isReceiptId(id)) return notFound;
    const found = await findFragment(store, id);
    if (found.kind === 'unavailable') return storeUnavailable();
    return found.value === undefined ? notFound : jsonAnswer(200, body(receiptOf(id, found.value)));
  };
}
