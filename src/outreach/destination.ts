/** Where a click goes: never to a place that neither the operator signed nor the site trusts (WHATWG URL). */

/** Requests that a site trusts without a token. */
export interface TrustedPlaces {
  /** The site's own origin, such as `https://example.com`; null: not known. */
  readonly publicUrl: string | null;
  /** Hosts, with the port where it is not the scheme's own, as the URL standard writes them. */
  readonly clickHosts: readonly string[];
}

/** Where everything else goes. */
const home = '/';

/** Stands for the site's origin where it is not known; `.invalid` names nothing (RFC 2606). */
const placeholder = 'http://site.invalid';

/** Longest destination that is followed unsigned (characters). */
const longestUnsigned = 8_192;

function parse(text: string, base?: string): URL | undefined {
  return URL.canParse(text, base) ? new URL(text, base) : undefined;
}

function isWeb({ protocol }: URL): boolean {
  return protocol === 'http:' || protocol === 'https:';
}

/**
 * A URL of this site as a path that begins with exactly one slash. Two would name a host: the parser lets
 * `/.//host` become the path `//host`.
 */
function ownPath({ pathname, search, hash }: URL): string {
  return `${pathname.replace(/^\/+/, '/')}${search}${hash}`;
}

/**
 * Value of a `Location` field for the destination `text`: visible ASCII without spaces, whatever came. It is
 * read by the parser that browsers use and written again, so that no browser reads it otherwise.
 * @param signed whether the operator made this link for this destination
 */
export function locationOf(text: string, signed: boolean, trusted: TrustedPlaces): string {
  const origin = trusted.publicUrl ?? placeholder;
  const url = (signed ? parse(text) : undefined) ?? parse(text, origin);
  if (url === undefined || !isWeb(url)) return home;
  if (url.origin === origin && url.username === '' && url.password === '')
    return bounded(ownPath(url), signed);
  if (signed) return url.href;
  const known = trusted.clickHosts.includes(url.host) && url.username === '' && url.password === '';
  return known ? bounded(url.href, false) : home;
}

function bounded(location: string, signed: boolean): string {
  return signed || location.length <= longestUnsigned ? location : home;
}
