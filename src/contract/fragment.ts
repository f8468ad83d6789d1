/** The fragment and its digests on the wire (contract, Fragment door resources; SHA-256 as hexadecimal). */

/** The six canonical fields as stored; absent ones are "". */
export interface Fragment {
  title: string;
  content: string;
  mechanism: string;
  test: string;
  kind: string;
  visitor: string;
}

/** Every digest of a fragment. */
export interface FragmentDigests {
  /** Accepted content. */
  content_sha256: string;
  /** Accepted content, named explicitly. */
  content_bytes_sha256: string;
  /** Accepted title, LF, accepted content. */
  submission_payload_sha256: string;
  /** Canonical accepted-fields JSON. */
  canonical_payload_sha256: string;
  /** Normalized title, NUL, normalized content; for deduplication only. */
  dedupe_key_sha256: string;
  /** Canonical payload binding of the v2 confirmation. */
  confirmation_binding_sha256: string;
  /** The confirmation token's bytes. */
  confirmation_token_sha256: string;
  /** Public receipt envelope as sorted JSON, this seal left out. */
  stored_envelope_sha256: string;
}

/** What identifies a stored fragment. */
export interface StoredFragmentIdentity {
  receipt: string;
  stored_envelope_sha256: string | null;
  scope: 'receipt-id+envelope-seal-v2' | 'receipt-id-only-legacy';
}

/** The rules under which the accepted strings were made. */
export interface Canonicalization {
  version: string;
  rules: string[];
}

/** Digests recomputed from what was read back, by code other than that which made them. */
export interface CryptographicVerification {
  verified: boolean;
  /** Per digest: true, false, or null where it cannot be recomputed. */
  fields: { [digest: string]: boolean | null };
  envelope: boolean | null;
  implementation: string;
}

/** Contract of a receipt's digests. */
export type HashContract = 'fragment-receipt-hash-v2' | 'fragment-receipt-hash-v1-legacy';

/** What became of a submission. */
export type ReceiptStatus = 'quarantined' | 'probe' | 'duplicate';
