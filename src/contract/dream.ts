/** Submission, preview and confirmation of a fragment on the wire (contract, fragment door). */
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
  submission,
  token,
  verification,
  type AcceptedDigests,
  type Canonicalization,
  type CryptographicVerification,
  type Fragment,
  type FragmentDigests,
  type HashContract,
  type ReceiptStatus,
  type StoredFragmentIdentity,
} from './fragment.js';
import { door, kibibyte, type ResourceRoutes } from './route.js';
import { get, post } from './schema/route.js';
import type { MaxCodePoints, MinCodePoints } from './schema/tags.js';
import { type Location, type ValidationError, validationError, valueError } from './schema/validation.js';
import { annotated, bodyType, wireTypes } from './schema/wireType.js';

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
  /** A submission that repeats an earlier key gets the earlier receipt. Overrides the header. */
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

/** The confirmation token. */
export interface DreamConfirmQuery {
  confirm?: string & MinCodePoints<64> & MaxCodePoints<64>;
}

/** The submission that was found to be a duplicate. */
export interface DreamSubmitted {
  canonical_payload_sha256: string;
  /** True if its payload is the stored one, byte for byte. */
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
  /** Scope of each digest. */
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

/** The record that a submission would store; only the preview is stored. */
export interface DreamPreviewResponse extends AcceptedDigests {
  fragment: Fragment;
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

/** Matches a text of white space and control characters alone. */
const nothing = /^[\0-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*$/;

/**
 * The errors of a title or content that is empty; `place`: where the fields came from. The schema of a query
 * declares both as optional, so a missing one is reported here.
 */
export function emptyFields(
  fields: { readonly title?: string | null; readonly content?: string | null },
  place: 'body' | 'query',
): ValidationError[] {
  return (['title', 'content'] as const).flatMap((name) => {
    if (place === 'query' && fields[name] === undefined) {
      return [validationError('missing', [place, name], 'Field required', null)];
    }
    const text = fields[name] ?? '';
    if (!nothing.test(text)) return [];
    const sentence = `${name} must not be empty once controls and outer white space are removed`;
    return [valueError([place, name], sentence, text)];
  });
}

function dreamRules(request: DreamRequest): ValidationError[] {
  return emptyFields(request, 'body');
}

/** Form of a confirmation token, for the error of a malformed one. */
const tokenSentence =
  'a token is the 64 lower-case hexadecimal characters that GET /dream_get returned (tokens of 10 ' +
  'characters are of legacy receipts and confirm nothing)';

/** The error of a token of 64 characters; undefined when there is none. */
export function tokenFault(token: string, place: 'body' | 'query'): ValidationError | undefined {
  const loc: Location = [place, 'confirm'];
  return /^[0-9a-f]{64}$/.test(token) ? undefined : valueError(loc, tokenSentence, token);
}

/** True if a confirmation repeats fields of its preview; empty fields do not count. */
export function isRecovery(request: DreamConfirmRequest): boolean {
  const { title, content, mechanism, test, visitor, kind } = request;
  return [title, content, mechanism, test, visitor, kind].some((text) => (text ?? '') !== '');
}

function confirmRules(request: DreamConfirmRequest): ValidationError[] {
  const fault = tokenFault(request.confirm, 'body');
  const recovery = isRecovery(request) ? emptyFields(request, 'body') : [];
  return fault === undefined ? recovery : [fault, ...recovery];
}

const [request, dreamHeadersType, dreamResponseType] = wireTypes(
  typia.json.schemas<[DreamRequest, DreamHeaders, DreamResponse]>(),
);

/** The body of POST /dream. */
export const dreamRequestType = bodyType(request, typia.createIs<DreamRequest>(), { rules: dreamRules });

const [dreamGetQueryType, dreamPreviewResponseType, confirmQuery, dreamConfirmStateResponseType] = wireTypes(
  typia.json.schemas<[DreamGetQuery, DreamPreviewResponse, DreamConfirmQuery, DreamConfirmStateResponse]>(),
);

const lengthHints = { confirm: tokenSentence };
const dreamConfirmQueryType = annotated(confirmQuery, { lengthHints });

const [confirmBody, dreamConfirmResponseType] = wireTypes(
  typia.json.schemas<[DreamConfirmRequest, DreamConfirmResponse]>(),
);

/** The body of POST /dream_confirm. */
export const dreamConfirmRequestType = bodyType(confirmBody, typia.createIs<DreamConfirmRequest>(), {
  rules: confirmRules,
  lengthHints,
});

/** The submission. */
const dreamRequest: DreamRequest = {
  ...fragment,
  idempotency_key: 'a4e2c000-7d1f-4b6c-9a40-e15f3d88aa01',
};

/** The example's receipt. */
const dreamResponse: DreamResponse = {
  receipt,
  status: 'quarantined',
  ...digests,
  stored_envelope_sha256: seal,
  stored_fragment_identity: identity,
  hash_contract: 'fragment-receipt-hash-v2',
  hash_scope: hashScope,
  canonicalization,
  cryptographic_verification: verification,
  retrieval_verified: true,
};

/** The example's preview. */
const previewResponse: DreamPreviewResponse = {
  fragment,
  ...digests,
  confirm: token,
  expires_at: '2026-11-21T10:00:00.000Z',
  send: {
    method: 'POST',
    path: '/dream_confirm',
    content_type: 'application/json',
    body: {
      confirm: token,
      title: fragment.title,
      content: fragment.content,
      mechanism: fragment.mechanism,
      test: fragment.test,
      kind: fragment.kind,
      visitor: fragment.visitor,
    },
  },
};

/** The query of the preview. */
const previewQuery =
  'title=A+lattice+keeps+its+load+without+one+strut&content=Remove+one+strut+of+a+triangular+lattic' +
  'e%2C+and+the+load+that+it+carried+divides+over+the+struts+beside+it.+None+of+them+carries+more+t' +
  'han+half+as+much+again.&mechanism=Each+joint+has+more+struts+than+it+needs%2C+so+that+the+forces' +
  '+find+another+way.&test=Remove+one+strut+of+a+model+and+measure+how+far+it+sags+under+the+same+l' +
  'oad.&kind=BRIDGE&visitor=Ada';

/** The query for the state of its confirmation. */
const stateQuery = `confirm=${token}`;

/** The state before it is confirmed. */
const stateResponse: DreamConfirmStateResponse = {
  state: 'previewed',
  receipt: null,
  how: 'POST /dream_confirm with {"confirm": "<this token>"} stores the fragment.',
};

/** Its confirmation. */
const confirmRequest: DreamConfirmRequest = { confirm: token };

/** The receipt of the confirmation. */
const confirmResponse: DreamConfirmResponse = {
  receipt,
  status: 'quarantined',
  content_sha256: contentDigest,
  canonical_payload_sha256: payloadDigest,
  stored_envelope_sha256: seal,
  stored_fragment_identity: identity,
  cryptographic_verification: verification,
  retrieval_verified: true,
  idempotency_key: `confirm:${token}`,
};

/** Submission, preview and confirmation. */
export const dreamRoutes = {
  dream: {
    ...submission,
    path: '/dream',
    summary: 'Store a fragment and get its receipt',
    description:
      'Stores the abstraction and answers with a receipt whose every digest can be recomputed. The same ' +
      'content again gets the original receipt with status `duplicate`. Fragments must hold no private data.',
    body: { kind: 'json', schema: dreamRequestType, other: 'none', limit: 64 * kibibyte },
    parameters: { header: dreamHeadersType },
    answers: { 200: { schema: dreamResponseType, description: 'The receipt; the fragment is on disk.' } },
    problems: { ...submission.problems, 409: ['idempotency_conflict'] },
    headers: [...submission.headers, 'idempotent-replayed'],
    example: post('/dream', dreamRequest, dreamResponse),
  },
  dreamPreview: {
    ...door,
    method: 'GET',
    path: '/dream_get',
    summary: 'Preview a fragment without storing it',
    description:
      'Answers with the digests that the fragment would have, and a token to confirm it with. Stores no ' +
      'fragment; the preview is kept for half an hour.',
    body: { kind: 'none' },
    parameters: { query: dreamGetQueryType },
    limit: 'previews',
    answers: { 200: { schema: dreamPreviewResponseType, description: 'The preview and its token.' } },
    problems: { 429: ['rate_limited'] },
    headers: ['ratelimit', 'ratelimit-policy'],
    example: get(`/dream_get?${previewQuery}`, previewResponse),
  },
  dreamConfirmState: {
    ...door,
    method: 'GET',
    path: '/dream_confirm',
    summary: 'State of a confirmation',
    description: 'Says whether a token is pending, confirmed or unknown, and how to confirm it.',
    body: { kind: 'none' },
    parameters: { query: dreamConfirmQueryType },
    answers: { 200: { schema: dreamConfirmStateResponseType, description: 'The state.' } },
    problems: { 503: ['store_unavailable'] },
    headers: [],
    example: get(`/dream_confirm?${stateQuery}`, stateResponse),
  },
  dreamConfirm: {
    ...submission,
    path: '/dream_confirm',
    summary: 'Confirm a preview and get its receipt',
    description:
      'Stores the fragment of a preview. A repeated confirmation gets the original receipt. Once the ' +
      'preview has expired, send its fields too.',
    body: { kind: 'json', schema: dreamConfirmRequestType, other: 'form', limit: 64 * kibibyte },
    answers: {
      200: { schema: dreamConfirmResponseType, description: 'The receipt; the fragment is on disk.' },
    },
    problems: { ...submission.problems, 404: ['preview_not_found'], 409: ['token_mismatch'] },
    headers: [...submission.headers, 'idempotent-replayed'],
    example: post('/dream_confirm', confirmRequest, confirmResponse),
  },
} as const satisfies ResourceRoutes;
