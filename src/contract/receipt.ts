/** `GET /receipt/{id}` on the wire (contract, receipts and their independent verification). */
import type {
  Canonicalization,
  CryptographicVerification,
  Fragment,
  HashContract,
  StoredFragmentIdentity,
} from './fragment.js';

/** Path of a receipt. */
export interface ReceiptPath {
  id: string;
}

/** A stored receipt with all that is needed to recompute it. */
export interface ReceiptResponse {
  receipt: string;
  status: 'quarantined' | 'probe';
  content_sha256: string;
  submission_payload_sha256: string | null;
  canonical_payload_sha256: string | null;
  stored_envelope_sha256: string | null;
  hash_contract: HashContract;
  /** What each digest covers. */
  hash_scope: { readonly [digest: string]: string };
  canonicalization: Canonicalization;
  stored_fragment_identity: StoredFragmentIdentity;
  cryptographic_verification: CryptographicVerification;
  /** The sealed envelope; null for a legacy receipt. */
  envelope: { readonly [field: string]: string } | null;
  /** The six canonical strings; null when withheld. */
  fragment: Fragment | null;
  /** Why the content is withheld; present only then. */
  withheld?: string;
}
