/**
 * Tokens of opt-out and click links: HMAC-SHA-256 under a master secret (RFC 2104), as base64url (RFC 4648)
 * cut to 22 characters, 132 bits. `docs/outreach.md` shows how to compute them elsewhere.
 */
import { timingSafeEqual } from 'node:crypto';
import { comparable } from '../store/tables/optouts.js';
import { derive, type MasterSecrets } from '../system/masterSecret.js';

const tokenCharacters = 22;

function cut(digest: Buffer): string {
  return digest.toString('base64url').slice(0, tokenCharacters);
}

/** Compares tokens in constant time. */
function equal(given: string, right: string): boolean {
  const [left, other] = [Buffer.from(given), Buffer.from(right)];
  return left.byteLength === other.byteLength && timingSafeEqual(left, other);
}

/** The token of an opt-out link: over `optout` NUL the lower-cased address. */
export function optoutToken(secret: string, email: string): string {
  return cut(derive(secret, 'optout', comparable(email)));
}

/**
 * The address of an opt-out link; undefined if its token is invalid. A `+` that a client left unescaped in
 * the link arrives as a space, so an address with spaces is also tried with `+`.
 */
export function verifyOptout(secrets: MasterSecrets, email: string, token: string): string | undefined {
  const spellings = new Set([email, email.replaceAll(' ', '+')]);
  if (email === '') return undefined;
  return [...spellings].find((each) => secrets.some((secret) => equal(token, optoutToken(secret, each))));
}

/** True if a click link may carry this id: 1 to 64 characters of `A-Z a-z 0-9 . _ -`. */
export function isClickId(id: string): boolean {
  return /^[A-Za-z0-9._-]{1,64}$/.test(id);
}

/**
 * The token of a click link: base64url of the id, a dot, then the cut HMAC over `click` NUL id NUL
 * destination.
 * @throws Error if the id is invalid; see {@link isClickId}
 */
export function clickToken(secret: string, id: string, destination: string): string {
  if (!isClickId(id)) throw new Error('Not an id of a click link');
  const digest = cut(derive(secret, 'click', id, destination));
  return `${Buffer.from(id).toString('base64url')}.${digest}`;
}

/** The id inside a click token; undefined if there is none. */
export function clickIdOf(token: string): string | undefined {
  const [, encoded] = /^([\w-]+)\./.exec(token) ?? [];
  if (encoded === undefined) return undefined;
  const id = Buffer.from(encoded, 'base64url').toString('latin1');
  return isClickId(id) ? id : undefined;
}

/** True if a click token was made under one of the secrets for exactly this destination. */
export function verifyClick(secrets: MasterSecrets, token: string, destination: string): boolean {
  const id = clickIdOf(token);
  if (id === undefined) return false;
  return secrets.some((secret) => equal(token, clickToken(secret, id, destination)));
}
