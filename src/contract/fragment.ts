/** The fragment and its digests on the wire (contract, Fragment door resources; SHA-256 as hexadecimal). */
import { door } from './route.js';

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

/** Identity of a stored fragment. */
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

/** Outcome of a submission. */
export type ReceiptStatus = 'quarantined' | 'probe' | 'duplicate';

/** Scope of each digest. */
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

/** Further members of routes that store fragments. */
export const submission = {
  ...door,
  method: 'POST',
  limit: 'submissions',
  storesFromStrangers: true,
  problems: {
    408: ['body_timeout'],
    413: ['body_too_large'],
    415: ['unsupported_encoding'],
    429: ['rate_limited'],
    503: ['overloaded', 'store_unavailable', 'storage_reserved'],
  },
  headers: ['ratelimit', 'ratelimit-policy'],
} as const;

/** The receipt of the worked example of docs/receipt.md, which examples show. */
export const receipt = 'fr_01M7YQ1WE038NKRKAYDXR834J3';
export const contentDigest = '7b57128cbe4631608f628147ea2302ea748db15df0781992736174a6f58700e4';
export const payloadDigest = '00085ee6ec4522eaea5403b9133b61c09b5036f4a7f53569dc3d1dc4f0b541e4';
export const token = '01592409f8dbf0fb8a0a2562aa78217c4969f42577acf3573705148a42f8e30f';
export const seal = '9df9a2d39b44764a9f5d7b22d22b6bae45d7de24e6652e0ce9cceff899992bd7';

/** The stored part of it. */
export const fragment: Fragment = {
  title: 'Cafe\u0301 \ufb01lters',
  content: 'Stra\u00dfe \u200band\u00a0the LATTICE\nhold \u201ctogether\u201d.',
  mechanism: '',
  test: 'Remove one strut; \\ "what" falls?',
  kind: 'BRIDGE',
  visitor: 'Ada',
};

/** Its digests. */
export const digests: Omit<FragmentDigests, 'stored_envelope_sha256'> = {
  content_sha256: contentDigest,
  content_bytes_sha256: contentDigest,
  submission_payload_sha256: '184e361a066b609448bb598f995a9df576012b399ba28f964f255cbefd04d6b7',
  canonical_payload_sha256: payloadDigest,
  dedupe_key_sha256: '0267443835d54a28b78dfa6419dac0713d34df18fdac12bea9c8c7a5f5af2173',
  confirmation_binding_sha256: token,
  confirmation_token_sha256: 'b936a2a91a1000b7163b108a325866a02132a7e6be1697712709e0914f583ea1',
};

/** Result of their verification. */
export const verification: CryptographicVerification = {
  verified: true,
  fields: Object.fromEntries(Object.keys(digests).map((name) => [name, true])),
  envelope: true,
  implementation: '@noble/hashes 2.4.0, Unicode 17.0.0',
};

/** Its identity. */
export const identity = {
  receipt,
  stored_envelope_sha256: seal,
  scope: 'receipt-id+envelope-seal-v2',
} as const;
