/** The target of a click: only a place that the operator signed or that the site trusts (WHATWG URL). */

/** Places that a site trusts without a token. */
export interface TrustedPlaces {
  /** The site's own origin, such as `https://example.com`; null: unknown. */
  readonly publicUrl: string | null;
  /** Hosts in the URL standard's form, with the port if it is not the scheme's default. */
  readonly clickHosts: readonly string[];
}

/** The target of all other clicks. */
const home = '/';

/** Stands in for an unknown origin of the site; `.invalid` never resolves (RFC 2606). */
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
 * A URL of this site as a path that begins with exactly one slash. Two would name a host: the parser turns
 * `/.//host` into the path `//host`.
 */
function ownPath({ pathname, search, hash }: URL): string {
  return `${pathname.replace(/^\/+/, '/')}${search}${hash}`;
}

/**
 * Value of a `Location` field for the destination `text`: always visible ASCII without spaces. The URL is
 * parsed by the algorithm of browsers and serialized again, so that no browser reads it differently.
 * @param signed true if the operator made this link for this destination
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
