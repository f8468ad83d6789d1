/**
 * Receipts of the first hash contract, `fragment-receipt-hash-v1-legacy` (docs/receipt.md, section 8): read
 * from the lines they were imported from, served unchanged, never sealed again.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { fragmentFields, fragmentOf } from '../contract/fragment.js';
import type { CryptographicVerification, Fragment } from '../contract/fragment.js';
import type { ReceiptResponse } from '../contract/receipt.js';
import { isReceiptId, mayBeReceiptId } from '../store/receiptId.js';
import { implementation } from './verify.js';

/** A legacy receipt. */
export interface LegacyReceipt {
  readonly receipt: string;
  readonly status: 'quarantined' | 'probe';
  readonly fragment: Fragment;
  /** SHA-256 of title, LF, content; in hex. */
  readonly contentSha256: string;
}

/** Longest line accepted (UTF-16 code units). */
const longestLine = 65_536;

const digestForm = /^[0-9a-f]{64}$/;
const tokenForm = /^[0-9a-f]{10}$/;

/** True if a text may be the id of a legacy receipt: the current contract's ids never are. */
export function isLegacyId(text: string): boolean {
  return mayBeReceiptId(text) && !isReceiptId(text);
}

/** Reads a line; `wrong` is a sentence part. */
export function readLegacy(line: string): { readonly legacy: LegacyReceipt } | { readonly wrong: string } {
  if (line.length > longestLine) return { wrong: `is longer than ${longestLine} characters` };
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    return { wrong: 'is not JSON' };
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    return { wrong: 'is not a JSON object' };
  }
  return legacyOf(new Map<string, unknown>(Object.entries(parsed)));
}

/** Value of a field that may be absent. */
function optional(members: ReadonlyMap<string, unknown>, name: string): string | undefined {
  const value = members.get(name) ?? '';
  return typeof value === 'string' && !/\p{Surrogate}/u.test(value) ? value : undefined;
}

function legacyOf(
  members: ReadonlyMap<string, unknown>,
): { readonly legacy: LegacyReceipt } | { readonly wrong: string } {
  const text = (name: string): string => optional(members, name) ?? '';
  for (const name of [...fragmentFields, 'received_at']) {
    if (optional(members, name) === undefined) return { wrong: `has a ${name} that is no text` };
  }
  const receipt = text('receipt');
  if (!isLegacyId(receipt)) {
    return { wrong: 'has no receipt: 1 to 64 letters, digits, _ or -, and not of the present form' };
  }
  for (const name of ['title', 'content']) if (text(name) === '') return { wrong: `has no ${name}` };
  const status = members.get('status') ?? 'quarantined';
  if (status !== 'quarantined' && status !== 'probe') {
    return { wrong: 'has a status other than quarantined and probe' };
  }
  const token = members.get('confirmation_token') ?? undefined;
  if (token !== undefined && !(typeof token === 'string' && tokenForm.test(token))) {
    return { wrong: 'has a confirmation_token that is not 10 hexadecimal digits' };
  }
  const contentSha256 = text('content_sha256');
  if (!digestForm.test(contentSha256)) return { wrong: 'has no content_sha256 of 64 hexadecimal digits' };
  const fragment = fragmentOf(text);
  if (legacyDigest(fragment) !== contentSha256) {
    return { wrong: 'has a content_sha256 that is not the SHA-256 of title, LF, content' };
  }
  return { legacy: { receipt, status, fragment, contentSha256 } };
}

/** `content_sha256` of the first contract. */
function legacyDigest({ title, content }: Pick<Fragment, 'title' | 'content'>): string {
  return bytesToHex(sha256(Buffer.from(`${title}\n${content}`)));
}

/** Scope of the digests of the first contract. */
const legacyScope: Readonly<Record<string, string>> = {
  content_sha256: 'title, then LF, then content, UTF-8 (legacy)',
};

/** The verdict on a legacy receipt: there is one digest, and no envelope. */
export function verifyLegacy(fragment: Fragment, contentSha256: string): CryptographicVerification {
  const verified = legacyDigest(fragment) === contentSha256;
  return { verified, fields: { content_sha256: verified }, envelope: null, implementation };
}

/** The answer of `GET /receipt/{id}`. */
export function legacyBody({ receipt, status, fragment, contentSha256 }: LegacyReceipt): ReceiptResponse {
  return {
    receipt,
    status,
    content_sha256: contentSha256,
    submission_payload_sha256: null,
    canonical_payload_sha256: null,
    stored_envelope_sha256: null,
    hash_contract: 'fragment-receipt-hash-v1-legacy',
    hash_scope: legacyScope,
    canonicalization: {
      version: 'legacy',
      rules: ['The strings are those of the historical receipt, unchanged.'],
    },
    stored_fragment_identity: { receipt, stored_envelope_sha256: null, scope: 'receipt-id-only-legacy' },
    cryptographic_verification: verifyLegacy(fragment, contentSha256),
    envelope: null,
    fragment,
    log: null,
  };
}
