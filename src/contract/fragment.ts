/** The fragment and its digests on the wire (contract, Fragment door resources; SHA-256 as hexadecimal). */
import { bodyProblems, door } from './route.js';

/** The six canonical fields as stored; absent ones are "". */
export interface Fragment {
  title: string;
  content: string;
  mechanism: string;
  test: string;
  kind: string;
  visitor: string;
}

/** Names of its fields, in their order. */
export const fragmentFields = [
  ...(['title', 'content', 'mechanism', 'test', 'kind', 'visitor'] as const),
] satisfies (keyof Fragment)[];

/** The fragment whose fields `text` gives. */
export function fragmentOf(text: (field: keyof Fragment) => string): Fragment {
  return Object.fromEntries(fragmentFields.map((field) => [field, text(field)])) as unknown as Fragment;
}

/** The digests of a fragment that are known before it is stored. */
export interface AcceptedDigests {
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
}

/** Every digest of a fragment. */
export interface FragmentDigests extends AcceptedDigests {
  /** Public receipt envelope as sorted JSON, without this seal. */
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

/** Digests recomputed from the stored record, by code independent of the code that made them. */
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

/** The rules under which the accepted strings are made. */
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
    ...bodyProblems,
    429: ['rate_limited'],
    503: ['overloaded', 'store_unavailable', 'storage_reserved'],
  },
  headers: ['ratelimit', 'ratelimit-policy'],
} as const;

/** The receipt of an ordinary fragment, in examples. docs/receipt.md has one that exercises the rules. */
export const receipt = 'fr_01M7YQ1WE038NKRKAYDXR834J3';
export const contentDigest = 'c2583d519b3043a5871fb5311e526bb0515d27fe849f4d36ac7717ea741eb041';
export const payloadDigest = 'b4df86755952c4a85b0a3ec795774314cc540b69fb6e516bbc7784721069143e';
export const token = '59ea4bfcda5c5a63814b2d321ad8cc660799dc47780685c2432cd6e64b8e56b1';
export const seal = '617086b10a02cbabcd025dcc67ad196221c2922739673ad8f6327d5481425d96';

/** Its stored fields. */
export const fragment: Fragment = {
  title: 'A lattice keeps its load without one strut',
  content:
    'Remove one strut of a triangular lattice, and the load that it carried divides over the struts beside ' +
    'it. None of them carries more than half as much again.',
  mechanism: 'Each joint has more struts than it needs, so that the forces find another way.',
  test: 'Remove one strut of a model and measure how far it sags under the same load.',
  kind: 'BRIDGE',
  visitor: 'Ada',
};

/** Its digests. */
export const digests: AcceptedDigests = {
  content_sha256: contentDigest,
  content_bytes_sha256: contentDigest,
  submission_payload_sha256: 'b2576898df4469bcea1a13fd30e08e30b411aaae54d5d45c3b0c69af66a180bc',
  canonical_payload_sha256: payloadDigest,
  dedupe_key_sha256: '39515dabab387ffeef24ea0a20384523286cbd68a38c9a02b68cdafc9dd36e0a',
  confirmation_binding_sha256: token,
  confirmation_token_sha256: 'd653b91b86f281c9a5af46095ce99ee1629c56fd1ee107932cc522af5e8ff22e',
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
