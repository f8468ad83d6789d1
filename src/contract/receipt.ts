/** `GET /receipt/{id}` on the wire (contract, receipts and their independent verification). */
import typia from 'typia';
import {
  canonicalization,
  contentDigest,
  digests,
  fragment,
  hashScope,
  identity,
  payloadDigest,
  receipt,
  seal,
  verification,
  type Canonicalization,
  type CryptographicVerification,
  type Fragment,
  type HashContract,
  type StoredFragmentIdentity,
} from './fragment.js';
import { door, html, type ResourceRoutes } from './route.js';
import { get } from './schema/route.js';
import { wireTypes } from './schema/wireType.js';

/** Path of a receipt. */
export interface ReceiptPath {
  id: string;
}

/** Position of a receipt in the public log of receipts. */
export interface ReceiptLog {
  /** The log's name, which is the first line of its checkpoints; null before the first checkpoint. */
  origin: string | null;
  /** Index of the receipt's leaf, from 0; null for an older receipt that is not added yet. */
  index: number | null;
  /** Time of the first signed checkpoint that has the leaf (RFC 3339 UTC); null while none has. */
  included_at: string | null;
}

/** A stored receipt with everything that is needed to recompute it. */
export interface ReceiptResponse {
  receipt: string;
  status: 'quarantined' | 'probe';
  content_sha256: string;
  submission_payload_sha256: string | null;
  canonical_payload_sha256: string | null;
  stored_envelope_sha256: string | null;
  hash_contract: HashContract;
  /** Scope of each digest. */
  hash_scope: { readonly [digest: string]: string };
  canonicalization: Canonicalization;
  stored_fragment_identity: StoredFragmentIdentity;
  cryptographic_verification: CryptographicVerification;
  /** The sealed envelope; null for a legacy receipt. */
  envelope: { readonly [field: string]: string } | null;
  /** The six canonical strings; null when withheld. */
  fragment: Fragment | null;
  /** Its position in the public log of receipts; null for a legacy receipt, which is not in it. */
  log: ReceiptLog | null;
  /** Why the content is withheld; absent if it is not. */
  withheld?: string;
}

const [receiptPathType, receiptResponseType] = wireTypes(
  typia.json.schemas<[ReceiptPath, ReceiptResponse]>(),
);

/** The example's receipt as it is answered. */
const receiptResponse: ReceiptResponse = {
  receipt,
  status: 'quarantined',
  content_sha256: contentDigest,
  submission_payload_sha256: digests.submission_payload_sha256,
  canonical_payload_sha256: payloadDigest,
  stored_envelope_sha256: seal,
  hash_contract: 'fragment-receipt-hash-v2',
  hash_scope: hashScope,
  canonicalization,
  stored_fragment_identity: identity,
  cryptographic_verification: verification,
  envelope: {
    receipt,
    received_at: '2026-11-21T09:30:00.000Z',
    contract_version: '6.4',
    hash_contract: 'fragment-receipt-hash-v2',
    canonicalization: 'accepted-fields-json-v1',
    unicode: '17.0.0',
    kind: fragment.kind,
    status: 'quarantined',
    ...digests,
  },
  fragment,
  log: { origin: 'fuse.example.com', index: 1_041, included_at: '2026-11-21T09:30:00.412Z' },
};

/** GET /receipt/{id}. */
export const receiptRoutes = {
  receipt: {
    ...door,
    method: 'GET',
    path: '/receipt/{id}',
    summary: 'A receipt, read again and verified',
    description:
      'The stored fragment, its envelope and digests, recomputed from what was read back. A browser gets a ' +
      'page that verifies all of it and its place in the log.',
    body: { kind: 'none' },
    parameters: { path: receiptPathType },
    reads: ['accept'],
    answers: { 200: { schema: receiptResponseType, description: 'The receipt.', also: [html] } },
    problems: { 404: ['receipt_not_found'], 503: ['store_unavailable'] },
    headers: [],
    example: get(`/receipt/${receipt}`, receiptResponse),
  },
} as const satisfies ResourceRoutes;
