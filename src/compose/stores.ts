/** The store with its secrets, and the removal of expired records. */
import type { OpenedStore } from '../commands/withStore.js';
import type { Configuration } from '../configuration.js';
import { removeEmbeddings } from '../models/storedEmbeddings.js';
import { openStore, parseStoreUrl } from '../store/open.js';
import { eraseUnpaidOrders } from '../store/tables/orders.js';
import { removePreviews } from '../store/tables/previews.js';
import { removeRates } from '../store/tables/rates.js';
import { removeExpired } from '../store/retention.js';
import { openSecrets, type SecretUser } from '../store/tables/secrets.js';
import type { SweepParts } from '../store/sweep.js';
import { removeOldUsage } from '../store/tables/usage.js';
import { dayMs, systemClock } from '../system/clock.js';
import { createLog, type Log } from '../system/log.js';
import { systemRandomness, type Randomness } from '../system/randomness.js';
import { removeOldEvents, removeOldNotices } from '../store/tables/events.js';
import { whenUnavailable, StoreUnavailable } from '../store/store.js';
import { tracedStore } from './tracedStore.js';

/**
 * Opens the store and the secrets that fit it. `randomness`: makes the first secret if there is none;
 * undefined: none is made. Machines that share a store need one from the operator. `server`: absent for
 * commands; `tracer`: units are spans; `isReplacement`: for a worker that takes the place of another.
 */
export async function openStoreAndSecrets(
  { storeUrl, dataFolder, masterSecrets }: Configuration,
  log: Log,
  randomness: Randomness | undefined,
  server?: { readonly tracer: unknown; readonly isReplacement: boolean },
): Promise<OpenedStore | { readonly refused: string }> {
  const isServer = server !== undefined;
  const parts = { clock: systemClock, randomness: systemRandomness, log, isServer };
  const refused = ({ message }: StoreUnavailable) => ({ refused: message });
  const store = await whenUnavailable(openStore(storeUrl, parts), refused);
  if ('refused' in store) return store;
  const sources = { configured: masterSecrets, dataFolder, randomness };
  const found = await whenUnavailable(openSecrets(store, sources, userOf(server)), refused);
  if ('value' in found) {
    return { store: server?.tracer === undefined ? store : tracedStore(store), secrets: found.value };
  }
  await store.close();
  return found;
}

function userOf(server: { readonly isReplacement: boolean } | undefined): SecretUser {
  if (server === undefined) return 'command';
  return server.isReplacement ? 'replacement' : 'start';
}

/** Opens the store of a server that has run before; commands create none. */
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

/** Days after which buyers' entries are erased from unpaid orders. */
const unpaidOrderDays = 90;

/**
 * Retention of past rates (days): a card session may be paid for a day, and Stripe sends its event again, if
 * the operator wants it, for 30 days.
 */
const keptRatesDays = 38;

/** Retention of events of orders and keys (days): far longer than any is retried. */
const keptEventsDays = 30;

/**
 * Removes records past their retention. Once a day, because this reads them all, past months' usage is
 * removed and unpaid orders are erased.
 */
export function expiry(configuration: Configuration, { store }: OpenedStore): SweepParts['removeExpired'] {
  let usageMs = -Infinity;
  return () => {
    const nowMs = systemClock.wallMs();
    const each = [
      () => removeRates(store, nowMs - keptRatesDays * dayMs),
      () => removeEmbeddings(store, nowMs),
      () => removePreviews(store, nowMs),
      () => removeOldEvents(store, nowMs - keptEventsDays * dayMs, nowMs),
      () => removeOldNotices(store, nowMs - dayMs),
      () => removeExpired(store, configuration, nowMs),
    ];
    if (systemClock.monotonicMs() - usageMs < dayMs) return each;
    usageMs = systemClock.monotonicMs();
    return [
      ...each,
      () => eraseUnpaidOrders(store, nowMs - unpaidOrderDays * dayMs),
      () => removeOldUsage(store, nowMs),
    ];
  };
}
