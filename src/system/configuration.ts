/**
 * The environment variables that Fusegate reads: one table, checked at start, from which the page is made.
 */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { logLevels, type LogLevel } from './log.js';
import { parseSecrets } from './masterSecret.js';
import { parseNetwork } from './network.js';

/** Everything that the operator can set, checked. */
export interface Configuration {
  /** TCP port that the workers share; 0 takes a free one. */
  readonly port: number;
  /** TCP port of the fragment door; 0 takes a free one; null: it shares `port`. */
  readonly doorPort: number | null;
  /** Address that the server listens on. */
  readonly host: string;
  /** Count of worker processes. */
  readonly workers: number;
  /** Where the store is: `lmdb:` and an absolute folder, or a `postgres://` URL. May hold a password. */
  readonly storeUrl: string;
  /** Absolute path of the folder for everything Fusegate keeps outside the store. */
  readonly dataFolder: string;
  /** The master secrets, the newest first; empty: they lie in a file of the data folder. */
  readonly masterSecrets: readonly string[];
  /** Origin that clients see, such as `https://example.com`; null: not known. */
  readonly publicUrl: string | null;
  /** Origin at which clients see the fragment door; null: not known. */
  readonly publicDoorUrl: string | null;
  /** Hosts (with the port where it is not the scheme's own) that click links may lead to unsigned. */
  readonly clickHosts: readonly string[];
  /** How long clicks are kept (days); 0: for ever. */
  readonly clicksRetentionDays: number;
  /** How long leads and interests are kept (days); 0: until they are forgotten. */
  readonly leadsRetentionDays: number;
  /** Port of the summed metrics; 0 is off. */
  readonly metricsPort: number;
  readonly logLevel: LogLevel;
  /** Addresses and networks (CIDR) whose word about a client's address is taken. */
  readonly trustedProxies: readonly string[];
  /** Absolute path of the file of tiers; null: the one that ships. */
  readonly tiersFile: string | null;
  /** Requests a minute without a key, by address; 0: no limit; null: as the file of tiers says. */
  readonly anonymousRequestsPerMinute: number | null;
  /** Characters a month without a key, by address; 0: no limit; null: as the file of tiers says. */
  readonly anonymousCharactersPerMonth: number | null;
  /** Leads and delivery interests a minute, by address; 0: no limit. */
  readonly leadsPerMinute: number;
  /** Audits a minute that an address may make; 0: no limit. */
  readonly auditsPerMinute: number;
  /** Absolute path of the folder of installed models; null: `models` in the data folder. */
  readonly modelsFolder: string | null;
  /** Id of the model for requests that name none; null: by what is installed. */
  readonly embedModel: string | null;
  /** Threads that make one text's vector. */
  readonly embedThreads: number;
  /** Texts that may wait for the embedder. */
  readonly embedQueue: number;
  /** How long a request's texts may take, waiting included (ms). */
  readonly embedDeadlineMs: number;
  /** Whether the embedder and its model are loaded at start. */
  readonly embedPreload: boolean;
  /** Size of the cache of embeddings (MiB); 0: there is none. */
  readonly embedCacheMb: number;
  /** Whether the store keeps computed vectors, too. */
  readonly embedCacheStore: boolean;
  /** Where the price of a bitcoin in US cents comes from. */
  readonly rateSource: RateSource;
  /** Orders a minute, by address; 0: no limit. */
  readonly checkoutRequestsPerMinute: number;
  /** The chain that Bitcoin and Lightning payments are on. */
  readonly btcNetwork: BitcoinNetwork;
  /** Extended public key of the account that addresses are derived from; null: no on-chain payments. */
  readonly btcXpub: string | null;
  /** Depth at which a payment counts. */
  readonly btcConfirmations: number;
  /** The node that tells of the chain; null: none. Its password is a secret. */
  readonly btcChain: BitcoinChain | null;
  /** Most on-chain orders at once that are not paid for; 0: no limit. */
  readonly maxUnpaidOrders: number;
  /** LND's REST interface, `https://host:port`; null: no Lightning payments. */
  readonly lndRestUrl: string | null;
  /** LND's certificate, PEM; null: not set. */
  readonly lndTlsCert: string | null;
  /** LND's macaroon in hex; null: not set. A secret. */
  readonly lndMacaroonHex: string | null;
  /** The same, read from LND's own file; null: not set. A secret. */
  readonly lndMacaroonPath: string | null;
  /** Stripe's secret key; null: no card payments. A secret. */
  readonly stripeSecretKey: string | null;
  /** Secrets of the card webhook; none: it answers 503. */
  readonly stripeWebhookSecrets: readonly string[];
  /** Tiers by ids of Stripe's prices, for sessions made elsewhere. */
  readonly stripePrices: Readonly<Record<string, keyof typeof soldTiers>>;
  /** Whether a session that discounts made cheaper or free gives a key. */
  readonly stripeAllowDiscounts: boolean;
  /** Where Stripe's API is; null: where Stripe has it. */
  readonly stripeApiBase: string | null;
  /** Whether a Lightning order's key is handed out only to those who show its claim token. */
  readonly lightningClaim: boolean;
  /** Fragments, confirmations and harvests a minute, by address; 0: no limit. */
  readonly doorSubmissionsPerMinute: number;
  /** Previews of fragments a minute, by address; 0: no limit. */
  readonly previewsPerMinute: number;
  /** Markers of harvests a minute, by address; 0: no limit. */
  readonly harvestMarkersPerMinute: number;
  /** Clicks a minute, by address; 0: no limit. */
  readonly clicksPerMinute: number;
  /** Requests that explore fragments a minute, by address; 0: no limit. */
  readonly explorationsPerMinute: number;
  /** Looks at an order a minute, by address; 0: no limit. */
  readonly pollsPerMinute: number;
  /** Quotes, prices and pages a minute, by address; 0: no limit. */
  readonly pagesPerMinute: number;
  /** Events of the card processor a minute, by address; 0: no limit. */
  readonly cardEventsPerMinute: number;
  /** Connections that a worker keeps open; one address has an eighth of them. */
  readonly maxConnections: number;
  /** Megabytes of the disk that are kept for what was paid for; 0: none; null: by its size. */
  readonly diskReserveMb: number | null;
}

