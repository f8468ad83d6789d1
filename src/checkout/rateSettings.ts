/** The setting for the source of the bitcoin price. */
import { isLoopback } from '../system/network.js';
import type { Parsed, Settings } from '../system/settings.js';

/** A page with the price of a bitcoin in US dollars, at a JSON Pointer (RFC 6901). */
export interface RateUrl {
  readonly name: string;
  readonly url: string;
  readonly pointer: string;
}

/** A fixed price, or two pages that must agree. */
export type RateSource =
  | { readonly kind: 'fixed'; readonly cents: number }
  | { readonly kind: 'urls'; readonly urls: readonly [RateUrl, RateUrl] };

/** Pages known by name. */
const knownRates: ReadonlyMap<string, string> = new Map([
  ['coinbase', 'https://api.coinbase.com/v2/prices/BTC-USD/spot#/data/amount'],
  ['kraken', 'https://api.kraken.com/0/public/Ticker?pair=XBTUSD#/result/XXBTZUSD/c/0'],
  ['bitstamp', 'https://www.bitstamp.net/api/v2/ticker/btcusd/#/last'],
]);

/** A page by name, or by URL with the pointer as fragment. */
function rateUrl(text: string): RateUrl | undefined {
  const whole = knownRates.get(text) ?? text;
  const [url = '', pointer = ''] = whole.split(/#(.*)/s);
  if (!URL.canParse(url) || !/^\/./.test(pointer)) return undefined;
  const { protocol, hostname, host } = new URL(url);
  if (protocol !== 'https:' && !(protocol === 'http:' && isLoopback(hostname))) return undefined;
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
  const names = [...knownRates.keys()].join(', ');
  return {
    wrong:
      'must be fixed:<US dollars>, or two different sources by a comma: ' +
      `${names}, or https://…#/json/pointer`,
  };
}

/** The source of the bitcoin price. */
export const rateSettings = {
  /** The source of the bitcoin price in US cents. */
  rateSource: {
    name: 'RATE_SOURCE',
    type: '`fixed:<US dollars>`, or two sources by a comma',
    fallback: 'coinbase,kraken',
    meaning:
      'Source of the price of a bitcoin: fixed, or two of `coinbase`, `kraken`, `bitstamp` or ' +
      '`https://…#/json/pointer`, which must agree within 2 %. They are queried when somebody asks for a ' +
      'price.',
    parse: parseRateSource,
  },
} as const satisfies Settings;
