/** `GET /v1/usage`: shows the holder of a key its limits, and how much of them is used. */
import { jsonAnswer, storeUnavailable } from '../contract/answer.js';
import type { Answer, Handler, RouteRequest } from '../contract/exchange.js';
import { tiers as tierNames, type Tier } from '../contract/pricing.js';
import type { UsageResponse } from '../contract/usage.js';
import { dateText, dayMs, timeOrNull, timeText, type Clock } from '../system/clock.js';
import type { CallerHead } from './address.js';
import { monthMs, type Access } from './admission.js';
import type { KeySource, KnownKey, MonthUsage, UsageSource } from './keyring.js';
import { usageNeedsKey } from './refusals.js';
import { sentKey } from './sentKey.js';
import { keySubject } from './stored.js';
import type { Tiers } from './tiers.js';

/** Parts that find the holder of a key. */
export interface HolderParts {
  readonly access: Pick<Access, 'keyed'>;
  readonly keys: KeySource;
  readonly hashKey: (key: string) => Buffer | null;
}

/** Parts of the handler. */
export interface KeyUsageParts extends HolderParts {
  readonly usage: Pick<UsageSource, 'load'>;
  readonly tiers: Tiers;
  readonly clock: Pick<Clock, 'wallMs'>;
}

/** The parts of a request that carry the key and the address. */
type Carrier = Pick<RouteRequest, 'header' | 'caller'>;

/** The request's head for admission; a route with a limit by address has already found the address. */
function headOf(request: Carrier): CallerHead {
  const field = (name: string): string => {
    return name === 'x-api-key' || name === 'authorization' ? request.header(name) : '';
  };
  return { field, allOf: field, peer: () => request.caller() };
}

/** Start of a key's current month (ms since 1970): months have 30 days and count from its issue. */
function monthStartOf({ issuedAtMs }: KnownKey, nowMs: number): number {
  return issuedAtMs + Math.max(0, Math.floor((nowMs - issuedAtMs) / monthMs)) * monthMs;
}

/** A working key and its holder, or the answer that refuses the request. */
export type Holder =
  | {
      readonly ok: true;
      readonly key: KnownKey;
      readonly tier: Tier;
      /** Requests left in the minute; undefined: no limit. */
      readonly remaining: number | undefined;
    }
  | { readonly ok: false; readonly refusal: Answer };

/** The holder of a request's key. A key over its limits is served, too: these routes are about limits. */
export async function holder(parts: HolderParts, request: Carrier): Promise<Holder> {
  const { access, keys, hashKey } = parts;
  const head = headOf(request);
  const refused = (answer: Answer): Holder => ({ ok: false, refusal: answer });
  if (sentKey(head) === '') return refused(usageNeedsKey);
  const { key, refusal = usageNeedsKey, remaining } = await access.keyed(head);
  // An address that has tried too many unknown keys is refused before the store is asked about another.
  if (key === undefined) return refused(refusal);
  const hash = hashKey(key);
  const known = hash === null ? undefined : await keys.find(hash);
  if (known === 'unavailable') return refused(storeUnavailable());
  if (known === undefined) return refused(refusal);
  const tier = tierNames.find((name) => name === known.tier);
  if (tier === undefined) throw new Error(`Key ${known.id} has a tier that is not sold`);
  return { ok: true, key: known, tier, remaining };
}

function daysOf({ days }: Pick<MonthUsage, 'days'>): UsageResponse['days'] {
  return days.map(({ day, ...counts }) => {
    return { date: dateText(day * dayMs), ...counts };
  });
}

/** The usage of a key, or the answer that explains the refusal. */
export type UsageRead =
  { readonly ok: true; readonly usage: UsageResponse } | { readonly ok: false; readonly refusal: Answer };

/** Reads the usage of a request's key; counts as one request of the key. */
export type ReadUsage = (request: Carrier) => Promise<UsageRead>;

/** Makes the function that reads usage. */
export function usageReader(parts: KeyUsageParts): ReadUsage {
  const { usage, clock, tiers } = parts;
  return async (request) => {
    const found = await holder(parts, request);
    if (!found.ok) return found;
    const { key, tier, remaining } = found;
    const kept = await usage.load(keySubject(key.countedAs ?? key.hash));
    if (kept === 'unavailable') return { ok: false, refusal: storeUnavailable() };
    const monthStartMs = monthStartOf(key, clock.wallMs());
    const used = kept?.monthStartMs === monthStartMs ? kept.characters : 0;
    const { requests_per_minute: perMinute, characters_per_month: perMonth } = tiers[tier];
    const read: UsageResponse = {
      tier,
      issued_at: timeText(key.issuedAtMs),
      expires_at: timeOrNull(key.expiresAtMs),
      requests: { limit: perMinute, window_s: 60, remaining: remaining ?? null },
      characters: {
        limit: perMonth,
        used,
        remaining: perMonth === 0 ? null : Math.max(0, perMonth - used),
        resets_at: timeText(monthStartMs + monthMs),
      },
      days: kept === undefined ? [] : daysOf(kept),
    };
    return { ok: true, usage: read };
  };
}

/** Answers with the usage of the request's key. */
export function keyUsage(parts: KeyUsageParts): Handler {
  const read = usageReader(parts);
  return async (request) => {
    const outcome = await read(request);
    return outcome.ok ? jsonAnswer(200, outcome.usage) : outcome.refusal;
  };
}
