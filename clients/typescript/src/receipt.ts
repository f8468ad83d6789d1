/** A receipt's digests recomputed from its public answer (docs/receipt.md), by the platform's SHA-256. */
import type { components } from './door.js';

type Receipt = components['schemas']['ReceiptResponse'];

/** What was recomputed. */
export interface ReceiptVerification {
  /** True if the seal fits the envelope and no digest is wrong. */
  readonly verified: boolean;
  /** By digest; null where it cannot be recomputed here: the dedupe key needs one version of Unicode. */
  readonly fields: Readonly<Record<string, boolean | null>>;
  /** True if the seal fits the envelope, and that is this receipt's. */
  readonly envelope: boolean;
  /** True if the fragment is withheld, and the seal alone was looked at. */
  readonly withheld: boolean;
}

async function digest(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function canonical(members: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.fromEntries(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1))));
}

/** Verifies an answer of `receipt`. @throws Error for a legacy receipt, whose digests have other rules */
export async function verifyReceipt(receipt: Receipt): Promise<ReceiptVerification> {
  const { envelope, fragment, stored_envelope_sha256: seal } = receipt;
  if (envelope === null || receipt.hash_contract !== 'fragment-receipt-hash-v2') {
    throw new Error('Only receipts of fragment-receipt-hash-v2 are verified here.');
  }
  const isSealed = (await digest(canonical(envelope))) === seal && envelope['receipt'] === receipt.receipt;
  const repeated = ['content_sha256', 'submission_payload_sha256', 'canonical_payload_sha256'] as const;
  const isOwn = repeated.every((name) => receipt[name] === envelope[name]);
  if (fragment === null) {
    return { verified: isSealed && isOwn, fields: {}, envelope: isSealed, withheld: true };
  }
  const { title, content } = fragment;
  const payload = canonical({ ...fragment });
  const binding = await digest(`fragment-confirm-v2\0${payload}`);
  const found: Readonly<Record<string, string>> = {
    content_sha256: await digest(content),
    content_bytes_sha256: await digest(content),
    submission_payload_sha256: await digest(`${title}\n${content}`),
    canonical_payload_sha256: await digest(payload),
    confirmation_binding_sha256: binding,
    confirmation_token_sha256: await digest(binding),
  };
  const compared = Object.entries(found).map(([name, value]) => [name, value === envelope[name]] as const);
  const fields = { ...Object.fromEntries(compared), dedupe_key_sha256: null };
  const fits = isSealed && envelope['kind'] === fragment.kind;
  const verified = fits && isOwn && compared.every(([, same]) => same);
  return { verified, fields, envelope: fits, withheld: false };
}
