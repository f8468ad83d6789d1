/** IP addresses and networks as bytes (RFC 4291, RFC 4632): 4 bytes for IPv4, 16 for IPv6. */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** A network: the addresses that begin with the first `prefixBits` of `bytes`. */
export interface Network {
  readonly bytes: Uint8Array;
  readonly prefixBits: number;
}

const mappedPrefix = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff);

/** The IPv4 address of an IPv4-mapped IPv6 address; any other address unchanged. */
export function unmapped(bytes: Uint8Array): Uint8Array {
  return mappedPrefix.every((byte, at) => bytes[at] === byte) ? bytes.subarray(12) : bytes;
}

/**
 * An address's bytes; undefined if the text is not an address: IPv4 has four decimal parts, IPv6 no zone.
 * IPv4-mapped IPv6 becomes IPv4.
 */
export function parseAddress(text: string): Uint8Array | undefined {
  if (isIP(text) === 0 || text.includes('%')) return undefined;
  return unmapped(Uint8Array.from(ipaddr.parse(text).toByteArray()));
}

/** Parses a network written `address/bits`, or one address; undefined if it is invalid or sets later bits. */
export function parseNetwork(text: string): Network | undefined {
  const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const bytes = parseAddress(address);
  if (bytes === undefined) return undefined;
  const most = bytes.length * 8;
  // A mapped address counts its bits from the start of the IPv6 address.
  const given = bits === undefined ? undefined : Number(bits) - (isIP(address) === 6 && most === 32 ? 96 : 0);
  const network = { bytes, prefixBits: given ?? most };
  if (network.prefixBits < 0 || network.prefixBits > most) return undefined;
  return bytes.every((byte, at) => (byte & ~mask(network.prefixBits, at)) === 0) ? network : undefined;
}

/** The bits of byte `at` that a prefix covers. */
function mask(prefixBits: number, at: number): number {
  const covered = Math.min(8, Math.max(0, prefixBits - 8 * at));
  return (0xff << (8 - covered)) & 0xff;
}

/** True if an address, not IPv4-mapped, is in a network. */
export function contains(network: Network, address: Uint8Array): boolean {
  if (network.bytes.length !== address.length) return false;
  return network.bytes.every((byte, at) => byte === ((address[at] ?? 0) & mask(network.prefixBits, at)));
}

/** The bytes of an address that name its network where limits share: a /24 (IPv4), or a /48 (IPv6). */
export function networkOf(address: Uint8Array): Uint8Array {
  return address.subarray(0, address.length === 4 ? 3 : 6);
}

const loopbackHost = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** True if no one on the path can read or change requests to a URL: https, or this machine. */
export function isPrivate({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || isLoopback(hostname);
}

/** True if a URL's host name is this machine. */
export function isLoopback(hostname: string): boolean {
  return loopbackHost.test(hostname);
}
