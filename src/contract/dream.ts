/** Submission, preview and confirmation of a fragment on the wire (contract, fragment door). */
import type { MaxCodePoints, MinCodePoints } from './tags.js';
import type {
  Canonicalization,
  CryptographicVerification,
  Fragment,
  FragmentDigests,
  HashContract,
  ReceiptStatus,
  StoredFragmentIdentity,
} from './fragment.js';

/** A fragment to submit. */
export interface DreamRequest {
  title: string & MaxCodePoints<100>;
  content: string & MaxCodePoints<2000>;
  mechanism?: (string & MaxCodePoints<1000>) | null;
  test?: (string & MaxCodePoints<500>) | null;
  visitor?: (string & MaxCodePoints<100>) | null;
  /**
   * BRIDGE, COUNTEREXAMPLE, CRITIQUE, HARNESS, HYPOTHESIS, NEGATIVE_RESULT, REINTERPRETATION or
   * TEST_DESIGN, in any case; an unknown one is stored as HYPOTHESIS.
   */
  kind?: (string & MaxCodePoints<32>) | null;
  /** Makes a repeated submission answer the first one's receipt. Wins over the header. */
  idempotency_key?: (string & MaxCodePoints<64>) | null;
}

/** The idempotency key as a header. */
export interface DreamHeaders {
  'idempotency-key'?: string & MaxCodePoints<64>;
}

/** The token of a preview, and its fields again in case the preview was lost. */
export interface DreamConfirmRequest {
  /** The v2 token: 64 lower-case hexadecimal characters. */
  confirm: string & MinCodePoints<64> & MaxCodePoints<64>;
  title?: (string & MaxCodePoints<100>) | null;
  content?: (string & MaxCodePoints<2000>) | null;
  mechanism?: (string & MaxCodePoints<1000>) | null;
  test?: (string & MaxCodePoints<500>) | null;
  visitor?: (string & MaxCodePoints<100>) | null;
  /**
   * BRIDGE, COUNTEREXAMPLE, CRITIQUE, HARNESS, HYPOTHESIS, NEGATIVE_RESULT, REINTERPRETATION or
   * TEST_DESIGN, in any case; an unknown one is stored as HYPOTHESIS.
   */
  kind?: (string & MaxCodePoints<32>) | null;
}

/** The six fields as query parameters. */
export interface DreamGetQuery {
  title?: string & MaxCodePoints<100>;
  content?: string & MaxCodePoints<2000>;
  mechanism?: string & MaxCodePoints<1000>;
  test?: string & MaxCodePoints<500>;
  visitor?: string & MaxCodePoints<100>;
  kind?: string & MaxCodePoints<32>;
}

/** Which token is asked about. */
export interface DreamConfirmQuery {
  confirm?: string & MinCodePoints<64> & MaxCodePoints<64>;
}

/** What a duplicate's own submission was. */
export interface DreamSubmitted {
  canonical_payload_sha256: string;
  /** Whether it is the stored payload to the byte. */
  same_payload: boolean;
}

/** The receipt of a submission. */
export interface DreamResponse extends FragmentDigests {
  receipt: string;
  status: ReceiptStatus;
  /** The stored record's status when `status` is `duplicate`. */
  original_status?: 'quarantined' | 'probe';
  /** Present when `status` is `duplicate`. */
  submitted?: DreamSubmitted;
  /** Present when `kind` was not one of the eight. */
  warning?: string;
  stored_fragment_identity: StoredFragmentIdentity;
  hash_contract: HashContract;
  /** What each digest covers. */
  hash_scope: { readonly [digest: string]: string };
  canonicalization: Canonicalization;
  cryptographic_verification: CryptographicVerification;
  /** The record was read again from storage and verified. */
  retrieval_verified: boolean;
}

/** The request that confirms a preview. */
export interface DreamConfirmStep {
  method: 'POST';
  path: '/dream_confirm';
  content_type: 'application/json';
  body: { [field: string]: string };
}

/** What a submission would store; nothing is kept but the preview. */
export interface DreamPreviewResponse {
  fragment: Fragment;
  content_sha256: string;
  content_bytes_sha256: string;
  submission_payload_sha256: string;
  canonical_payload_sha256: string;
  dedupe_key_sha256: string;
  confirmation_binding_sha256: string;
  confirmation_token_sha256: string;
  confirm: string;
  /** RFC 3339 UTC. */
  expires_at: string;
  send: DreamConfirmStep;
  /** Present when `kind` was not one of the eight. */
  warning?: string;
}

/** The receipt of a confirmed preview. */
export interface DreamConfirmResponse {
  receipt: string;
  status: ReceiptStatus;
  /** The stored record's status when `status` is `duplicate`. */
  original_status?: 'quarantined' | 'probe';
  /** Present when `status` is `duplicate`. */
  submitted?: DreamSubmitted;
  /** Present when `kind` was not one of the eight. */
  warning?: string;
  content_sha256: string;
  canonical_payload_sha256: string;
  stored_envelope_sha256: string;
  stored_fragment_identity: StoredFragmentIdentity;
  cryptographic_verification: CryptographicVerification;
  retrieval_verified: boolean;
  /** `confirm:` and the token. */
  idempotency_key: string;
}

/** State of a confirmation; asking changes nothing. */
export interface DreamConfirmStateResponse {
  state: 'previewed' | 'completed' | 'unknown';
  receipt: string | null;
  /** How to confirm. */
  how: string;
}
