/** The parent process: takes the folder and the port, runs the workers, and ends them. */
import { closeSync } from 'node:fs';
import type { Server as MetricsServer } from 'node:http';
import type { InstalledModel } from '../models/embedder.js';
import type { Configuration } from '../configuration.js';
import {
  exportMetrics,
  startMetricExport,
  type ExportCounts,
  type MetricExport,
} from '../telemetry/metricExport.js';
import { EmbedderProcess } from './embedder.js';
import { offerHandover, type HandOverOutcome, type Offer } from './handover.js';
import { createScrape, serveMetrics } from './metrics.js';
import { takePlace, type Place, type PlaceParts } from './place.js';
import { WorkerPool, type PoolParts } from './pool.js';
import { Reloads, type ReloadParts } from './reload.js';
import type { Ports } from '../system/ports.js';
import type { Addressee } from './sockets.js';
import { ignoreInspector, operatorSignals, type OperatorSignals } from './signals.js';
import { watchVitals } from './vitals.js';

/** Parts of the parent. */
export interface ParentParts extends Omit<PoolParts, 'port' | 'doorPort' | 'embedder'>, PlaceParts {
  readonly configuration: Configuration;
  /** Arguments of the embedder process. */
  readonly embedderArguments: readonly string[];
  /** Versions of the components, by the names that metrics use. */
  readonly versions: Readonly<Record<string, string>>;
  /** The model to load at start; undefined: the first text loads its model. */
  readonly preload: InstalledModel | undefined;
  /** Called once, when every worker listens, with their ports. */
  readonly onListening: (ports: Ports) => void;
  /** Reads the settings again. */
  readonly reread: ReloadParts['reread'];
  /** Called with settings that were read again, once they are in force. */
  readonly onRenewed: ReloadParts['onRenewed'];
  /** Time that requests in flight get to finish after a stop signal (ms). */
  readonly drainMs: number;
  /** Time that processes get to finish pending requests after others have replaced them (ms). */
  readonly leaveMs: number;
}

/** Outcome of running a parent. */
export type ParentOutcome =
  | { readonly kind: 'stopped' }
  /** Requests were still pending when the drain time was over. */
  | { readonly kind: 'killed' }
  /** It did not start; `reason` is a sentence that says what to do. */
  | { readonly kind: 'refused'; readonly reason: string };

/**
 * Serves until a stop signal, or until another server takes over. Order matters: nothing starts before this
 * process owns the folder and the port.
 */
export async function runParent(parts: ParentParts): Promise<ParentOutcome> {
  const { host } = parts.configuration;
  ignoreInspector();
  const signals = operatorSignals();
  const place = await takePlace(parts);
  if ('refused' in place) return { kind: 'refused', reason: place.refused };
  const embedder = new EmbedderProcess({ ...parts, ...embedLimits(parts.configuration) });
  const pool = new WorkerPool({ ...parts, embedder, port: place.port, doorPort: place.doorPort });
  const vitals = watchVitals();
  const exports: ExportCounts = { sent: 0, failed: 0 };
  const own = () => [...vitals(), ...exportMetrics(exports)];
  const scrape = createScrape(pool, embedder, own, parts.versions);
  const metrics =
    place.metricsPort === 0
      ? undefined
      : await serveMetrics(host, place.metricsPort, scrape, parts.log, place.metricsSocket);
  if (metrics !== undefined && 'refused' in metrics) return { kind: 'refused', reason: metrics.refused };
  const ports = { port: place.port, doorPort: place.doorPort, metricsPort: metrics?.port ?? 0 };
  if (parts.preload !== undefined) embedder.preload(parts.preload);
  const { version = '' } = parts.versions;
  const collect = async () => (await scrape()).values();
  const pushed = await startMetricExport(parts.configuration, exports, { ...parts, version, collect });
  const outcome = await serve(parts, pool, signals, place, ports, metrics?.server, pushed);
  embedder.stop();
  closeMetrics(metrics?.server);
  return outcome;
}

/** Limits of the embedder. */
function embedLimits({ embedThreads, embedQueue, embedDeadlineMs }: Configuration) {
  return { threads: embedThreads, mostTexts: embedQueue, deadlineMs: embedDeadlineMs };
}

/** Runs the workers from start to end. */
async function serve(
  parts: ParentParts,
  pool: WorkerPool,
  signals: OperatorSignals,
  place: Place,
  ports: Ports,
  metrics: MetricsServer | undefined,
  pushed: MetricExport | undefined,
): Promise<ParentOutcome> {
  const { stopped } = signals;
  const started = await Promise.race([pool.start(place.left), stopped.then(() => 'stopped' as const)]);
  // The workers have inherited their own copies.
  for (const socket of [...(place.left?.port ?? []), ...(place.left?.door ?? [])]) closeSync(socket);
  if (started !== undefined && started !== 'stopped') return { kind: 'refused', reason: started };
  if (started === undefined) {
    await place.serving();
    const offer = offerPlace(parts, pool, signals, ports);
    parts.onListening(ports);
    const successor = await Promise.race([offer.taken, stopped.then(() => undefined)]);
    offer.close();
    if (successor !== undefined) {
      // Later scrapes go to the other server.
      metrics?.close();
      await pushed?.stop();
      // The one before this one takes its end for that of all its successors.
      const left = Promise.all([pool.stop(parts.leaveMs, true), place.formerEnded()]);
      await Promise.race([left, stopped, successor.ended]);
      place.forget();
    }
  } else await stopped;
  await pushed?.stop();
  return { kind: (await pool.stop(parts.drainMs)) ? 'stopped' : 'killed' };
}

/** Hands over to another server that asks, and reads the settings again on a signal; never both at once. */
function offerPlace(parts: ParentParts, pool: WorkerPool, signals: OperatorSignals, ports: Ports): Offer {
  const { configuration, storeName, log } = parts;
  const { dataFolder, host } = configuration;
  const handOver = (to: Addressee): Promise<HandOverOutcome> =>
    reloads.isUnderWay
      ? Promise.resolve({ failed: 'it reads its settings again at this moment' })
      : pool.handOver(to);
  const offer = offerHandover({ folder: dataFolder, store: storeName, host, ports, handOver, log });
  const reloads = new Reloads({ ...parts, pool, isBusy: offer.isUnderWay });
  signals.onReload(() => reloads.reload());
  return offer;
}

function closeMetrics(server: MetricsServer | undefined): void {
  server?.close();
  server?.closeAllConnections();
}