/** The Bitcoin networks. */
const bitcoinNetworks = ['mainnet', 'testnet', 'signet', 'regtest'] as const;

/** What tells of the chain. */
export type BitcoinChain = BtcdChain | EsploraChain | LndAccountChain;

/** An Esplora server. */
export interface EsploraChain {
  readonly kind: 'esplora';
  /** Of its API, without a slash at the end. */
  readonly url: string;
}

/** A watch-only account of the LND that LND_REST_URL names. */
export interface LndAccountChain {
  readonly kind: 'lnd';
  /** Its name; null: the one whose key is BTC_XPUB. */
  readonly account: string | null;
}

/** btcd's JSON-RPC over HTTPS. */
export interface BtcdChain {
  readonly kind: 'btcd';
  /** `https://host:port` */
  readonly url: string;
  readonly user: string;
  readonly password: string;
  /** The node's certificate, PEM; null: one that the system trusts. */
  readonly certificate: string | null;
}

/** A Bitcoin network. */
export type BitcoinNetwork = (typeof bitcoinNetworks)[number];

/** A page that tells the price of a bitcoin in US dollars, at a JSON Pointer (RFC 6901). */
export interface RateUrl {
  readonly name: string;
  readonly url: string;
  readonly pointer: string;
}

/** A fixed price, or two pages that must agree. */
export type RateSource =
  | { readonly kind: 'fixed'; readonly cents: number }
  | { readonly kind: 'urls'; readonly urls: readonly [RateUrl, RateUrl] };

/** Facts about the machine that defaults depend on. */
export interface Machine {
  /** `process.platform`. */
  readonly platform: NodeJS.Platform;
  /** Cores that this process may use. */
  readonly cores: number;
}

/** A value, or the sentence that says what is wrong with it and what to set. */
type Parsed<Value> = { readonly value: Value } | { readonly wrong: string };

/** One variable: how the page describes it and how its text becomes a value. */
interface Variable<Value> {
  readonly name: string;
  /** The kind of value, as the page shows it. */
  readonly type: string;
  /** The default as the operator would write it, given the machine. */
  readonly fallback: (machine: Machine) => string;
  /** The default as the page shows it; {@link Variable.fallback}'s value where absent. */
  readonly fallbackShown?: string;
  readonly meaning: string;
  readonly parse: (text: string) => Parsed<Value>;
  /** Whether its value is never shown, and may come from the file that `NAME_FILE` names. */
  readonly secret?: true;
}

type Table = { readonly [Key in Exclude<keyof Configuration, 'dataFolder'>]: Variable<Configuration[Key]> };

/** A parser of whole decimal numbers from `least` to `most`. */
function integer(least: number, most: number): (text: string) => Parsed<number> {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return { value };
    return { wrong: `must be a whole number from ${least} to ${most}` };
  };
}

/** The largest number of requests a minute that a limit counts exactly. */
export const MOST_REQUESTS_PER_MINUTE = 1_000_000;

/** The largest number of characters a month that a limit can hold. */
export const MOST_CHARACTERS_PER_MONTH = 1_000_000_000_000;

/** A parser of whole numbers up to `most`, in which no text is null. */
function integerOrNull(most: number): (text: string) => Parsed<number | null> {
  return (text) => {
    if (text === '') return { value: null };
    const value = /^\d{1,13}$/.test(text) ? Number(text) : Number.NaN;
    return value <= most ? { value } : { wrong: `must be a whole number from 0 to ${most}` };
  };
}

function parseDoorPort(text: string): Parsed<number | null> {
  return text === '' ? { value: null } : integer(0, 65_535)(text);
}

function parseProxies(text: string): Parsed<readonly string[]> {
  const value = text === '' ? [] : text.split(',').map((network) => network.trim());
  if (value.every((network) => parseNetwork(network) !== undefined)) return { value };
  return {
    wrong:
      'must be IP addresses and networks separated by commas, such as 10.0.0.0/8,2001:db8::/32, ' +
      'with no bit set behind the prefix',
  };
}

function parseHost(text: string): Parsed<string> {
  if (/^[A-Za-z0-9.:_%-]+$/.test(text)) return { value: text };
  return {
    wrong: 'must be an IP address or host name without scheme, port or brackets, such as 0.0.0.0 or ::',
  };
}

function parseStoreUrl(text: string): Parsed<string> {
  const folder = /^lmdb:([^\0]+)$/.exec(text)?.[1];
  if (folder !== undefined) return { value: `lmdb:${resolve(folder)}` };
  if (/^postgres(ql)?:\/\/./.test(text) && URL.canParse(text)) return { value: text };
  return {
    wrong:
      'must be lmdb:<folder>, such as lmdb:./data/store, or postgres://user:password@host:port/database ' +
      'with %-escapes for special characters',
  };
}

/** The folder that holds an LMDB store's, and `./data` with any other store. */
function dataFolderOf(storeUrl: string): string {
  return storeUrl.startsWith('lmdb:') ? dirname(storeUrl.slice('lmdb:'.length)) : resolve('data');
}

const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

