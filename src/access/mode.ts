/** Callers without a key (ACCESS): all are served, each address is limited, or none are served. */
import type { TierLimits } from '../contract/pricing.js';
import type { AnonymousLimits } from './tiers.js';

/**
 * Every mode. `open`: only the limits that are set; `metered`: limits by address; `keys`: a key is required.
 */
export const accessModes = ['open', 'metered', 'keys'] as const;

/** One mode. */
export type AccessMode = (typeof accessModes)[number];

/** The mode in force. */
export interface AccessChoice {
  readonly mode: AccessMode;
  /** The reason for it, as part of a sentence. */
  readonly reason: string;
}

/** The mode that is set, or the default for a server with these ways to pay (names of their variables). */
export function chooseAccess(given: AccessMode | null, waysToPay: readonly string[]): AccessChoice {
  if (given !== null) return { mode: given, reason: `ACCESS is ${given}` };
  return waysToPay.length === 0
    ? { mode: 'open', reason: 'ACCESS is not set, and no way to pay is configured' }
    : { mode: 'metered', reason: `ACCESS is not set, and keys are sold here (${waysToPay.join(', ')})` };
}

/** The limits without a key by the settings: an open server has no other limits. */
export function limitsGiven(mode: AccessMode, given: AnonymousLimits): AnonymousLimits {
  if (mode !== 'open') return given;
  return {
    anonymousRequestsPerMinute: given.anonymousRequestsPerMinute ?? 0,
    anonymousCharactersPerMonth: given.anonymousCharactersPerMonth ?? 0,
  };
}

/** The command that makes a key. */
export const makeKey = 'fusegate keys create --tier developer';

/** The limits of an address without a key, as part of a sentence; undefined if there are none. */
function amounts({ requests_per_minute, characters_per_month }: TierLimits): string | undefined {
  const named = [
    ...(requests_per_minute === 0 ? [] : [`${requests_per_minute} requests a minute`]),
    ...(characters_per_month === 0 ? [] : [`${characters_per_month} characters a month`]),
  ];
  return named.length === 0 ? undefined : named.join(' and ');
}

/** The callers that are served, and the reason: one or two sentences for the operator. */
export function accessSentence({ mode, reason }: AccessChoice, anonymous: TierLimits): string {
  if (mode === 'keys') {
    return `keys: fuse and normalize need a key (${reason}). Make one: ${makeKey}`;
  }
  const has = amounts(anonymous);
  const told =
    has === undefined
      ? 'no key is needed, and nobody without one is limited on fuse and normalize'
      : `no key is needed; without one an address has ${has} on fuse and normalize`;
  return `${mode}: ${told} (${reason}). To change it, set ACCESS to open, metered or keys.`;
}
