/** Retention of the tables with personal data, and the part of it that GET /privacy shows. */
import type { StoredData } from '../contract/info.js';
import { dayMs } from '../system/clock.js';
import { decodeClicks } from './tables/clicks.js';
import { removeOldEntries } from './entries.js';
import { decodeInterest } from './tables/interests.js';
import { decodeLead } from './tables/leads.js';
import type { Log } from './spaces.js';
import type { Store } from './store.js';

/** Days that each table is retained; 0: for ever, or until forgotten. */
export interface Retention {
  readonly clicksRetentionDays: number;
  readonly leadsRetentionDays: number;
}

const timeOf = {
  leads: (value: Uint8Array) => decodeLead(value)?.receivedAtMs,
  interests: (value: Uint8Array) => decodeInterest(value)?.receivedAtMs,
  clicks: (value: Uint8Array) => decodeClicks(value).at(-1)?.atMs,
} as const satisfies Partial<Record<Log, (value: Uint8Array) => number | undefined>>;

/**
 * Removes entries past their retention; resolves to their number (a block of clicks is one). Safe to run at
 * any time, even twice at once; best run about once an hour.
 */
export async function removeExpired(
  store: Store,
  { clicksRetentionDays, leadsRetentionDays }: Retention,
  nowMs: number,
): Promise<number> {
  const days = { leads: leadsRetentionDays, interests: leadsRetentionDays, clicks: clicksRetentionDays };
  let removed = 0;
  for (const log of ['leads', 'interests', 'clicks'] as const) {
    if (days[log] === 0) continue;
    const step = await removeOldEntries(store, log, timeOf[log], nowMs - days[log] * dayMs, nowMs);
    removed += step;
  }
  return removed;
}

function forDays(days: number, otherwise: string): string {
  return days === 0
    ? otherwise
    : `${days} ${days === 1 ? 'day' : 'days'}, or until it is forgotten on request.`;
}

/** Previews, which are in the store if machines share it. */
function previews(isStoreShared: boolean): StoredData {
  return {
    what: 'Previews of fragments: their six fields as accepted.',
    why: 'So that a preview can be confirmed by its token.',
    retention: isStoreShared
      ? 'Found for 30 minutes; in the store for about an hour more.'
      : '30 minutes at the longest; none survives a restart.',
    where: `File previews of the data folder${isStoreShared ? ', and table previews of the store' : ''}.`,
  };
}

/** Data with a fixed retention, listed before previews. */
const beforePreviews: readonly StoredData[] = [
  {
    what:
      'Orders: tier, price, times, state, email, source, segment, campaign and event id as they were sent, ' +
      'address, invoice or session, what was paid when, hashes of the claim token and of the key; ids and ' +
      'kinds of the card processor’s events; until an on-chain order is confirmed or has ended, keyed ' +
      'hashes of the address that ordered it and of its network.',
    why: 'To give a key to the buyer, once, and to account for the money.',
    retention:
      'Permanently; the email address until it is erased on request. What was sent with unpaid orders is ' +
      'erased after 90 days.',
    where: 'Tables orders, orderEvents and ledger of the store.',
  },
  {
    what:
      'Fragments: their six fields as accepted, time, receipt and digests, and SHA-256 of idempotency ' +
      'keys. Anyone may read a fragment by its receipt; send nothing private.',
    why: 'So that a receipt can be read again and verified.',
    retention: 'Permanently.',
    where: 'Tables fragments and legacyReceipts of the store.',
  },
  {
    what:
      'Vectors made of the fragments’ texts, with receipt, time, kind, and hashes of visitor and ' +
      'content; no probes.',
    why: 'So that fragments can be explored.',
    retention: 'As long as the fragments.',
    where: 'Files of the data folder whose names begin with vectors.',
  },
];

/** Data with a fixed retention, listed after previews. */
const afterPreviews: readonly StoredData[] = [
  {
    what:
      'API keys: SHA-256 of the key, its beginning and end (11 characters), id, tier, what it was made ' +
      'for, times and state. Never the key.',
    why: 'To know a key and its limits when it is used.',
    retention: 'Permanently, so that no key is ever made twice.',
    where: 'Table keys of the store.',
  },
  {
    what:
      'Characters used in a month of 30 days, by a keyed hash (HMAC-SHA-256) of the API key or, without ' +
      'one, of the IP address (IPv6: its /64). No address in the clear.',
    why: 'For the monthly limits.',
    retention: 'Until 30 days after the month has ended.',
    where: 'Table usage of the store.',
  },
  {
    what:
      'Named statistics: a keyed 64-bit hash of each term of the texts that were put, and the number of ' +
      'texts that have it; for names that learn from requests, of up to 512 docs a keyed hash of the text, ' +
      'those of its terms, and its length; name, times, and half of the SHA-256 of the API key. Not the ' +
      'texts.',
    why: 'To score requests that name them.',
    retention: 'Until they are removed.',
    where: 'Tables corpora, corpusVersions, corpusLearning and corpusSamples of the store.',
  },
  {
    what:
      'Profiles: settings of requests that were put under a name, times, and half of the SHA-256 of the ' +
      'API key.',
    why: 'To answer requests that name them.',
    retention: 'Until a profile is removed.',
    where: 'Table profiles of the store.',
  },
];

/** Stored data of requests in embed mode. */
function embeddings(inStore: boolean): StoredData {
  const file = 'Until vectors used later take their place.';
  return {
    what:
      'Vectors that a model made of texts and queries sent to POST /v1/fuse without dense scores, under ' +
      'SHA-256 of the text and the model. Not the texts.',
    why: 'So that a text is computed once.',
    retention: inStore ? `${file} In the store 30 to 60 days after the text was last sent.` : file,
    where: `File embeddings of the data folder${inStore ? ', and table embeddings of the store' : ''}.`,
  };
}

/**
 * Contents of the tables with personal data, for GET /privacy. `embedCacheStore`: the store holds vectors,
 * too; `isStoreShared`: it holds previews.
 */
export function storedData({
  clicksRetentionDays,
  leadsRetentionDays,
  embedCacheStore,
  isStoreShared = false,
}: Retention & { readonly embedCacheStore: boolean; readonly isStoreShared?: boolean }): StoredData[] {
  const asked = 'Until it is forgotten on request.';
  return [
    {
      what: 'Leads: time, email, tier, message, source, segment, campaign and event id as they were sent.',
      why: 'So that the operator can answer.',
      retention: forDays(leadsRetentionDays, asked),
      where: 'Table leads of the store.',
    },
    {
      what:
        'Interest in delivery models: time, email, model, company, cloud, volume, timeline, compliance, ' +
        'message, source, segment, campaign and event id as they were sent.',
      why: 'So that a human can reply.',
      retention: forDays(leadsRetentionDays, asked),
      where: 'Table interests of the store.',
    },
    {
      what: 'Opt-outs: the email address, a keyed hash (HMAC-SHA-256) of it, and the time.',
      why: 'So that no mail is sent to it again.',
      retention: 'Permanently; after erasure on request only the keyed hash and the time remain.',
      where: 'Table optouts of the store.',
    },
    {
      what:
        'Clicks on counted links: time, token of the link, destination, whether the token was good, ' +
        'whether a program followed it. No IP address, no User-Agent.',
      why: 'To count how often a link is followed.',
      retention: clicksRetentionDays === 0 ? 'For ever.' : `${clicksRetentionDays} days.`,
      where: 'Table clicks of the store.',
    },
    embeddings(embedCacheStore),
    ...beforePreviews,
    previews(isStoreShared),
    ...afterPreviews,
  ];
}
