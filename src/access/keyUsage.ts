/** `GET /v1/usage`: the holder of a key reads its limits, and what of them is used. */
import { jsonAnswer, storeUnavailable } from '../contract/answer.js';
import type { Handler, RouteRequest } from '../contract/exchange.js';
import { tiers as tierNames } from '../contract/pricing.js';
import type { UsageResponse } from '../contract/usage.js';
import type { Clock } from '../system/clock.js';
import type { Head } from './address.js';
import { monthMs, type Access } from './admission.js';
import type { KeySource, KnownKey, UsageSource } from './keyring.js';
import { usageNeedsKey } from './refusals.js';
import { sentKey } from './sentKey.js';
import type { Tiers } from './tiers.js';

/** Parts of the handler. */
export interface KeyUsageParts {
  readonly access: Pick<Access, 'keyed'>;
  readonly keys: KeySource;
  readonly usage: Pick<UsageSource, 'load'>;
  readonly hashKey: (key: string) => Buffer | null;
  readonly tiers: Tiers;
  readonly clock: Pick<Clock, 'wallMs'>;
}

/** The head of a request as admission reads one; a route that limits by address has found out whose it is. */
function headOf(request: RouteRequest): Head {
  const field = (name: string): string => {
    return name === 'x-api-key' || name === 'authorization' ? request.header(name) : '';
  };
  return { field, allOf: field, peer: () => request.caller(), isHead: () => request.head };
}

/** Begin of the month of a key, which has 30 days and is counted from its issue. */
function monthStartOf({ issuedAtMs }: KnownKey, nowMs: number): number {
  return issuedAtMs + Math.max(0, Math.floor((nowMs - issuedAtMs) / monthMs)) * monthMs;
}

function answerOf(
  key: KnownKey,
  used: number,
  left: number | undefined,
  { tiers, clock }: KeyUsageParts,
): UsageResponse {
  const tier = tierNames.find((name) => name === key.tier);
  if (tier === undefined) throw new Error(`Key ${key.id} has a tier that is not sold`);
  const { requests_per_minute: perMinute, characters_per_month: perMonth } = tiers[tier];
  const resetsAtMs = monthStartOf(key, clock.wallMs()) + monthMs;
  return {
    tier,
    issued_at: new Date(key.issuedAtMs).toISOString(),
    expires_at: key.expiresAtMs === null ? null : new Date(key.expiresAtMs).toISOString(),
    requests: { limit: perMinute, window_s: 60, remaining: left ?? null },
    characters: {
      limit: perMonth,
      used,
      remaining: perMonth === 0 ? null : Math.max(0, perMonth - used),
      resets_at: new Date(resetsAtMs).toISOString(),
    },
  };
}

/** Answers with the usage of the key that a request carries. */
export function keyUsage(parts: KeyUsageParts): Handler {
  const { access, keys, usage, hashKey, clock } = parts;
  return async (request) => {
    const head = headOf(request);
    const key = sentKey(head);
    if (key === '') return usageNeedsKey;
    const { refusal, remaining } = await access.keyed(head);
    // One whose limit is used up is told so by its figures.
    if (refusal !== undefined && refusal.status !== 429) return refusal;
    const hash = typeof key === 'string' ? hashKey(key) : null;
    const known = hash === null ? undefined : await keys.find(hash);
    if (known === 'unavailable') return storeUnavailable();
    // An address that has tried too many unknown keys.
    if (hash === null || known === undefined) return refusal ?? usageNeedsKey;
    const kept = await usage.load(Buffer.concat([Uint8Array.of(0), hash]));
    if (kept === 'unavailable') return storeUnavailable();
    const isPresent = kept?.monthStartMs === monthStartOf(known, clock.wallMs());
    return jsonAnswer(200, answerOf(known, isPresent ? kept.characters : 0, remaining, parts));
  };
}