function parsePublicUrl(text: string): Parsed<string | null> {
  if (text === '') return { value: null };
  const wrong =
    'must be https://<host> without a path (http only for this machine), such as https://example.com';
  if (!URL.canParse(text)) return { wrong };
  const url = new URL(text);
  const plain = url.href === `${url.origin}/` && /^https?:$/.test(url.protocol);
  const safe = url.protocol === 'https:' || loopback.test(url.hostname);
  return plain && safe ? { value: url.origin } : { wrong };
}

/** A host as a browser writes it (IDNA, lower case), with its port; undefined when it is none. */
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

function parseMasterSecrets(text: string): Parsed<readonly string[]> {
  return text === '' ? { value: [] } : parseSecrets(text);
}

function parseLogLevel(text: string): Parsed<LogLevel> {
  const value = logLevels.find((level) => level === text);
  return value === undefined ? { wrong: `must be one of ${logLevels.join(', ')}` } : { value };
}

function parseNetworkName(text: string): Parsed<BitcoinNetwork> {
  const value = bitcoinNetworks.find((name) => name === text);
  return value === undefined ? { wrong: `must be one of ${bitcoinNetworks.join(', ')}` } : { value };
}

function parseApiBase(text: string): Parsed<string | null> {
  if (text === '') return { value: null };
  if (URL.canParse(text)) {
    const { protocol, href, origin } = new URL(text);
    if (/^https?:$/.test(protocol) && href === `${origin}/`) return { value: origin };
  }
  return { wrong: 'must be http(s)://<host>:<port>, such as http://127.0.0.1:12111' };
}

function parseStripePrices(text: string): Parsed<Configuration['stripePrices']> {
  const pairs = text === '' ? [] : text.split(',').map((each) => each.trim().split('='));
  const fine = pairs.every(([price = '', tier = '', more]) => {
    return /^price_\w+$/.test(price) && tier in soldTiers && more === undefined;
  });
  if (!fine) return { wrong: 'must be price ids and tiers, such as price_1Abc=growth,price_2Def=developer' };
  return { value: Object.fromEntries(pairs) as Configuration['stripePrices'] };
}

/** The tiers that prices of Stripe may stand for. */
const soldTiers = { developer: true, growth: true, enterprise: true } as const;

function parseHttpsUrl(text: string): Parsed<string | null> {
  if (text === '') return { value: null };
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const plain = url?.protocol === 'https:' && url.href === `${url.origin}/`;
  return plain
    ? { value: url.origin }
    : { wrong: 'must be https://<host>:<port>, such as https://127.0.0.1:8080' };
}

