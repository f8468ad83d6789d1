/** Settings of leads, clicks and counted links, and of the operator. */
import { readFileSync } from 'node:fs';
import { shortReasonOf } from '../system/reason.js';
import type { Parsed, Settings } from '../system/settings.js';
import { integer, parseNetworks, perMinute } from '../system/settingValues.js';
import { noOperator, parseOperator, type Operator } from './operator.js';

/** A host as a browser writes it (IDNA, lower case), with its port; undefined if the text is not one. */
function canonicalHost(text: string): string | undefined {
  if (/[/?#@\\\s]/.test(text) || !URL.canParse(`https://${text}`)) return undefined;
  return new URL(`https://${text}`).host;
}

function parseHosts(text: string): Parsed<readonly string[]> {
  const hosts = text.split(',').map((item) => item.trim());
  const canonical = hosts.filter((host) => host !== '').map(canonicalHost);
  const value = canonical.filter((host) => host !== undefined);
  if (value.length === canonical.length) return { value };
  return { wrong: 'must be host names separated by commas, such as example.com,shop.example.com:8443' };
}

/** Reads the operator's file; an empty path: no operator is named. */
function readOperator(path: string): Parsed<Operator> {
  if (path === '') return { value: noOperator };
  const must = 'must be the path of a JSON file';
  try {
    const read = parseOperator(readFileSync(path, 'utf8'));
    return 'operator' in read ? { value: read.operator } : { wrong: `${must} ${read.wrong}` };
  } catch (error) {
    return { wrong: `${must} that can be read (${shortReasonOf(error)})` };
  }
}

/** Targets of links, retention of records, and the operator. */
export const outreachSettings = {
  /** Hosts (with the port if it is not the scheme's default) that click links may lead to without a token. */
  clickHosts: {
    name: 'CLICK_HOSTS',
    type: 'host names separated by commas',
    fallback: '',
    fallbackShown: 'none',
    meaning: 'Hosts that `/c/{token}` may lead to without a valid token; a port is part of the name.',
    parse: parseHosts,
  },
  /** Retention of clicks (days); 0: for ever. */
  clicksRetentionDays: {
    name: 'CLICKS_RETENTION_DAYS',
    type: 'whole number, 0 to 36500',
    fallback: '90',
    meaning: 'Days for which clicks are stored; 0: permanently.',
    parse: integer(0, 36_500),
  },
  /** Retention of leads and interests (days); 0: until forgotten. */
  leadsRetentionDays: {
    name: 'LEADS_RETENTION_DAYS',
    type: 'whole number, 0 to 36500',
    fallback: '0',
    meaning: 'Days for which leads and interests are stored; 0: until they are erased.',
    parse: integer(0, 36_500),
  },
  /** Private networks (CIDR) that webhooks may be sent to. */
  webhookNetworks: {
    name: 'WEBHOOK_NETWORKS',
    type: 'addresses and networks, by commas',
    fallback: '',
    fallbackShown: 'none',
    meaning:
      'Private addresses that webhooks may be sent to, over http too, as in `10.0.0.0/8`. Otherwise they ' +
      'are sent only to public addresses, over https. See [webhooks.md](webhooks.md).',
    parse: parseNetworks,
  },
  /** The operator of the server, read from its file. */
  operator: {
    name: 'OPERATOR_FILE',
    type: 'path',
    fallback: '',
    fallbackShown: 'none: no operator is named',
    meaning:
      'JSON file with the operator’s name, contact, terms and privacy notice, which every page shows, and ' +
      'with texts for the delivery models. [outreach.md](outreach.md) shows it.',
    parse: readOperator,
  },
} as const satisfies Settings;

/** Limits per address on writes and on clicks. */
export const leadSettings = {
  /** Leads and delivery interests a minute per address; 0: no limit. */
  leadsPerMinute: perMinute(
    'LEADS_PER_MINUTE',
    10,
    'Leads and delivery interests a minute that an address may send; 0 is no limit.',
  ),
  /** Clicks a minute per address; 0: no limit. */
  clicksPerMinute: perMinute(
    'CLICKS_PER_MINUTE',
    600,
    'Counted links a minute that an address may follow; 0 is no limit.',
  ),
} as const satisfies Settings;
