/** The parent process: takes the folder and the port, runs the workers, ends them all. */
import type { Server as MetricsServer } from 'node:http';
import type { InstalledModel } from '../models/embedder.js';
import type { Configuration } from '../configuration.js';
import { EmbedderProcess } from './embedder.js';
import { takeDataFolder, type LockFile } from './folder.js';
import { createScrape, serveMetrics } from './metrics.js';
import { WorkerPool, type PoolParts } from './pool.js';
import type { Ports } from '../system/ports.js';
import { probePort } from './port.js';
import { ignoreInspector } from './signals.js';
import { watchVitals } from './vitals.js';

/** Parts of the parent. */
export interface ParentParts extends Omit<PoolParts, 'port' | 'doorPort' | 'embedder'> {
  /** Arguments of the embedder process. */
  readonly embedderArguments: readonly string[];
  readonly lockFile: LockFile;
  /**
   * Makes what the workers need in the data folder, once it is locked and before they start.
   * @throws Error when it cannot.
   */
  readonly prepareFolder: (folder: string) => void;
  /** Versions of what runs, by the names that the metrics give them. */
  readonly versions: Readonly<Record<string, string>>;
  /** The model that is loaded at start; undefined: the first text loads its model. */
  readonly preload: InstalledModel | undefined;
  /** Called once, when every worker listens, with where. */
  readonly onListening: (ports: Ports) => void;
  /** Time that requests in flight are waited for when told to stop (ms). */
  readonly drainMs: number;
}

/** The end of a parent. */
export type ParentOutcome =
  | { readonly kind: 'stopped' }
  /** Requests were left when the time to drain was over. */
  | { readonly kind: 'killed' }
  /** It did not start; `reason` is a sentence that says what to do. */
  | { readonly kind: 'refused'; readonly reason: string };

const stopSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/**
 * Resolves at the first signal to stop; later ones (npm forwards the terminal's once more) change nothing.
 */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of stopSignals) process.on(signal, () => resolve());
  });
}

/**
 * Serves until a signal says to stop. Order matters: nothing starts before the folder and the port are
 * ours.
 */
export async function runParent(parts: ParentParts): Promise<ParentOutcome> {
  const { host, port: wanted, doorPort: wantedDoor, dataFolder, metricsPort } = parts.configuration;
  ignoreInspector();
  const stopped = stopSignal();
  const locked = takeDataFolder(dataFolder, parts.lockFile, parts.prepareFolder);
  if (locked !== undefined) return { kind: 'refused', reason: locked };
  const probe = await probePort(host, wanted);
  if ('refused' in probe) return { kind: 'refused', reason: probe.refused };
  const door = wantedDoor === null ? { port: undefined } : await probePort(host, wantedDoor, 'DOOR_PORT');
  if ('refused' in door) return { kind: 'refused', reason: door.refused };
  const embedder = new EmbedderProcess({ ...parts, ...embedLimits(parts.configuration) });
  const pool = new WorkerPool({ ...parts, embedder, port: probe.port, doorPort: door.port });
  const metrics =
    metricsPort === 0
      ? undefined
      : await serveMetrics(host, metricsPort, createScrape(pool, embedder, watchVitals(), parts.versions));
  if (metrics !== undefined && 'refused' in metrics) return { kind: 'refused', reason: metrics.refused };
  const ports = { port: probe.port, doorPort: door.port, metricsPort: metrics?.port ?? 0 };
  if (parts.preload !== undefined) embedder.preload(parts.preload);
  const outcome = await serve(parts, pool, stopped, ports);
  embedder.stop();
  closeMetrics(metrics?.server);
  return outcome;
}

/** Bounds of the embedder. */
function embedLimits({ embedThreads, embedQueue, embedDeadlineMs }: Configuration) {
  return { threads: embedThreads, mostTexts: embedQueue, deadlineMs: embedDeadlineMs };
}

/** Runs the workers from their start to their end. */
async function serve(
  parts: ParentParts,
  pool: WorkerPool,
  stopped: Promise<void>,
  ports: Ports,
): Promise<ParentOutcome> {
  const started = await Promise.race([pool.start(), stopped.then(() => 'stopped' as const)]);
  if (started !== undefined && started !== 'stopped') return { kind: 'refused', reason: started };
  if (started === undefined) parts.onListening(ports);
  await stopped;
  return { kind: (await pool.stop(parts.drainMs)) ? 'stopped' : 'killed' };
}

function closeMetrics(server: MetricsServer | undefined): void {
  server?.close();
  server?.closeAllConnections();
}
