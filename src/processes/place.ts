/** The place of a server: its locked data folder, and its ports, which are free or inherited. */
import { closeSync } from 'node:fs';
import type { Configuration } from '../configuration.js';
import type { LeftSockets } from '../http/listening.js';
import { tryDataFolder, unusable, type LockFile } from './folder.js';
import { takeOver } from './handover.js';
import { probePort, type PortResult } from './port.js';

/** Dependencies of taking a place. */
export interface PlaceParts {
  readonly configuration: Pick<Configuration, 'host' | 'port' | 'doorPort' | 'metricsPort' | 'dataFolder'>;
  /** True if a server that holds the data folder is asked to hand over to this one. */
  readonly takeOver: boolean;
  /** Name of the store, without secrets. */
  readonly storeName: string;
  readonly lockFile: LockFile;
  /**
   * Prepares the workers' files in the data folder, after it is locked and before they start. `isShared`: a
   * server that leaves still uses the files.
   * @throws Error if it cannot.
   */
  readonly prepareFolder: (folder: string, isShared: boolean) => void;
}

/** A place that this process has taken. */
export interface Place {
  readonly port: number;
  readonly doorPort: number | undefined;
  /** The port of the metrics; 0: not served. */
  readonly metricsPort: number;
  /** The listening socket of the metrics, inherited from another server. */
  readonly metricsSocket: number | undefined;
  /** The sockets inherited from another server. */
  readonly left: LeftSockets | undefined;
  /** Tells the leaving server, if there is one, that this one serves. */
  readonly serving: () => Promise<void>;
  /** Resolves once the server that left has ended, if there is one; this process waits until `forget`. */
  readonly formerEnded: () => Promise<void>;
  readonly forget: () => void;
}

/** Takes the folder and the ports, or returns a sentence if it cannot. */
export async function takePlace(parts: PlaceParts): Promise<Place | { readonly refused: string }> {
  const { dataFolder, host, port, doorPort, metricsPort } = parts.configuration;
  const folder = tryDataFolder(dataFolder, parts.lockFile, (path) => parts.prepareFolder(path, false));
  if (folder.kind === 'held' && parts.takeOver) return takeLeft(parts);
  if (folder.kind !== 'taken') return { refused: folder.reason };
  const probe = await probePort(host, port);
  if ('refused' in probe) return probe;
  const door = await probeDoor(host, doorPort);
  if ('refused' in door) return door;
  const nobody = (): Promise<void> => Promise.resolve();
  const nothing = {
    metricsSocket: undefined,
    left: undefined,
    serving: nobody,
    formerEnded: nobody,
    forget: () => undefined,
  };
  return { port: probe.port, doorPort: door.port, metricsPort, ...nothing };
}

/** The port of the fragment door, if it has its own. */
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
  const { sockets, metrics, serving, formerEnded, forget } = taken;
  const isDoorLeft = isLeft(doorPort, taken.ports.doorPort);
  const door = isDoorLeft ? { port: taken.ports.doorPort } : await probeDoor(host, doorPort);
  if ('refused' in door) return door;
  const isMetricsLeft = metricsPort !== 0 && metricsPort === taken.ports.metricsPort;
  // Clients of a dropped port are refused once the other server has left.
  for (const unwanted of isDoorLeft ? [] : sockets.door) closeSync(unwanted);
  if (!isMetricsLeft && metrics !== undefined) closeSync(metrics);
  return {
    port: taken.ports.port,
    doorPort: door.port,
    metricsPort,
    metricsSocket: isMetricsLeft ? metrics : undefined,
    left: { port: sockets.port, door: isDoorLeft ? sockets.door : [] },
    serving,
    formerEnded,
    forget,
  };
}

/** True if the wanted port, or any for 0, is one of the other server's. */
function isLeft(wanted: number | null, found: number | undefined): boolean {
  return wanted !== null && found !== undefined && (wanted === 0 || wanted === found);
}
