/**
 * The independent verification of a stored receipt (docs/receipt.md): recomputes every digest from what was
 * read back, with @noble/hashes and the tables of this folder. It shares no code with the making of digests.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import type { CryptographicVerification, Fragment } from '../contract/fragment.js';
import { comparable } from './comparable.js';
import { unicodeVersion } from './unicodeTables.js';

/** Values read back from the store. */
export interface Readback {
  /** The id of the requested receipt. */
  readonly receipt: string;
  /** The six accepted strings. */
  readonly fragment: Fragment;
  /** The envelope's members. */
  readonly envelope: Readonly<Record<string, string>>;
  /** The seal: SHA-256 of the envelope's canonical JSON, in hex. */
  readonly seal: string;
}

/** The implementations that verify. */
export const implementation = `@noble/hashes 2.4.0, Unicode ${unicodeVersion}`;

/** The digests of a verification, in the order in which answers list them. */
export const digestNames = [
  'content_sha256',
  'content_bytes_sha256',
  'submission_payload_sha256',
  'canonical_payload_sha256',
  'dedupe_key_sha256',
  'confirmation_binding_sha256',
  'confirmation_token_sha256',
] as const;

type DigestName = (typeof digestNames)[number];

function hexOf(text: string): string {
  return bytesToHex(sha256(Buffer.from(text)));
}

/** Canonical JSON of an object of strings: sorted by name, no spaces (RFC 8785 for such objects). */
export function canonicalJson(members: Readonly<Record<string, string>>): string {
  const sorted = Object.keys(members).sort();
  return JSON.stringify(Object.fromEntries(sorted.map((name) => [name, members[name]])));
}

/** Recomputes the digests of accepted strings; the dedupe key's is null for another Unicode version. */
function recompute(fragment: Fragment, unicode: string | undefined): Record<DigestName, string | null> {
  const { title, content, mechanism, test, kind, visitor } = fragment;
  const payload = JSON.stringify({ content, kind, mechanism, test, title, visitor });
  const contentDigest = hexOf(content);
  const binding = hexOf(`fragment-confirm-v2\0${payload}`);
  const sameTables = unicode === unicodeVersion;
  return {
    content_sha256: contentDigest,
    content_bytes_sha256: contentDigest,
    submission_payload_sha256: hexOf(`${title}\n${content}`),
    canonical_payload_sha256: hexOf(payload),
    dedupe_key_sha256: sameTables ? hexOf(`${comparable(title)}\0${comparable(content)}`) : null,
    confirmation_binding_sha256: binding,
    confirmation_token_sha256: hexOf(binding),
  };
}

/** True if the seal fits the envelope, and the envelope names this receipt. */
export function sealFits({ receipt, envelope, seal }: Omit<Readback, 'fragment'>): boolean {
  return hexOf(canonicalJson(envelope)) === seal && envelope['receipt'] === receipt;
}

/**
 * Verifies a receipt. `verified` is true if the seal fits the envelope, the envelope names this receipt and
 * this kind, and no digest is wrong.
 */
export function verify({ receipt, fragment, envelope, seal }: Readback): CryptographicVerification {
  const found = recompute(fragment, envelope['unicode']);
  const fields: Record<string, boolean | null> = {};
  for (const name of digestNames) fields[name] = found[name] === null ? null : found[name] === envelope[name];
  const sealed = sealFits({ receipt, envelope, seal }) && envelope['kind'] === fragment.kind;
  const verified = sealed && !Object.values(fields).includes(false);
  return { verified, fields, envelope: sealed, implementation };
}
