/** `GET /api/agent/openapi` (contract, fragment door): the door's description, with the live address. */
import type { Answer, Handler, RouteRequest } from '../contract/exchange.js';
import { doorDocument } from '../contract/openapi.js';
import type { ServedPart } from '../contract/served.js';
import type { OpenApiDocument } from '../contract/schema/document.js';
import { contains, parseNetwork, unmapped } from '../system/network.js';
import { how } from './how.js';

/** Sources of the door's address. */
export interface DoorAddress {
  /** The configured origin; null: the request's own. */
  readonly publicUrl: string | null;
  /** Addresses and networks of proxies whose `X-Forwarded-*` fields are trusted. */
  readonly trustedProxies: readonly string[];
  /** The parts that the document describes; absent: all. */
  readonly serve?: readonly ServedPart[];
}

/** A host that is valid in a URL, with an optional port. */
const plainHost = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/** First value of a proxies' field: the one closest to the client. */
function first(value: string): string {
  return value.replace(/,.*/, '').trim();
}

/** The origin that a request was sent to; `/` if its host is not valid in a URL. */
function originOf(request: RouteRequest, isTrusted: (peer: Uint8Array) => boolean): string {
  const trusted = isTrusted(unmapped(request.peer()));
  const forwarded = (name: string): string => (trusted ? first(request.header(name)) : '');
  const host = forwarded('x-forwarded-host') || request.header('host');
  const scheme = forwarded('x-forwarded-proto').toLowerCase() === 'https' ? 'https' : 'http';
  return plainHost.test(host) ? `${scheme}://${host}` : '/';
}

function answer(bytes: string, headers: Readonly<Record<string, string>>): Answer {
  return { status: 200, body: { bytes, type: 'application/json' }, headers, charge: 0 };
}

/** The document of the door at an address. */
export function describedDoor(serverUrl: string, serve?: readonly ServedPart[]): OpenApiDocument {
  return doorDocument(serverUrl, { how }, serve);
}

/** Answers with the document; if no address is configured, with the request's own. */
export function doorOpenapi({ publicUrl, trustedProxies, serve }: DoorAddress): Handler {
  if (publicUrl !== null) {
    const bytes = JSON.stringify(describedDoor(publicUrl, serve));
    return () => answer(bytes, {});
  }
  const networks = trustedProxies.flatMap((text) => parseNetwork(text) ?? []);
  const isTrusted = (peer: Uint8Array): boolean => networks.some((network) => contains(network, peer));
  const document = describedDoor('/', serve);
  return (request) => {
    const url = originOf(request, isTrusted);
    // http sets Vary for Origin itself; Host matters, too.
    return answer(JSON.stringify({ ...document, servers: [{ url }] }), {
      'cache-control': 'no-store',
      vary: 'Host',
    });
  };
}
