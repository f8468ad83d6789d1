/** `GET /v1/limits`: every current limit (contract, Limits). */
import { UNKNOWN_KEYS_PER_MINUTE } from '../access/admission.js';
import type { Tiers } from '../access/tiers.js';
import { jsonAnswer } from '../contract/answer.js';
import type { Handler } from '../contract/exchange.js';
import { limitsOf, type AccessLimits, type RateLimit } from '../contract/limits.js';
import { tiers as tierNames, type TierLimits } from '../contract/pricing.js';
import { isServed, servedParts, type ServedPart } from '../contract/served.js';
import { routeList, type RouteLimit } from '../contract/routes.js';
import { previewMs } from '../receipts/previews.js';
import { embedDocs } from '../search/embedMode.js';

/** The default access: the limits of the tiers, by address. */
const metered: AccessLimits = { mode: 'metered', reason: 'ACCESS is metered' };

/** Answers with the limits of the routes and types, and with the `rates` that this installation enforces. */
export function limits(
  rates: readonly RateLimit[],
  access: AccessLimits = metered,
  serve: readonly ServedPart[] = servedParts,
): Handler {
  const served = routeList.filter((route) => isServed(route, serve));
  const counted = new Set<string>(served.flatMap(({ limit, counts }) => [limit ?? [], counts ?? []].flat()));
  const inForce = rates.filter(({ name }) => !(name in routeUnits) || counted.has(name));
  const answer = jsonAnswer(200, limitsOf(served, inForce, access));
  return () => answer;
}

function callerRates(name: string, whose: string, limits: TierLimits): RateLimit[] {
  return [
    { name: `${name}.requests`, limit: limits.requests_per_minute, unit: `requests a minute for ${whose}` },
    {
      name: `${name}.characters`,
      limit: limits.characters_per_month,
      unit: `characters of 200 answers in 30 days for ${whose}`,
    },
  ];
}

/** Subjects of the limits of routes by address. */
const routeUnits: Readonly<Record<RouteLimit, string>> = {
  audits: 'audits a minute and address',
  leads: 'leads and delivery interests a minute and address',
  checkout: 'orders a minute and address',
  submissions: 'fragments, confirmations and harvests a minute and address; a harvest counts once',
  markers: 'markers of harvests a minute and address',
  previews: 'previews of fragments a minute and address',
  clicks: 'counted links followed a minute and address',
  explorations: 'requests that explore fragments a minute and address',
  polls: 'looks at an order a minute and address',
  pages: 'quotes, prices and pages a minute and address',
  cardEvents: 'card events a minute and address',
};

/** Settings of limits that are not requests per time. */
export interface FurtherLimits {
  readonly maxUnpaidOrders: number;
  readonly unpaidOrdersPerAddress: number;
  readonly embedQueue: number;
  readonly embedDeadlineMs: number;
  readonly storedKbPerMinute: number;
}

/** The limits of queues in this installation; 0: no limit. */
export function waitingLimits(settings: FurtherLimits): RateLimit[] {
  const { maxUnpaidOrders, unpaidOrdersPerAddress, embedQueue, embedDeadlineMs } = settings;
  const { storedKbPerMinute } = settings;
  const waiting = 'on-chain orders that wait for their payment';
  return [
    { name: 'unpaid_orders', limit: maxUnpaidOrders, unit: waiting },
    { name: 'unpaid_orders_per_address', limit: unpaidOrdersPerAddress, unit: `${waiting}, of one address` },
    { name: 'embed_queue', limit: embedQueue, unit: 'texts that wait for a model' },
    { name: 'embed_deadline', limit: embedDeadlineMs, unit: 'milliseconds that a request waits for a model' },
    {
      name: 'stored_by_network',
      limit: storedKbPerMinute,
      unit: 'kB a minute that a /24 or a /48 may send to be stored',
    },
    { name: 'preview_life', limit: previewMs / 1_000, unit: 'seconds that the preview of a fragment lives' },
  ];
}

/**
 * The limits by time of this installation; 0: no limit. An address counts whole (IPv4) or by its /64 (IPv6),
 * and within its networks: a /24 or a /48 has 64 times as much as an address, a /56 eight times.
 */
export function rateLimits(
  tiers: Tiers,
  routeLimits: Readonly<Record<RouteLimit, number>>,
  keylessDocs: number = embedDocs.anonymous,
): RateLimit[] {
  const byRoute = Object.entries(routeUnits) as [RouteLimit, string][];
  return [
    ...callerRates('anonymous', 'an address without a key', tiers.anonymous),
    ...tierNames.flatMap((name) => callerRates(name, 'a key', tiers[name])),
    {
      name: 'anonymous.embed_docs',
      limit: keylessDocs,
      unit: 'docs that a model scores, without a key',
    },
    { name: 'keyed.embed_docs', limit: embedDocs.keyed, unit: 'docs that a model scores, with a key' },
    { name: 'unknown_keys', limit: UNKNOWN_KEYS_PER_MINUTE, unit: 'unknown API keys a minute and address' },
    ...byRoute.map(([name, unit]) => ({ name, limit: routeLimits[name], unit })),
    { name: 'network_48', limit: 64, unit: 'times the requests a minute of an address, for its /24 or /48' },
    { name: 'network_56', limit: 8, unit: 'times the requests a minute of an address, for its /56' },
    {
      name: 'newcomers',
      limit: 64,
      unit: 'times the requests a minute of an address, for all that find no room',
    },
  ];
}
