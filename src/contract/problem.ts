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
  | 'order_not_found'
  | 'order_paid'
  | 'rail_unavailable'
  | 'rail_busy'
  | 'bad_signature'
  | 'webhook_not_configured'
  | 'receipt_not_found'
  | 'receipt_not_logged'
  | 'tile_not_found'
  | 'log_not_ready'
  | 'preview_not_found'
  | 'token_mismatch'
  | 'idempotency_conflict';

/** A domain failure. */
export interface Problem {
  /** The fault and its remedy, as a sentence. */
  detail: string;
  code: ProblemCode;
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
