/** Answers other than success and 422 (contract, Errors): a sentence, and a code from a closed list. */

/** Every domain failure's code. */
export type ProblemCode =
  | 'key_required'
  | 'invalid_api_key'
  | 'key_expired'
  | 'key_revoked'
  | 'key_suspended'
  | 'key_replaced'
  | 'invalid_request'
  | 'no_documents'
  | 'rate_limited'
  | 'queue_full'
  | 'embed_timeout'
  | 'embed_failed'
  | 'no_model'
  | 'overloaded'
  | 'body_too_large'
  | 'answer_too_large'
  | 'body_timeout'
  | 'unsupported_encoding'
  | 'store_unavailable'
  | 'storage_reserved'
  | 'corpus_not_found'
  | 'corpus_limit'
  | 'profile_not_found'
  | 'profile_limit'
  | 'order_not_found'
  | 'order_paid'
  | 'order_closed'
  | 'rail_unavailable'
  | 'rail_busy'
  | 'bad_signature'
  | 'webhook_not_configured'
  | 'receipt_not_found'
  | 'receipt_not_logged'
  | 'tile_not_found'
  | 'stamp_not_found'
  | 'log_not_ready'
  | 'preview_not_found'
  | 'token_mismatch'
  | 'idempotency_conflict';

/** A domain failure. */
export interface Problem {
  /** The fault and its remedy, as a sentence. */
  detail: string;
  code: ProblemCode;
  /** Path of the guide that explains it, on the same address. */
  docs: string;
}

/** The guide that explains each problem, by its name under `docs`; every address serves the guides. */
const guides: Readonly<Record<ProblemCode, string>> = {
  key_required: 'keys',
  invalid_api_key: 'keys',
  key_expired: 'keys',
  key_revoked: 'keys',
  key_suspended: 'keys',
  key_replaced: 'keys',
  corpus_not_found: 'errors',
  corpus_limit: 'errors',
  profile_not_found: 'errors',
  profile_limit: 'errors',
  invalid_request: 'rerank',
  no_documents: 'rerank',
  rate_limited: 'keys',
  queue_full: 'models',
  embed_timeout: 'models',
  embed_failed: 'models',
  no_model: 'models',
  overloaded: 'http',
  body_too_large: 'http',
  answer_too_large: 'http',
  body_timeout: 'http',
  unsupported_encoding: 'http',
  store_unavailable: 'errors',
  storage_reserved: 'errors',
  order_not_found: 'checkout',
  order_paid: 'checkout',
  order_closed: 'checkout',
  rail_unavailable: 'checkout',
  rail_busy: 'checkout',
  bad_signature: 'checkout',
  webhook_not_configured: 'checkout',
  receipt_not_found: 'door',
  receipt_not_logged: 'log',
  tile_not_found: 'log',
  stamp_not_found: 'log',
  log_not_ready: 'log',
  preview_not_found: 'door',
  token_mismatch: 'door',
  idempotency_conflict: 'door',
};

/** A problem with the path of its guide. */
export function problemOf(code: ProblemCode, detail: string): Problem {
  return { detail, code, docs: `/docs/guides/${guides[code]}` };
}

/** A wrong path or a wrong method. */
export interface HttpProblem {
  detail: 'Not Found' | 'Method Not Allowed';
  /** What to do, as a sentence; absent where nothing more is known. */
  message?: string;
  /** The route whose path is nearest to the wrong one. */
  nearest?: { method: string; path: string };
  /** Path of the reference. */
  docs?: string;
}
