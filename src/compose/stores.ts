/** The store and the secrets that fit it, and what is removed from it in time. */
import type { OpenedStore } from '../commands/withStore.js';
import type { Configuration } from '../configuration.js';
import { removeEmbeddings } from '../models/storedEmbeddings.js';
import { openStore, parseStoreUrl } from '../store/open.js';
import { countFragments } from '../store/fragments.js';
import { eraseUnpaidOrders } from '../store/orders.js';
import { removePreviews } from '../store/previews.js';
import { removeRates } from '../store/rates.js';
import { removeExpired } from '../store/retention.js';
import { openSecrets } from '../store/secrets.js';
import type { SweepParts } from '../store/sweep.js';
import { removeOldUsage } from '../store/usage.js';
import { dayMs, systemClock } from '../system/clock.js';
import { createLog, type Log } from '../system/log.js';
import { systemRandomness, type Randomness } from '../system/randomness.js';
import { removeOldEvents, removeOldNotices } from '../store/events.js';
import { whenUnavailable, StoreUnavailable } from '../store/store.js';

/**
 * Opens the store and the secrets that fit it. `randomness`: makes the first secret where there is none,
 * which is left to the operator where several machines share a store.
 */
export async function openStoreAndSecrets(
  { storeUrl, dataFolder, masterSecrets }: Configuration,
  log: Log,
  randomness: Randomness | undefined,
): Promise<OpenedStore | { readonly refused: string }> {
  const parts = { clock: systemClock, randomness: systemRandomness, log };
  const refused = ({ message }: StoreUnavailable) => ({ refused: message });
  const store = await whenUnavailable(openStore(storeUrl, parts), refused);
  if ('refused' in store) return store;
  const sources = { configured: masterSecrets, dataFolder, randomness };
  const found = await whenUnavailable(openSecrets(store, sources), refused);
  if ('secrets' in found) return { store, secrets: found.secrets };
  await store.close();
  return found;
}

/** Opens the store of a server that has run before; the commands make none. */
export async function openExistingStore(
  configuration: Configuration,
): Promise<OpenedStore | { readonly refused: string }> {
  const parsed = parseStoreUrl(configuration.storeUrl);
  const missing = 'wrong' in parsed ? undefined : parsed.location.missing();
  if (missing?.kind === 'unreadable') return { refused: missing.reason };
  if (missing !== undefined) {
    return { refused: `${missing.reason} Start the server once, or set STORE_URL as it has it.` };
  }
  return openStoreAndSecrets(configuration, createLog('silent'), undefined);
}

/** Days after which what buyers wrote is erased from orders that nobody paid for. */
const unpaidOrderDays = 90;

/** Past rates are kept as long as a card session may end after it was made, and some days. */
const keptRatesDays = 8;

/** Days that events of orders and keys are kept: far longer than any is tried to be sent. */
const keptEventsDays = 30;

/**
 * Removes what is older than it is kept; past months' usage and unpaid orders, which are all read for it,
 * once a day.
 */
export function expiry(configuration: Configuration, { store }: OpenedStore): SweepParts['removeExpired'] {
  let usageMs = -Infinity;
  return async () => {
    const nowMs = systemClock.wallMs();
    await removeRates(store, nowMs - keptRatesDays * dayMs);
    await removeEmbeddings(store, nowMs);
    await removePreviews(store, nowMs);
    await countFragments(store);
    await removeOldEvents(store, nowMs - keptEventsDays * dayMs);
    await removeOldNotices(store, nowMs - dayMs);
    const expired = await removeExpired(store, configuration, nowMs);
    if (systemClock.monotonicMs() - usageMs < dayMs) return expired;
    usageMs = systemClock.monotonicMs();
    const erased = await eraseUnpaidOrders(store, nowMs - unpaidOrderDays * dayMs);
    return expired + erased + (await removeOldUsage(store, nowMs));
  };
}
