/** The links that operators put into their mail (RFC 3986; headers: RFC 2369, RFC 8058). */
import { clickToken, isClickId, optoutToken } from './tokens.js';

/** The result, or a sentence that says why there is none. */
export type Made<Value> = { readonly value: Value } | { readonly refused: string };

/** Why no link can be made without the site's own address; for mail and clicks alike. */
const needsPublicUrl =
  'Links need PUBLIC_URL, the address at which clients reach Fusegate, such as https://example.com.';

/** An opt-out link and the two header fields of one-click opt-out. */
export interface OptoutLink {
  readonly link: string;
  /** Header lines, without line ends. */
  readonly headers: readonly [string, string];
}

/** The opt-out link of an address, which is used as given, without surrounding white space. */
export function optoutLink(secret: string, publicUrl: string | null, email: string): Made<OptoutLink> {
  if (publicUrl === null) return { refused: needsPublicUrl };
  const address = email.trim();
  if (!/^[^\s@]+@[^\s@]+$/.test(address)) {
    return { refused: `${JSON.stringify(email)} is not an email address.` };
  }
  const query = `e=${encodeURIComponent(address)}&t=${optoutToken(secret, address)}`;
  const link = `${publicUrl}/unsubscribe?${query}`;
  const headers = [
    `List-Unsubscribe: <${link}>`,
    'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
  ] as const;
  return { value: { link, headers } };
}

/** A click link to a destination, in its canonical form. `id` identifies the link in the log. */
export function clickLink(
  secret: string,
  publicUrl: string | null,
  destination: string,
  id: string,
): Made<string> {
  if (publicUrl === null) return { refused: needsPublicUrl };
  if (!isClickId(id)) return { refused: 'An id has 1 to 64 characters of A-Z a-z 0-9 . _ -' };
  if (!URL.canParse(destination) || !/^https?:$/.test(new URL(destination).protocol)) {
    return { refused: 'A destination is a whole http or https address, such as https://example.com/offer.' };
  }
  const { href } = new URL(destination);
  return { value: `${publicUrl}/c/${clickToken(secret, id, href)}?d=${encodeURIComponent(href)}` };
}
