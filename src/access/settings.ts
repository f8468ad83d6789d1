/** Settings of access: tiers, callers without a key, and trusted proxies. */
import { accessModes } from './mode.js';
import { parseNetwork } from '../system/network.js';
import type { Parsed, Settings } from '../system/settings.js';
import {
  integer,
  integerOrNull,
  mostCharactersPerMonth,
  mostRequestsPerMinute,
  oneOf,
  orNull,
  parseNetworks,
  parsePath,
} from '../system/settingValues.js';

function parseProxies(text: string): Parsed<readonly string[]> {
  const parsed = parseNetworks(text);
  const every =
    'wrong' in parsed ? undefined : parsed.value.find((each) => parseNetwork(each)?.prefixBits === 0);
  return every === undefined ? parsed : { wrong: `trusts every address (${every}): name your proxies alone` };
}

/** Access and limits. */
export const accessSettings = {
  /** The mode for callers without a key; null: it depends on whether keys are sold. */
  accessGiven: {
    name: 'ACCESS',
    type: accessModes.join(', '),
    fallback: '',
    fallbackShown: '`metered` where a way to pay is configured, else `open`',
    meaning:
      'Callers without a key on fuse and normalize. `open`: all are served, without a limit. `metered`: ' +
      'each address within the limits of the tiers. `keys`: none; they get 401. See [keys.md](keys.md).',
    parse: orNull(oneOf(accessModes)),
  },
  /** Addresses and networks (CIDR) of proxies that are trusted to name a client's address. */
  trustedProxies: {
    name: 'TRUSTED_PROXIES',
    type: 'addresses and networks, by commas',
    fallback: '',
    fallbackShown: 'none',
    meaning:
      'Proxies whose `X-Forwarded-For` or `Forwarded` names the client’s address, as in ' +
      '`10.0.0.0/8,2001:db8::/32`. From other senders these fields are ignored.',
    parse: parseProxies,
  },
  /** Limit on what a /24 or a /48 sends to be stored without a key (kB a minute); 0: no limit. */
  storedKbPerMinute: {
    name: 'STORED_KB_PER_MINUTE',
    type: 'whole number of kB, 0 to 64000',
    fallback: '384',
    meaning:
      'Data that a /24 or a /48 may send a minute to be stored without a key, in leads, orders, fragments ' +
      'and clicks: a record counts as 2 kB and twice its body. Above it, requests get 429, and clicks are ' +
      'redirected and counted, but not stored; 0 is no limit. It does not apply to a route whose own limit ' +
      'is 0. The first record of an address’s characters counts as 0.5 kB; above the limit, only the ' +
      'machine counts them.',
    parse: integer(0, 64_000),
  },
  /** Time for which known keys are served while the store does not answer (minutes). */
  keyGraceMinutes: {
    name: 'KEY_GRACE',
    type: 'whole number of minutes, 0 to 1440',
    fallback: '15',
    meaning:
      'Time for which known keys are served after the store last answered. Then they get 503 ' +
      '`store_unavailable` until it answers, because a key may have been revoked meanwhile. See ' +
      '[keys.md](keys.md).',
    parse: integer(0, 1_440),
  },
  /** Absolute path of the file of tiers; null: the one that ships. */
  tiersFile: {
    name: 'TIERS_FILE',
    type: 'path',
    fallback: '',
    fallbackShown: 'the included file',
    meaning: 'JSON file of the tiers: their limits and prices. [keys.md](keys.md) shows it.',
    parse: parsePath,
  },
  /** Requests a minute without a key, per address; 0: no limit; null: by the file of tiers. */
  anonymousRequestsPerMinute: {
    name: 'ANONYMOUS_REQUESTS_PER_MINUTE',
    type: `whole number, 0 to ${mostRequestsPerMinute}`,
    fallback: '',
    fallbackShown: 'none where ACCESS is open, else the tiers’ (60)',
    meaning: 'Requests a minute that an address has without a key; 0 is no limit.',
    parse: integerOrNull(mostRequestsPerMinute),
  },
  /** Characters a month without a key, per address; 0: no limit; null: by the file of tiers. */
  anonymousCharactersPerMonth: {
    name: 'ANONYMOUS_CHARACTERS_PER_MONTH',
    type: `whole number, 0 to ${mostCharactersPerMonth}`,
    fallback: '',
    fallbackShown: 'none where ACCESS is open, else the tiers’ (1000000)',
    meaning: 'Characters a month (30 days) that an address has without a key; 0 is no limit.',
    parse: integerOrNull(mostCharactersPerMonth),
  },
} as const satisfies Settings;
