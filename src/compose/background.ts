/** Background work that one process does for all that share the store, each kind under its own lease. */
import type { OpenedStore } from '../commands/withStore.js';
import type { Configuration } from '../configuration.js';
import { configuredKey, existingKey, openKey } from '../log/keyFile.js';
import { originOf } from '../log/origin.js';
import { startPublishing, type Publishing } from '../log/publishing.js';
import { seenFile } from '../log/seen.js';
import { Witnessing } from '../log/witnessing.js';
import { native } from '../native/addon.js';
import { startSweep, type SweepParts } from '../store/sweep.js';
import { countFragments, mostCounted } from '../store/tables/fragments.js';
import { systemClock } from '../system/clock.js';
import type { Log } from '../system/log.js';
import type { Metric } from '../system/metrics.js';
import { systemRandomness } from '../system/randomness.js';
import type { Tracer } from '../telemetry/tracer.js';
import { post } from './outbound.js';
import { expiry } from './stores.js';
import { startWebhooks } from './webhooks.js';
/** Dependencies of such work. */
type Upkeep = OpenedStore & Pick<SweepParts, 'clock' | 'holder'> & { readonly log: Log };

/** Signs the log of receipts, if the door is served. */
function publishing(configuration: Configuration, { store, log, holder }: Upkeep): Publishing | undefined {
  const { dataFolder, logKeySeed, serve } = configuration;
  if (!serve.includes('door')) return undefined;
  const seen = seenFile(dataFolder, String(process.pid));
  const origin = originOf(configuration);
  const parts = { store, tree: native, clock: systemClock, log };
  const witnesses = configuration.witnesses?.witnesses ?? [];
  const witnessing =
    witnesses.length === 0 ? {} : { witnessing: new Witnessing({ ...parts, witnesses, post }) };
  const open = (mayMake: boolean) =>
    configuredKey(logKeySeed) ?? (mayMake ? openKey(dataFolder, systemRandomness) : existingKey(dataFolder));
  return startPublishing({ ...parts, openKey: open, origin, seen, holder, ...witnessing });
}

/** Running background work. */
interface Background {
  readonly metrics: () => Metric[];
  readonly stop: () => Promise<unknown>;
}

/** Starts all background work. `tracer`: records messages to webhooks. */
export function startBackground(configuration: Configuration, upkeep: Upkeep, tracer?: Tracer): Background {
  const signing = publishing(configuration, upkeep);
  const countMore = async (): Promise<boolean> => (await countFragments(upkeep.store)) === mostCounted;
  const sweep = startSweep({ ...upkeep, removeExpired: expiry(configuration, upkeep), countMore });
  const webhooks = startWebhooks(configuration, upkeep, tracer);
  return {
    metrics: () => webhooks.metrics(),
    stop: () => Promise.all([signing?.stop(), sweep.stop(), webhooks.stop()]),
  };
}