/** A parser of paths whose file is read; `take` makes a value of its bytes, undefined: it is no such file. */
function fileOrNull(
  what: string,
  take: (bytes: Buffer) => string | undefined,
): (text: string) => Parsed<string | null> {
  return (text) => {
    if (text === '') return { value: null };
    try {
      const value = take(readFileSync(text));
      return value === undefined ? { wrong: `must be the path of ${what}` } : { value };
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
      return { wrong: `must be the path of ${what}, which cannot be read (${code})` };
    }
  };
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

/** `esplora+https://host/path`, `lnd`, `lnd:account` or {@link parseBtcd}. */
function parseChain(text: string): Parsed<BitcoinChain | null> {
  if (text === '') return { value: null };
  if (text === 'lnd') return { value: { kind: 'lnd', account: null } };
  const [, account] = /^lnd:([\w.-]{1,64})$/.exec(text) ?? [];
  if (account !== undefined) return { value: { kind: 'lnd', account } };
  const [, esplora] = /^esplora\+(https?:\/\/[^?#]+?)\/*$/.exec(text) ?? [];
  if (esplora !== undefined && URL.canParse(esplora)) return { value: { kind: 'esplora', url: esplora } };
  if (text.startsWith('btcd+')) return parseBtcd(text);
  return { wrong: 'must be btcd+https://…, esplora+https://…, lnd or lnd:ACCOUNT' };
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
  const [user, secret] = [username, password].map(decodeURIComponent);
  if (user === undefined || secret === undefined) return { wrong };
  return { value: { kind: 'btcd', url: origin, user, password: secret, certificate: certificate.value } };
}

function parseMacaroon(text: string): Parsed<string | null> {
  if (text === '') return { value: null };
  return /^([0-9a-f]{2}){32,}$/i.test(text)
    ? { value: text }
    : { wrong: 'must be a macaroon in hexadecimal' };
}

/** Pages that are known by name. */
const knownRates: Readonly<Record<string, string>> = {
  coinbase: 'https://api.coinbase.com/v2/prices/BTC-USD/spot#/data/amount',
  kraken: 'https://api.kraken.com/0/public/Ticker?pair=XBTUSD#/result/XXBTZUSD/c/0',
  bitstamp: 'https://www.bitstamp.net/api/v2/ticker/btcusd/#/last',
};

/** A page by its name, or by its URL with the pointer as fragment. */
function rateUrl(text: string): RateUrl | undefined {
  const whole = knownRates[text] ?? text;
  const [url = '', pointer = ''] = whole.split(/#(.*)/s);
  if (!URL.canParse(url) || !/^\/./.test(pointer)) return undefined;
  const { protocol, hostname, host } = new URL(url);
  if (protocol !== 'https:' && !(protocol === 'http:' && loopback.test(hostname))) return undefined;
  return { name: whole === text ? host : text, url, pointer };
}

function parseRateSource(text: string): Parsed<RateSource> {
  const [, dollars, fraction = ''] = /^fixed:(\d{1,9})(?:\.(\d{2}))?$/.exec(text) ?? [];
  if (dollars !== undefined && Number(dollars) > 0) {
    return { value: { kind: 'fixed', cents: Number(dollars) * 100 + Number(fraction) } };
  }
  const [first, second, ...more] = text.split(',').map((item) => rateUrl(item.trim()));
  if (first !== undefined && second !== undefined && more.length === 0 && first.url !== second.url) {
    return { value: { kind: 'urls', urls: [first, second] } };
  }
  const names = Object.keys(knownRates).join(', ');
  return {
    wrong:
      'must be fixed:<US dollars>, or two different sources by a comma: ' +
      `${names}, or https://…#/json/pointer`,
  };
}

function parseYes(text: string): Parsed<boolean> {
  return text === 'no' || text === 'yes' ? { value: text === 'yes' } : { wrong: 'must be no or yes' };
}

const table: Table = {
  port: {
    name: 'PORT',
    type: 'port, 0 to 65535',
    fallback: () => '8080',
    meaning: 'TCP port that Fusegate listens on; 0 takes a free one and prints it.',
    parse: integer(0, 65_535),
  },
  doorPort: {
    name: 'DOOR_PORT',
    type: 'port, 0 to 65535',
    fallback: () => '',
    fallbackShown: 'none: the door is on PORT',
    meaning:
      'TCP port that the fragment door is moved to ([door.md](door.md)); 0 takes a free one and prints it.',
    parse: parseDoorPort,
  },
  host: {
    name: 'HOST',
    type: 'IP address or host name',
    fallback: () => '127.0.0.1',
    meaning: 'Address that Fusegate listens on. `0.0.0.0` and `::` are every address of the machine.',
    parse: parseHost,
  },
  workers: {
    name: 'WORKERS',
    type: 'whole number, 1 to 256',
    fallback: ({ platform, cores }) => (platform === 'darwin' ? '1' : String(Math.min(cores, 256))),
    fallbackShown: 'the machine’s cores; 1 on macOS',
    meaning: 'Worker processes that share the port.',
    parse: integer(1, 256),
  },
  storeUrl: {
    name: 'STORE_URL',
    type: '`lmdb:<folder>` or `postgres://…`',
    fallback: () => 'lmdb:./data/store',
    meaning:
      'Where the store is ([store.md](store.md)). The folder that holds an LMDB store, and `./data` with ' +
      'PostgreSQL, is the data folder: what Fusegate keeps besides the store lies there, and one server ' +
      'at a time may use it.',
    parse: parseStoreUrl,
    secret: true,
  },
  masterSecrets: {
    name: 'MASTER_SECRET',
    type: 'secrets of 32 to 256 visible ASCII characters, separated by commas',
    fallback: () => '',
    fallbackShown: 'the file `master-secret` of the data folder, made at the first start',
    meaning:
      'What tokens and keys are derived from. The first makes new ones, the others still verify those made ' +
      'before; see [operating.md](operating.md).',
    parse: parseMasterSecrets,
    secret: true,
  },
  publicUrl: {
    name: 'PUBLIC_URL',
    type: '`https://<host>`; `http://` only for this machine',
    fallback: () => '',
    fallbackShown: 'none',
    meaning: 'Where clients reach Fusegate. Opt-out and click links and card payments need it.',
    parse: parsePublicUrl,
  },
  publicDoorUrl: {
    name: 'PUBLIC_DOOR_URL',
    type: '`https://<host>`; `http://` only for this machine',
    fallback: () => '',
    fallbackShown: 'PUBLIC_URL where the door shares its port, else none',
    meaning: 'Where clients reach the fragment door; its OpenAPI description names it.',
    parse: parsePublicUrl,
  },
  clickHosts: {
    name: 'CLICK_HOSTS',
    type: 'host names separated by commas',
    fallback: () => '',
    fallbackShown: 'none',
    meaning: 'Hosts that `/c/{token}` may lead to without a valid token; a port is part of the name.',
    parse: parseHosts,
  },
  clicksRetentionDays: {
    name: 'CLICKS_RETENTION_DAYS',
    type: 'whole number, 0 to 36500',
    fallback: () => '90',
    meaning: 'Days that clicks are kept; 0 is for ever.',
    parse: integer(0, 36_500),
  },
  leadsRetentionDays: {
    name: 'LEADS_RETENTION_DAYS',
    type: 'whole number, 0 to 36500',
    fallback: () => '0',
    meaning: 'Days that leads and interests are kept; 0 is until they are forgotten.',
    parse: integer(0, 36_500),
  },
  metricsPort: {
    name: 'METRICS_PORT',
    type: 'port, 0 to 65535',
    fallback: () => '0',
    meaning: 'Port, on HOST, of `GET /metrics` (Prometheus text, summed over the workers); 0 is off.',
    parse: integer(0, 65_535),
  },
  logLevel: {
    name: 'LOG_LEVEL',
    type: logLevels.join(', '),
    fallback: () => 'info',
    meaning: 'The least serious events that are logged. `debug` adds a line for each request.',
    parse: parseLogLevel,
  },
  trustedProxies: {
    name: 'TRUSTED_PROXIES',
    type: 'addresses and networks, by commas',
    fallback: () => '',
    fallbackShown: 'none',
    meaning:
      'Proxies whose `X-Forwarded-For` or `Forwarded` tells the client’s address, as in ' +
      '`10.0.0.0/8,2001:db8::/32`. Of all others these fields are not read.',
    parse: parseProxies,
  },
  tiersFile: {
    name: 'TIERS_FILE',
    type: 'path',
    fallback: () => '',
    fallbackShown: 'the file that ships',
    meaning: 'JSON file of the tiers: their limits and prices. [keys.md](keys.md) shows it.',
    parse: (text) => ({ value: text === '' ? null : resolve(text) }),
  },
  anonymousRequestsPerMinute: {
    name: 'ANONYMOUS_REQUESTS_PER_MINUTE',
    type: `whole number, 0 to ${MOST_REQUESTS_PER_MINUTE}`,
    fallback: () => '',
    fallbackShown: 'the tiers’ (60)',
    meaning: 'Requests a minute that an address has without a key; 0 is no limit.',
    parse: integerOrNull(MOST_REQUESTS_PER_MINUTE),
  },
  anonymousCharactersPerMonth: {
    name: 'ANONYMOUS_CHARACTERS_PER_MONTH',
    type: `whole number, 0 to ${MOST_CHARACTERS_PER_MONTH}`,
    fallback: () => '',
    fallbackShown: 'the tiers’ (1000000)',
    meaning: 'Characters a month (30 days) that an address has without a key; 0 is no limit.',
    parse: integerOrNull(MOST_CHARACTERS_PER_MONTH),
  },
  leadsPerMinute: {
    name: 'LEADS_PER_MINUTE',
    type: `whole number, 0 to ${MOST_REQUESTS_PER_MINUTE}`,
    fallback: () => '10',
    meaning: 'Leads and delivery interests a minute that an address may send; 0 is no limit.',
    parse: integer(0, MOST_REQUESTS_PER_MINUTE),
  },
  auditsPerMinute: {
    name: 'AUDITS_PER_MINUTE',
    type: `whole number, 0 to ${MOST_REQUESTS_PER_MINUTE}`,
    fallback: () => '6',
    meaning: 'Audits a minute that an address may make; 0 is no limit.',
    parse: integer(0, MOST_REQUESTS_PER_MINUTE),
  },
  modelsFolder: {
    name: 'MODELS_DIR',
    type: 'path',
    fallback: () => '',
    fallbackShown: '`models` in the data folder',
    meaning: 'Folder of the models that `fusegate models add` installs ([models.md](models.md)).',
    parse: (text) => ({ value: text === '' ? null : resolve(text) }),
  },
  embedModel: {
    name: 'EMBED_MODEL',
    type: 'id of an installed model',
    fallback: () => '',
    fallbackShown: '`bge-base-en-v1.5` if installed, else `all-MiniLM-L6-v2`',
    meaning: 'Model for requests that name none.',
    parse: (text) => ({ value: text === '' ? null : text }),
  },
  embedThreads: {
    name: 'EMBED_THREADS',
    type: 'whole number, 1 to 256',
    fallback: () => '1',
    meaning:
      'Threads that make a text’s vector. They run at low priority, in one process for all workers; more ' +
      'than half of the cores slow everything else.',
    parse: integer(1, 256),
  },
  embedQueue: {
    name: 'EMBED_QUEUE',
    type: 'whole number, 1 to 100000',
    fallback: () => '4000',
    meaning: 'Texts that may wait for their vectors; a request that finds more waiting gets 429.',
    parse: integer(1, 100_000),
  },
  embedDeadlineMs: {
    name: 'EMBED_DEADLINE_MS',
    type: 'whole number, 100 to 600000',
    fallback: () => '30000',
    meaning: 'How long all vectors of a request may take, waiting included, before it gets 503 (ms).',
    parse: integer(100, 600_000),
  },
  embedPreload: {
    name: 'EMBED_PRELOAD',
    type: 'no, yes',
    fallback: () => 'no',
    meaning: 'Whether the model for requests that name none is loaded at start, not by the first request.',
    parse: parseYes,
  },
  embedCacheMb: {
    name: 'EMBED_CACHE_MB',
    type: 'whole number, 0 to 1048576',
    fallback: () => '256',
    meaning:
      'Size of the file of the data folder that keeps computed vectors (MiB): about 640 texts each, by a ' +
      'model of 384 dimensions. It is taken whole at the first start; 0 keeps none.',
    parse: integer(0, 1_048_576),
  },
  embedCacheStore: {
    name: 'EMBED_CACHE_STORE',
    type: 'no, yes',
    fallback: () => 'no',
    meaning:
      'Whether computed vectors are kept in the store, too, so that machines that share it compute a text ' +
      'once: about 1.6 kB a text with a model of 384 dimensions, 30 to 60 days after it was last asked for.',
    parse: parseYes,
  },
  rateSource: {
    name: 'RATE_SOURCE',
    type: '`fixed:<US dollars>`, or two sources by a comma',
    fallback: () => 'coinbase,kraken',
    meaning:
      'Where the price of a bitcoin comes from: fixed, or two of `coinbase`, `kraken`, `bitstamp` or ' +
      '`https://…#/json/pointer`, which must agree within 2 %. They are asked when a price is asked for.',
    parse: parseRateSource,
  },
  checkoutRequestsPerMinute: {
    name: 'CHECKOUT_REQUESTS_PER_MINUTE',
    type: `whole number, 0 to ${MOST_REQUESTS_PER_MINUTE}`,
    fallback: () => '10',
    meaning: 'Orders a minute that an address may make; 0 is no limit.',
    parse: integer(0, MOST_REQUESTS_PER_MINUTE),
  },
  btcNetwork: {
    name: 'BTC_NETWORK',
    type: bitcoinNetworks.join(', '),
    fallback: () => 'mainnet',
    meaning: 'The chain that payments are on. A node on another one is not used.',
    parse: parseNetworkName,
  },
  btcXpub: {
    name: 'BTC_XPUB',
    type: 'zpub, vpub, xpub or tpub',
    fallback: () => '',
    fallbackShown: 'none: no on-chain payments',
    meaning:
      'Extended public key of the BIP 84 account that receives on-chain payments ' +
      '([checkout.md](checkout.md)). Use an account of its own: addresses are given out one by one, from ' +
      'its first.',
    parse: (text) => ({ value: text === '' ? null : text }),
  },
  btcConfirmations: {
    name: 'BTC_CONFIRMATIONS',
    type: 'whole number, 1 to 100',
    fallback: () => '2',
    meaning: 'Depth at which an on-chain payment counts.',
    parse: integer(1, 100),
  },
  btcChain: {
    name: 'BTC_CHAIN',
    type:
      '`btcd+https://user:password@host:port?cert=FILE`, `esplora+https://host/api`, `lnd` ' +
      'or `lnd:ACCOUNT`',
    fallback: () => '',
    fallbackShown: 'none',
    meaning:
      'What tells of payments: btcd with `--txindex --addrindex`, an Esplora server, or a watch-only ' +
      'account of the LND that LND_REST_URL names, imported from BTC_XPUB: by its name, or by its key.',
    parse: parseChain,
    secret: true,
  },
  maxUnpaidOrders: {
    name: 'MAX_UNPAID_ORDERS',
    type: 'whole number, 0 to 1000000',
    fallback: () => '500',
    meaning: 'On-chain orders at once that may wait for their payment; 0 is no limit.',
    parse: integer(0, 1_000_000),
  },
  lndRestUrl: {
    name: 'LND_REST_URL',
    type: '`https://<host>:<port>`',
    fallback: () => '',
    fallbackShown: 'none: no Lightning payments',
    meaning: 'REST interface of the LND node that receives Lightning payments ([checkout.md](checkout.md)).',
    parse: parseHttpsUrl,
  },
  lndTlsCert: {
    name: 'LND_TLS_CERT',
    type: 'path',
    fallback: () => '',
    fallbackShown: 'none',
    meaning: 'LND’s certificate (`tls.cert`). Only a node that shows this very one is spoken to.',
    parse: fileOrNull('a certificate in PEM', certificateText),
  },
  lndMacaroonHex: {
    name: 'LND_MACAROON_HEX',
    type: 'hexadecimal',
    fallback: () => '',
    fallbackShown: 'none',
    meaning: 'The macaroon for LND; [checkout.md](checkout.md) shows how to bake one that cannot spend.',
    parse: parseMacaroon,
    secret: true,
  },
  lndMacaroonPath: {
    name: 'LND_MACAROON_PATH',
    type: 'path',
    fallback: () => '',
    fallbackShown: 'none',
    meaning: 'Or the path of the file that LND’s tools wrote it to.',
    parse: fileOrNull('a macaroon', (bytes) => (bytes.byteLength < 32 ? undefined : bytes.toString('hex'))),
  },
  stripeSecretKey: {
    name: 'STRIPE_SECRET_KEY',
    type: '`sk_…` or `rk_…`',
    fallback: () => '',
    fallbackShown: 'none: no card payments',
    meaning:
      'Stripe’s secret or restricted key for card payments ([checkout.md](checkout.md)). It also says ' +
      'whether payments are live or tests.',
    parse: (text) =>
      text === '' || /^[sr]k_(test|live)_\w+$/.test(text)
        ? { value: text === '' ? null : text }
        : { wrong: 'must be a key of Stripe: sk_ or rk_, then test_ or live_' },
    secret: true,
  },
  stripeWebhookSecrets: {
    name: 'STRIPE_WEBHOOK_SECRET',
    type: '`whsec_…`, several by commas',
    fallback: () => '',
    fallbackShown: 'none: the webhook answers 503',
    meaning: 'Secrets of the webhook’s endpoint; several while one takes the place of another.',
    parse: (text) => {
      const secrets = text === '' ? [] : text.split(',').map((each) => each.trim());
      const fine = secrets.every((each) => /^whsec_\S{8,}$/.test(each));
      return fine
        ? { value: secrets }
        : { wrong: 'must be secrets of Stripe webhooks, which begin with whsec_' };
    },
    secret: true,
  },
  stripePrices: {
    name: 'STRIPE_PRICES',
    type: '`price_…=tier` by commas',
    fallback: () => '',
    fallbackShown: 'none',
    meaning:
      'Tiers by the ids of your own prices at Stripe, for sessions made elsewhere, such as payment links. ' +
      'Without it such sessions are matched by `metadata.tier` and an amount that was in force.',
    parse: parseStripePrices,
  },
  stripeAllowDiscounts: {
    name: 'STRIPE_ALLOW_DISCOUNTS',
    type: 'no, yes',
    fallback: () => 'no',
    meaning: 'Whether a session that promotion codes made cheaper, or free, gives a key.',
    parse: (text) =>
      text === 'no' || text === 'yes' ? { value: text === 'yes' } : { wrong: 'must be no or yes' },
  },
  stripeApiBase: {
    name: 'STRIPE_API_BASE',
    type: '`http(s)://<host>:<port>`',
    fallback: () => '',
    fallbackShown: 'Stripe’s own',
    meaning: 'Where Stripe’s API is asked; for tests and proxies.',
    parse: parseApiBase,
  },
  lightningClaim: {
    name: 'LIGHTNING_CLAIM',
    type: 'optional, required',
    fallback: () => 'optional',
    meaning:
      'Whether a Lightning order’s key is handed out only to polls that carry its claim token. Every node ' +
      'on the route of a payment knows its payment hash.',
    parse: (text) =>
      text === 'optional' || text === 'required'
        ? { value: text === 'required' }
        : { wrong: 'must be optional or required' },
  },
  doorSubmissionsPerMinute: {
    name: 'DOOR_SUBMISSIONS_PER_MINUTE',
    type: `whole number, 0 to ${MOST_REQUESTS_PER_MINUTE}`,
    fallback: () => '60',
    meaning:
      'Fragments, confirmations and harvests a minute that an address may send; a harvest counts once; 0 ' +
      'is no limit.',
    parse: integer(0, MOST_REQUESTS_PER_MINUTE),
  },
  previewsPerMinute: {
    name: 'PREVIEWS_PER_MINUTE',
    type: `whole number, 0 to ${MOST_REQUESTS_PER_MINUTE}`,
    fallback: () => '60',
    meaning: 'Previews of fragments a minute that an address may ask for; 0 is no limit.',
    parse: integer(0, MOST_REQUESTS_PER_MINUTE),
  },
  harvestMarkersPerMinute: {
    name: 'HARVEST_MARKERS_PER_MINUTE',
    type: `whole number, 0 to ${MOST_REQUESTS_PER_MINUTE}`,
    fallback: () => '300',
    meaning:
      'Markers of harvests a minute that an address may send; one harvest may hold more, and the next ' +
      'waits until they are made up for; 0 is no limit.',
    parse: integer(0, MOST_REQUESTS_PER_MINUTE),
  },
  clicksPerMinute: {
    name: 'CLICKS_PER_MINUTE',
    type: `whole number, 0 to ${MOST_REQUESTS_PER_MINUTE}`,
    fallback: () => '600',
    meaning: 'Counted links a minute that an address may follow; 0 is no limit.',
    parse: integer(0, MOST_REQUESTS_PER_MINUTE),
  },
  explorationsPerMinute: {
    name: 'EXPLORATIONS_PER_MINUTE',
    type: `whole number, 0 to ${MOST_REQUESTS_PER_MINUTE}`,
    fallback: () => '300',
    meaning: 'Requests a minute that explore fragments, by address; 0 is no limit.',
    parse: integer(0, MOST_REQUESTS_PER_MINUTE),
  },
  pollsPerMinute: {
    name: 'POLLS_PER_MINUTE',
    type: `whole number, 0 to ${MOST_REQUESTS_PER_MINUTE}`,
    fallback: () => '120',
    meaning: 'Looks at an order a minute, by address; 0 is no limit.',
    parse: integer(0, MOST_REQUESTS_PER_MINUTE),
  },
  pagesPerMinute: {
    name: 'PAGES_PER_MINUTE',
    type: `whole number, 0 to ${MOST_REQUESTS_PER_MINUTE}`,
    fallback: () => '600',
    meaning: 'Quotes, prices, QR codes and pages a minute, by address; 0 is no limit.',
    parse: integer(0, MOST_REQUESTS_PER_MINUTE),
  },
  cardEventsPerMinute: {
    name: 'CARD_EVENTS_PER_MINUTE',
    type: `whole number, 0 to ${MOST_REQUESTS_PER_MINUTE}`,
    fallback: () => '6000',
    meaning: 'Events of the card processor a minute, by address; 0 is no limit.',
    parse: integer(0, MOST_REQUESTS_PER_MINUTE),
  },
  maxConnections: {
    name: 'MAX_CONNECTIONS',
    type: 'whole number, 16 to 1000000',
    fallback: () => '8192',
    meaning:
      'Connections that a worker keeps open, and fewer where it may not have as many descriptors; one ' +
      'address, but a trusted proxy, has an eighth of them.',
    parse: integer(16, 1_000_000),
  },
  diskReserveMb: {
    name: 'DISK_RESERVE',
    type: 'whole number of MB, 0 to 1000000',
    fallback: () => '',
    fallbackShown: '2 GiB, or 5 % of the disk where that is less',
    meaning:
      'What is kept of the disk that holds the data folder: with less left, leads, orders and fragments of ' +
      'strangers are 503 `storage_reserved` and clicks are not stored; 0 keeps nothing.',
    parse: integerOrNull(1_000_000),
  },
};

/** What reading the environment came to: a configuration with warnings, or every error at once. */
export type ConfigurationResult =
  | { readonly configuration: Configuration; readonly warnings: readonly string[] }
  | {
      readonly errors: readonly string[];
      readonly warnings: readonly string[];
      /** What could be read, for whoever has more to say of it. */
      readonly partial: Partial<Configuration>;
    };

/**
 * Reads and checks the environment. An empty variable counts as one not set. Every error is listed, each a
 * sentence that names the variable and what to set; so is a name that looks like ours but is not.
 */
export function readConfiguration(
  environment: Readonly<Record<string, string | undefined>>,
  machine: Machine,
): ConfigurationResult {
  const errors: string[] = [];
  const warnings = lookalikes(Object.keys(environment));
  function read<Value>(variable: Variable<Value>): Value | undefined {
    const given = givenText(variable, environment);
    if ('wrong' in given) {
      errors.push(given.wrong);
      return undefined;
    }
    const text = given.value === '' ? variable.fallback(machine) : given.value;
    const parsed = variable.parse(text);
    if ('value' in parsed) return parsed.value;
    const shown = variable.secret === true ? '' : `; it is ${JSON.stringify(text)}`;
    errors.push(`${variable.name} ${parsed.wrong}${shown}.`);
    return undefined;
  }
  const entries = Object.entries<Variable<unknown>>(table).map(([key, variable]) => [key, read(variable)]);
  const values = Object.fromEntries(entries) as Partial<Configuration>;
  const { storeUrl, masterSecrets } = values;
  const partial = storeUrl === undefined ? values : { ...values, dataFolder: dataFolderOf(storeUrl) };
  errors.push(...samePorts(values));
  if (storeUrl?.startsWith('lmdb:') === false && masterSecrets?.length === 0) {
    errors.push('MASTER_SECRET must be set where STORE_URL is postgres://…: every node needs the same one.');
  }
  errors.push(...lndErrors(values), ...chainErrors(values), ...cardErrors(values));
  // Without an error every variable has been read.
  if (errors.length > 0) return { errors, warnings, partial };
  return { configuration: partial as Configuration, warnings };
}

/** What is wrong between the variables of card payments. */
function cardErrors({ stripeSecretKey, stripeWebhookSecrets = [] }: Partial<Configuration>): string[] {
  if (stripeSecretKey !== null || stripeWebhookSecrets.length === 0) return [];
  return ['Card payments also need STRIPE_SECRET_KEY.'];
}

/** What is wrong between the variables of on-chain payments: both are needed, or none. */
function chainErrors({ btcXpub, btcChain, lndRestUrl }: Partial<Configuration>): string[] {
  if (btcChain?.kind === 'lnd' && lndRestUrl === null) return ['BTC_CHAIN lnd also needs LND_REST_URL.'];
  if (btcXpub === undefined || btcChain === undefined || (btcXpub === null) === (btcChain === null))
    return [];
  return [`On-chain payments also need ${btcXpub === null ? 'BTC_XPUB' : 'BTC_CHAIN'}.`];
}

/** What is wrong between the variables of LND: all of it is needed, or nothing. */
function lndErrors(values: Partial<Configuration>): string[] {
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

/** Absolute path of the folder that models are installed into. */
export function installedModelsFolder({
  modelsFolder,
  dataFolder,
}: Pick<Configuration, 'modelsFolder' | 'dataFolder'>): string {
  return modelsFolder ?? join(dataFolder, 'models');
}

/** A sentence for each port that two variables name. */
function samePorts({ port, doorPort, metricsPort }: Partial<Configuration>): string[] {
  const named = [
    ['PORT', port],
    ['DOOR_PORT', doorPort ?? 0],
    ['METRICS_PORT', metricsPort],
  ] as const;
  return named.flatMap(([name, given], index) => {
    const other = named.slice(0, index).find(([, earlier]) => earlier === given);
    if (given === undefined || given === 0 || other === undefined) return [];
    return [`${name} must differ from ${other[0]}; both are ${given}.`];
  });
}

/** A variable's text, `''` when it is not set; a secret's may lie in the file that `NAME_FILE` names. */
function givenText(
  { name, secret }: Pick<Variable<unknown>, 'name' | 'secret'>,
  environment: Readonly<Record<string, string | undefined>>,
): Parsed<string> {
  const value = environment[name] ?? '';
  const file = secret === true ? (environment[`${name}_FILE`] ?? '') : '';
  if (file === '') return { value };
  if (value !== '') return { wrong: `Set ${name} or ${name}_FILE, not both.` };
  try {
    return { value: readFileSync(file, 'utf8').trim() || ' ' };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    return { wrong: `${name}_FILE ${JSON.stringify(file)} cannot be read (${code}).` };
  }
}

/** Single-character edits and swaps of neighbours between two strings (optimal string alignment distance). */
function editDistance(left: string, right: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const replaced = (previous[column - 1] ?? 0) + (left[row - 1] === right[column - 1] ? 0 : 1);
      const swapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      current.push(
        Math.min(
          replaced,
          (previous[column] ?? 0) + 1,
          (current[column - 1] ?? 0) + 1,
          swapped ? (before[column - 2] ?? Infinity) + 1 : Infinity,
        ),
      );
    }
    before = previous;
    previous = current;
  }
  return previous[right.length] ?? 0;
}

/** A name with each of its words in the singular. */
function singular(name: string): string {
  return name.replace(/IES(?=_|$)/g, 'Y').replace(/S(?=_|$)/g, '');
}

/** Whether a name, in capitals, is one of ours but for slips: letters, `_`, plurals, or its last words. */
function isNearly(name: string, known: string): boolean {
  if (singular(name) === singular(known)) return true;
  // A single word, such as STRIPE, may well be another program's.
  if (name.includes('_') && known.startsWith(`${name}_`)) return true;
  const edits = editDistance(name.replaceAll('_', ''), known.replaceAll('_', ''));
  return edits <= (known.length > 6 ? 2 : 1);
}

/** A sentence for each name that is not ours but nearly so, or begins with the product's name. */
function lookalikes(names: readonly string[]): string[] {
  const ours = Object.values(table).flatMap(({ name, secret }) =>
    secret === true ? [name, `${name}_FILE`] : [name],
  );
  return names.flatMap((name) => {
    if (ours.includes(name)) return [];
    const plain = name.toUpperCase().replace(/^FUSEGATE_?/, '');
    const near = ours.find((known) => isNearly(plain, known));
    if (near !== undefined) return [`${name} is not read; did you mean ${near}?`];
    if (/^FUSEGATE/i.test(name)) return [`${name} is not read; the variables are ${ours.join(', ')}.`];
    return [];
  });
}

/** The page `docs/configuration.md`, made from the table. */
export function renderConfiguration(): string {
  const rows = Object.values(table).map((variable) => {
    const fallback = variable.fallbackShown ?? `\`${variable.fallback({ platform: 'linux', cores: 1 })}\``;
    return `| \`${variable.name}\` | ${variable.type} | ${fallback} | ${variable.meaning} |`;
  });
  const secretNames = Object.values(table)
    .filter(({ secret }: Variable<unknown>) => secret === true)
    .map(({ name }) => `\`${name}_FILE\``);
  return [
    '# Configuration',
    '',
    'Fusegate is configured by environment variables, all optional. They are checked at start; every',
    'error is listed at once. An empty variable counts as one that is not set. A variable whose name is',
    'nearly one of these is not read, and a warning says so. Secrets are never shown.',
    '',
    'What holds a secret may lie in a file instead: set one of these to its path.',
    `${secretNames.join(', ')}.`,
    '',
    '| variable | type | default | meaning |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}
