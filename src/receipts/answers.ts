/** The parts of answers that carry a receipt (contract, receipt response fields). */
import { jsonAnswer, problemAnswer } from '../contract/answer.js';
import type { DreamSubmitted } from '../contract/dream.js';
import type { Answer } from '../contract/exchange.js';
import { kinds } from '../contract/exploration.js';
import type { FragmentDigests, ReceiptStatus, StoredFragmentIdentity } from '../contract/fragment.js';
import type { Accepted, Receipt, Received, Submitted } from './submit.js';

const conflict = problemAnswer(
  409,
  'idempotency_conflict',
  'This idempotency key was used for other content. Use a new key, such as a UUID, for new content.',
);

/** Why no fragment is stored any more. */
export const fullDetail =
  'This server stores no more fragments: they take as much of its disk as its operator gives them ' +
  '(DOOR_MAX_GB). Receipts are still read and verified.';

const full: Answer = {
  ...problemAnswer(503, 'storage_reserved', fullDetail),
  headers: { 'retry-after': '3600' },
};

/** The answer that refuses a submission; undefined if it has a receipt. */
export function refusalOf({ kind }: Submitted): Answer | undefined {
  if (kind === 'conflict') return conflict;
  return kind === 'full' ? full : undefined;
}

/** The status under which a fragment is stored. */
export function storedStatus({ envelope }: Receipt): 'quarantined' | 'probe' {
  return envelope['status'] === 'probe' ? 'probe' : 'quarantined';
}

/** The status that an answer reports. */
export function statusOf(received: Received): ReceiptStatus {
  return received.kind === 'duplicate' ? 'duplicate' : storedStatus(received.receipt);
}

/** Members that identify a stored fragment. */
export function identityOf({ stored }: Receipt): StoredFragmentIdentity {
  return {
    receipt: stored.receipt,
    stored_envelope_sha256: stored.seal,
    scope: 'receipt-id+envelope-seal-v2',
  };
}

/** A stored fragment's digests, including its seal. */
export function digestsOf({ envelope, stored }: Receipt): FragmentDigests {
  const digest = (name: string): string => envelope[name] ?? '';
  return {
    content_sha256: digest('content_sha256'),
    content_bytes_sha256: digest('content_bytes_sha256'),
    submission_payload_sha256: digest('submission_payload_sha256'),
    canonical_payload_sha256: digest('canonical_payload_sha256'),
    dedupe_key_sha256: digest('dedupe_key_sha256'),
    confirmation_binding_sha256: digest('confirmation_binding_sha256'),
    confirmation_token_sha256: digest('confirmation_token_sha256'),
    stored_envelope_sha256: stored.seal,
  };
}

/** The first members of an answer with a receipt. */
interface ReceivedFields {
  receipt: string;
  status: ReceiptStatus;
  /** The original's status, in the answer to a duplicate. */
  original_status?: 'quarantined' | 'probe';
  submitted?: DreamSubmitted;
}

/**
 * The receipt of a submission and its status. For a duplicate also the original's status, and a comparison of
 * the two payloads. `payload`: the submission's `canonical_payload_sha256`.
 */
export function receivedFields(received: Received, payload: string): ReceivedFields {
  const original = received.receipt;
  const fields = { receipt: original.stored.receipt, status: statusOf(received) };
  if (received.kind === 'stored') return fields;
  return {
    ...fields,
    original_status: storedStatus(original),
    submitted: {
      canonical_payload_sha256: payload,
      same_payload: payload === original.envelope['canonical_payload_sha256'],
    },
  };
}

/** The warning about an unknown kind. */
export function warningField({ knownKind }: Accepted, kind: string | null | undefined): { warning?: string } {
  if (knownKind) return {};
  const known = `one of ${kinds.join(', ')}`;
  return { warning: `kind ${JSON.stringify(kind)} is not ${known}; it is stored as HYPOTHESIS` };
}

/** An answer with a receipt; a header marks one that repeats an earlier answer. */
export function receiptAnswer(received: Received, body: unknown): Answer {
  const answer = jsonAnswer(200, body);
  const replayed = received.kind === 'duplicate' && received.replayed;
  return replayed ? { ...answer, headers: { 'idempotent-replayed': 'true' } } : answer;
}
