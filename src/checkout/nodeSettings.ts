/** Settings of payments on chain and over Lightning: the chain, the account, and the nodes. */
import { X509Certificate } from 'node:crypto';
import type { Parsed, Settings, ValuesOf } from '../system/settings.js';
import { isPrivate } from '../system/network.js';
import { fileOrNull, integer, oneOf, originOf, orNull, parseText } from '../system/settingValues.js';
import { stripEnd } from '../system/strip.js';

/** The Bitcoin networks. */
const bitcoinNetworks = ['mainnet', 'testnet', 'signet', 'regtest'] as const;

/** The view of the chain. */
export type BitcoinChain = BtcdChain | EsploraChain | LndAccountChain;

/** An Esplora server. */
export interface EsploraChain {
  readonly kind: 'esplora';
  /** URL of its API, without a trailing slash. */
  readonly url: string;
}

/** A watch-only account of the LND at LND_REST_URL. */
export interface LndAccountChain {
  readonly kind: 'lnd';
  /** Its name; null: the account whose key is BTC_XPUB. */
  readonly account: string | null;
}

/** btcd's JSON-RPC over HTTPS. */
interface BtcdChain extends BtcdPlace {
  readonly kind: 'btcd';
}

/** btcd's address and credentials. */
export interface BtcdPlace {
  /** `https://host:port` */
  readonly url: string;
  readonly user: string;
  /** A secret. */
  readonly password: string;
  /** The node's certificate, PEM; null: the system trusts it already. */
  readonly certificate: string | null;
}

/** The text of a certificate in PEM (RFC 7468). */
function certificateText(bytes: Buffer): string | undefined {
  try {
    new X509Certificate(bytes);
    return bytes.toString();
  } catch {
    return undefined;
  }
}

const readable =
  'must be https where it is another machine (http only for this one): whoever is between could say that ' +
  'an order is paid';

