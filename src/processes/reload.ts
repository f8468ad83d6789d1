/** Reads the settings again while the server runs (SIGHUP), and starts new workers with them. */
import type { Tiers } from '../access/tiers.js';
import { settings, type Configuration } from '../configuration.js';
import type { Log } from '../system/log.js';
import { reasonOf } from '../system/reason.js';
import type { WorkerPool } from './pool.js';
import { SocketInbox } from './sockets.js';

/** The settings as read, or every error in them, a sentence each. */
export type ReadAgain =
  { readonly configuration: Configuration; readonly tiers: Tiers } | { readonly errors: readonly string[] };

/** Settings that the parent uses, or that its files were made for: they change only at the next start. */
const fixed = [
  'port',
  'doorPort',
  'host',
  'serve',
  'storeUrl',
  'metricsPort',
  'embedModel',
  'embedPreload',
  'embedThreads',
  'embedQueue',
  'embedDeadlineMs',
  'embedCacheMb',
  'modelsFolder',
  'otlpEndpoint',
  'otlpHeaders',
  'otlpProtocol',
  'otlpTimeoutMs',
  'otelDisabled',
  'otelMetrics',
  'otelServiceName',
  'otelAttributes',
  'otelMetricsMs',
  'logFormat',
] as const satisfies readonly (keyof typeof settings)[];

/** Names of the settings that are not read again. */
export const fixedNames: readonly string[] = fixed.map((key) => settings[key].name);

/** The settings in force from now on, and the names of those that changed but stay as they were. */
export function mergeSettings(
  present: Configuration,
  given: Configuration,
): { readonly configuration: Configuration; readonly unchanged: readonly string[] } {
  const changed = fixed.filter((key) => JSON.stringify(present[key]) !== JSON.stringify(given[key]));
  const kept = Object.fromEntries(fixed.map((key) => [key, present[key]]));
  const { dataFolder } = present;
  return {
    configuration: { ...given, ...kept, dataFolder },
    unchanged: changed.map((key) => settings[key].name),
  };
}

/** Dependencies of reading again. */
export interface ReloadParts {
  readonly configuration: Configuration;
  readonly reread: () => Promise<ReadAgain>;
  readonly pool: Pick<WorkerPool, 'handOver' | 'renew'>;
  /** True while the sockets are handed to another server. */
  readonly isBusy: () => boolean;
  /** Time that workers with the former settings get to finish pending requests (ms). */
  readonly leaveMs: number;
  /** Called with the settings in force from now on. */
  readonly onRenewed: (configuration: Configuration) => void;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
}

/** Reads the settings again at each call, one reading at a time; a failure changes nothing. */
export class Reloads {
  private configuration: Configuration;
  private last: Promise<void> = Promise.resolve();
  private waiting = false;

  constructor(private readonly parts: ReloadParts) {
    this.configuration = parts.configuration;
  }

  /** True while new workers start. */
  isUnderWay = false;

  /** Reads the settings now; any number of calls during a reading cause one more after it. */
  reload(): void {
    if (this.waiting) return;
    this.waiting = true;
    this.last = this.last.then(async () => {
      this.waiting = false;
      this.isUnderWay = true;
      const failed = await this.tryOnce().catch((error: unknown) => [reasonOf(error)]);
      this.isUnderWay = false;
      if (failed !== undefined) this.parts.log.error({ reasons: failed }, 'the settings stay as they were');
    });
  }

  /** Reads once. Returns why the settings stay as they were, in sentences; undefined: new ones apply. */
  private async tryOnce(): Promise<readonly string[] | undefined> {
    const { parts } = this;
    if (parts.isBusy()) return ['Another server is taking over.'];
    const read = await parts.reread();
    if ('errors' in read) return read.errors;
    const { configuration, unchanged } = mergeSettings(this.configuration, read.configuration);
    const refused = await this.renew({ configuration, tiers: read.tiers });
    if (refused !== undefined) return [refused];
    this.configuration = configuration;
    parts.onRenewed(configuration);
    parts.log.info({ workers: configuration.workers }, 'the settings were read again and apply now');
    if (unchanged.length > 0) {
      parts.log.warn({ settings: unchanged }, 'these settings changed and apply from the next start');
    }
    return undefined;
  }

  private async renew(given: { readonly configuration: Configuration; readonly tiers: Tiers }) {
    const { pool, leaveMs } = this.parts;
    const { dataFolder } = this.configuration;
    const inbox = new SocketInbox(dataFolder);
    try {
      const received = inbox.receive();
      const outcome = await pool.handOver({ folder: dataFolder, pid: process.pid });
      inbox.expect('sent' in outcome ? outcome.sent : 0);
      await received;
      if ('failed' in outcome) {
        return `The workers cannot hand over their sockets (${outcome.failed}).`;
      }
      return await pool.renew(given, inbox.delivered, leaveMs);
    } finally {
      inbox.close();
    }
  }
}
