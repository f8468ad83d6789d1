/** `GET /receipt/{id}` (contract, fragment door): a stored receipt, read back and verified. */
import { jsonAnswer, problemAnswer } from '../contract/answer.js';
import type { Answer, Handler } from '../contract/exchange.js';
import { canonicalization, hashScope } from '../contract/fragment.js';
import type { ReceiptLog, ReceiptResponse } from '../contract/receipt.js';
import { findFragment } from '../store/tables/fragments.js';
import { findLegacyReceipt } from '../store/tables/legacyReceipts.js';
import { findWithheld } from '../store/tables/notices.js';
import { findLeaf, findSigned, includedAtMs } from '../store/tables/receiptLog.js';
import type { Store } from '../store/store.js';
import { timeOrNull } from '../system/clock.js';
import { inSlice } from '../system/slices.js';
import { digestsOf, identityOf, storedStatus } from './answers.js';
import { isLegacyId, legacyBody, readLegacy } from './legacy.js';
import { isReceiptId } from '../store/receiptId.js';
import { receiptOf, type Receipt } from './submit.js';

const notFound = problemAnswer(
  404,
  'receipt_not_found',
  'No receipt has this id. Ids are fr_ and 26 characters, as POST /dream answered them.',
);

/** A receipt's place in the log of receipts. */
async function logOf(store: Store, id: string): Promise<ReceiptLog> {
  const [found, leaf] = await Promise.all([findSigned(store), findLeaf(store, id)]);
  const atMs = leaf === undefined ? undefined : await includedAtMs(store, leaf);
  return {
    origin: found?.signed.origin ?? null,
    index: leaf ?? null,
    included_at: timeOrNull(atMs),
  };
}

function sealedBody(receipt: Receipt, log: ReceiptLog): ReceiptResponse {
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
    log,
  };
}

/** A receipt as stored, under whichever contract. */
async function findBody(store: Store, id: string): Promise<ReceiptResponse | undefined> {
  if (isReceiptId(id)) {
    const found = await findFragment(store, id);
    if (found === undefined) return undefined;
    return sealedBody(await inSlice(() => receiptOf(id, found)), await logOf(store, id));
  }
  if (!isLegacyId(id)) return undefined;
  const found = await findLegacyReceipt(store, id);
  if (found === undefined) return undefined;
  const legacy = readLegacy(found);
  if ('wrong' in legacy) throw new Error(`The imported receipt ${id} ${legacy.wrong}`);
  return legacyBody(legacy.legacy);
}

/** The answer about a receipt, without its content if the operator withholds it. */
async function publicBody(store: Store, body: ReceiptResponse): Promise<ReceiptResponse> {
  const withheld = await findWithheld(store, body.receipt);
  return withheld === undefined ? body : { ...body, fragment: null, withheld };
}

/** The answer about a receipt id; undefined if there is none. */
export async function receiptBody(store: Store, id: string): Promise<ReceiptResponse | undefined> {
  const found = await findBody(store, id);
  return found === undefined ? undefined : publicBody(store, found);
}

/** Answers with receipts. */
export function receipt({ store }: { readonly store: Store }): Handler {
  return async ({ path }): Promise<Answer> => {
    const found = await receiptBody(store, path['id'] ?? '');
    return found === undefined ? notFound : jsonAnswer(200, found);
  };
}
