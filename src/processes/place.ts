/** The place of a server: its data folder, locked, and its ports, which are free or left by another. */
import { closeSync } from 'node:fs';
import type { Configuration } from '../configuration.js';
import type { LeftSockets } from '../http/listening.js';
import { tryDataFolder, unusable, type LockFile } from './folder.js';
import { takeOver } from './handover.js';
import { probePort, type PortResult } from './port.js';

/** Parts of taking a place. */
export interface PlaceParts {
  readonly configuration: Pick<Configuration, 'host' | 'port' | 'doorPort' | 'metricsPort' | 'dataFolder'>;
  /** True if a server that holds the data folder is asked to leave its place to this one. */
  readonly takeOver: boolean;
  /** Name of the store, without secrets. */
  readonly storeName: string;
  readonly lockFile: LockFile;
  /**
   * Makes what the workers need in the data folder, once it is locked and before they start. `isShared`: a
   * server that leaves still uses what is there.
   * @throws Error when it cannot.
   */
  readonly prepareFolder: (folder: string, isShared: boolean) => void;
}

/** A place that was taken. */
export interface Place {
  readonly port: number;
  readonly doorPort: number | undefined;
  /** The port of the metrics; 0: none are served. */
  readonly metricsPort: number;
  /** The listening socket of the metrics that another server left. */
  readonly metricsSocket: number | undefined;
  /** The sockets that another server left. */
  readonly left: LeftSockets | undefined;
  /** Tells the server that leaves, if there is one, that this one serves. */
  readonly serving: () => Promise<void>;
}

/** Takes the folder and the ports, or says in a sentence why they cannot be had. */
export async function takePlace(parts: PlaceParts): Promise<Place | { readonly refused: string }> {
  const { dataFolder, host, port, doorPort, metricsPort } = parts.configuration;
  const folder = tryDataFolder(dataFolder, parts.lockFile, (path) => parts.prepareFolder(path, false));
  if (folder.kind === 'held' && parts.takeOver) return takeLeft(parts);
  if (folder.kind !== 'taken') return { refused: folder.reason };
  const probe = await probePort(host, port);
  if ('refused' in probe) return probe;
  const door = await probeDoor(host, doorPort);
  if ('refused' in door) return door;
  const serving = (): Promise<void> => Promise.resolve();
  const nothing = { metricsSocket: undefined, left: undefined, serving };
  return { port: probe.port, doorPort: door.port, metricsPort, ...nothing };
}

/** The port of the fragment door, where it has one of its own. */
async function probeDoor(
  host: string,
  doorPort: number | null,
): Promise<PortResult | { readonly port: undefined }> {
  return doorPort === null ? { port: undefined } : probePort(host, doorPort, 'DOOR_PORT');
}

/** Takes over from the server that holds the data folder. */
async function takeLeft(parts: PlaceParts): Promise<Place | { readonly refused: string }> {
  const { dataFolder, host, port, doorPort, metricsPort } = parts.configuration;
  const ports = { port, doorPort: doorPort ?? undefined, metricsPort };
  const taken = await takeOver({ folder: dataFolder, store: parts.storeName, host, ports });
  if ('refused' in taken) return taken;
  try {
    parts.prepareFolder(dataFolder, true);
  } catch (error) {
    return { refused: unusable(dataFolder, error).reason };
  }
  const { sockets, metrics, serving } = taken;
  const isDoorLeft = isLeft(doorPort, taken.ports.doorPort);
  const door = isDoorLeft ? { port: taken.ports.doorPort } : await probeDoor(host, doorPort);
  if ('refused' in door) return door;
  const isMetricsLeft = metricsPort !== 0 && metricsPort === taken.ports.metricsPort;
  // Clients of a port that is given up are refused once the other server has left.
  for (const unwanted of isDoorLeft ? [] : sockets.door) closeSync(unwanted);
  if (!isMetricsLeft && metrics !== undefined) closeSync(metrics);
  return {
    port: taken.ports.port,
    doorPort: door.port,
    metricsPort,
    metricsSocket: isMetricsLeft ? metrics : undefined,
    left: { port: sockets.port, door: isDoorLeft ? sockets.door : [] },
    serving,
  };
}

/** True if a port that is wanted, 0 for any, is one that the other server has. */
function isLeft(wanted: number | null, found: number | undefined): boolean {
  return wanted !== null && found !== undefined && (wanted === 0 || wanted === found);
}
