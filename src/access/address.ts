/**
 * The client's address that limits count: IPv4 whole, IPv6 by its /64 (RFC 4291: one subnet, one caller),
 * IPv4-mapped IPv6 as IPv4. `X-Forwarded-For` and `Forwarded` (RFC 7239) count only from trusted proxies.
 */
import { contains, parseAddress, parseNetwork, unmapped, type Network } from '../system/network.js';

/** Head of a request; admission reads it before the body. */
export interface Head {
  /** A header field's value by lower-case name, the first if there are several lines; `""` when absent. */
  field(name: string): string;
  /** The values of all lines of a field, joined by `, ` (RFC 9110, 5.3). */
  allOf(name: string): string;
  /** The peer's address: 4 or 16 bytes, or none if unknown. */
  peer(): Uint8Array;
  /** True for a HEAD request. */
  isHead(): boolean;
}

/** The part of a head that says who calls. */
export type CallerHead = Omit<Head, 'isHead'>;

/** The client's address that limits count: 4 bytes, 8, or none. All unknown addresses count as one. */
export type ClientAddress = (head: CallerHead) => Uint8Array;

const unknown = new Uint8Array(0);
const subnetBytes = 8;

/** Most proxies in a row that are trusted: this bounds the work on a client's long list. */
const mostHops = 32;

/** The address that limits count: IPv6 is cut to its /64, IPv4 is shorter than that and counts whole. */
export function countedAddress(address: Uint8Array): Uint8Array {
  return address.subarray(0, subnetBytes);
}

/** The address of one entry, without port and brackets. */
function entryAddress(entry: string): Uint8Array | undefined {
  const bare = /^\[([^\]]*)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry;
  return parseAddress(bare);
}

/** Entries of `X-Forwarded-For`; the nearest proxy's entry is last. */
function forwardedFor(value: string): string[] {
  return value.split(',').map((entry) => entry.trim());
}

/** The parts between separators outside quoted strings (RFC 9110, 5.6.4). */
function partsOf(value: string, separator: ',' | ';'): string[] {
  const parts: string[] = [];
  let quoted = false;
  let from = 0;
  for (let at = 0; at < value.length; at += 1) {
    const character = value[at];
    if (quoted && character === '\\') at += 1;
    else if (character === '"') quoted = !quoted;
    else if (!quoted && character === separator) {
      parts.push(value.slice(from, at).trim());
      from = at + 1;
    }
  }
  return [...parts, value.slice(from).trim()];
}

/** The `for` of each element of `Forwarded`; `""` for an element without one. */
function forwardedElements(value: string): string[] {
  return partsOf(value, ',').map((element) => {
    const pair = partsOf(element, ';').find((part) => /^for=/i.test(part)) ?? '';
    const named = pair.slice('for='.length);
    return /^".*"$/s.test(named) ? named.slice(1, -1).replaceAll(/\\(.)/gs, '$1') : named;
  });
}

/** The last entry that is not a trusted proxy; the first entry if all are. */
function lastUntrusted(entries: readonly string[], trusted: readonly Network[]): Uint8Array {
  let address: Uint8Array = unknown;
  for (const entry of entries.slice(-mostHops).reverse()) {
    const named = entryAddress(entry);
    if (named === undefined) return unknown;
    address = named;
    if (!trusted.some((network) => contains(network, named))) break;
  }
  return address;
}

/**
 * The client's address as trusted proxies report it. If both fields are present and disagree, one came from
 * the client, through a proxy that sets only the other. Nobody can tell which, so the peer itself counts.
 */
function forwardedAddress(head: CallerHead, peer: Uint8Array, trusted: readonly Network[]): Uint8Array {
  const values = [head.allOf('x-forwarded-for'), head.allOf('forwarded')] as const;
  const named = [
    ...(values[0] === '' ? [] : [lastUntrusted(forwardedFor(values[0]), trusted)]),
    ...(values[1] === '' ? [] : [lastUntrusted(forwardedElements(values[1]), trusted)]),
  ];
  const [first = peer, second = first] = named;
  return Buffer.compare(first, second) === 0 ? first : peer;
}

/** The warning to the operator about an untrusted proxy. */
export const untrustedProxy =
  'Requests with X-Forwarded-For come from an address that TRUSTED_PROXIES does not name, so all clients ' +
  'behind it share its limits. If it is your proxy, name it there.';

/** One request in this many is checked for an untrusted proxy: a proxy sets the field in every request. */
const checkedOf = 64;

/**
 * Returns a check of untrusted peers' requests: `onFound` gets the address of one that sends
 * `X-Forwarded-For`. One request in 64 is checked.
 */
export function proxyLook(onFound: (peer: Uint8Array) => void): (head: CallerHead) => void {
  let untilChecked = 1;
  return (head) => {
    untilChecked -= 1;
    if (untilChecked > 0) return;
    untilChecked = checkedOf;
    if (head.field('x-forwarded-for') !== '') onFound(unmapped(head.peer()));
  };
}

/**
 * Finds a client's address; `proxies` are the trusted addresses and networks, already validated.
 * `onUntrusted` gets each request of a peer that is not trusted.
 */
export function clientAddress(
  proxies: readonly string[],
  onUntrusted?: (head: CallerHead) => void,
): ClientAddress {
  const trusted = proxies.flatMap((text) => parseNetwork(text) ?? []);
  return (head) => {
    const peer = unmapped(head.peer());
    if (!trusted.some((network) => contains(network, peer))) {
      onUntrusted?.(head);
      return countedAddress(peer);
    }
    return countedAddress(forwardedAddress(head, peer, trusted));
  };
}
