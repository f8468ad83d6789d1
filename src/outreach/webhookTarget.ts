/**
 * Permitted targets of webhooks: public addresses over https. The operator's settings may add private
 * networks, to which http is permitted, too.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { contains, parseAddress, type Network } from '../system/network.js';

/** Longest URL of a webhook (characters). */
const longestUrl = 2_000;

/** True if an address belongs to the public Internet. */
function isPublic(address: string): boolean {
  const parsed = ipaddr.process(address);
  if (parsed.range() !== 'unicast') return false;
  // Addresses that embed an IPv4 address reach the same hosts as that address.
  return parsed.kind() === 'ipv4' || parsed.match(ipaddr.parse('2000::'), 3);
}

/** Why nothing may be sent to an address; undefined: it is permitted. */
export function wrongAddress(
  address: string,
  protocol: string,
  networks: readonly Network[],
): string | undefined {
  const bytes = parseAddress(address);
  if (bytes === undefined) return `${address} is no address`;
  if (networks.some((network) => contains(network, bytes))) return undefined;
  if (!isPublic(address)) return `${address} is not public, and WEBHOOK_NETWORKS does not name its network`;
  return protocol === 'https:' ? undefined : 'http is spoken to networks of WEBHOOK_NETWORKS alone';
}

/** The host of a URL, without IPv6's brackets. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

/** Parses the URL of a webhook. Its host name is looked up only when something is sent. */
export function parseTarget(
  text: string,
  networks: readonly Network[],
): { readonly url: URL } | { readonly wrong: string } {
  if (text.length > longestUrl || !URL.canParse(text)) return { wrong: 'The URL cannot be read.' };
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return { wrong: 'The URL must begin with https://.' };
  if (url.username !== '' || url.password !== '') return { wrong: 'The URL may hold no user name.' };
  if (url.hash !== '') return { wrong: 'The URL may have no part after #.' };
  if (url.protocol === 'http:' && networks.length === 0) {
    return {
      wrong: 'The URL must begin with https://; http is only for networks that WEBHOOK_NETWORKS names.',
    };
  }
  const host = hostOf(url);
  const wrong = isIP(host) === 0 ? undefined : wrongAddress(host, url.protocol, networks);
  return wrong === undefined ? { url } : { wrong: `Nothing may be sent there: ${wrong}.` };
}