/** `esplora+https://host/path`, `lnd`, `lnd:account` or {@link parseBtcd}. */
function parseChain(text: string): Parsed<BitcoinChain> {
  if (text === 'lnd') return { value: { kind: 'lnd', account: null } };
  const [, account] = /^lnd:([\w.-]{1,64})$/.exec(text) ?? [];
  if (account !== undefined) return { value: { kind: 'lnd', account } };
  const [, url] = /^esplora\+(https?:\/\/[^?#]+)$/.exec(text) ?? [];
  const esplora = url === undefined ? undefined : stripEnd(url, '/');
  if (esplora !== undefined && URL.canParse(esplora)) {
    return isPrivate(new URL(esplora)) ? { value: { kind: 'esplora', url: esplora } } : { wrong: readable };
  }
  if (text.startsWith('btcd+')) return parseBtcd(text);
  return { wrong: 'must be btcd+https://…, esplora+https://…, lnd or lnd:ACCOUNT' };
}

/** Percent-decoded text; undefined: it has a `%` that begins no escape. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** `btcd+https://user:password@host:port?cert=FILE`. */
function parseBtcd(text: string): Parsed<BitcoinChain> {
  const wrong = 'must be btcd+https://user:password@host:port, with ?cert=FILE for a certificate of its own';
  const whole = /^btcd\+(https:\/\/.+)$/.exec(text)?.[1];
  if (whole === undefined || !URL.canParse(whole)) return { wrong };
  const { origin, username, password, pathname, searchParams, hash } = new URL(whole);
  const names = [...searchParams.keys()];
  if (username === '' || password === '' || pathname !== '/' || hash !== '') return { wrong };
  if (names.some((name) => name !== 'cert')) return { wrong };
  const certificate = fileOrNull('a certificate in PEM', certificateText)(searchParams.get('cert') ?? '');
  if ('wrong' in certificate) return { wrong: `names as cert what ${certificate.wrong}` };
  const [user, secret] = [decoded(username), decoded(password)];
  if (user === undefined || secret === undefined) return { wrong };
  return { value: { kind: 'btcd', url: origin, user, password: secret, certificate: certificate.value } };
}

const parseHttpsUrl = orNull(
  originOf(
    ({ protocol }) => protocol === 'https:',
    'must be https://<host>:<port>, such as https://127.0.0.1:8080',
  ),
);

function parseMacaroon(text: string): Parsed<string> {
  if (!/^([0-9a-f]{2})+$/i.test(text)) return { wrong: 'must be a macaroon in hexadecimal' };
  return text.length < 64
    ? { wrong: `is too short for a macaroon: ${text.length / 2} bytes` }
    : { value: text };
}

/** The account, the chain and the nodes. */
export const nodeSettings = {
  /** The network of Bitcoin and Lightning payments. */
  btcNetwork: {
    name: 'BTC_NETWORK',
    type: bitcoinNetworks.join(', '),
    fallback: 'mainnet',
    meaning: 'The chain that payments are on. A node on another one is not used.',
    parse: oneOf(bitcoinNetworks),
  },
  /** Extended public key of the account that addresses are derived from; null: no on-chain payments. */
  btcXpub: {
    name: 'BTC_XPUB',
    type: 'zpub, vpub, xpub or tpub',
    fallback: '',
    fallbackShown: 'none: no on-chain payments',
    meaning:
      'Extended public key of the BIP 84 account that receives on-chain payments ' +
      '([checkout.md](checkout.md)). Use an account of its own: its addresses are used one by one, from ' +
      'the first.',
    parse: parseText,
  },
  /** Depth at which a payment counts. */
  btcConfirmations: {
    name: 'BTC_CONFIRMATIONS',
    type: 'whole number, 1 to 100',
    fallback: '2',
    meaning: 'Depth at which an on-chain payment counts.',
    parse: integer(1, 100),
  },
  /** The node that reports the chain; null: none. Its password is a secret. */
  btcChain: {
    name: 'BTC_CHAIN',
    type:
      '`btcd+https://user:password@host:port?cert=FILE`, `esplora+https://host/api`, `lnd` ' +
      'or `lnd:ACCOUNT`',
    fallback: '',
    fallbackShown: 'none',
    meaning:
      'Source of payments: btcd with `--txindex --addrindex`, an Esplora server, or a watch-only account ' +
      'of the LND that LND_REST_URL names, imported from BTC_XPUB: by its name, or by its key.',
    parse: orNull(parseChain),
    secret: true,
  },
  /** Most unpaid on-chain orders at once; 0: no limit. */
  maxUnpaidOrders: {
    name: 'MAX_UNPAID_ORDERS',
    type: 'whole number, 0 to 1000000',
    fallback: '500',
    meaning: 'On-chain orders that may be unpaid at a time; 0 is no limit.',
    parse: integer(0, 1_000_000),
  },
  /** Most of them from one client address; 0: no limit. */
  unpaidOrdersPerAddress: {
    name: 'UNPAID_ORDERS_PER_ADDRESS',
    type: 'whole number, 0 to 1000000',
    fallback: '10',
    meaning:
      'On-chain orders without a confirmed payment that one address (IPv6: its /64) may have; 0 is no limit.',
    parse: integer(0, 1_000_000),
  },
  /** LND's REST interface, `https://host:port`; null: no Lightning payments. */
  lndRestUrl: {
    name: 'LND_REST_URL',
    type: '`https://<host>:<port>`',
    fallback: '',
    fallbackShown: 'none: no Lightning payments',
    meaning: 'REST interface of the LND node that receives Lightning payments ([checkout.md](checkout.md)).',
    parse: parseHttpsUrl,
  },
  /** LND's certificate, PEM; null: not set. */
  lndTlsCert: {
    name: 'LND_TLS_CERT',
    type: 'path',
    fallback: '',
    fallbackShown: 'none',
    meaning:
      'LND’s certificate (`tls.cert`). Fusegate connects only to a node that shows exactly this ' +
      'certificate.',
    parse: fileOrNull('a certificate in PEM', certificateText),
  },
  /** LND's macaroon in hex; null: not set. A secret. */
  lndMacaroonHex: {
    name: 'LND_MACAROON_HEX',
    type: 'hexadecimal',
    fallback: '',
    fallbackShown: 'none',
    meaning: 'The macaroon for LND; [checkout.md](checkout.md) shows how to bake one that cannot spend.',
    parse: orNull(parseMacaroon),
    secret: true,
  },
  /** The same, read from LND's own file; null: not set. A secret. */
  lndMacaroonPath: {
    name: 'LND_MACAROON_PATH',
    type: 'path',
    fallback: '',
    fallbackShown: 'none',
    meaning: 'Alternatively, the path of the file with the macaroon.',
    parse: fileOrNull('a macaroon', (bytes) => (bytes.byteLength < 32 ? undefined : bytes.toString('hex'))),
  },
} as const satisfies Settings;

/** Their values. */
export type NodeValues = ValuesOf<typeof nodeSettings>;

/** Contradictions between LND's variables: all of them are needed, or none. */
export function lndErrors(values: Partial<NodeValues>): string[] {
  const { lndRestUrl, lndTlsCert, lndMacaroonHex, lndMacaroonPath } = values;
  if ([lndRestUrl, lndTlsCert, lndMacaroonHex, lndMacaroonPath].includes(undefined)) return [];
  const macaroons = [lndMacaroonHex, lndMacaroonPath].filter((each) => each !== null).length;
  if (lndRestUrl === null && lndTlsCert === null && macaroons === 0) return [];
  const missing = [
    ...(lndRestUrl === null ? ['LND_REST_URL'] : []),
    ...(lndTlsCert === null ? ['LND_TLS_CERT'] : []),
    ...(macaroons === 0 ? ['LND_MACAROON_HEX or LND_MACAROON_PATH'] : []),
  ];
  if (macaroons > 1) return ['Set LND_MACAROON_HEX or LND_MACAROON_PATH, not both.'];
  return missing.length === 0 ? [] : [`Lightning payments also need ${missing.join(', ')}.`];
}

/** Contradictions between the variables of on-chain payments: both are needed, or none. */
export function chainErrors({ btcXpub, btcChain, lndRestUrl }: Partial<NodeValues>): string[] {
  if (btcChain?.kind === 'lnd' && lndRestUrl === null) return ['BTC_CHAIN lnd also needs LND_REST_URL.'];
  if (btcChain === undefined || (btcXpub === null) === (btcChain === null)) return [];
  return [`On-chain payments also need ${btcXpub === null ? 'BTC_XPUB' : 'BTC_CHAIN'}.`];
}
