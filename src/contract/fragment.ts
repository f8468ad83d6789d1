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

/** What each digest covers. */
export const hashScope: Readonly<Record<string, string>> = {
  content_sha256: 'accepted content, UTF-8',
  content_bytes_sha256: 'same scope as content_sha256, named explicitly',
  submission_payload_sha256: 'accepted title, then LF, then accepted content',
  canonical_payload_sha256: 'canonical accepted-fields JSON',
  dedupe_key_sha256:
    'normalized title, then a NUL byte (0x00), then normalized content; used for deduplication only',
  confirmation_binding_sha256: 'canonical payload binding used by v2 confirmation (over all accepted fields)',
  confirmation_token_sha256: 'SHA-256 of the bytes of the returned confirmation token',
  stored_envelope_sha256: 'public receipt envelope as sorted JSON, excluding this seal',
};

/** The rules under which accepted strings are made. */
export const canonicalization: Canonicalization = {
  version: 'accepted-fields-json-v1',
  rules: [
    'Input values from JSON, form or query are decoded as Unicode strings.',
    'C0 control characters are removed except LF and TAB; then outer whitespace is stripped.',
    'kind is stripped and uppercased.',
    'Integrity hashes cover the accepted stored strings exactly as UTF-8: no NFKC, no case folding, no ' +
      'whitespace collapsing.',
    'Only the dedupe key uses title and content normalized by: NFKC, removal of Unicode Cf characters, ' +
      'whitespace collapsing, case folding.',
    'Canonical JSON is UTF-8, non-ASCII characters unescaped, keys sorted, separators , and : with no ' +
      'spaces.',
  ],
};
